//! `informer.toml` at the root of the repository.

use std::{fs, path::Path, sync::LazyLock};

use super::{keys, read, with_lines};
use crate::config::{Config, example, key::Kind};

static TEXT: LazyLock<String> = LazyLock::new(|| {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../informer.toml")).unwrap()
});

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

#[test]
fn the_file_is_what_the_command_prints() {
    assert!(*TEXT == example(), "write it anew: cargo run -p informer -- config example > informer.toml");
}

#[test]
fn the_file_is_a_configuration() {
    let config = read(&TEXT).unwrap_or_else(|error| panic!("{error}"));

    assert_eq!(config.plugins.len(), 1);
}

#[test]
fn every_default_in_the_file_is_the_default() {
    let spelt_out = with_defaults();
    assert_ne!(spelt_out, *TEXT);

    let config = read(&spelt_out).unwrap_or_else(|error| panic!("{error}"));

    let shorter = read(&TEXT).unwrap();
    assert_ne!(config.written, shorter.written);
    assert_eq!(Config { written: shorter.written.clone(), ..config }, shorter);
}

#[test]
fn every_example_in_the_file_is_valid() {
    let mut seen = 0;
    for (header, entry) in keys() {
        let Kind::Value(described) = &entry.kind else { continue };
        let Some(example) = described.example else { continue };
        if entry.name == "include" {
            // The files of the example do not exist.
            continue;
        }
        let text = with_lines(&header, &format!("{} = {example}", entry.name));

        assert!(read(&text).is_ok(), "{header} {} = {example}: {}", entry.name, read(&text).unwrap_err());
        assert!(TEXT.contains(&format!("# e.g. {} = {}", entry.name, example.lines().next().unwrap())));
        seen += 1;
    }
    assert!(seen >= 20, "{seen}");
    let defaults = TEXT.split_once("# e.g. limits = ").unwrap().1.lines().next().unwrap();
    assert!(read(&with_lines("[defaults]", &format!("limits = {defaults}"))).is_ok());
}
