//! Text files that are written into a folder of a plugin's author.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// A text with the path that it gets in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextFile<'a> {
    /// The path, relative to the folder, with `/` between its parts.
    pub path: &'a str,
    /// The contents.
    pub text: &'a str,
}

/// The treatment of a file that exists with other contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is the author's, and nothing at all is written.
    Refuse,
    /// It was made from an older version of its text, and is replaced.
    Replace,
}

/// Why files cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file exists with other contents.
    #[error("{} exists with other contents, and nothing was written", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Writes the files into a folder, which is made if it is missing. A file that has the text already is not touched, so that
/// tools that compare times see no change. Returns the files that were written.
///
/// # Errors
/// - A file exists with other contents and `existing` is [`Existing::Refuse`]: nothing was written.
/// - The system refuses to read or write a file: some of the files may have been written.
pub fn write(folder: &Path, files: &[TextFile<'_>], existing: Existing) -> Result<Vec<PathBuf>, WriteError> {
    let mut changed = Vec::new();
    for file in files {
        let path = folder.join(file.path);
        match fs::read(&path) {
            Ok(found) if found == file.text.as_bytes() => {}
            Ok(_) if existing == Existing::Refuse => return Err(WriteError::Exists { path }),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(WriteError::Io { path, source: error });
            }
            Ok(_) | Err(_) => changed.push((path, file.text)),
        }
    }
    for (path, text) in &changed {
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            match existing {
                // Another program may have made the file meanwhile.
                Existing::Refuse => File::create_new(path)?.write_all(text.as_bytes()),
                Existing::Replace => fs::write(path, text),
            }
        };
        write().map_err(|source| WriteError::Io { path: path.clone(), source })?;
    }
    Ok(changed.into_iter().map(|(path, _)| path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [TextFile<'static>; 2] =
        [TextFile { path: "a/b.txt", text: "one" }, TextFile { path: "c.txt", text: "two" }];

    #[test]
    fn files_are_written_below_folders_and_equal_ones_are_not_touched() {
        let folder = tempfile::tempdir().unwrap();

        let written = write(folder.path(), &FILES, Existing::Refuse).unwrap();

        assert_eq!(written, [folder.path().join("a/b.txt"), folder.path().join("c.txt")]);
        assert_eq!(fs::read_to_string(folder.path().join("a/b.txt")).unwrap(), "one");
        assert!(write(folder.path(), &FILES, Existing::Refuse).unwrap().is_empty());
    }

    #[test]
    fn a_file_with_other_contents_is_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("c.txt"), "mine").unwrap();

        let error = write(folder.path(), &FILES, Existing::Refuse).unwrap_err();

        assert!(error.to_string().contains("c.txt exists with other contents"), "{error}");
        assert!(!folder.path().join("a").exists());
        assert_eq!(fs::read_to_string(folder.path().join("c.txt")).unwrap(), "mine");
        let written = write(folder.path(), &FILES, Existing::Replace).unwrap();
        assert_eq!(written.len(), 2);
        assert_eq!(fs::read_to_string(folder.path().join("c.txt")).unwrap(), "two");
    }
}
