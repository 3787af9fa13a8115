//! Strings, read in blocks of bytes.

use super::block;

/// Reads a string from after its opening quote. Returns the offset after the closing quote, and true if the string has
/// no escape; `None` if the string is invalid.
pub(super) fn end(bytes: &[u8], mut at: usize) -> Option<(usize, bool)> {
    let mut plain = true;
    loop {
        at = next_special(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Some((at + 1, plain)),
            Some(b'\\') => {
                plain = false;
                at = escape(bytes, at + 1)?;
            }
            // A control character, or the end of the text.
            _ => return None,
        }
    }
}

/// The offset of the next quote, backslash or control character.
#[inline]
fn next_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let found = block::special(block);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += block.len();
    }
    while let Some(&byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..0x20) {
            return at;
        }
        at += 1;
    }
    at
}

/// The offset after the escape whose backslash is before `at`.
fn escape(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => {
            let digits = bytes.get(at + 1..at + 5)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 5)
        }
        _ => None,
    }
}
