//! Names: their rules, generated names and UIDs.

use crate::registry::NameRule;

const SUBDOMAIN_MESSAGE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
     characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
     regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_MESSAGE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
     '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used \
     for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS_LABEL_MESSAGE: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
     start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or \
     'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// The characters of the suffix of a generated name: no vowels and no similar characters.
const SUFFIX_CHARACTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// A longer base is cut, so that the generated name fits into a label.
const MAX_BASE_LENGTH: usize = 63 - SUFFIX_LENGTH;

/// The problem with a name. Returns `None` if the name is valid.
pub(crate) fn problem(rule: NameRule, name: &str) -> Option<&'static str> {
    match rule {
        NameRule::Subdomain if name.len() > 253 => Some("must be no more than 253 characters"),
        NameRule::Subdomain => (!is_subdomain(name)).then_some(SUBDOMAIN_MESSAGE),
        NameRule::Label | NameRule::DnsLabel if name.len() > 63 => Some("must be no more than 63 characters"),
        NameRule::Label => (!is_label(name)).then_some(LABEL_MESSAGE),
        NameRule::DnsLabel => {
            let valid = is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase());
            (!valid).then_some(DNS_LABEL_MESSAGE)
        }
        NameRule::PathSegment => match name {
            "." => Some("may not be '.'"),
            ".." => Some("may not be '..'"),
            _ if name.contains('/') => Some("may not contain '/'"),
            _ if name.contains('%') => Some("may not contain '%'"),
            _ => None,
        },
    }
}

/// Returns true for an RFC 1123 subdomain of at most 253 characters.
pub(crate) fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_label)
}

fn is_label(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.starts_with(inner) && name.ends_with(inner) && name.chars().all(|c| inner(c) || c == '-')
}

/// A name for `metadata.generateName`: the base and five random characters.
pub(crate) fn generate(base: &str) -> String {
    let mut name: String = base.chars().take(MAX_BASE_LENGTH).collect();
    for _ in 0..SUFFIX_LENGTH {
        name.push(fastrand::choice(SUFFIX_CHARACTERS).map_or('x', |c| char::from(*c)));
    }
    name
}

/// A random UUID (version 4).
pub(crate) fn uid() -> String {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_be_bytes()).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_is_a_version_4_uuid() {
        let uid = uid();
        let parts: Vec<&str> = uid.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(parts[2].starts_with('4'), "{uid}");
        assert!(parts[3].starts_with(['8', '9', 'a', 'b']), "{uid}");
    }

    #[test]
    fn a_generated_name_keeps_its_base_and_fits_a_label() {
        let name = generate("web-");
        assert!(name.starts_with("web-") && name.len() == 9 && is_label(&name), "{name}");
        assert_eq!(generate(&"a".repeat(80)).len(), 63);
    }

    #[test]
    fn each_name_rule_matches_that_of_kubernetes() {
        assert!(problem(NameRule::Subdomain, "a.b-c").is_none());
        assert!(problem(NameRule::Subdomain, "Upper").is_some());
        assert!(problem(NameRule::Subdomain, "a..b").is_some());
        assert!(problem(NameRule::Label, "a.b").is_some());
        assert!(problem(NameRule::DnsLabel, "1a").is_some());
        assert!(problem(NameRule::PathSegment, "system:node").is_none());
        assert!(problem(NameRule::PathSegment, "a/b").is_some());
    }
}
