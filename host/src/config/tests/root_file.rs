//! `informer.toml` at the root of the repository.

use super::read;
use crate::config::raw::schema::ALL;

const TEXT: &str = include_str!("../../../../informer.toml");

/// The file with every default taken out of its comment. The line numbers stay.
fn with_defaults() -> String {
    let uncomment = |line: &str| {
        let text = line.trim_start();
        let default =
            text.strip_prefix('#').filter(|rest| rest.starts_with(|first: char| first.is_ascii_lowercase()));
        format!("{}\n", default.unwrap_or(line))
    };
    TEXT.lines().map(uncomment).collect()
}

/// Each `e.g. key = value` of the file, with the number of its line, and the lines `# with key = value` below it.
fn examples() -> impl Iterator<Item = (usize, String)> {
    let with = |line: &'static str| line.trim_start().strip_prefix("# with ");
    let example = move |(index, line): (usize, &'static str)| {
        let mut lines = vec![line.split_once("# e.g. ")?.1];
        lines.extend(TEXT.lines().skip(index + 1).map_while(with));
        Some((index, lines.join("\n")))
    };
    TEXT.lines().enumerate().filter_map(example)
}

#[test]
fn it_is_a_configuration() {
    let config = read(TEXT).unwrap_or_else(|error| panic!("{error}"));

    assert_eq!(config.plugins.len(), 1);
}

#[test]
fn every_default_it_shows_is_the_default() {
    let spelt_out = with_defaults();
    assert_ne!(spelt_out, TEXT);

    let config = read(&spelt_out).unwrap_or_else(|error| panic!("{error}"));

    assert_eq!(config, read(TEXT).unwrap());
}

#[test]
fn every_example_it_shows_is_right() {
    let mut seen = 0;
    for (index, example) in examples() {
        let mut lines: Vec<&str> = TEXT.lines().collect();
        lines[index] = &example;
        let text = lines.join("\n");

        assert!(read(&text).is_ok(), "{example}: {}", read(&text).unwrap_err());
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
}

#[test]
fn it_shows_every_key() {
    let shown = with_defaults();
    let examples: Vec<String> = examples().map(|(_, example)| example).collect();
    let is_shown = |key: &str| {
        let key_of = |line: &str| line.trim().split([' ', '=']).next().unwrap_or_default().to_owned();
        let is_header = |line: &str| {
            let name = line.trim().trim_matches(['[', ']']);
            line.trim().starts_with('[') && name.rsplit('.').next() == Some(key)
        };
        shown
            .lines()
            .chain(examples.iter().flat_map(|example| example.lines()))
            .any(|line| key_of(line) == key || is_header(line))
    };
    for section in ALL {
        for key in section.keys {
            assert!(is_shown(key), "{} {key}", section.header);
        }
    }
}
