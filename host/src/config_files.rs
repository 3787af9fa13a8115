//! `config-files`: the part of a plugin's configuration that comes from mounted ConfigMaps and Secrets.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use informer_runtime::capabilities::{ConfigFilesError, ConfigSource};
use parking_lot::Mutex;

/// The most bytes of all files of a plugin together. A ConfigMap or Secret has at most 1 MiB.
const BYTES: u64 = 4 << 20;

/// In a mounted volume, the link to the directory of its present state. A change replaces the link.
const PRESENT: &str = "..data";

/// How often a directory is read at most, if its link is replaced while it is read.
const SWAPS: usize = 3;

/// The configuration files of one plugin.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFiles {
    /// Files, and directories of files. If two files have the same name, the later one wins.
    paths: Arc<Mutex<Vec<PathBuf>>>,
}

// === impl ConfigFiles ===

impl ConfigFiles {
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        Self { paths: Arc::new(Mutex::new(paths)) }
    }

    /// Replaces the paths.
    pub(crate) fn set(&self, paths: Vec<PathBuf>) {
        *self.paths.lock() = paths;
    }

    /// Reads the text of every file, by name. Blocks.
    fn read(&self) -> Result<BTreeMap<String, String>, ConfigFilesError> {
        let (mut texts, mut bytes) = (BTreeMap::new(), 0);
        for path in &self.paths.lock().clone() {
            texts.extend(read(path, &mut bytes).map_err(|error| failed(path, &error))?);
        }
        Ok(texts)
    }

    /// Reads the file of this name, from the last path that has one. Blocks.
    fn read_one(&self, name: &str) -> Result<Option<String>, ConfigFilesError> {
        for path in self.paths.lock().clone().iter().rev() {
            let found = read_one(path, name).map_err(|error| failed(path, &error))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Runs the work outside the threads of the executor. Without paths there is nothing to do.
    fn blocking<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, ConfigFilesError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, ConfigFilesError>> {
        let files = self.clone();
        Box::pin(async move {
            if files.paths.lock().is_empty() {
                return Ok(T::default());
            }
            let reading = tokio::task::spawn_blocking(move || work(&files));
            reading.await.unwrap_or_else(|error| Err(failed(Path::new(""), &error)))
        })
    }
}

impl ConfigSource for ConfigFiles {
    fn files(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, ConfigFilesError>> {
        self.blocking(Self::read)
    }

    fn file(&self, name: &str) -> BoxFuture<'_, Result<Option<String>, ConfigFilesError>> {
        let name = name.to_owned();
        self.blocking(move |files| files.read_one(&name))
    }
}

fn failed(path: &Path, why: &impl ToString) -> ConfigFilesError {
    ConfigFilesError { path: path.to_owned(), why: why.to_string() }
}

/// Reads a file, or the files of a directory in one of its states. `bytes` counts the bytes of all files.
fn read(path: &Path, bytes: &mut u64) -> io::Result<BTreeMap<String, String>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(BTreeMap::from([(name_of(path), text(path, bytes)?)]));
    }
    let before = *bytes;
    let mut left = SWAPS;
    loop {
        *bytes = before;
        let present = fs::canonicalize(path.join(PRESENT)).ok();
        let read = directory(present.as_deref().unwrap_or(path), bytes);
        // The state may be removed while it is read.
        left -= 1;
        if read.is_ok() || present.is_none() || left == 0 {
            return read;
        }
    }
}

fn directory(path: &Path, bytes: &mut u64) -> io::Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        let name = name_of(&path);
        if is_shown(&name) && fs::metadata(&path).map_err(|error| of_file(&name, &error))?.is_file() {
            texts.insert(name, text(&path, bytes)?);
        }
    }
    Ok(texts)
}

/// Reads the file at the path, or the file of this name in the directory at the path. Returns `None` if there is none.
fn read_one(path: &Path, name: &str) -> io::Result<Option<String>> {
    if !fs::metadata(path)?.is_dir() {
        return if name_of(path) == name { text(path, &mut 0).map(Some) } else { Ok(None) };
    }
    let file = path.join(name);
    // A name must not be a path.
    if !is_shown(name) || name_of(&file) != name {
        return Ok(None);
    }
    match fs::metadata(&file) {
        Ok(metadata) if metadata.is_file() => text(&file, &mut 0).map(Some),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // No file can have this name.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidFilename | ErrorKind::InvalidInput) => {
            Ok(None)
        }
        Err(error) => Err(of_file(name, &error)),
    }
}

/// Returns true if the file belongs to the content of a mounted volume. Names that start with `.` belong to the mechanism
/// of the volume. Content files are links, which are followed.
fn is_shown(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.')
}

