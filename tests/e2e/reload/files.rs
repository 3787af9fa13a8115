//! Component files, and the ways in which they are replaced.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use informer_guests::guest;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// The component `echo` with a custom section: it does the same, and it is another version.
pub(super) fn version(n: usize) -> Vec<u8> {
    with_section("echo", n)
}

/// As [`version`], of another component.
pub(super) fn with_section(guest_name: &str, n: usize) -> Vec<u8> {
    let (name, payload) = (b"test", format!("version {n}"));
    let mut component = fs::read(guest(guest_name)).unwrap();
    let length = 1 + name.len() + payload.len();
    component.extend([0, u8::try_from(length).unwrap(), u8::try_from(name.len()).unwrap()]);
    component.extend_from_slice(name);
    component.extend_from_slice(payload.as_bytes());
    component
}

/// As the status shows it.
pub(super) fn digest(component: &[u8]) -> String {
    Sha256::digest(component).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As a build tool does it: whole or not at all.
pub(crate) fn replace(path: &Path, content: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, content).unwrap();
    fs::rename(&new, path).unwrap();
}

/// As `cp` does it: the file is cut off, and then grows.
pub(super) fn write_in_place(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
}

/// A volume as the kubelet mounts a ConfigMap: each file is a link into `..data`, which is a link to a directory that is
/// replaced as a whole.
pub(super) struct Mount(TempDir);

impl Mount {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Swaps `..data` to a new directory with these files, and removes the old one.
    pub(super) fn publish(&self, directory: &str, files: &[(&str, &[u8])]) {
        let root = self.0.path();
        let old = fs::read_link(root.join("..data")).ok();
        fs::create_dir(root.join(directory)).unwrap();
        for (name, content) in files {
            fs::write(root.join(directory).join(name), content).unwrap();
        }
        symlink(directory, root.join("..data_tmp")).unwrap();
        fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
        for (name, _) in files {
            // It is there already, as a rule.
            symlink(Path::new("..data").join(name), self.file(name)).ok();
        }
        if let Some(old) = old {
            fs::remove_dir_all(root.join(old)).unwrap();
        }
    }
}
