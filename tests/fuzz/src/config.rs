//! `informer.toml`: any text is a configuration, or has problems at places that are in the text.

use std::path::Path;

use informer::config::{self, Components, Environment, Place};

/// The text of a file.
pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let environment = Environment {
        home: Some("/home/me".into()),
        cache_dir: Some("/home/me/.cache/informer".into()),
        state_dir: Some("/home/me/.local/state/informer".into()),
    };
    let file = Path::new("informer.toml");
    let place = Place { file, base: Path::new("/etc/informer"), environment: &environment };
    let read = || config::parse(text, &place, Components::Unseen);
    match read() {
        Ok(config) => {
            assert!(!config.watches.is_empty());
            assert_eq!(read().as_ref(), Ok(&config));
            commented(text, &config, &place);
        }
        Err(error) => {
            assert!(!error.problems.is_empty() && error.problems.is_sorted());
            let shown = error.to_string();
            assert_eq!(shown.lines().count(), error.problems.len() + 1, "{shown}");
            assert!(!shown.replace('\n', "").contains(char::is_control), "{shown:?}");
            for problem in &error.problems {
                let line = text.split('\n').nth(problem.line - 1);
                let line = line.unwrap_or_else(|| panic!("{problem} is beyond the text"));
                let columns = line.chars().count() + 1;
                assert!((1..=columns).contains(&problem.column), "{problem} is beyond the line {line:?}");
            }
        }
    }
}

/// White space and a comment at the end change nothing.
fn commented(text: &str, config: &config::Config, place: &Place<'_>) {
    let longer = format!("{text}\n\n# a comment\n");
    assert_eq!(config::parse(&longer, place, Components::Unseen).as_ref(), Ok(config));
}
