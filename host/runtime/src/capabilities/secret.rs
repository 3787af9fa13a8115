//! Masks the values of Secrets that the `secrets` grant of a plugin does not name.
//!
//! The plugin sees the identity and the metadata of such a Secret, its type, the names of its keys, and the annotations of
//! [`VISIBLE`]. Every other field and annotation is masked, because tools keep values and copies of the whole object in
//! annotations of their own. Secrets are masked in the cache, and in any answer of the API server, whatever its path was.
//!
//! If a line of the grant has `digest`, the plugin also sees digests of whole fields in the cache, such as `data`, but no value.

use std::{borrow::Cow, ops::Range, sync::Arc};

use bytes::Bytes;
use informer_types::{Gvr, JsonText, NotJson, Object, Part, Pointer, Scanner, SecretGrants};
use serde_json::{Map, Value};

use crate::{
    PluginConfig,
    bindings::informer::plugin::types::{Error, ErrorCode},
};

/// The text in place of a value. It is not base64, so no reader mistakes it for a value.
const MASK: &str = "***";

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

/// How deep an answer is searched for Secrets: an event of a watch, or a row of a table, in a list of lists.
const SEARCHED_DEPTH: usize = 8;

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
    let hidden = hidden(text).map_err(|NotJson| {
        tracing::error!(namespace = object.namespace(), name = object.name(), "a cached Secret is not JSON");
        Error::new(ErrorCode::Internal, "a cached Secret is not JSON")
    })?;
    let (mut shown, mut copied) = (String::with_capacity(text.len()), 0);
    for value in hidden {
        shown.push_str(text.get(copied..value.start).unwrap_or_default());
        shown.extend(["\"", MASK, "\""]);
        copied = value.end;
    }
    shown.push_str(text.get(copied..).unwrap_or_default());
    Ok(shown)
}

/// The values in the text of a Secret that are not shown, in their order, as [`mask_secret`] decides. One pass over the text finds
/// them, because a Secret may have tens of thousands of keys. If a key appears twice, both values count.
fn hidden(text: &str) -> Result<Vec<Range<usize>>, NotJson> {
    let (mut hidden, mut scanner) = (Vec::new(), Scanner::new(text));
    if scanner.peek() != Some(b'{') {
        hidden.push(0..text.len());
        return Ok(hidden);
    }
    scanner.object(|scanner, field| {
        let (field, first) = (field.unescaped(), scanner.peek());
        match (&*field, first) {
            ("metadata", Some(b'{')) => hidden_annotations(scanner, &mut hidden)?,
            (field, Some(b'{')) if BY_KEY.contains(&field) => {
                scanner.object(|scanner, _| scanner.value().map(|value| hidden.push(value)))?;
            }
            // Only `null` begins with this byte.
            (field, first) if first == Some(b'n') || FIELDS.contains(&field) => {
                scanner.value()?;
            }
            _ => hidden.push(scanner.value()?),
        }
        Ok::<_, NotJson>(())
    })?;
    scanner.end()?;
    Ok(hidden)
}

/// Adds the values of annotations that are not shown. The scanner is at the metadata.
fn hidden_annotations(scanner: &mut Scanner<'_>, hidden: &mut Vec<Range<usize>>) -> Result<(), NotJson> {
    scanner.object(|scanner, field| {
        match (&*field.unescaped(), scanner.peek()) {
            ("annotations", Some(b'{')) => scanner.object(|scanner, name| {
                let value = scanner.value()?;
                if !VISIBLE.contains(&&*name.unescaped()) {
                    hidden.push(value);
                }
                Ok::<_, NotJson>(())
            })?,
            ("annotations", first) if first != Some(b'n') => hidden.push(scanner.value()?),
            _ => {
                scanner.value()?;
            }
        }
        Ok(())
    })
}

