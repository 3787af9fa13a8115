//! `config-files`: a plugin's configuration from mounted ConfigMaps and Secrets.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use informer_runtime::capabilities::{ConfigFilesError, ConfigSource};
use parking_lot::Mutex;

/// All files of a plugin together; a ConfigMap or Secret has 1 MiB at most.
const BYTES: u64 = 4 << 20;

/// In a mounted volume, a link to the directory of its present state. It is swapped at a change.
const PRESENT: &str = "..data";

/// How often a directory is read again that was swapped meanwhile.
const SWAPS: usize = 3;

/// The files of one plugin.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFiles {
    /// Files, and directories of them; of two with the same name the later one counts.
    paths: Arc<Mutex<Vec<PathBuf>>>,
}

// === impl ConfigFiles ===

impl ConfigFiles {
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        Self { paths: Arc::new(Mutex::new(paths)) }
    }

    /// Reads these from now on.
    pub(crate) fn set(&self, paths: Vec<PathBuf>) {
        *self.paths.lock() = paths;
    }

    /// What is in them now. Blocks.
    fn read(&self) -> Result<BTreeMap<String, String>, ConfigFilesError> {
        let mut texts = BTreeMap::new();
        for path in &self.paths.lock().clone() {
            let read = read(path);
            texts.extend(read.map_err(|error| ConfigFilesError(format!("{}: {error}", path.display())))?);
        }
        Ok(texts)
    }
}

impl ConfigSource for ConfigFiles {
    fn files(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, ConfigFilesError>> {
        let files = self.clone();
        Box::pin(async move {
            if files.paths.lock().is_empty() {
                return Ok(BTreeMap::new());
            }
            let reading = tokio::task::spawn_blocking(move || files.read());
            reading.await.unwrap_or_else(|error| Err(ConfigFilesError(error.to_string())))
        })
    }
}

/// A file, or the files of a directory in one state of it.
fn read(path: &Path) -> io::Result<BTreeMap<String, String>> {
    if !fs::metadata(path)?.is_dir() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        return Ok(BTreeMap::from([(name.unwrap_or_default(), text(path, &mut 0)?)]));
    }
    let mut left = SWAPS;
    loop {
        let present = fs::canonicalize(path.join(PRESENT)).ok();
        let read = directory(present.as_deref().unwrap_or(path));
        // The state that was read may have been removed under way.
        left -= 1;
        if read.is_ok() || present.is_none() || left == 0 {
            return read;
        }
    }
}

fn directory(path: &Path) -> io::Result<BTreeMap<String, String>> {
    let (mut texts, mut bytes) = (BTreeMap::new(), 0);
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Links are followed: that is how volumes show their files.
        if !name.starts_with('.') && fs::metadata(entry.path())?.is_file() {
            texts.insert(name, text(&entry.path(), &mut bytes)?);
        }
    }
    Ok(texts)
}

/// The file's text. `bytes` counts those of all files.
fn text(path: &Path, bytes: &mut u64) -> io::Result<String> {
    *bytes += fs::metadata(path)?.len();
    if *bytes > BYTES {
        return Err(io::Error::other(format!("more than {BYTES} bytes")));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    String::from_utf8(fs::read(path)?).map_err(|_| io::Error::other(format!("`{name}` is not UTF-8")))
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

    /// As the kubelet mounts a ConfigMap.
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
    fn a_mounted_volume_shows_its_present_state_and_nothing_of_its_machinery() {
        let volume = TempDir::new().unwrap();
        let paths = [volume.path().to_owned()];
        mount(volume.path(), "..2026_01", &[("a", "1"), ("b", "2")]);
        assert_eq!(texts(&paths).unwrap(), [pair("a", "1"), pair("b", "2")]);

        mount(volume.path(), "..2026_02", &[("a", "3\n")]);

        assert_eq!(texts(&paths).unwrap(), [pair("a", "3\n")]);
    }

    #[test]
    fn the_later_path_counts_and_a_file_is_named_by_itself() {
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
    fn what_cannot_be_read_is_named_and_not_shown() {
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
}
