//! Secrets, as a plugin sees them whose `secrets` grant does not name them: the values are masked, the rest is visible.

use std::sync::Arc;

use informer_types::{Gvr, JsonText, Object};
use serde_json::Value;

use crate::{
    PluginConfig,
    bindings::informer::plugin::types::{Error, ErrorCode},
};

/// The text in place of a value. It is not base64, so no reader mistakes it for a value.
const MASK: &str = "***";

/// Annotations in which tools store a copy of the whole object.
const COPIES: [&str; 3] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "kapp.k14s.io/original",
    "objectset.rio.cattle.io/applied",
];

/// Hides the values of Secrets from one plugin. Objects of other resources are shown as they are.
pub(crate) struct Masks(Option<Arc<PluginConfig>>);

// === impl Masks ===

impl Masks {
    pub(crate) fn new(config: &Arc<PluginConfig>, gvr: &Gvr) -> Self {
        Self(gvr.is_secrets().then(|| Arc::clone(config)))
    }

    /// Returns true if the object is a Secret whose values the plugin may not see.
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

/// The object's text with the mask in place of each value. The type, the keys and the metadata stay.
pub(super) fn masked(object: &Object) -> Result<JsonText, Error> {
    // The text is parsed, not searched: if a key appears twice, both values must be masked.
    let mut secret: Value = serde_json::from_str(&object.json()?).map_err(|_| {
        // The message of serde may quote the text, so it is not logged.
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
        let copies = annotations.iter_mut().filter(|(name, _)| COPIES.contains(&name.as_str()));
        copies.for_each(|(_, copy)| mask(copy));
    }
    Ok(JsonText::Unpacked(secret.to_string()))
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
    fn only_values_are_masked() {
        let secret = r#"{"data":{"password":"aHVudGVyMg=="},"kind":"Secret","metadata":{"annotations":{"a":"b","kapp.k14s.io/original":"hunter2","kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"password\":\"aHVudGVyMg==\"}}"},"name":"s"},"stringData":{"token":"hunter2"},"type":"Opaque"}"#;

        assert_eq!(
            shown(secret),
            r#"{"data":{"password":"***"},"kind":"Secret","metadata":{"annotations":{"a":"b","kapp.k14s.io/original":"***","kubectl.kubernetes.io/last-applied-configuration":"***"},"name":"s"},"stringData":{"token":"***"},"type":"Opaque"}"#
        );
    }

    #[test]
    fn every_form_of_a_value_is_masked() {
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
