//! Masks the values of Secrets that the `secrets` grant of a plugin does not name.
//!
//! The plugin sees the identity and the metadata of such a Secret, its type, the names of its keys, and the annotations of
//! [`VISIBLE`]. Every other field and annotation is masked, because tools keep values and copies of the whole object in
//! annotations of their own. Secrets are masked in the cache, and in any answer of the API server, whatever its path was.
//!
//! If a line of the grant has `digest`, the plugin also sees digests of whole fields in the cache, such as `data`, but no value.

mod answer;
mod masked_text;
#[cfg(test)]
mod tree;

use std::{borrow::Cow, sync::Arc};

use informer_types::{Gvr, JsonText, NotJson, Object, Part, Pointer, Scanner};

pub(super) use answer::masked_answer;

use crate::{
    PluginConfig,
    bindings::informer::plugin::types::{Error, ErrorCode},
};
use masked_text::{MASK, MaskedText};

/// The fields of a Secret that are shown as they are.
const FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "type", "immutable"];

/// The fields whose keys are shown, with masked values.
const BY_KEY: [&str; 2] = ["data", "stringData"];

/// The annotations that are shown as they are. Controllers select Secrets by them. Their values are names, lists of names, flags
/// and times, which the tools named here write.
const VISIBLE: [&str; 25] = [
    // Kubernetes: the account of a token.
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
    // cert-manager: the Certificate and the issuer of a key pair, and the public names in it.
    "cert-manager.io/alt-names",
    "cert-manager.io/certificate-name",
    "cert-manager.io/common-name",
    "cert-manager.io/ip-sans",
    "cert-manager.io/issuer-group",
    "cert-manager.io/issuer-kind",
    "cert-manager.io/issuer-name",
    "cert-manager.io/uri-sans",
    // Helm: the release that owns the object.
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    // Argo CD: the application that owns the object.
    "argocd.argoproj.io/tracking-id",
    // Reloader: whether a change restarts workloads.
    "reloader.stakater.com/ignore",
    "reloader.stakater.com/match",
    // Reflector and Replicator: where copies may go, and where a copy comes from.
    "reflector.v1.k8s.emberstack.com/reflects",
    "reflector.v1.k8s.emberstack.com/reflection-allowed",
    "reflector.v1.k8s.emberstack.com/reflection-allowed-namespaces",
    "reflector.v1.k8s.emberstack.com/reflection-auto-enabled",
    "reflector.v1.k8s.emberstack.com/reflection-auto-namespaces",
    "replicator.v1.mittwald.de/replicate-from",
    "replicator.v1.mittwald.de/replicate-to",
    "replicator.v1.mittwald.de/replicated-at",
    "replicator.v1.mittwald.de/replication-allowed",
    "replicator.v1.mittwald.de/replication-allowed-namespaces",
];

/// Returns true if a plugin without any grant of `secrets` sees the value at this pointer in a Secret.
#[must_use]
pub fn is_shown_of_secrets(pointer: &Pointer) -> bool {
    let tokens: Vec<&str> = pointer.tokens().iter().map(String::as_str).collect();
    match tokens[..] {
        [] | ["metadata"] | ["metadata", "annotations"] => false,
        ["metadata", "annotations", name] => VISIBLE.contains(&name),
        ["metadata", "annotations", ..] => false,
        [first, ..] => FIELDS.contains(&first),
    }
}

/// Hides the values of Secrets from one plugin. Objects of other resources are shown as they are.
pub(crate) struct Masks(Option<Arc<PluginConfig>>);

/// How much of an object a plugin may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// All of it.
    Whole,
    /// A Secret with masked values, and digests of its fields.
    Digests,
    /// A Secret with masked values.
    Masked,
}

/// The text of an object as a plugin may see it.
pub(crate) struct Seen {
    text: JsonText,
    hidden: Option<Hidden>,
}

/// What the plugin may not see of a Secret.
struct Hidden {
    /// The text without masks.
    unmasked: JsonText,
    shows_digests: bool,
}

// === impl Masks ===

impl Masks {
    pub(crate) fn new(config: &Arc<PluginConfig>, gvr: &Gvr) -> Self {
        Self(gvr.is_secrets().then(|| Arc::clone(config)))
    }

