//! Text from outside in one line.

use std::fmt;

/// Shows a text with its hidden characters escaped, including line breaks. Text from a guest, a server or a file then is one
/// harmless line: it cannot imitate another line of a log, control a terminal, or show its characters in another order.
pub fn one_line(text: &str) -> impl fmt::Display {
    fmt::from_fn(move |out| {
        text.split_inclusive(is_hidden).try_for_each(|piece| {
            match piece.char_indices().next_back().filter(|(_, last)| is_hidden(*last)) {
                Some((at, hidden)) => {
                    out.write_str(piece.get(..at).unwrap_or_default())?;
                    match hidden {
                        '\0' | '\t' | '\r' | '\n' => write!(out, "{}", hidden.escape_debug()),
                        _ => write!(out, "{}", hidden.escape_unicode()),
                    }
                }
                None => out.write_str(piece),
            }
        })
    })
}

/// Shows a JSON text with the hidden characters of its strings as `\u` escapes, so that a terminal shows it as it is. For a
/// reader of JSON it is the same document. Line breaks stay: in JSON text they are white space between tokens.
pub fn visible_json(json: &str) -> impl fmt::Display {
    fmt::from_fn(move |out| {
        for piece in json.split_inclusive(|character| is_hidden(character) && character != '\n') {
            match piece.chars().next_back().filter(|last| is_hidden(*last) && *last != '\n') {
                Some(hidden) => {
                    out.write_str(piece.strip_suffix(hidden).unwrap_or_default())?;
                    let mut units = [0; 2];
                    for unit in hidden.encode_utf16(&mut units) {
                        write!(out, "\\u{unit:04x}")?;
                    }
                }
                None => out.write_str(piece)?,
            }
        }
        Ok(())
    })
}

/// Shows at most this number of bytes of a text, cut between two characters, and then the length of the whole text.
pub fn excerpt(text: &str, most_bytes: usize) -> impl fmt::Display {
    fmt::from_fn(move |out| {
        let shown = text.get(..text.floor_char_boundary(most_bytes)).unwrap_or_default();
        out.write_str(shown)?;
        if shown.len() < text.len() { write!(out, "... ({} bytes)", text.len()) } else { Ok(()) }
    })
}

/// Shows the first names of a list, each as an [`excerpt`], and the number of the others. An empty list is shown as `nothing`.
pub fn some_of<'a, T: AsRef<str>>(names: &'a [T]) -> impl fmt::Display + use<'a, T> {
    /// More names help no reader.
    const NAMES: usize = 8;
    const NAME_BYTES: usize = 128;
    fmt::from_fn(move |out| {
        if names.is_empty() {
            return out.write_str("nothing");
        }
        for (index, name) in names.iter().take(NAMES).enumerate() {
            let before = if index == 0 { "" } else { ", " };
            write!(out, "{before}{}", excerpt(name.as_ref(), NAME_BYTES))?;
        }
        match names.len().saturating_sub(NAMES) {
            0 => Ok(()),
            more => write!(out, " and {more} more"),
        }
    })
}

/// Returns true for a character that a terminal does not show as itself: controls (Unicode category Cc), format characters
/// (Cf), separators of lines and paragraphs (Zl, Zp), and characters that are shown as nothing (Default_Ignorable), except for
/// the variation selectors of emoji.
#[must_use]
pub const fn is_hidden(character: char) -> bool {
    match character {
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        ' '..='~' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hidden_characters_are_escaped() {
        for (text, shown) in [
            ("", ""),
            ("Größe: \"1\" \\ ∞ ❤\u{fe0f}", "Größe: \"1\" \\ ∞ ❤\u{fe0f}"),
            ("a\r\n\tb\n", r"a\r\n\tb\n"),
            ("\u{1b}[2J\0\u{7f}\u{9b}31m", r"\u{1b}[2J\0\u{7f}\u{9b}31m"),
            ("a\u{202e}b\u{2066}\u{2069}", r"a\u{202e}b\u{2066}\u{2069}"),
            ("x\u{2028}y\u{2029}z", r"x\u{2028}y\u{2029}z"),
            ("\u{feff}\u{200b}\u{ad}\u{e0041}", r"\u{feff}\u{200b}\u{ad}\u{e0041}"),
        ] {
            assert_eq!(one_line(text).to_string(), shown);
        }
    }

    /// The regular expressions know the categories of Unicode.
    #[test]
    fn every_control_format_and_separating_character_is_hidden() {
        let hidden = regex::Regex::new(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]").unwrap();
        let all: String = ('\0'..=char::MAX).collect();
        let found: Vec<char> = hidden.find_iter(&all).flat_map(|found| found.as_str().chars()).collect();
        assert!(found.len() > 200 && found.contains(&'\u{202e}') && found.contains(&'\u{2028}'));
        for character in found {
            assert!(is_hidden(character), "{character:?}");
        }
        for character in all.chars().filter(|character| is_hidden(*character) && character.is_alphanumeric())
        {
            assert!("\u{115f}\u{1160}\u{3164}\u{ffa0}".contains(character), "{character:?} is a letter");
        }
    }

    #[test]
    fn a_json_text_without_hidden_characters_is_the_same_document() {
        let value = serde_json::json!({"a\u{202e}": ["\u{9b}31m\n", "\u{e0041}", "Größe"], "b": 1});
        let json = format!("{value:#}");

        let shown = visible_json(&json).to_string();

        assert!(shown.contains(r#""a\u202e""#) && shown.contains(r"\u009b31m\n"), "{shown}");
        assert!(shown.contains(r"\udb40\udc41") && shown.contains("Größe"), "{shown}");
        assert!(!shown.contains(|character| is_hidden(character) && character != '\n'), "{shown:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_a_long_list_is_counted() {
        assert_eq!(excerpt("abc", 3).to_string(), "abc");
        assert_eq!(excerpt("aßc", 2).to_string(), "a... (4 bytes)");
        assert_eq!(some_of::<&str>(&[]).to_string(), "nothing");
        assert_eq!(some_of(&["a", "b"]).to_string(), "a, b");
        let names = vec!["x".repeat(1_000); 50_000];
        let shown = some_of(&names).to_string();
        assert!(shown.len() < 1_500 && shown.ends_with("... (1000 bytes) and 49992 more"), "{shown}");
    }
}
