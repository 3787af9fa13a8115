//! Text from outside in one line.

use std::fmt;

/// Shows a text with its control characters escaped, including line breaks. Text from a guest, a server or a file then
/// is one harmless line: it cannot imitate another line of a log or control a terminal.
pub fn one_line(text: &str) -> impl fmt::Display {
    fmt::from_fn(move |out| {
        text.split_inclusive(char::is_control).try_for_each(|piece| {
            match piece.char_indices().next_back().filter(|(_, last)| last.is_control()) {
                Some((at, control)) => {
                    write!(out, "{}{}", piece.get(..at).unwrap_or_default(), control.escape_debug())
                }
                None => out.write_str(piece),
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_control_characters_are_escaped() {
        for (text, shown) in [
            ("", ""),
            ("Größe: \"1\" \\ ∞", "Größe: \"1\" \\ ∞"),
            ("a\r\n\tb\n", r"a\r\n\tb\n"),
            ("\u{1b}[2J\0\u{7f}\u{9b}31m", r"\u{1b}[2J\0\u{7f}\u{9b}31m"),
        ] {
            assert_eq!(one_line(text).to_string(), shown);
        }
    }
}
