//! Files of a layer, written so that equal files give equal bytes.

use std::{collections::BTreeMap, io::Write};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

/// The user of the host in the image. Distroless images use the same number for `nonroot`.
pub const USER: u64 = 65_532;

/// One entry of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Directory { owner: u64, mode: u32 },
    File { bytes: Vec<u8>, mode: u32 },
    Link { target: String },
}

/// Files by their path without a leading slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, Node>);

/// A compressed layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The tar archive, compressed by gzip.
    pub bytes: Vec<u8>,
    /// The digest of the archive before compression.
    pub diff_id: String,
}

/// The digest of some bytes as OCI writes it: `sha256:` and 64 digits.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    let digits: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

// === impl Tree ===

impl Tree {
    /// Adds a file that every user may read.
    pub fn file(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.put(path, Node::File { bytes: bytes.into(), mode: 0o644 });
    }

    /// Adds a program.
    pub fn program(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.put(path, Node::File { bytes: bytes.into(), mode: 0o755 });
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, target: &str) {
        self.put(path, Node::Link { target: target.to_owned() });
    }

    /// Adds a directory of root.
    pub fn directory(&mut self, path: &str) {
        self.put(path, Node::Directory { owner: 0, mode: 0o755 });
    }

    /// Adds a directory that only the host may enter.
    pub fn private_directory(&mut self, path: &str) {
        self.put(path, Node::Directory { owner: USER, mode: 0o700 });
    }

    /// The paths of all entries in their order in the layer.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    fn put(&mut self, path: &str, node: Node) {
        let path = path.trim_matches('/');
        if let Some((parent, _)) = path.rsplit_once('/')
            && !self.0.contains_key(parent)
        {
            self.directory(parent);
        }
        self.0.insert(path.to_owned(), node);
    }

    /// Writes the layer. Times are 1970, owners are numbers, and a directory stands before what it contains.
    ///
    /// # Errors
    /// A path is too long for a tar archive.
    pub fn layer(&self) -> Result<Layer> {
        let mut archive = Builder::new(Vec::new());
        for (path, node) in &self.0 {
            node.append(path, &mut archive).with_context(|| format!("archive {path}"))?;
        }
        let archive = archive.into_inner()?;
        let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        gzip.write_all(&archive)?;
        Ok(Layer { bytes: gzip.finish()?, diff_id: digest(&archive) })
    }
}

// === impl Node ===

impl Node {
    fn append(&self, path: &str, archive: &mut Builder<Vec<u8>>) -> Result<()> {
        let mut header = Header::new_gnu();
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(0);
        match self {
            Self::Directory { owner, mode } => {
                header.set_entry_type(EntryType::Directory);
                header.set_mode(*mode);
                header.set_uid(*owner);
                header.set_gid(*owner);
                archive.append_data(&mut header, format!("{path}/"), &[][..])?;
            }
            Self::File { bytes, mode } => {
                header.set_mode(*mode);
                header.set_size(bytes.len() as u64);
                archive.append_data(&mut header, path, bytes.as_slice())?;
            }
            Self::Link { target } => {
                header.set_entry_type(EntryType::Symlink);
                header.set_mode(0o777);
                archive.append_link(&mut header, path, target)?;
            }
        }
        Ok(())
    }
}
