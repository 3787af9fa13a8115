//! The answer, for a person.

use std::fmt::Write;

use serde_json::Value;

use crate::commands::output::{entries, word};

/// A line for each letter, and one for what went wrong with it.
pub(super) fn text(answer: &Value) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for letter in entries(answer, "dead-letters") {
        let _ = writeln!(
            text,
            "{} {}: {}, given up at {} after {} calls",
            word(letter, "plugin"),
            word(letter, "object"),
            word(letter, "verb"),
            word(letter, "at"),
            letter.get("attempts").and_then(Value::as_u64).unwrap_or_default(),
        );
        // Its line breaks are escaped, as all of the answer is.
        let failure = word(letter, "failure");
        let _ = writeln!(text, "  {}", failure.split(r"\n").next().unwrap_or_default());
    }
    for letter in entries(answer, "replayed") {
        let (plugin, object, verb) = (word(letter, "plugin"), word(letter, "object"), word(letter, "as"));
        let _ = writeln!(
            text,
            "{plugin} {object}: told again as {verb}; the letter goes once it is acknowledged"
        );
    }
    for letter in entries(answer, "dropped") {
        let _ = writeln!(text, "{} {}: dropped", word(letter, "plugin"), word(letter, "object"));
    }
    for letter in entries(answer, "refused") {
        let _ =
            writeln!(text, "{} {}: {}", word(letter, "plugin"), word(letter, "object"), word(letter, "why"));
    }
    if text.is_empty() {
        text.push_str("no dead letters\n");
    }
    for problem in entries(answer, "problems").filter_map(Value::as_str) {
        let _ = writeln!(text, "in memory only: {problem}");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_letter_has_a_line_and_its_failure_another() {
        let answer = json!({
            "dead-letters": [{"plugin": "ttl", "object": "v1/pods shop/web", "verb": "update", "attempts": 10,
                              "at": "2026-01-02T03:04:05Z", "failure": r"trap: unreachable\nbacktrace"}],
            "problems": ["plugin ttl: the disk is full"],
        });

        assert_eq!(
            text(&answer),
            "ttl v1/pods shop/web: update, given up at 2026-01-02T03:04:05Z after 10 calls\n  trap: unreachable\n\
             in memory only: plugin ttl: the disk is full\n"
        );
    }

    #[test]
    fn what_was_done_is_told_letter_by_letter() {
        let letter = json!({"plugin": "ttl", "object": "v1/pods shop/web", "as": "delete", "why": "not yet"});

        for (list, words) in [
            ("replayed", "told again as delete; the letter goes once it is acknowledged"),
            ("dropped", "dropped"),
            ("refused", "not yet"),
        ] {
            assert_eq!(text(&json!({ list: [letter] })), format!("ttl v1/pods shop/web: {words}\n"));
        }
        assert_eq!(text(&json!({"replayed": [], "refused": []})), "no dead letters\n");
    }
}
