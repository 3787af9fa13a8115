//! Texts with a syntax that Kubernetes or CEL defines.

use informer_dispatch::When;
use informer_types::{FieldSelector, Gvr, LabelSelector, Pointer};

use super::scalar::FromText;
use crate::config::problem::Fault;

/// A DNS label (RFC 1123). Namespaces, plugins and indexes have such names, because they fit into a metric, a URL and a
/// file name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(pub(crate) String);

// === impl Name ===

impl Name {
    /// Returns true for 1 to 63 lower-case letters, digits and `-`, no `-` at either end.
    pub(crate) fn fits(text: &str) -> bool {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=63).contains(&text.len())
            && text.bytes().all(allowed)
            && !text.starts_with('-')
            && !text.ends_with('-')
    }
}

impl FromText for Name {
    const KIND: &'static str = "a name";

    fn example() -> String {
        "\"deployment-logger\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if Self::fits(text) {
            return Ok(Self(text.to_owned()));
        }
        let remedy = "write at most 63 lower-case letters, digits and `-`, with no `-` at either end";
        Err(Fault::new(format!("`{text}` is not a name"), remedy))
    }
}

// === impl FieldSelector ===

impl FromText for FieldSelector {
    const KIND: &'static str = "a field selector";

    fn example() -> String {
        "\"spec.nodeName=node-1\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: informer_types::InvalidFieldSelector| Fault::of(&error))
    }
}

// === impl Gvr, LabelSelector, Pointer ===

impl FromText for Gvr {
    const KIND: &'static str = "a resource";

    fn example() -> String {
        "\"apps/v1/deployments\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: informer_types::InvalidGvr| Fault::of(&error))
    }
}

impl FromText for LabelSelector {
    const KIND: &'static str = "a label selector";

    fn example() -> String {
        "\"app=web\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: informer_types::InvalidSelector| Fault::of(&error))
    }
}

impl FromText for Pointer {
    const KIND: &'static str = "a JSON pointer";

    fn example() -> String {
        "\"/spec/nodeName\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: informer_types::InvalidPointer| Fault::of(&error))
    }
}

// === impl When ===

impl FromText for When {
    const KIND: &'static str = "an expression";

    fn example() -> String {
        "\"object.spec.replicas > 2\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: informer_dispatch::InvalidWhen| Fault::of(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_dns_label() {
        for text in ["a", "web-1", "0", &"x".repeat(63)] {
            assert!(Name::parse(text).is_ok(), "{text}");
        }
        for text in ["", "-a", "a-", "Web", "a.b", "a_b", "a b", "\u{e9}", &"x".repeat(64)] {
            assert!(Name::parse(text).is_err(), "{text}");
        }
    }
}
