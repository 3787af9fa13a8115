//! Normalisation of paths (RFC 3986, section 6.2.2), so that the checked path is the path that the server receives.

use percent_encoding::{percent_decode, percent_encode_byte};

/// The most layers of percent-encoding in a path.
const LAYERS: usize = 4;

/// Why a path is refused: servers would read it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidPath {
    #[error("its path does not start with `/`")]
    Relative,
    #[error("its path has a `%` without two hexadecimal digits after it")]
    Escape,
    #[error("its path has a backslash or a control character")]
    Character,
    #[error("its path hides `.` or `..` in percent-encoding")]
    Hidden,
}

/// Decodes needless escapes and removes `.` and `..`. The empty path becomes `/`.
///
/// # Errors
/// [`InvalidPath`] if servers read the path differently, for example an encoded separator next to dots.
pub(super) fn normalise(path: &str) -> Result<String, InvalidPath> {
    let rest = match path {
        "" => "",
        _ => path.strip_prefix('/').ok_or(InvalidPath::Relative)?,
    };
    let mut kept: Vec<String> = Vec::new();
    let mut ends_with_directory = false;
    for segment in rest.split('/') {
        let segment = unreserved(segment)?;
        ends_with_directory = matches!(segment.as_str(), "." | "..");
        match segment.as_str() {
            "." => {}
            ".." => drop(kept.pop()),
            _ => {
                unambiguous(&segment)?;
                kept.push(segment);
            }
        }
    }
    if ends_with_directory {
        kept.push(String::new());
    }
    Ok(format!("/{}", kept.join("/")))
}

/// Returns true if the path is the prefix or is below it. A prefix ends between segments: `/a` is not the prefix of `/ab`.
pub(super) fn is_below(path: &str, prefix: &str) -> bool {
    match path.strip_prefix(prefix) {
        Some(rest) => rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}

/// A segment with letters, digits, `-`, `.`, `_` and `~` decoded, and other escapes in upper case.
fn unreserved(segment: &str) -> Result<String, InvalidPath> {
    let mut text = String::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some(first) = rest.first() {
        let encoded = *first == b'%';
        let (token, after) = rest.split_at_checked(if encoded { 3 } else { 1 }).ok_or(InvalidPath::Escape)?;
        let mut decoded = percent_decode(token);
        let (Some(byte), None) = (decoded.next(), decoded.next()) else { return Err(InvalidPath::Escape) };
        if byte == b'\\' || byte.is_ascii_control() {
            return Err(InvalidPath::Character);
        }
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain || (!encoded && byte.is_ascii()) {
            text.push(char::from(byte));
        } else {
            text.push_str(percent_encode_byte(byte));
        }
        rest = after;
    }
    Ok(text)
}

/// Refuses a segment in which a server that decodes more often, or splits at other characters, finds `..`.
fn unambiguous(segment: &str) -> Result<(), InvalidPath> {
    let mut decoded = segment.as_bytes().to_vec();
    for _ in 0..LAYERS {
        let parts = decoded.split(|byte| b"/\\".contains(byte));
        // Servers that support path parameters read `..;x` as `..`.
        let mut names = parts.map(|part| part.split(|byte| *byte == b';').next().unwrap_or_default());
        let whole = !decoded.iter().any(|byte| b"/\\;".contains(byte));
        if !whole && names.any(|name| matches!(name, b"." | b"..")) {
            return Err(InvalidPath::Hidden);
        }
        if decoded.iter().any(u8::is_ascii_control) {
            return Err(InvalidPath::Character);
        }
        let deeper: Vec<u8> = percent_decode(&decoded).collect();
        if deeper == decoded {
            return Ok(());
        }
        if matches!(deeper.as_slice(), b"." | b"..") {
            return Err(InvalidPath::Hidden);
        }
        decoded = deeper;
    }
    Err(InvalidPath::Hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_normalised_as_in_rfc_3986() {
        for (path, normal) in [
            ("", "/"),
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/a/./b/../c", "/a/c"),
            ("/a/b/..", "/a/"),
            ("/a/.", "/a/"),
            ("/../../a", "/a"),
            ("/%7Euser/%61", "/~user/a"),
            ("/a/%2e%2E/b", "/b"),
            ("/a%2fb", "/a%2Fb"),
            ("/a//b", "/a//b"),
            ("/a//../b", "/a/b"),
            ("/\u{e4}", "/%C3%A4"),
            ("/v1.2/..b/c..", "/v1.2/..b/c.."),
            ("/a;b=c", "/a;b=c"),
            ("/100%25+10", "/100%25+10"),
        ] {
            assert_eq!(normalise(path).as_deref(), Ok(normal), "{path}");
        }
    }

    #[test]
    fn a_path_that_servers_read_differently_is_refused() {
        for (path, why) in [
            ("a", InvalidPath::Relative),
            ("*", InvalidPath::Relative),
            ("/a%", InvalidPath::Escape),
            ("/a%2", InvalidPath::Escape),
            ("/a%zz", InvalidPath::Escape),
            ("/a%+1", InvalidPath::Escape),
            ("/a\\..\\b", InvalidPath::Character),
            ("/a%5c..%5cb", InvalidPath::Character),
            ("/a%00", InvalidPath::Character),
            ("/a%2500", InvalidPath::Character),
            ("/a/..%2fb", InvalidPath::Hidden),
            ("/a/x%2f..%2fb", InvalidPath::Hidden),
            ("/a/%252e%252e/b", InvalidPath::Hidden),
            ("/a/%25252e./b", InvalidPath::Hidden),
            ("/a/..%252fb", InvalidPath::Hidden),
            ("/a/..;/b", InvalidPath::Hidden),
            ("/a/..;x=y/b", InvalidPath::Hidden),
            ("/%252525252525252561", InvalidPath::Hidden),
        ] {
            assert_eq!(normalise(path), Err(why), "{path}");
        }
    }

    #[test]
    fn a_prefix_ends_between_segments() {
        for (path, prefix) in [("/a/b", "/a"), ("/a", "/a"), ("/a/", "/a/"), ("/a/b", "/a/"), ("/x", "/")] {
            assert!(is_below(path, prefix), "{path} {prefix}");
        }
        for (path, prefix) in [("/ab", "/a"), ("/a", "/a/"), ("//a/", "/a/"), ("/b", "/a"), ("/A", "/a")] {
            assert!(!is_below(path, prefix), "{path} {prefix}");
        }
    }
}
