//! The configuration files of the examples.

use std::{fs, path::Path};

use informer_tests::host::configuration;

#[test]
fn the_host_accepts_the_configuration_of_each_example() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut plugins = 0;
    for entry in fs::read_dir(examples).unwrap().map(Result::unwrap) {
        if !entry.file_type().unwrap().is_dir() {
            continue;
        }
        let file = entry.path().join("informer.toml");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let config = configuration(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        plugins += config.plugins.len();
    }
    assert!(plugins > 0);
}
