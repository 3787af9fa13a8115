//! Normalisation of paths (RFC 3986, section 6.2.2), so that the checked path is the path that the server receives.

use informer_types::is_hidden;
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
    #[error("its path is not UTF-8")]
    Encoding,
    #[error("its path hides `.` or `..` in percent-encoding, padding or similar characters")]
    Hidden,
}

/// Decodes needless escapes and removes `.` and `..`. The empty path becomes `/`.
///
/// # Errors
/// [`InvalidPath`] if servers read the path differently, for example an encoded separator next to dots, dots with a blank, or
/// bytes that are not UTF-8.
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

/// Refuses a segment in which a server that decodes more often, splits at other characters, or ignores some characters finds
/// `.` or `..`.
fn unambiguous(segment: &str) -> Result<(), InvalidPath> {
    let mut decoded = segment.as_bytes().to_vec();
    for _ in 0..LAYERS {
        // A lenient decoder reads overlong bytes such as C0 AE as a dot.
        let text = std::str::from_utf8(&decoded).map_err(|_| InvalidPath::Encoding)?;
        if text.chars().any(char::is_control) {
            return Err(InvalidPath::Character);
        }
        if text.split(is_separator).any(hides_dots) {
            return Err(InvalidPath::Hidden);
        }
        let deeper: Vec<u8> = percent_decode(&decoded).collect();
        if deeper == decoded {
            return Ok(());
        }
        decoded = deeper;
    }
    Err(InvalidPath::Hidden)
}

/// Returns true for a name that some server reads as `.` or `..`: dots alone, with padding, or before a parameter as in `..;x`.
fn hides_dots(name: &str) -> bool {
    let name = name.split([';', '?', '#']).next().unwrap_or_default();
    let mut rest = name.chars().filter(|character| !is_padding(*character)).peekable();
    rest.peek().is_some() && rest.all(is_dot)
}

/// Separators of path segments, and the characters that compatibility mappings of Unicode turn into them.
fn is_separator(character: char) -> bool {
    matches!(character, '/' | '\\' | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{ff0f}' | '\u{ff3c}')
}

/// The dot, and the characters that compatibility mappings of Unicode turn into one or more dots.
fn is_dot(character: char) -> bool {
    matches!(character, '.' | '\u{2024}'..='\u{2026}' | '\u{fe52}' | '\u{ff0e}')
}

/// Characters that some servers drop at the ends of a name, or everywhere.
fn is_padding(character: char) -> bool {
    character.is_whitespace() || is_hidden(character)
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
            ("/a%20b/%20/c", "/a%20b/%20/c"),
            ("/a.%20", "/a.%20"),
            ("/.well-known", "/.well-known"),
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
            ("/a/..%20/b", InvalidPath::Hidden),
            ("/a/%20../b", InvalidPath::Hidden),
            ("/a/.%20./b", InvalidPath::Hidden),
            ("/a/.%20/b", InvalidPath::Hidden),
            ("/a/..%2520/b", InvalidPath::Hidden),
            ("/a/..%c2%a0/b", InvalidPath::Hidden),
            ("/a/..%e2%80%8b/b", InvalidPath::Hidden),
            ("/a/\u{ff0e}\u{ff0e}/b", InvalidPath::Hidden),
            ("/a/x%ef%bc%8f../b", InvalidPath::Hidden),
            ("/a/\u{2025}/b", InvalidPath::Hidden),
            ("/a/.../b", InvalidPath::Hidden),
            ("/a/..%3b/b", InvalidPath::Hidden),
            ("/a/..%3fx/b", InvalidPath::Hidden),
            ("/a/..%23/b", InvalidPath::Hidden),
            ("/a/%c0%ae%c0%ae/b", InvalidPath::Encoding),
            ("/a/%e0%80%ae%e0%80%ae/b", InvalidPath::Encoding),
            ("/a/..%c0%afb", InvalidPath::Encoding),
            ("/a/%25c0%25ae/b", InvalidPath::Encoding),
            ("/a/%ff", InvalidPath::Encoding),
            ("/a%c2%85", InvalidPath::Character),
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
    /// The path as the most lenient server reads it: it decodes, trims and maps as often as that changes anything, and then
    /// follows the dots.
    fn as_read_by_the_laxest_server(path: &str) -> Vec<String> {
        let mut bytes = path.as_bytes().to_vec();
        loop {
            let deeper: Vec<u8> = percent_decode(&bytes).collect();
            if deeper == bytes {
                break;
            }
            bytes = deeper;
        }
        let overlong: [(&[u8], &str); 4] =
            [(b"\xc0\xae", "."), (b"\xc0\xaf", "/"), (b"\xe0\x80\xae", "."), (b"\xe0\x80\xaf", "/")];
        let mut text = String::new();
        let mut rest = &bytes[..];
        'bytes: while !rest.is_empty() {
            for (from, to) in overlong {
                if let Some(after) = rest.strip_prefix(from) {
                    text.push_str(to);
                    rest = after;
                    continue 'bytes;
                }
            }
            let length =
                (1..=4).find(|length| rest.get(..*length).is_some_and(|it| std::str::from_utf8(it).is_ok()));
            let (head, after) = rest.split_at(length.unwrap_or(1));
            text.push_str(&String::from_utf8_lossy(head));
            rest = after;
        }
        let mapped = text.replace('\u{ff0e}', ".").replace('\u{2025}', "..").replace(['\\', '\u{ff0f}'], "/");
        let mut kept: Vec<String> = Vec::new();
        for name in mapped.split('/') {
            let name = name.split([';', '?', '#']).next().unwrap_or_default();
            let name: String = name
                .chars()
                .filter(|it| !it.is_whitespace() && *it != '\u{200b}' && !it.is_control())
                .collect();
            match name.as_str() {
                "" | "." => {}
                ".." => drop(kept.pop()),
                _ => kept.push(name),
            }
        }
        kept
    }

    proptest::proptest! {
        /// Below a granted prefix, the path that is sent stays below it for every server.
        #[test]
        fn no_accepted_path_leaves_its_prefix_however_a_server_reads_it(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "/", "/", ".", ".", "..", "a", "%2e", "%2E", "%252e", "%2f", "%252f", "%5c", "%20", "%2520", " ", ";",
                    ";x", "%3b", "%3f", "%23", "%c0%ae", "%c0%af", "%e0%80%ae", "%25c0%25ae", "%09", "%00", "%c2%a0",
                    "%e2%80%8b", "\u{ff0e}", "\u{2025}", "%ef%bc%8f", "%", "%25",
                ]),
                0..12,
            )
        ) {
            let path = format!("/granted/{}", parts.concat());
            if let Ok(sent) = normalise(&path)
                && is_below(&sent, "/granted/")
            {
                let read = as_read_by_the_laxest_server(&sent);
                proptest::prop_assert_eq!(read.first().map(String::as_str), Some("granted"), "{} as {}", path, sent);
            }
        }
    }
}
