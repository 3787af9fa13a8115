//! The interface between the host and its plugins: the files of `wit/`, as they were when this program was built.

use crate::files::TextFile;

/// Lists files of `wit/` with their contents.
macro_rules! wit {
    ($($path:literal),* $(,)?) => {
        &[$(TextFile { path: $path, text: include_str!(concat!("../../../wit/", $path)) }),*]
    };
}

/// All WIT files of the interface, with paths relative to their folder.
pub const WIT: &[TextFile<'static>] = wit![
    "client.wit",
    "delivery.wit",
    "deps/config/store.wit",
    "deps/config/world.wit",
    "deps/keyvalue/atomics.wit",
    "deps/keyvalue/batch.wit",
    "deps/keyvalue/store.wit",
    "deps/keyvalue/world.wit",
    "deps/logging/logging.wit",
    "handler.wit",
    "lister.wit",
    "log.wit",
    "metrics.wit",
    "objects.wit",
    "plugin.wit",
    "reconciler.wit",
    "types.wit",
    "workqueue.wit",
    "worlds.wit",
];

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, path::Path};

    use super::*;

    /// All files below a folder that end in `.wit`, with paths relative to the folder.
    fn found(folder: &Path, below: &Path, files: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder.join(below)).unwrap() {
            let entry = entry.unwrap();
            let path = below.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                found(folder, &path, files);
            } else if path.extension().is_some_and(|extension| extension == "wit") {
                files.insert(
                    path.to_str().unwrap().to_owned(),
                    fs::read_to_string(folder.join(&path)).unwrap(),
                );
            }
        }
    }

    #[test]
    fn the_program_contains_every_file_of_the_interface() {
        let mut files = BTreeMap::new();
        found(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit"), Path::new(""), &mut files);

        let contained = WIT.iter().map(|file| (file.path.to_owned(), file.text.to_owned()));

        assert_eq!(contained.collect::<BTreeMap<_, _>>(), files);
    }
}
