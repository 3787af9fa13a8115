//! Numbers.

/// The offset after the number that starts at `at`. Returns `None` if there is no valid number.
pub(super) fn end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = skip(bytes, at, b"-");
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(bytes, at)? };
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at = digits(bytes, skip(bytes, at + 1, b"+-"))?;
    }
    Some(at)
}

/// The offset after the byte at `at`, if it is one of these.
fn skip(bytes: &[u8], at: usize, any_of: &[u8]) -> usize {
    at + usize::from(bytes.get(at).is_some_and(|byte| any_of.contains(byte)))
}

/// The offset after one or more digits.
fn digits(bytes: &[u8], at: usize) -> Option<usize> {
    let count = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then_some(at + count)
}
