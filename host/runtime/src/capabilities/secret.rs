//! Secrets as a plugin sees them whose `secrets` grant does not name them: there, with all that is not secret.

use std::sync::Arc;

use informer_types::{Gvr, JsonText, Object};
use serde_json::{Map, Value};

use crate::{
    PluginConfig,
    bindings::informer::plugin::types::{Error, ErrorCode},
};

/// What stands in place of a value. It is no base64: nobody takes it for the value.
const MASK: &str = "***";

/// Annotations in which tools keep a copy of the whole object.
const COPIES: [&str; 3] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "kapp.k14s.io/original",
    "objectset.rio.cattle.io/applied",
];

/// Hides from one plugin what it may not see of the objects of one resource.
pub(crate) struct Masks(Option<Arc<PluginConfig>>);

// === impl Masks ===

impl Masks {
    pub(crate) fn new(config: &Arc<PluginConfig>, gvr: &Gvr) -> Self {
        Self(gvr.is_secrets().then(|| Arc::clone(config)))
    }

    /// Whether the object is a Secret whose values the plugin may not see.
    pub(crate) fn hide(&self, object: &Object) -> bool {
        let may_see =
            |config: &Arc<PluginConfig>| config.grants.secrets.contains(object.namespace(), object.name());
        self.0.as_ref().is_some_and(|config| !may_see(config))
    }

    /// The object's text as the plugin may see it.
    pub(super) fn json(&self, object: &Object) -> Result<JsonText, Error> {
        if self.hide(object) { masked(object) } else { Ok(object.json()?) }
    }
}

/// The text with the mask in place of each value. The type, the keys and the metadata stay.
pub(super) fn masked(object: &Object) -> Result<JsonText, Error> {
    // Parsed, not searched: a text that says the same twice must not show one of them.
    let mut secret: Value = serde_json::from_str(&object.json()?).map_err(|_| {
        // serde's own words may quote the text.
        tracing::error!(namespace = object.namespace(), name = object.name(), "a cached Secret is not JSON");
        Error::new(ErrorCode::Internal, "a cached Secret is not JSON")
    })?;
    for field in ["data", "stringData"] {
        match secret.get_mut(field) {
            None | Some(Value::Null) => {}
            Some(Value::Object(entries)) => entries.values_mut().for_each(mask),
            Some(other) => mask(other),
        }
    }
    if let Some(annotations) = secret.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        mask_copies(annotations);
    }
    Ok(JsonText::Unpacked(secret.to_string()))
}

fn mask_copies(annotations: &mut Map<String, Value>) {
    for name in COPIES {
        if let Some(copy) = annotations.get_mut(name) {
            mask(copy);
        }
    }
}

fn mask(value: &mut Value) {
    *value = MASK.into();
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Header};

    use super::*;

    fn shown(json: &str) -> String {
        let object = Object::new(&Header::default(), Body::Raw(json.into())).unwrap();
        masked(&object).unwrap().into_string()
    }

    #[test]
    fn values_are_masked_and_everything_else_is_not() {
        let secret = r#"{"data":{"password":"aHVudGVyMg=="},"kind":"Secret","metadata":{"annotations":{"a":"b","kapp.k14s.io/original":"hunter2","kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"password\":\"aHVudGVyMg==\"}}"},"name":"s"},"stringData":{"token":"hunter2"},"type":"Opaque"}"#;

        assert_eq!(
            shown(secret),
            r#"{"data":{"password":"***"},"kind":"Secret","metadata":{"annotations":{"a":"b","kapp.k14s.io/original":"***","kubectl.kubernetes.io/last-applied-configuration":"***"},"name":"s"},"stringData":{"token":"***"},"type":"Opaque"}"#
        );
    }

    #[test]
    fn no_form_of_a_secret_shows_its_values() {
        for json in [
            r#"{"data":"hunter2"}"#,
            r#"{"data":["hunter2"]}"#,
            r#"{"data":{"a":{"b":"hunter2"}}}"#,
            r#"{"data":{"a":"hunter2"},"data":{"a":"hunter2"}}"#,
            r#"{"\u0064ata":{"a":"hunter2"}}"#,
        ] {
            assert!(!shown(json).contains("hunter2"), "{json}");
        }
        assert_eq!(shown(r#"{"data":null}"#), r#"{"data":null}"#);
        assert_eq!(shown(r#"{"metadata":{"annotations":null}}"#), r#"{"metadata":{"annotations":null}}"#);
    }
}
