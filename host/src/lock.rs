//! `informer.lock`, beside the configuration file: the digest of each tag. A host with it pulls exactly these artifacts.

use std::{
    collections::BTreeMap,
    fmt::Write,
    io,
    path::{Path, PathBuf},
};

use informer_registry::{Digest, Reference};
use informer_system::read_file;
use serde::Deserialize;

/// The most bytes of the file: ten thousand plugins.
const BYTES: u64 = 4 << 20;

/// The name of the file.
const FILE_NAME: &str = "informer.lock";

/// The version of the form.
const VERSION: u32 = 1;

/// The digests of tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock(BTreeMap<String, Digest>);

/// Why the file is not used. Then no tag is pulled.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The system does not allow reading it.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The content is something else.
    #[error("{} is not a lock file ({why}); run `informer plugin lock`", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A tag is missing in it.
    #[error("{} does not name {reference}; run `informer plugin lock`", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The tag.
        reference: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    #[serde(default)]
    artifact: Vec<Artifact>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Artifact {
    source: String,
    digest: String,
}

// === impl Lock ===

impl Lock {
    /// The lock file that belongs to a configuration file.
    pub fn path(configuration: &Path) -> PathBuf {
        configuration.with_file_name(FILE_NAME)
    }

    /// Reads the file; `None` if there is none. Blocks.
    ///
    /// # Errors
    /// [`LockError`] if there is one that cannot be used.
    pub fn read(path: &Path) -> Result<Option<Self>, LockError> {
        let bytes = match read_file(path, BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_absent() => return Ok(None),
            Err(error) => return Err(LockError::Unreadable { path: path.to_owned(), source: error.into() }),
        };
        let invalid = |why: String| LockError::Invalid { path: path.to_owned(), why };
        let text = String::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8".to_owned()))?;
        let file: File = toml::from_str(&text).map_err(|error| invalid(error.message().to_owned()))?;
        if file.version != VERSION {
            return Err(invalid(format!(
                "it has version {}, and this host reads version {VERSION}",
                file.version
            )));
        }
        let mut digests = BTreeMap::new();
        for Artifact { source, digest } in file.artifact {
            let digest = digest
                .parse()
                .map_err(|error: informer_registry::InvalidDigest| invalid(error.to_string()))?;
            if digests.insert(source.clone(), digest).is_some() {
                return Err(invalid(format!("it names {source} twice")));
            }
        }
        Ok(Some(Self(digests)))
    }

    /// The digest of a tag.
    pub fn digest(&self, reference: &Reference) -> Option<Digest> {
        self.0.get(&reference.to_string()).copied()
    }

    /// Adds a tag.
    pub fn add(&mut self, reference: &Reference, digest: Digest) {
        self.0.insert(reference.to_string(), digest);
    }

    /// The content of the file, sorted by source.
    pub fn text(&self) -> String {
        let mut text = format!(
            "# Written by `informer plugin lock`. The host pulls exactly these artifacts.\nversion = {VERSION}\n"
        );
        for (source, digest) in &self.0 {
            // Writing to a string does not fail.
            let _ = write!(text, "\n[[artifact]]\nsource = \"{source}\"\ndigest = \"{digest}\"\n");
        }
        text
    }
}

/// The digest that the lock file beside a configuration gives a tag; `None` if there is no lock file. Blocks.
///
/// # Errors
/// [`LockError`] if the lock file cannot be used, or does not name the tag.
pub fn locked(path: &Path, reference: &Reference) -> Result<Option<Digest>, LockError> {
    let Some(lock) = Lock::read(path)? else { return Ok(None) };
    let missing = || LockError::Missing { path: path.to_owned(), reference: reference.to_string() };
    lock.digest(reference).map(Some).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn reference(text: &str) -> Reference {
        text.parse().unwrap()
    }

    #[test]
    fn a_lock_file_reads_back_and_names_every_tag() {
        let directory = TempDir::new().unwrap();
        let path = Lock::path(&directory.path().join("informer.toml"));
        let (known, unknown) = (reference("oci://ghcr.io/acme/a:1"), reference("oci://ghcr.io/acme/a:2"));
        assert_eq!(locked(&path, &known).unwrap(), None, "without a file nothing is locked");
        let mut lock = Lock::default();
        lock.add(&known, Digest::of(b"a"));

        fs::write(&path, lock.text()).unwrap();

        assert_eq!(Lock::read(&path).unwrap(), Some(lock));
        assert_eq!(locked(&path, &known).unwrap(), Some(Digest::of(b"a")));
        let error = locked(&path, &unknown).unwrap_err().to_string();
        assert!(
            error.ends_with("informer.lock does not name oci://ghcr.io/acme/a:2; run `informer plugin lock`"),
            "{error}"
        );
    }

    #[test]
    fn a_lock_file_that_cannot_be_read_locks_everything_out() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join(FILE_NAME);
        let one = |digest: Digest| format!("[[artifact]]\nsource = \"a\"\ndigest = \"{digest}\"\n");
        // Two branches that were merged.
        let twice = format!("version = 1\n{}{}", one(Digest::of(b"a")), one(Digest::of(b"b")));
        for text in [
            "x",
            "version = 2",
            "version = 1\nother = 1",
            "version = 1\n[[artifact]]\nsource = \"a\"\ndigest = \"b\"",
            &twice,
        ] {
            fs::write(&path, text).unwrap();
            let error = locked(&path, &reference("oci://ghcr.io/acme/a:1")).unwrap_err().to_string();
            assert!(
                error.contains("is not a lock file") && error.ends_with("run `informer plugin lock`"),
                "{error}"
            );
        }
    }
}
