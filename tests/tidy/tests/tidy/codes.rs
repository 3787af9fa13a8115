//! Codes of rules, as `R-18`.

use std::collections::BTreeSet;

use informer_tidy::{
    prose, rules,
    rust::Rust,
    tree::{self, SourceFile},
};

use crate::{is_ours, none_of};

const DOCUMENT: &str = "host/docs/rules.md";

/// Rules under this heading are about parts that the host does not have, so no test shows them.
const WITHOUT_TESTS: &str = "Not in this host";

fn files() -> Vec<SourceFile> {
    let found = tree::read("", &["rs", "md", "wit", "toml", "go"]).unwrap();
    found.into_iter().filter(is_ours).collect()
}

fn defined() -> Vec<(String, String)> {
    let document =
        tree::read("host/docs", &["md"]).unwrap().into_iter().find(|file| file.path == DOCUMENT).unwrap();
    let defined = rules::defined(&document.text);
    assert!(defined.len() > 100, "{DOCUMENT} has only {} rows", defined.len());
    defined
}

#[test]
fn every_code_that_is_cited_has_a_row_in_the_document_of_rules() {
    let defined: BTreeSet<String> = defined().into_iter().map(|(code, _)| code).collect();
    let mut problems = Vec::new();
    for file in files() {
        for code in rules::cited(&file.text).difference(&defined) {
            problems.push(format!("{} cites {code}", file.path));
        }
    }
    none_of(&problems, "Add the rule to host/docs/rules.md, in your own words and with its source.");
}

#[test]
fn each_rule_has_one_row() {
    let mut seen = BTreeSet::new();
    let twice: Vec<_> =
        defined().into_iter().map(|(code, _)| code).filter(|code| !seen.insert(code.clone())).collect();
    none_of(&twice, "These rules have two rows.");
}

#[test]
fn every_rule_is_cited_by_a_test() {
    let mut cited = BTreeSet::new();
    for file in files().into_iter().filter(|file| file.is("rs") || file.is("go")) {
        if file.is_test() {
            cited.extend(rules::cited(&file.text));
        } else {
            for range in Rust::parse(&file.text).test_lines() {
                let lines = file.text.lines().enumerate().filter(|(index, _)| range.contains(&(index + 1)));
                cited.extend(rules::cited(&lines.map(|(_, line)| line).collect::<Vec<_>>().join("\n")));
            }
        }
    }
    let rules = defined().into_iter().filter(|(_, heading)| heading != WITHOUT_TESTS);
    let missing: Vec<_> = rules.map(|(code, _)| code).filter(|code| !cited.contains(code)).collect();
    none_of(&missing, "Cite these rules in the comment of a test that shows them.");
}

#[test]
fn a_comment_is_a_sentence_before_it_is_a_code() {
    let mut problems = Vec::new();
    for file in files() {
        for comment in prose::comments(&file) {
            if rules::is_code_alone(&comment.text) || rules::begins_with_code(&comment.text) {
                problems.push(format!("{}:{}: {}", file.path, comment.line, comment.text));
            }
        }
    }
    none_of(&problems, "Write the rule as a sentence and put the code in brackets behind it.");
}
