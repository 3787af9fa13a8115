//! The configuration files of the examples and of the ready-made plugins.

use std::{
    fs,
    path::{Path, PathBuf},
};

use informer_tests::host::configuration;

/// The folders in a folder of the repository.
fn folders(of: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(of)).unwrap();
    // A hidden folder has settings of tools.
    let hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let folders = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    folders.filter(|path| !hidden(path)).collect()
}

#[test]
fn the_host_accepts_the_configuration_of_each_example_and_ready_made_plugin() {
    let ready_made = folders("plugins")
        .into_iter()
        .filter(|folder| !["sdk", "guide"].iter().any(|own| folder.ends_with(own)));
    let mut plugins = 0;
    for folder in folders("examples").into_iter().chain(ready_made) {
        let file = folder.join("informer.toml");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let config = configuration(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        plugins += config.plugins.len();
    }
    assert!(plugins > 0);
}