    /// How much of the object the plugin may see.
    pub(crate) fn sight(&self, object: &Object) -> Sight {
        let Some(config) = &self.0 else { return Sight::Whole };
        let (secrets, namespace, name) = (&config.grants.secrets, object.namespace(), object.name());
        if secrets.contains(namespace, name) {
            Sight::Whole
        } else if secrets.contains_digests(namespace, name) {
            Sight::Digests
        } else {
            Sight::Masked
        }
    }

    /// The object as the plugin may see it.
    pub(crate) fn seen(&self, object: &Object) -> Result<Seen, Error> {
        Seen::new(object, self.sight(object))
    }
}

// === impl Seen ===

impl Seen {
    pub(crate) fn new(object: &Object, sight: Sight) -> Result<Self, Error> {
        let text = object.json()?;
        if sight == Sight::Whole {
            return Ok(Self { text, hidden: None });
        }
        let masked = JsonText::Unpacked(masked(object, &text)?);
        let hidden = Hidden { unmasked: text, shows_digests: sight == Sight::Digests };
        Ok(Self { text: masked, hidden: Some(hidden) })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of all texts.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.hidden.as_ref().map_or(0, |hidden| hidden.unmasked.len())
    }

    pub(crate) fn into_text(self) -> String {
        self.text.into_string()
    }

    /// The JSON texts of the parts, in their order. A digest that the plugin may not see is masked.
    ///
    /// # Errors
    /// The errors of [`Part::texts`].
    pub(super) fn parts(&self, parts: &[Part]) -> Result<Vec<Option<Cow<'_, str>>>, Error> {
        let mut texts = Part::texts(parts, &self.text)?;
        if let Some(hidden) = &self.hidden {
            let digests: Vec<Part> = parts.iter().filter(|part| part.digest().is_some()).cloned().collect();
            let shown = texts.iter_mut().zip(parts).filter(|(_, part)| part.digest().is_some());
            for ((text, part), digest) in shown.zip(Part::texts(&digests, &hidden.unmasked)?) {
                if *text != digest {
                    *text = if hidden.shows(part) { digest } else { Some(Cow::Owned(format!("\"{MASK}\""))) };
                }
            }
        }
        Ok(texts)
    }

    /// Returns true if one of the parts differs from an earlier state of the object, as far as the plugin may see it.
    ///
    /// # Errors
    /// The errors of [`Part::differ`].
    pub(super) fn differs(&self, earlier: &Self, parts: &[Part]) -> Result<bool, Error> {
        let (Some(before), Some(now)) = (&earlier.hidden, &self.hidden) else {
            return Ok(Part::differ(parts, &earlier.text, &self.text)?);
        };
        let (digests, rest): (Vec<Part>, Vec<Part>) =
            parts.iter().cloned().partition(|part| before.shows(part) && now.shows(part));
        Ok(Part::differ(&rest, &earlier.text, &self.text)?
            || Part::differ(&digests, &before.unmasked, &now.unmasked)?)
    }
}

// === impl Hidden ===

impl Hidden {
    /// Returns true if the plugin may see this part nevertheless: the digest of a whole field. That of a single value would be easier to
    /// guess.
    fn shows(&self, part: &Part) -> bool {
        self.shows_digests && part.digest().is_some() && part.pointer().tokens().len() <= 1
    }
}

/// The object's text with the mask in place of each value. The type, the keys and the metadata stay.
fn masked(object: &Object, text: &str) -> Result<String, Error> {
    let (mut scanner, mut masked) = (Scanner::new(text), MaskedText::new(text));
    let read = if scanner.peek() == Some(b'{') {
        mask_secret(&mut scanner, &mut masked).and_then(|()| scanner.end())
    } else {
        masked.mask(0..text.len());
        Ok(())
    };
    read.map_err(|NotJson| {
        tracing::error!(namespace = object.namespace(), name = object.name(), "a cached Secret is not JSON");
        Error::new(ErrorCode::Internal, "a cached Secret is not JSON")
    })?;
    Ok(masked.finish().unwrap_or_else(|| text.to_owned()))
}

