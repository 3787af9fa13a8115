//! Checks that the table of `tests/README.md` is complete and that the tests it names exist.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests are tests too")]

use std::{collections::BTreeMap, fs, path::Path};

const ROWS: u32 = 126;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of the table by number, which must be unique.
fn rows() -> BTreeMap<u32, String> {
    let mut rows = BTreeMap::new();
    for line in read("host/cache/tests/README.md").lines() {
        let row = line.strip_prefix("| ").and_then(|line| line.split_once(" | "));
        if let Some((Ok(number), rest)) = row.map(|(number, rest)| (number.parse(), rest)) {
            assert!(rows.insert(number, rest.to_owned()).is_none(), "row {number} exists twice");
        }
    }
    rows
}

/// The texts in backquotes that have the form `path::function`.
fn named(row: &str) -> Vec<(&str, &str)> {
    row.split('`').skip(1).step_by(2).filter_map(|quoted| quoted.split_once(".rs::")).collect()
}

/// The line with the name of this test, and the lines of its attributes and comments. Returns `None` if there is no
/// such test.
fn head_of<'a>(text: &'a str, function: &str) -> Option<Vec<&'a str>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let start = format!("fn {function}(");
    let at = lines.iter().position(|line| line.trim_start_matches("async ").starts_with(&start))?;
    let above = lines.iter().take(at).rev().take_while(|line| line.starts_with(['#', '/']));
    let head: Vec<&str> = lines.get(at).into_iter().chain(above).copied().collect();
    head.iter().any(|line| line.starts_with("#[") && line.contains("test")).then_some(head)
}

#[test]
fn every_scenario_has_a_row() {
    let rows = rows();

    let missing: Vec<u32> = (1..=ROWS).filter(|number| !rows.contains_key(number)).collect();
    assert!(missing.is_empty(), "rows {missing:?} are missing");
    assert_eq!(rows.keys().max(), Some(&ROWS), "there are rows of scenarios that client-go does not have");
}

#[test]
fn every_row_names_tests_or_the_reason_why_it_does_not_apply() {
    for (number, row) in rows() {
        assert!(
            !named(&row).is_empty() || row.contains("not apply"),
            "row {number} has neither a test nor a reason: {row}"
        );
    }
}

#[test]
fn every_named_test_exists_and_cites_its_row() {
    for (number, row) in rows() {
        for (path, function) in named(&row) {
            let head = head_of(&read(&format!("{path}.rs")), function).map(|head| head.join(" "));
            let Some(head) = head else { panic!("row {number}: no test `{function}` in {path}.rs") };
            let after = head.to_lowercase().split("scenario").skip(1).collect::<String>();
            let cites =
                after.split(|char: char| !char.is_ascii_digit()).any(|word| word == number.to_string());
            assert!(cites, "`{function}` in {path}.rs does not cite scenario {number}");
        }
    }
}
