//! Texts with a syntax of Kubernetes' own.

use informer_types::{Gvr, LabelSelector, Pointer};

use super::scalar::FromText;
use crate::config::problem::Fault;

/// A DNS label (RFC 1123): the name of a namespace, and what we name plugins and indexes by, because such a
/// name fits into a metric, a URL and a file name alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(pub(crate) String);

/// A field selector: `spec.nodeName=node-1,status.phase!=Running`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldSelector(pub(crate) String);

// === impl Name ===

impl Name {
    /// True for up to 63 lower-case letters, digits and `-`, no `-` at either end.
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

    /// Checks the form only: which fields a resource can be selected by is known to the API server.
    fn parse(text: &str) -> Result<Self, Fault> {
        let fits =
            |term: &str| term.split_once(['=', '!']).is_some_and(|(field, _)| !field.trim().is_empty());
        let is_compared = |term: &str| !term.contains('!') || term.contains("!=");
        if text.trim().is_empty() {
            return Ok(Self(String::new()));
        }
        if terms(text).iter().all(|term| fits(term) && is_compared(term)) {
            return Ok(Self(text.to_owned()));
        }
        let remedy = "write for example `spec.nodeName=node-1` or `status.phase!=Running`, joined by commas";
        Err(Fault::new(format!("`{text}` is not a field selector"), remedy))
    }
}

/// Cut at the commas that no `\` stands before, as `k8s.io/apimachinery/pkg/fields` does.
fn terms(text: &str) -> Vec<String> {
    let (mut terms, mut escaped) = (vec![String::new()], false);
    for character in text.chars() {
        match (character, terms.last_mut()) {
            (',', _) if !escaped => terms.push(String::new()),
            (_, Some(term)) => term.push(character),
            (_, None) => {}
        }
        escaped = character == '\\' && !escaped;
    }
    terms
}

// === impl Gvr, LabelSelector, Pointer ===

impl FromText for Gvr {
    const KIND: &'static str = "a resource";

    fn example() -> String {
        "\"apps/v1/deployments\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: informer_types::InvalidGvr| Fault::told(&error))
    }
}

impl FromText for LabelSelector {
    const KIND: &'static str = "a label selector";

    fn example() -> String {
        "\"app=web\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: informer_types::InvalidSelector| Fault::told(&error))
    }
}

impl FromText for Pointer {
    const KIND: &'static str = "a JSON pointer";

    fn example() -> String {
        "\"/spec/nodeName\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: informer_types::InvalidPointer| Fault::told(&error))
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

    #[test]
    fn a_field_selector_compares_fields_joined_by_commas() {
        for text in ["", "a=b", "a==b", "a!=b", "a=", "a=b,c!=d", "metadata.name=x\\,y", "a=b\\\\,c=d"] {
            assert!(FieldSelector::parse(text).is_ok(), "{text}");
        }
        for text in ["a", "=b", "a=b,", ",", "a=b,c", "a!b", "!=b"] {
            assert!(FieldSelector::parse(text).is_err(), "{text}");
        }
    }
}
