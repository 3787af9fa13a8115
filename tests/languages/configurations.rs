//! The files that the examples come with.

use std::fs;

use informer_tests::host::configuration;

use crate::example::examples;

#[test]
fn the_host_accepts_the_configuration_of_each_example() {
    let mut count = 0;
    for entry in fs::read_dir(examples()).unwrap().map(Result::unwrap) {
        let file = entry.path().join("informer.toml");
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let config = configuration(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        // An example is named by its plugin and its language, or by what it shows.
        let example = entry.file_name().into_string().unwrap();
        let plugin = &config.plugins[0].name;
        assert!(example.starts_with(&format!("{plugin}-")), "{}: {plugin}", file.display());
        count += 1;
    }
    assert_eq!(count, 4, "one for each language, and the workqueue's");
}
