//! The interface between the host and its plugins: the files of `wit/`, as they were when this program was built.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use crate::files::TextFile;

/// Lists files of a folder in `wit/` with their contents.
macro_rules! wit {
    ($folder:literal: $($path:literal),* $(,)?) => {
        [$(TextFile { path: $path, text: include_str!(concat!("../../../wit/", $folder, $path)) }),*]
    };
}

/// The interfaces of others, which both versions use.
const DEPENDENCIES: [TextFile<'static>; 13] = wit![
    "":
    "deps/clocks/monotonic-clock.wit",
    "deps/config/store.wit",
    "deps/config/world.wit",
    "deps/http/outgoing-handler.wit",
    "deps/http/types.wit",
    "deps/io/error.wit",
    "deps/io/poll.wit",
    "deps/io/streams.wit",
    "deps/keyvalue/atomics.wit",
    "deps/keyvalue/batch.wit",
    "deps/keyvalue/store.wit",
    "deps/keyvalue/world.wit",
    "deps/logging/logging.wit",
];

const V0_1: [TextFile<'static>; 12] = wit![
    "0.1.0/":
    "client.wit",
    "delivery.wit",
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

const V0_2: [TextFile<'static>; 17] = wit![
    "":
    "batch-handler.wit",
    "client.wit",
    "config-handler.wit",
    "delivery.wit",
    "handler.wit",
    "lister.wit",
    "log.wit",
    "metrics.wit",
    "objects.wit",
    "plugin.wit",
    "reconciler.wit",
    "sync-handler.wit",
    "timer-handler.wit",
    "timer.wit",
    "types.wit",
    "workqueue.wit",
    "worlds.wit",
];

/// A version of the package `informer:plugin`. The host serves all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WitVersion {
    /// Version 0.1.0.
    V0_1,
    /// Version 0.2.0.
    V0_2,
}

// === impl WitVersion ===

impl WitVersion {
    /// All versions, the oldest first.
    pub const ALL: [Self; 2] = [Self::V0_1, Self::V0_2];

    /// The newest version, which the SDKs are made for.
    pub const NEWEST: Self = Self::V0_2;

    /// The number, such as `0.2.0`.
    #[must_use]
    pub fn number(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1.0",
            Self::V0_2 => "0.2.0",
        }
    }

    /// All WIT files of the interface, with paths relative to their folder.
    #[must_use]
    pub fn files(self) -> Vec<TextFile<'static>> {
        let own: &[TextFile<'static>] = match self {
            Self::V0_1 => &V0_1,
            Self::V0_2 => &V0_2,
        };
        own.iter().chain(&DEPENDENCIES).copied().collect()
    }

    /// The files in a folder that belong only to another version. A folder with files of two versions is not a valid package, so the caller
    /// removes them when it writes the files of this version.
    #[must_use]
    pub fn left_over(self, folder: &Path) -> Vec<PathBuf> {
        let own = self.files();
        let is_own = |path: &str| own.iter().any(|file| file.path == path);
        let mut found = Vec::new();
        for other in Self::ALL.into_iter().filter(|other| *other != self) {
            // A file of the author may have the same name.
            let package = format!("package informer:plugin@{other};");
            let is_of_other =
                |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| text.starts_with(&package));
            let files = other.files().into_iter().filter(|file| !is_own(file.path));
            found.extend(files.map(|file| folder.join(file.path)).filter(is_of_other));
        }
        found
    }
}

impl fmt::Display for WitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.number())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Existing, write};

    #[test]
    fn files_that_only_another_version_has_are_left_over() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &WitVersion::V0_2.files(), Existing::Refuse).unwrap();
        let mine = folder.path().join("sync-handler.wit");
        fs::write(&mine, "package informer:plugin@0.1.0;\n").unwrap();

        let mut left_over = WitVersion::V0_1.left_over(folder.path());

        left_over.sort();
        let names = ["batch-handler.wit", "config-handler.wit", "timer-handler.wit", "timer.wit"];
        assert_eq!(left_over, names.map(|name| folder.path().join(name)));
        assert!(WitVersion::V0_2.left_over(folder.path()).is_empty());
    }

    /// All files below a folder that end in `.wit`, with paths relative to the folder. Folders of versions are left out.
    fn found(folder: &Path, below: &Path, files: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder.join(below)).unwrap() {
            let entry = entry.unwrap();
            let path = below.join(entry.file_name());
            let is_version = path.to_str().unwrap().starts_with(|first: char| first.is_ascii_digit());
            if entry.file_type().unwrap().is_dir() && !is_version {
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
    fn the_program_contains_every_file_of_each_version() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
        for (version, own) in [(WitVersion::V0_1, folder.join("0.1.0")), (WitVersion::V0_2, folder.clone())] {
            let mut files = BTreeMap::new();
            found(&own, Path::new(""), &mut files);
            found(&folder, Path::new("deps"), &mut files);

            let contained =
                version.files().into_iter().map(|file| (file.path.to_owned(), file.text.to_owned()));

            assert_eq!(contained.collect::<BTreeMap<_, _>>(), files, "{version}");
            let package = format!("package informer:plugin@{version};\n");
            let ours = files.iter().filter(|(path, _)| !path.starts_with("deps/"));
            ours.for_each(|(path, text)| assert!(text.starts_with(&package), "{version}: {path}"));
        }
    }
}
