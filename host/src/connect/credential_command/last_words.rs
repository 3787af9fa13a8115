//! The standard error of a command for credentials, for the log.

/// A token, a key or a password in a message has at least this many characters. Names and numbers of requests are shorter, or have
/// lower-case letters only.
const SECRET: usize = 24;

/// Returns the text without what looks like a secret. The log escapes the rest. If the text has `most` bytes, its first word is
/// left out: it may be the end of a secret.
pub(super) fn harmless(words: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(words);
    let cut = words.len() >= most;
    let whole = if cut {
        text.split_once(|character| !is_part(character)).map_or("", |(_, rest)| rest)
    } else {
        &text
    };
    let mut shown = String::with_capacity(text.len());
    for piece in whole.trim().split_inclusive(|character| !is_part(character)) {
        let word = piece.trim_end_matches(|character| !is_part(character));
        if is_secret(word) {
            shown.push_str(&format!("[{} characters hidden]", word.len()));
            shown.push_str(piece.get(word.len()..).unwrap_or_default());
        } else {
            shown.push_str(piece);
        }
    }
    shown
}

/// The characters of tokens, in Base64 of both alphabets.
fn is_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_./+=~".contains(character)
}

fn is_secret(word: &str) -> bool {
    let has = |is: fn(&char) -> bool| word.chars().any(|character| is(&character));
    let is_path = word.starts_with(['/', '.', '~']);
    word.len() >= SECRET
        && !is_path
        && has(char::is_ascii_digit)
        && has(char::is_ascii_lowercase)
        && has(char::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_like_a_token_or_a_key_is_hidden_and_the_rest_stays() {
        let token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl";
        let key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
        let words = format!(
            "no token for \"{token}\",\nkey={key}; request 0b3e9c54-4b1c-4f3e-9d2e-0f8a7b6c5d4e\n\
             see /home/Me/.aws/credentials-2024 or https://sts.Example.com/v1/\n"
        );

        let shown = harmless(words.as_bytes(), 1000);

        assert!(!shown.contains("eyJ") && !shown.contains("wJal") && !shown.contains("c2ln"), "{shown}");
        assert!(shown.starts_with("no token for \"[64 characters hidden]\",\n["), "{shown}");
        for stays in ["0b3e9c54-4b1c", "/home/Me/.aws/credentials-2024", "//sts.Example.com/v1/"] {
            assert!(shown.contains(stays), "{shown}");
        }
        assert_eq!(harmless(b"\xff bad\n", 1000), "\u{fffd} bad");
        assert_eq!(harmless(b"", 1000), "");
        assert_eq!(harmless(b"cret was refused", 16), "was refused");
        assert_eq!(harmless(b"cret", 4), "");
    }
}
