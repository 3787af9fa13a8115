//! Phrases that the prose of this project avoids.

use informer_tidy::{prose, tree};

use crate::{is_ours, none_of};

#[test]
fn prose_is_plain() {
    let mut problems = Vec::new();
    for file in tree::read("", &["rs", "md", "wit", "toml"]).unwrap().into_iter().filter(is_ours) {
        if file.path == "host/CONVENTIONS.md" || file.path.starts_with("wit/deps/") {
            continue;
        }
        for finding in prose::check(&file) {
            problems.push(format!("{}:{}: {}", file.path, finding.line, finding.problem));
        }
    }
    none_of(&problems, "See \"Prose\" in host/CONVENTIONS.md.");
}

/// Issues of other projects are written with the project: `kubernetes#140890`.
#[test]
fn prose_refers_to_no_issue_of_ours_and_to_no_document_outside() {
    let mut problems = Vec::new();
    for file in tree::read("", &["rs", "md", "wit", "toml"]).unwrap().into_iter().filter(is_ours) {
        for (index, line) in file.text.lines().enumerate() {
            let lower = line.to_lowercase();
            if numbered(&lower, "issue ")
                || numbered(&lower, "issue #")
                || numbered(&lower, "weakness ")
                || lower.contains("design.md")
            {
                problems.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    none_of(&problems, "Write the sentence itself.");
}

/// Returns true if a digit follows `word`.
fn numbered(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        line.get(at + word.len()..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}
