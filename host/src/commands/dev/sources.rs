//! The sources of a project, and the record of its last build.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    fmt::Write,
    fs::{self, Metadata},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use ignore::WalkBuilder;
use informer_author::Manifest;
use informer_types::DEBUG_FILE;

/// For each source file, the time of its last change (since 1970) and its length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sources(BTreeMap<PathBuf, State>);

/// What changes when a file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    changed: Option<Duration>,
    bytes: u64,
}

/// The file in a project that says what its component was built of: the sources, the component and this program. It exists for
/// languages whose toolchain builds everything each time. Other compilers build what changed, also outside of the folder.
pub(super) struct Record;

// === impl Record ===

impl Record {
    /// Returns true if the component in the folder was built of these sources by this program.
    pub(super) fn is_of(folder: &Path, manifest: &Manifest, sources: &Sources) -> bool {
        let (Some(expected), Ok(found)) =
            (Self::text(folder, manifest, sources), fs::read_to_string(Self::path(folder, manifest)))
        else {
            return false;
        };
        found == expected
    }

    /// Notes that the component in the folder was built of these sources. Without the file, which may fail to be written, the next
    /// `informer dev` builds again.
    pub(super) fn write(folder: &Path, manifest: &Manifest, sources: &Sources) {
        if let Some(text) = Self::text(folder, manifest, sources) {
            fs::write(Self::path(folder, manifest), text).ok();
        }
    }

    /// A hidden file, which is no source.
    fn path(folder: &Path, manifest: &Manifest) -> PathBuf {
        folder.join(format!(".{}.built", manifest.name))
    }

    fn text(folder: &Path, manifest: &Manifest, Sources(sources): &Sources) -> Option<String> {
        if manifest.language.is_compiled() {
            return None;
        }
        let of = |path: &Path| Some((path.to_owned(), State::of(&fs::metadata(path).ok()?)));
        let component = of(&folder.join(format!("{}.wasm", manifest.name)))?;
        let program = of(&env::current_exe().ok()?)?;
        let mut text = String::new();
        let files = sources.iter().map(|(path, state)| (path.clone(), *state));
        for (path, State { changed, bytes }) in files.chain([component, program]) {
            writeln!(text, "{path:?} {changed:?} {bytes}").ok()?;
        }
        Some(text)
    }
}

// === impl State ===

impl State {
    fn of(metadata: &Metadata) -> Self {
        let changed =
            metadata.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        Self { changed, bytes: metadata.len() }
    }
}

// === impl Sources ===

impl Sources {
    /// The files of a folder but hidden ones, logs and those that a `.gitignore` names. A file that cannot be looked at is left out.
    pub(super) fn of(folder: &Path) -> Self {
        // The folder may be no git repository.
        let files = WalkBuilder::new(folder).require_git(false).build().flatten();
        let files = files.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        // The output of this command may go to a file of the folder, and each build adds to it. A build also writes debug files.
        let made = |extension: &OsStr| extension == "log" || extension == DEBUG_FILE;
        let files = files.filter(|entry| !entry.path().extension().is_some_and(made));
        let known = files.filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some((entry.into_path(), State::of(&metadata)))
        });
        Self(known.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_component_and_what_gitignore_names_are_no_sources() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".gitignore", "*.wasm\n*.partial\ntarget/\n");
        write("src/lib.rs", "one");
        let before = Sources::of(folder.path());

        write("hello.wasm", "component");
        write("hello.wasm.debug", "component");
        write(".hello.wasm.partial", "component");
        write("target/debug/hello", "program");
        write("dev.log", "building");
        assert_eq!(Sources::of(folder.path()), before);

        write("src/lib.rs", "longer");
        let changed = Sources::of(folder.path());
        assert_ne!(changed, before);
        write("src/new.rs", "");
        assert_ne!(Sources::of(folder.path()), changed);
    }

    #[test]
    fn a_record_is_of_the_same_sources_and_the_same_component() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).unwrap();
        let manifest =
            |language| toml::from_str(&format!("name = \"hello\"\nlanguage = {language:?}")).unwrap();
        let js: Manifest = manifest("js");
        let is_of = || Record::is_of(folder.path(), &js, &Sources::of(folder.path()));
        write(".gitignore", "*.wasm\n");
        write("index.js", "one");
        write("hello.wasm", "component");
        assert!(!is_of());

        Record::write(folder.path(), &js, &Sources::of(folder.path()));
        assert!(is_of());

        write("index.js", "longer");
        assert!(!is_of());
        write("index.js", "one");
        Record::write(folder.path(), &js, &Sources::of(folder.path()));
        write("hello.wasm", "another component");
        assert!(!is_of());
    }

    #[test]
    fn compilers_that_build_only_what_changed_have_no_record() {
        let folder = tempfile::tempdir().unwrap();
        let rust: Manifest = toml::from_str("name = \"hello\"\nlanguage = \"rust\"").unwrap();
        fs::write(folder.path().join("hello.wasm"), "component").unwrap();

        Record::write(folder.path(), &rust, &Sources::default());

        assert!(!Record::is_of(folder.path(), &rust, &Sources::default()));
    }
}
