//! The names that Kubernetes accepts (RFC 1123).

/// The longest name of an object, in bytes.
const NAME_BYTES: usize = 253;

/// Returns true if the text is a valid name of a namespace: a DNS label.
#[must_use]
pub fn is_namespace(text: &str) -> bool {
    text.len() <= 63 && is_label(text)
}

/// Returns true for a DNS subdomain: the name that most objects may have.
#[must_use]
pub fn is_object_name(text: &str) -> bool {
    text.len() <= NAME_BYTES && text.split('.').all(is_label)
}

/// Returns true for lower-case letters and digits, with `-` between them.
fn is_label(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(allowed) && !text.starts_with('-') && !text.ends_with('-')
}
