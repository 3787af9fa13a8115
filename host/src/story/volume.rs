//! The `config-files` that a story brings, as the kubelet mounts a ConfigMap: a link leads to a directory with the present files,
//! and is replaced if they change. So the host sees all changes of a step, or none.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::file::Files;

/// The link to the directory of the present files.
const PRESENT: &str = "..data";

/// A directory for `config-files`.
pub(super) struct Volume {
    directory: TempDir,
    files: BTreeMap<String, String>,
    /// The number of states so far.
    states: u32,
}

// === impl Volume ===

impl Volume {
    pub(super) fn new(files: &Files) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("informer-test-files-").tempdir()?;
        let mut volume = Self { directory, files: BTreeMap::new(), states: 0 };
        volume.change(files)?;
        Ok(volume)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    /// Writes and removes files.
    pub(super) fn change(&mut self, files: &Files) -> io::Result<()> {
        for (name, text) in files {
            match text {
                Some(text) => self.files.insert(name.clone(), text.clone()),
                None => self.files.remove(name),
            };
        }
        self.states += 1;
        let (state, link) = (format!("..{}", self.states), self.directory.path().join("..next"));
        let present = self.directory.path().join(&state);
        fs::create_dir(&present)?;
        for (name, text) in &self.files {
            fs::write(present.join(name), text)?;
        }
        symlink(Path::new(&state), &link)?;
        fs::rename(link, self.directory.path().join(PRESENT))
    }
}
