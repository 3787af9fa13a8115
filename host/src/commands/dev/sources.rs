//! The sources of a project, and the record of its last build.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    fmt::Write,
    fs::{self, Metadata},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use ignore::{DirEntry, WalkBuilder};
use informer_author::Manifest;
use informer_types::DEBUG_FILE;

/// The file that npm writes into a project with each installation of packages, which become part of the component.
const INSTALLED: &str = "node_modules/.package-lock.json";

/// A file by its device and its inode.
type FileId = (u64, u64);

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
    /// The files of a folder, and the file that npm writes with each installation. These files are no sources: hidden ones, those that
    /// a `.gitignore` of the folder names, installed packages, caches of tools, the results of a build, logs, and files that the output
    /// of this process goes to. A file that cannot be looked at is left out.
    pub(super) fn of(folder: &Path) -> Self {
        let outputs = ["/dev/stdout", "/dev/stderr"].into_iter().filter_map(|path| fs::metadata(path).ok());
        Self::without(folder, &outputs.map(|file| id(&file)).collect::<Vec<_>>())
    }

    /// Each build adds lines to the output of this process, so a file with them would never stop changing.
    fn without(folder: &Path, outputs: &[FileId]) -> Self {
        let mut walk = WalkBuilder::new(folder);
        // A `.gitignore` of a folder above, such as `*` in the home of a user, would hide all sources. The folder may be no git repository.
        walk.standard_filters(false).hidden(true).git_ignore(true).require_git(false);
        walk.filter_entry(|entry| !is_of_a_tool(entry));
        let files = walk.build().flatten().filter(|entry| !is_result(entry)).filter_map(|entry| {
            // A link counts as the file that it leads to.
            let metadata = fs::metadata(entry.path()).ok()?;
            let is_source = metadata.is_file() && !outputs.contains(&id(&metadata));
            is_source.then(|| (entry.into_path(), State::of(&metadata)))
        });
        let installed = folder.join(INSTALLED);
        let installed = fs::metadata(&installed).ok().map(|metadata| (installed, State::of(&metadata)));
        Self(files.chain(installed).collect())
    }
}

fn id(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

/// Returns true for a folder of installed packages, and for one that a tool marks as its cache, as cargo marks `target`.
fn is_of_a_tool(entry: &DirEntry) -> bool {
    let is_inner_folder = entry.depth() > 0 && entry.file_type().is_some_and(|kind| kind.is_dir());
    is_inner_folder && (entry.file_name() == "node_modules" || entry.path().join("CACHEDIR.TAG").is_file())
}

/// Returns true for what a build writes, and for a log. The component is in the folder of the project itself.
fn is_result(entry: &DirEntry) -> bool {
    let is_component = |extension: &OsStr| extension == "wasm" && entry.depth() == 1;
    let extension = entry.path().extension();
    extension.is_some_and(|of| of == "log" || of == DEBUG_FILE || is_component(of))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// Writes a file below a folder, and the folders that it is in.
    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_component_and_what_gitignore_names_are_no_sources() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| write(folder.path(), path, text);
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
        let write = |path: &str, text: &str| write(folder.path(), path, text);
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

    #[test]
    fn a_build_changes_no_source_if_there_is_no_gitignore() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "src/lib.rs", "one");
        write(folder.path(), "src/table.wasm", "a source");
        let before = Sources::of(folder.path());

        write(folder.path(), "hello.wasm", "component");
        write(folder.path(), "target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
        write(folder.path(), "target/release/hello.d", "made by cargo");
        write(folder.path(), "node_modules/a/index.js", "installed");

        assert_eq!(Sources::of(folder.path()), before);
        write(folder.path(), "src/table.wasm", "another source");
        assert_ne!(Sources::of(folder.path()), before);
    }

    #[test]
    fn a_gitignore_above_the_folder_hides_no_source() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), ".gitignore", "*\n");
        write(home.path(), "hello/src/lib.rs", "one");
        let before = Sources::of(&home.path().join("hello"));

        write(home.path(), "hello/src/lib.rs", "longer");

        assert_ne!(Sources::of(&home.path().join("hello")), before);
    }

    #[test]
    fn a_change_of_the_file_that_a_link_leads_to_is_a_change_of_a_source() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "shared/names.js", "one");
        write(folder.path(), "hello/index.js", "");
        symlink("../shared/names.js", folder.path().join("hello/names.js")).unwrap();
        let before = Sources::of(&folder.path().join("hello"));

        write(folder.path(), "shared/names.js", "longer");

        assert_ne!(Sources::of(&folder.path().join("hello")), before);
    }

    #[test]
    fn an_installation_of_packages_is_a_change_of_the_sources() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), ".gitignore", "node_modules/\n");
        let before = Sources::of(folder.path());

        write(folder.path(), INSTALLED, "{}");

        assert_ne!(Sources::of(folder.path()), before);
    }

    #[test]
    fn a_file_with_the_output_of_this_process_is_no_source() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "out.txt", "building");
        let output = id(&fs::metadata(folder.path().join("out.txt")).unwrap());

        let sources = Sources::without(folder.path(), &[output]);

        assert_eq!(sources, Sources::default());
        assert_ne!(Sources::without(folder.path(), &[]), sources);
    }
}
