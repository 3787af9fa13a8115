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
    /// The file belongs to the author: no file is written.
    Refuse,
    /// The file was made from an older version of its text, and is replaced.
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
/// - The system refuses to read or write a file. With [`Existing::Refuse`] the files that were written are removed again; otherwise
///   some of the files may have been written.
pub fn write(folder: &Path, files: &[TextFile<'_>], existing: Existing) -> Result<Vec<PathBuf>, WriteError> {
    write_all(&[(folder, files)], existing)
}

/// Does the same for several folders, each with its files: with [`Existing::Refuse`] all files are written, or none.
///
/// # Errors
/// Returns the errors of [`write()`].
pub fn write_all(
    folders: &[(&Path, &[TextFile<'_>])],
    existing: Existing,
) -> Result<Vec<PathBuf>, WriteError> {
    let mut changed = Vec::new();
    for (folder, file) in
        folders.iter().flat_map(|(folder, files)| files.iter().map(move |file| (folder, file)))
    {
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
    for (at, (path, text)) in changed.iter().enumerate() {
        if let Err(source) = write_one(path, text, existing) {
            // An incomplete project would make the next attempt fail.
            for (made, _) in changed.iter().take(at).filter(|_| existing == Existing::Refuse) {
                fs::remove_file(made).ok();
            }
            return Err(WriteError::Io { path: path.clone(), source });
        }
    }
    Ok(changed.into_iter().map(|(path, _)| path).collect())
}

/// Writes one file, and the folders that it is in.
fn write_one(path: &Path, text: &str, existing: Existing) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    if existing == Existing::Replace {
        return fs::write(path, text);
    }
    // Another program may have made the file meanwhile.
    let mut file = File::create_new(path)?;
    let written = file.write_all(text.as_bytes());
    if written.is_err() {
        fs::remove_file(path).ok();
    }
    written
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

    #[test]
    fn files_of_an_attempt_that_fails_are_removed_again() {
        let folder = tempfile::tempdir().unwrap();
        // The second file needs a folder with the name of the first.
        let files = [TextFile { path: "a", text: "one" }, TextFile { path: "a/b", text: "two" }];

        let error = write(folder.path(), &files, Existing::Refuse).unwrap_err();

        assert!(matches!(error, WriteError::Io { .. }), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_is_refused_in_one_folder_keeps_files_out_of_all_folders() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        write(&second, &[TextFile { path: "c.txt", text: "mine" }], Existing::Refuse).unwrap();

        let folders: [(&Path, &[TextFile<'_>]); 2] = [(&first, &FILES), (&second, &FILES)];

        write_all(&folders, Existing::Refuse).unwrap_err();

        assert!(!first.exists() && !second.join("a").exists());
        assert_eq!(write_all(&folders, Existing::Replace).unwrap().len(), 4);
    }
}
