//! The names of the annotations of kubernetes-replicator (mittwald) and of Reflector (emberstack), and their values on one
//! object.

use std::collections::BTreeMap;

use informer_sdk::Field;
use serde_json::Value;

macro_rules! annotations {
    ($($(#[$doc:meta])* $name:ident = $domain:literal, $last:literal;)*) => {
        $($(#[$doc])* pub(crate) const $name: &str = concat!($domain, "/", $last);)*

        const COUNT: usize = [$($last),*].len();

        const NAMES: [&str; COUNT] = [$($name),*];

        impl Annotations {
            /// The JSON pointers of all annotations that the plugin knows.
            pub(crate) const POINTERS: [&'static str; COUNT] =
                [$(concat!("/metadata/annotations/", $domain, "~1", $last)),*];
        }
    };
}

annotations! {
    /// On a source: namespaces to copy to, as a list of names and patterns.
    REPLICATE_TO = "replicator.v1.mittwald.de", "replicate-to";
    /// On a source: namespaces to copy to, as a label selector.
    REPLICATE_TO_MATCHING = "replicator.v1.mittwald.de", "replicate-to-matching";
    /// On a target: its source.
    REPLICATE_FROM = "replicator.v1.mittwald.de", "replicate-from";
    REPLICATION_ALLOWED = "replicator.v1.mittwald.de", "replication-allowed";
    REPLICATION_ALLOWED_NAMESPACES = "replicator.v1.mittwald.de", "replication-allowed-namespaces";
    STRIP_LABELS = "replicator.v1.mittwald.de", "strip-labels";
    KEEP_OWNER_REFERENCES = "replicator.v1.mittwald.de", "keep-owner-references";
    REPLICATED_AT = "replicator.v1.mittwald.de", "replicated-at";
    REPLICATED_FROM_VERSION = "replicator.v1.mittwald.de", "replicated-from-version";
    REPLICATED_KEYS = "replicator.v1.mittwald.de", "replicated-keys";
    /// On a pushed copy: its source. kubernetes-replicator does not write it.
    REPLICATED_FROM = "replicator.v1.mittwald.de", "replicated-from";
    /// On a pushed copy: the names of the labels that come from its source. kubernetes-replicator does not write it.
    REPLICATED_LABELS = "replicator.v1.mittwald.de", "replicated-labels";
    REFLECTION_ALLOWED = "reflector.v1.k8s.emberstack.com", "reflection-allowed";
    REFLECTION_ALLOWED_NAMESPACES = "reflector.v1.k8s.emberstack.com", "reflection-allowed-namespaces";
    REFLECTION_ALLOWED_SELECTOR = "reflector.v1.k8s.emberstack.com", "reflection-allowed-namespaces-selector";
    REFLECTION_AUTO_ENABLED = "reflector.v1.k8s.emberstack.com", "reflection-auto-enabled";
    REFLECTION_AUTO_NAMESPACES = "reflector.v1.k8s.emberstack.com", "reflection-auto-namespaces";
    REFLECTION_AUTO_SELECTOR = "reflector.v1.k8s.emberstack.com", "reflection-auto-namespaces-selector";
    /// On a mirror: its source.
    REFLECTS = "reflector.v1.k8s.emberstack.com", "reflects";
    /// On a mirror that was made because its source asks for it.
    AUTO_REFLECTS = "reflector.v1.k8s.emberstack.com", "auto-reflects";
    REFLECTED_VERSION = "reflector.v1.k8s.emberstack.com", "reflected-version";
    REFLECTED_AT = "reflector.v1.k8s.emberstack.com", "reflected-at";
}

/// The annotations that make an object a source.
const OF_SOURCES: [&str; 5] = [
    REPLICATE_TO,
    REPLICATE_TO_MATCHING,
    REPLICATION_ALLOWED,
    REPLICATION_ALLOWED_NAMESPACES,
    REFLECTION_ALLOWED,
];

/// The known annotations of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Annotations(BTreeMap<&'static str, String>);

// === impl Annotations ===

impl Annotations {
    /// The annotations in the values at [`POINTERS`](Self::POINTERS).
    pub(crate) fn of_fields(fields: &[Field; COUNT]) -> Self {
        let texts = fields.iter().map(|field| field.parse::<String>().ok().flatten());
        Self(NAMES.into_iter().zip(texts).filter_map(|(name, text)| Some((name, text?))).collect())
    }

    /// The annotations of a whole object.
    pub(crate) fn of_object(object: &Value) -> Self {
        let of = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let texts = Self::POINTERS.map(of);
        Self(NAMES.into_iter().zip(texts).filter_map(|(name, text)| Some((name, text?))).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of an annotation without white space around it. Returns `None` if nothing is left.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).map(str::trim).filter(|text| !text.is_empty())
    }

    /// The entries of an annotation that is a list with commas.
    pub(crate) fn entries(&self, name: &str) -> Vec<&str> {
        let text = self.get(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect()
    }

    /// Returns true if the object may be the source of copies.
    pub(crate) fn is_source(&self) -> bool {
        OF_SOURCES.iter().any(|name| self.0.contains_key(name))
    }
}

/// Parses a flag as kubernetes-replicator (Go) and Reflector (C#) do. Returns `None` if the text is no flag.
pub(crate) fn flag(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "1" => Some(true),
        "false" | "f" | "0" | "" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_known_annotations_with_text_count() {
        let object = json!({"metadata": {"annotations": {
            REPLICATE_TO: "a", "other": "b", REPLICATED_KEYS: " x, ,y", REFLECTS: 7, REFLECTED_VERSION: " ",
        }}});

        let annotations = Annotations::of_object(&object);

        assert_eq!(annotations.get(REPLICATE_TO), Some("a"));
        assert_eq!(annotations.entries(REPLICATED_KEYS), ["x", "y"]);
        assert_eq!((annotations.get(REFLECTS), annotations.filled(REFLECTED_VERSION)), (None, None));
        assert!(annotations.is_source());
        assert!(!Annotations::of_object(&json!({})).is_source());
    }

    #[test]
    fn a_flag_is_written_in_the_forms_of_go_and_of_c_sharp() {
        for (text, expected) in [
            ("true", Some(true)),
            ("True", Some(true)),
            (" 1 ", Some(true)),
            ("false", Some(false)),
            ("F", Some(false)),
            ("", Some(false)),
            ("yes", None),
        ] {
            assert_eq!(flag(text), expected, "{text}");
        }
    }
}
