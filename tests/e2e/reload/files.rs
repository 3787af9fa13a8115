//! Component files, and ways to replace them.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use informer_guests::guest;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// The component `echo` with a custom section. It behaves the same, but it is another version.
pub(crate) fn version(n: usize) -> Vec<u8> {
    with_section("echo", n)
}

/// Another component with a custom section, like [`version`].
pub(crate) fn with_section(guest_name: &str, n: usize) -> Vec<u8> {
    let (name, payload) = (b"test", format!("version {n}"));
    let mut component = fs::read(guest(guest_name)).unwrap();
    let length = 1 + name.len() + payload.len();
    component.extend([0, u8::try_from(length).unwrap(), u8::try_from(name.len()).unwrap()]);
    component.extend_from_slice(name);
    component.extend_from_slice(payload.as_bytes());
    component
}

/// The digest of a component as the status shows it.
pub(crate) fn digest(component: &[u8]) -> String {
    Sha256::digest(component).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Replaces a file atomically, like a build tool.
pub(crate) fn replace(path: &Path, content: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, content).unwrap();
    fs::rename(&new, path).unwrap();
}

/// Overwrites a file in place, like `cp`: the file is truncated and then grows.
pub(super) fn write_in_place(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
}

/// A volume with a ConfigMap as the kubelet mounts it. Each file is a link into `..data`, and `..data` is a link to a
/// directory that is replaced as a whole.
pub(super) struct Mount(TempDir);

impl Mount {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes `..data` point to a new directory with these files, and removes the old directory.
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
            // The link usually exists already.
            symlink(Path::new("..data").join(name), self.file(name)).ok();
        }
        if let Some(old) = old {
            fs::remove_dir_all(root.join(old)).unwrap();
        }
    }
}
