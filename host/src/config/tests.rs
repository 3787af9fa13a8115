//! What needs the schema: that it is complete, and that the annotated default says the truth.

mod root_file;

use std::path::Path;

use super::{
    Components, Config, ConfigError, Environment, Place, SMALLEST, parse,
    raw::schema::{ALL, Section},
};

/// Reads a text as if it were `/etc/informer/informer.toml` of a user whose home is `/home/me`.
fn read(text: &str) -> Result<Config, ConfigError> {
    let environment = Environment {
        home: Some("/home/me".into()),
        cache_dir: Some("/home/me/.cache/informer".into()),
        state_dir: Some("/home/me/.local/state/informer".into()),
    };
    let place = Place {
        file: Path::new("informer.toml"),
        base: Path::new("/etc/informer"),
        environment: &environment,
    };
    parse(text, &place, Components::Unseen)
}

/// A line in the table of this section, in a file that has everything it takes.
fn with_line(section: &Section, line: &str) -> String {
    match section.header {
        "the top level" => format!("{line}\n"),
        "[[watch]]" => format!("[[watch]]\n{line}\n"),
        "[[plugin]]" => format!("[[plugin]]\n{line}\n"),
        "[cluster]" | "[host]" => format!("{SMALLEST}\n{}\n{line}\n", section.header),
        below_plugin => format!("{SMALLEST}\n{below_plugin}\n{line}\n"),
    }
}

#[test]
fn every_key_of_the_schema_is_read() {
    // No key takes a date, so each that is read complains of it.
    for section in ALL {
        for key in section.keys {
            let error = read(&with_line(section, &format!("{key} = 1979-05-27"))).unwrap_err();

            let complains = |problem: &&super::Problem| {
                problem.key.ends_with(key) && problem.message.ends_with(", found the date 1979-05-27")
            };
            assert_eq!(
                error.problems.iter().filter(complains).count(),
                1,
                "{} {key}: {error}",
                section.header
            );
        }
    }
}

#[test]
fn the_smallest_file_is_one() {
    let config = read(SMALLEST).unwrap();

    assert_eq!((config.watches.len(), config.plugins.len()), (1, 1));
    for line in SMALLEST.lines().filter(|line| line.contains(['[', '='])) {
        let smaller = SMALLEST.replace(line, "");
        assert!(read(&smaller).is_err(), "{smaller}");
    }
}
