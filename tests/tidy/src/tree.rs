//! The files of the repository.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Directories that hold no sources of ours.
const SKIPPED: [&str; 3] = ["target", "node_modules", "recordings"];

/// One text file of the repository.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The path from the root of the repository, with `/`.
    pub path: String,
    /// The whole content.
    pub text: String,
}

impl SourceFile {
    /// Returns true if the path ends with `.extension`.
    #[must_use]
    pub fn is(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, found)| found == extension)
    }

    /// Returns true if the file holds tests only: it is `tests.rs`, or in a directory of the name `tests`.
    #[must_use]
    pub fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }
}

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads all files below `directory` (a path from the root) whose name ends with one of `extensions`, in the order of their paths.
///
/// # Errors
/// A directory or file cannot be read.
pub fn read(directory: &str, extensions: &[&str]) -> io::Result<Vec<SourceFile>> {
    let mut found = Vec::new();
    walk(&root(), directory.trim_end_matches('/'), extensions, &mut found)?;
    found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(found)
}

fn walk(root: &Path, directory: &str, extensions: &[&str], into: &mut Vec<SourceFile>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(directory))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                walk(root, &path, extensions, into)?;
            }
        } else if name.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension)) {
            into.push(SourceFile { text: fs::read_to_string(entry.path())?, path });
        }
    }
    Ok(())
}