/// Reads the text of a file, and adds its size to `bytes`.
fn text(path: &Path, bytes: &mut u64) -> io::Result<String> {
    let name = name_of(path);
    *bytes += fs::metadata(path).map_err(|error| of_file(&name, &error))?.len();
    if *bytes > BYTES {
        return Err(io::Error::other(format!("more than {BYTES} bytes")));
    }
    let read = fs::read(path).map_err(|error| of_file(&name, &error))?;
    String::from_utf8(read).map_err(|_| io::Error::other(format!("`{name}` is not UTF-8")))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn of_file(name: &str, error: &io::Error) -> io::Error {
    io::Error::other(format!("`{name}`: {error}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn texts(paths: &[PathBuf]) -> Result<Vec<(String, String)>, String> {
        let read = ConfigFiles::new(paths.to_vec()).read();
        read.map(|texts| texts.into_iter().collect()).map_err(|error| error.to_string())
    }

    fn pair(key: &str, text: &str) -> (String, String) {
        (key.to_owned(), text.to_owned())
    }

    /// Writes a volume as the kubelet mounts a ConfigMap.
    fn mount(volume: &Path, state: &str, files: &[(&str, &str)]) {
        let directory = volume.join(state);
        fs::create_dir(&directory).unwrap();
        for (name, text) in files {
            fs::write(directory.join(name), text).unwrap();
            symlink(Path::new(PRESENT).join(name), volume.join(name)).ok();
        }
        symlink(state, volume.join("..swap")).unwrap();
        fs::rename(volume.join("..swap"), volume.join(PRESENT)).unwrap();
    }

    #[test]
    fn a_mounted_volume_shows_the_files_of_its_present_state_only() {
        let volume = TempDir::new().unwrap();
        let paths = [volume.path().to_owned()];
        mount(volume.path(), "..2026_01", &[("a", "1"), ("b", "2")]);
        assert_eq!(texts(&paths).unwrap(), [pair("a", "1"), pair("b", "2")]);

        mount(volume.path(), "..2026_02", &[("a", "3\n")]);

        assert_eq!(texts(&paths).unwrap(), [pair("a", "3\n")]);
    }

    #[test]
    fn the_later_path_wins_and_a_file_keeps_its_name() {
        let directory = TempDir::new().unwrap();
        let (one, two) = (directory.path().join("one"), directory.path().join("two"));
        fs::create_dir_all(one.join("below")).unwrap();
        fs::create_dir(&two).unwrap();
        fs::write(one.join("a"), "first").unwrap();
        fs::write(two.join("a"), "second").unwrap();
        fs::write(directory.path().join("c"), "alone").unwrap();

        let all = texts(&[one.clone(), two, directory.path().join("c")]).unwrap();

        assert_eq!(all, [pair("a", "second"), pair("c", "alone")]);
        assert_eq!(texts(&[one]).unwrap(), [pair("a", "first")]);
    }

    #[test]
    fn an_unreadable_file_is_named_without_its_content() {
        let directory = TempDir::new().unwrap();
        let absent = texts(&[directory.path().join("absent")]).unwrap_err();
        assert!(absent.contains("/absent: No such file"), "{absent}");

        fs::write(directory.path().join("key"), b"hunter2\xff").unwrap();
        let binary = texts(&[directory.path().to_owned()]).unwrap_err();
        assert!(binary.ends_with("`key` is not UTF-8") && !binary.contains("hunter2"), "{binary}");

        fs::write(directory.path().join("key"), vec![b'x'; 1 + (4 << 20)]).unwrap();
        let large = texts(&[directory.path().to_owned()]).unwrap_err();
        assert!(large.ends_with("more than 4194304 bytes"), "{large}");
    }

    #[test]
    fn the_size_limit_applies_to_all_paths_together() {
        let directory = TempDir::new().unwrap();
        let paths: Vec<_> = ["one", "two", "three"].map(|name| directory.path().join(name)).into();
        for path in &paths {
            fs::create_dir(path).unwrap();
            fs::write(path.join("a"), vec![b'x'; 2 << 20]).unwrap();
        }

        assert_eq!(texts(&paths[..2]).unwrap().len(), 1);
        let large = texts(&paths).unwrap_err();
        assert!(large.ends_with("three: more than 4194304 bytes"), "{large}");
    }

    #[test]
    fn one_file_is_found_by_name_without_reading_the_others() {
        let directory = TempDir::new().unwrap();
        let (volume, single) = (directory.path().join("volume"), directory.path().join("single"));
        fs::create_dir(&volume).unwrap();
        mount(&volume, "..2026_01", &[("a", "1"), ("single", "2")]);
        fs::write(&single, "3").unwrap();
        fs::write(volume.join("binary"), b"\xff").unwrap();
        fs::write(directory.path().join("outside"), "x").unwrap();
        let files = ConfigFiles::new(vec![volume.clone(), single]);

        let of = |name: &str| files.read_one(name).unwrap();

        assert_eq!((of("a").as_deref(), of("single").as_deref()), (Some("1"), Some("3")));
        let long = "x".repeat(5000);
        for absent in
            ["b", "", ".", "..", "..data", "..data/a", "../outside", "a/", "a/b", "/etc/hosts", "a\0", &long]
        {
            assert_eq!(of(absent), None, "{absent:?}");
        }
        assert!(files.read_one("binary").unwrap_err().why.ends_with("`binary` is not UTF-8"));
        let gone = ConfigFiles::new(vec![volume.join("gone")]).read_one("a").unwrap_err();
        assert!(!gone.why.contains("gone") && gone.to_string().contains("/volume/gone: "), "{gone}");
    }
}
