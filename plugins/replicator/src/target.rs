//! What the annotations of an object say about its source.

use informer_sdk::ObjectKey;

use crate::annotations::{
    AUTO_REFLECTS, Annotations, REFLECTS, REPLICATE_FROM, REPLICATED_AT, REPLICATED_FROM,
    REPLICATED_FROM_VERSION, flag,
};

/// The controller whose annotations apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// kubernetes-replicator of mittwald.
    Replicator,
    /// Reflector of emberstack.
    Reflector,
}

/// Why an object is the target of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A person made the object and named its source.
    Pulls,
    /// The plugin, or the original, made the object because its source asks for it.
    Copy,
}

/// An object that names its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) source: ObjectKey,
    pub(crate) role: Role,
    pub(crate) style: Style,
}

/// The annotation does not name a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: `{text}` is not the name of a source: write `namespace/name`, without white space")]
pub(crate) struct InvalidSource {
    name: &'static str,
    text: String,
}

// === impl Target ===

impl Target {
    /// The source that an object names. If there are several, the request of a person wins over bookkeeping.
    pub(crate) fn of(annotations: &Annotations) -> Result<Option<Self>, InvalidSource> {
        let mirrors = match annotations.get(AUTO_REFLECTS).and_then(flag) {
            Some(true) => Role::Copy,
            _ => Role::Pulls,
        };
        for (name, role, style) in [
            (REPLICATE_FROM, Role::Pulls, Style::Replicator),
            (REPLICATED_FROM, Role::Copy, Style::Replicator),
            (REFLECTS, mirrors, Style::Reflector),
        ] {
            if annotations.filled(name).is_some() {
                return Ok(Some(Self { source: source(annotations, name)?, role, style }));
            }
        }
        Ok(None)
    }
}

/// Returns true if the object looks like a copy that kubernetes-replicator pushed: the annotations of such a copy do not name its source.
pub(crate) fn is_unnamed_copy(annotations: &Annotations) -> bool {
    [REPLICATED_AT, REPLICATED_FROM_VERSION].iter().any(|name| annotations.get(name).is_some())
        && [REPLICATE_FROM, REPLICATED_FROM, REFLECTS].iter().all(|name| annotations.filled(name).is_none())
}

fn source(annotations: &Annotations, name: &'static str) -> Result<ObjectKey, InvalidSource> {
    let text = annotations.get(name).unwrap_or_default();
    let invalid = || InvalidSource { name, text: text.to_owned() };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let key: ObjectKey = text.parse().map_err(|_| invalid())?;
    let named = !key.namespace.is_empty() && key.namespace.bytes().chain(key.name.bytes()).all(is_name);
    named.then_some(key).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
    fn target(annotations: Value) -> Option<Target> {
        Target::of(&Annotations::of_object(&json!({"metadata": {"annotations": annotations}}))).unwrap()
    }

    #[test]
    fn each_annotation_names_a_source() {
        let key = ObjectKey::new("shop", "web");
        for (annotations, role, style) in [
            (json!({REPLICATE_FROM: "shop/web"}), Role::Pulls, Style::Replicator),
            (json!({REPLICATED_FROM: "shop/web"}), Role::Copy, Style::Replicator),
            (json!({REPLICATE_FROM: "shop/web", REPLICATED_FROM: "a/b"}), Role::Pulls, Style::Replicator),
            (json!({REFLECTS: "shop/web"}), Role::Pulls, Style::Reflector),
            (json!({REFLECTS: "shop/web", AUTO_REFLECTS: "True"}), Role::Copy, Style::Reflector),
            (json!({REFLECTS: "shop/web", AUTO_REFLECTS: "False"}), Role::Pulls, Style::Reflector),
        ] {
            assert_eq!(target(annotations), Some(Target { source: key.clone(), role, style }));
        }
        assert_eq!(target(json!({REPLICATED_AT: "x"})), None);
    }

    #[test]
    fn a_text_that_names_no_source_is_reported() {
        for text in ["web", "/web", "shop/", "a/b/c", "shop / web", "shop/web\n"] {
            let object = json!({"metadata": {"annotations": {REPLICATE_FROM: text}}});
            let error = Target::of(&Annotations::of_object(&object)).unwrap_err().to_string();
            assert!(error.starts_with("replicator.v1.mittwald.de/replicate-from: "), "{error}");
        }
    }
}