/// Masks the values of a Secret that are not shown. The scanner is at its opening brace. One pass over the text finds the values,
/// because a Secret may have tens of thousands of keys. If a key appears twice, both values count.
fn mask_secret(scanner: &mut Scanner<'_>, masked: &mut MaskedText<'_>) -> Result<(), NotJson> {
    scanner.object(|scanner, field| {
        let (field, first) = (field.unescaped(), scanner.peek());
        match (&*field, first) {
            ("metadata", Some(b'{')) => mask_annotations(scanner, masked)?,
            (field, Some(b'{')) if BY_KEY.contains(&field) => {
                scanner.object(|scanner, _| scanner.value().map(|value| masked.mask(value)))?;
            }
            // Only `null` begins with this byte.
            (field, first) if first == Some(b'n') || FIELDS.contains(&field) => {
                scanner.value()?;
            }
            _ => masked.mask(scanner.value()?),
        }
        Ok::<_, NotJson>(())
    })
}

/// Masks the values of annotations that are not shown. The scanner is at the metadata.
fn mask_annotations(scanner: &mut Scanner<'_>, masked: &mut MaskedText<'_>) -> Result<(), NotJson> {
    scanner.object(|scanner, field| {
        match (&*field.unescaped(), scanner.peek()) {
            ("annotations", Some(b'{')) => scanner.object(|scanner, name| {
                let value = scanner.value()?;
                if !VISIBLE.contains(&&*name.unescaped()) {
                    masked.mask(value);
                }
                Ok::<_, NotJson>(())
            })?,
            ("annotations", first) if first != Some(b'n') => masked.mask(scanner.value()?),
            _ => {
                scanner.value()?;
            }
        }
        Ok::<_, NotJson>(())
    })
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Header, SecretGrant};
    use serde_json::{Map, Value, json};

    use super::*;

    const VALUE: &str = "hunter2";

    fn shown(json: &str) -> String {
        let object = Object::new(&Header::default(), Body::Raw(json.into())).unwrap();
        masked(&object, json).unwrap()
    }

    fn answered(grants: &[&str], answer: &str) -> String {
        let grants = grants.iter().map(|line| line.parse::<SecretGrant>().unwrap()).collect();
        String::from_utf8(masked_answer(&grants, answer.to_owned().into()).to_vec()).unwrap()
    }

    fn secret(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": name}, "data": {"a": VALUE}})
    }

    #[test]
    fn only_values_are_masked() {
        let secret = r#"{"data":{"password":"aHVudGVyMg=="},"immutable":true,"kind":"Secret","metadata":{"annotations":{"cert-manager.io/issuer-name":"le","kapp.k14s.io/original":"hunter2","kubernetes.io/service-account.name":"default","openshift.io/token-secret.value":"hunter2"},"labels":{"a":"b"},"name":"s"},"stringData":{"token":"hunter2"},"type":"Opaque"}"#;

        assert_eq!(
            shown(secret),
            r#"{"data":{"password":"***"},"immutable":true,"kind":"Secret","metadata":{"annotations":{"cert-manager.io/issuer-name":"le","kapp.k14s.io/original":"***","kubernetes.io/service-account.name":"default","openshift.io/token-secret.value":"***"},"labels":{"a":"b"},"name":"s"},"stringData":{"token":"***"},"type":"Opaque"}"#
        );
    }

    #[test]
    fn no_annotation_but_a_harmless_one_is_shown() {
        for name in [
            "kubectl.kubernetes.io/last-applied-configuration",
            "objectset.rio.cattle.io/applied",
            "pulumi.com/last-applied",
            "openshift.io/token-secret.value",
            "cert-manager.io/private-key",
            "a",
            "",
        ] {
            let secret = json!({"kind": "Secret", "metadata": {"annotations": {name: VALUE}}}).to_string();
            assert!(!shown(&secret).contains(VALUE), "{name}");
        }
    }

    #[test]
    fn every_form_of_a_value_is_masked() {
        for json in [
            r#"{"data":"hunter2"}"#,
            r#"{"data":["hunter2"]}"#,
            r#"{"data":{"a":{"b":"hunter2"}}}"#,
            r#"{"data":{"a":"hunter2"},"data":{"a":"hunter2"}}"#,
            r#"{"\u0064ata":{"a":"hunter2"}}"#,
            r#"{"other":{"a":"hunter2"}}"#,
            r#"{"metadata":{"annotations":"hunter2"}}"#,
            r#"{"metadata":{"annotations":["hunter2"]}}"#,
            r#"["hunter2"]"#,
        ] {
            assert!(!shown(json).contains(VALUE), "{json}");
        }
        assert_eq!(shown(r#"{"data":null}"#), r#"{"data":null}"#);
        assert_eq!(shown(r#"{"metadata":{"annotations":null}}"#), r#"{"metadata":{"annotations":null}}"#);
    }

    /// The cache and an answer are masked by their text. Both show the same as a tree with masks.
    #[test]
    fn the_cache_and_an_answer_show_the_same_of_a_secret() {
        for json in [
            r#" { "kind" : "Secret" , "data" : { "a" : "x" , "b" : null , "\u0063" : { "d" : [ 1 , "]" ] } } , "type" : "t" } "#,
            r#"{"kind":"Secret","metadata":{"name":"a","annotations":{"a":null,"cert-manager.io/issuer-name":"x","\u0062":"}"}}}"#,
            r#"{"kind":"Secret","metadata":{"annotations":null},"data":null,"other":null,"stringData":{}}"#,
            r#"{"kind":"Secret","metadata":null,"immutable":true,"other":[1],"data":3}"#,
            r#"{"kind":"Secret","metadata":{"annotations":7,"ownerReferences":[{"annotations":{"a":"b"}}]}}"#,
            "{}",
        ] {
            let mut tree: Map<String, Value> = serde_json::from_str(json).unwrap();
            let is_secret = tree.contains_key("kind");
            tree::mask_secret(&mut tree);

            assert_eq!(serde_json::from_str::<Value>(&shown(json)).unwrap(), Value::Object(tree), "{json}");
            assert!(!is_secret || answered(&[], json) == shown(json), "{json}");
        }
        for broken in [r#"{"data":{"a":"hunter2"}"#, r#"{"data":{}} hunter2"#] {
            let broken = Object::new(&Header::default(), Body::Raw(broken.into())).unwrap();
            let Err(error) = Seen::new(&broken, Sight::Masked) else { panic!("it is shown") };
            assert!(!error.message.contains(VALUE), "{error:?}");
        }
        assert_eq!(shown(r#""a" hunter2"#), "\"***\"");
    }

    #[test]
    fn a_secret_is_masked_wherever_an_answer_has_it() {
        let bare = json!({"metadata": {"namespace": "shop", "name": "a"}, "data": {"a": VALUE}});
        let list = json!({"apiVersion": "v1", "kind": "SecretList", "items": [bare, secret("b")]});
        let mixed = json!({"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod"}, list]});
        let row = json!({"cells": ["a"], "object": secret("a")});
        let table = json!({"apiVersion": "meta.k8s.io/v1", "kind": "Table", "rows": [row]});
        let event = json!({"type": "ADDED", "object": secret("a")});
        let stream = format!("{event}\n{event}\n");
        let escaped = secret("a").to_string().replace("Secret", r"\u0053ecret");
        for answer in
            [secret("a").to_string(), list.to_string(), mixed.to_string(), table.to_string(), stream, escaped]
        {
            assert!(answer.contains(VALUE));
            let shown = answered(&["other/*", "shop/c"], &answer);
            assert!(!shown.contains(VALUE) && shown.contains(MASK), "{shown}");
            assert!(answered(&["shop/*"], &answer).contains(VALUE), "{answer}");
        }
        let nested = (0..20).fold(secret("a"), |inner, _| json!({"kind": "List", "items": [inner]}));
        assert!(!answered(&[], &nested.to_string()).contains(VALUE), "deeper than any list");
        let both = answered(&["shop/b"], &list.to_string());
        assert_eq!(both.matches(VALUE).count(), 1, "{both}");
    }

    #[test]
    fn an_answer_without_a_hidden_secret_is_not_changed() {
        for answer in [
            r#"{ "kind": "Pod", "spec": {"a": 1.0} }"#,
            r#"{ "kind": "Sealed", "spec": {"template": {"kind": "Secret", "data": {"a": "b"}}} }"#,
            r#"{ "apiVersion": "x.io/v1", "kind": "Secret", "data": {"a": "b"} }"#,
            "<html>",
            "",
        ] {
            assert_eq!(answered(&[], answer), answer);
        }
        assert_eq!(
            answered(&[], r#"{"kind": "Secret", "data": {"a": "hunter2""#),
            MASK,
            "a part of a Secret"
        );
    }
}
