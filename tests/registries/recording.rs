//! What cosign uploaded to a registry, kept in a file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::Repository;

/// Repositories by name, and the files that verify their signatures.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Recording {
    files: BTreeMap<String, String>,
    repositories: BTreeMap<String, Uploads>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Uploads {
    /// In base64.
    blobs: BTreeSet<String>,
    /// Manifests by digest, before the indexes and tags that lead to them.
    manifests: Vec<(String, String)>,
}

// === impl Recording ===

impl Recording {
    fn file() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/signatures.json")
    }

    pub(crate) fn load() -> Self {
        serde_json::from_str(&fs::read_to_string(Self::file()).unwrap()).unwrap()
    }

    pub(crate) fn save(&self) {
        fs::write(Self::file(), serde_json::to_string_pretty(self).unwrap() + "\n").unwrap();
    }

    /// Reads repositories of a registry without lists of referrers, and files of a directory.
    pub(crate) async fn of(host: &str, repositories: &[&str], directory: &Path, files: &[&str]) -> Self {
        let mut recording = Self::default();
        for name in files {
            recording.files.insert((*name).to_owned(), fs::read_to_string(directory.join(name)).unwrap());
        }
        for name in repositories {
            recording.repositories.insert((*name).to_owned(), uploads(&Repository { host, name }).await);
        }
        recording
    }

    /// Uploads everything to a registry, and writes the files to a directory. A registry with lists of referrers makes them
    /// itself, so the tags that replace them are left out.
    pub(crate) async fn replay(&self, host: &str, lists: bool, directory: &Path) {
        for (name, text) in &self.files {
            fs::write(directory.join(name), text).unwrap();
        }
        for (name, uploads) in &self.repositories {
            let repository = Repository { host, name };
            for blob in &uploads.blobs {
                repository.put_blob(&STANDARD.decode(blob).unwrap()).await;
            }
            for (reference, text) in &uploads.manifests {
                let replaces_list = reference.starts_with("sha256-") && !reference.ends_with(".sig");
                if !(lists && replaces_list) {
                    repository.put_manifest(reference, text).await;
                }
            }
        }
    }
}

async fn uploads(repository: &Repository<'_>) -> Uploads {
    let mut uploads = Uploads::default();
    for tag in repository.tags().await {
        let text = repository.manifest(&tag).await.unwrap();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        for entry in manifest["manifests"].as_array().into_iter().flatten() {
            let digest = entry["digest"].as_str().unwrap();
            let text = repository.manifest(digest).await.unwrap();
            blobs(repository, &serde_json::from_str(&text).unwrap(), &mut uploads.blobs).await;
            uploads.manifests.push((digest.to_owned(), text));
        }
        blobs(repository, &manifest, &mut uploads.blobs).await;
        uploads.manifests.push((tag, text));
    }
    uploads
}

/// Adds the config and the layers of a manifest.
async fn blobs(repository: &Repository<'_>, manifest: &Value, into: &mut BTreeSet<String>) {
    let layers = manifest["layers"].as_array().into_iter().flatten();
    for part in layers.chain(manifest.get("config")) {
        into.insert(STANDARD.encode(repository.blob(part["digest"].as_str().unwrap()).await));
    }
}