/// An answer of the API server with every Secret masked that the grants do not name, also inside a list, a table or an event
/// of a watch. An answer without such a Secret is returned as it is.
pub(super) fn masked_answer(grants: &SecretGrants, answer: Bytes) -> Bytes {
    if !may_hold_secret(&answer) {
        return answer;
    }
    // The stream of a watch has several documents.
    let documents = serde_json::Deserializer::from_slice(&answer).into_iter::<Value>();
    let Ok(mut documents) = documents.collect::<Result<Vec<Value>, _>>() else {
        // It may be a part of a Secret.
        return Bytes::from_static(MASK.as_bytes());
    };
    let hidden = documents.iter_mut().map(|document| mask_answer(grants, document, false, 0));
    if hidden.filter(|hidden| *hidden).count() == 0 {
        return answer;
    }
    let texts: Vec<String> = documents.iter().map(Value::to_string).collect();
    texts.join("\n").into()
}

/// Returns false if the text cannot have the kind of a Secret, so that other answers are not parsed.
fn may_hold_secret(answer: &[u8]) -> bool {
    let mut quoted = answer.split(|byte| *byte == b'"');
    // The escape of a letter is unusual, and may be one of the kind.
    quoted.any(|text| matches!(text, b"Secret" | b"SecretList") || text.windows(4).any(|it| it == b"\\u00"))
}

/// Masks the Secrets in a value that is an object, a list, a table or an event. Returns true if there are any. `listed` is true
/// for an item of a list of Secrets, which has no kind of its own.
fn mask_answer(grants: &SecretGrants, value: &mut Value, listed: bool, depth: usize) -> bool {
    let Value::Object(fields) = value else { return false };
    let text = |fields: &Map<String, Value>, key: &str| {
        fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (kind, core) = (text(fields, "kind"), !text(fields, "apiVersion").contains('/'));
    if core && (kind == "Secret" || (listed && kind.is_empty())) {
        let metadata = fields.get("metadata").and_then(Value::as_object);
        let of = |key| metadata.map(|metadata| text(metadata, key)).unwrap_or_default();
        let seen = grants.contains(&of("namespace"), &of("name"));
        if !seen {
            mask_secret(fields);
        }
        return !seen;
    }
    let (mut hidden, secrets) = (false, core && kind == "SecretList");
    for key in ["items", "rows", "object"] {
        let below: &mut [Value] = match fields.get_mut(key) {
            Some(Value::Array(entries)) => entries,
            Some(one) => std::slice::from_mut(one),
            None => continue,
        };
        for entry in below {
            hidden |= if depth < SEARCHED_DEPTH {
                mask_answer(grants, entry, secrets, depth + 1)
            } else {
                mask(entry);
                true
            };
        }
    }
    hidden
}

fn mask_secret(fields: &mut Map<String, Value>) {
    for (field, value) in fields {
        match (field.as_str(), value) {
            ("metadata", value) => mask_annotations(value),
            (field, _) if FIELDS.contains(&field) => {}
            (_, Value::Null) => {}
            (field, Value::Object(entries)) if BY_KEY.contains(&field) => entries.values_mut().for_each(mask),
            (_, value) => mask(value),
        }
    }
}

fn mask_annotations(metadata: &mut Value) {
    match metadata.get_mut("annotations") {
        None | Some(Value::Null) => {}
        Some(Value::Object(annotations)) => {
            let hidden = annotations.iter_mut().filter(|(name, _)| !VISIBLE.contains(&name.as_str()));
            hidden.for_each(|(_, value)| mask(value));
        }
        Some(other) => mask(other),
    }
}

fn mask(value: &mut Value) {
    *value = MASK.into();
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Header, SecretGrant};
    use serde_json::json;

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

    /// The cache is masked by ranges of the text, an answer by its tree. Both show the same.
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
            mask_secret(&mut tree);

            assert_eq!(serde_json::from_str::<Value>(&shown(json)).unwrap(), Value::Object(tree), "{json}");
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
