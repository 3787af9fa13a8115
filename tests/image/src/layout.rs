//! An OCI image layout in a tar file.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};
use tar::{Builder, Header};

use crate::{
    platform::Platform,
    tree::{Layer, digest},
};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// What the labels of the image say.
#[derive(Clone, Debug)]
pub struct About {
    /// The version of the host.
    pub version: String,
    /// The commit that it was built from.
    pub revision: String,
    /// The time of the commit, as RFC 3339 writes it.
    pub created: String,
    /// The address of the repository.
    pub source: String,
}

/// The image of one platform.
#[derive(Clone, Debug)]
pub struct Image {
    /// The platform.
    pub platform: Platform,
    /// The layers from the lowest to the uppermost.
    pub layers: Vec<Layer>,
    /// How a container starts: the member `config` of the configuration of OCI, without labels.
    pub process: Value,
}

/// A layout under construction.
#[derive(Debug, Default)]
pub struct Layout {
    blobs: BTreeMap<String, Vec<u8>>,
    manifests: Vec<Value>,
}

// === impl Image ===

impl Image {
    /// The bytes that a registry stores and a node pulls, without the manifest.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.layers.iter().map(|layer| layer.bytes.len()).sum()
    }

    fn config(&self, about: &About) -> Value {
        let mut process = self.process.clone();
        if let Some(fields) = process.as_object_mut() {
            fields.insert("Labels".to_owned(), about.labels());
        }
        let diff_ids: Vec<&str> = self.layers.iter().map(|layer| layer.diff_id.as_str()).collect();
        let made = json!({"created": about.created, "created_by": "cargo xtask image"});
        json!({
            "created": about.created,
            "architecture": self.platform.architecture,
            "os": "linux",
            "config": process,
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
            "history": vec![made; self.layers.len()],
        })
    }
}

// === impl About ===

impl About {
    fn labels(&self) -> Value {
        json!({
            "org.opencontainers.image.title": "informer",
            "org.opencontainers.image.description": "Runs many small Kubernetes controllers, which are WebAssembly components, in one process",
            "org.opencontainers.image.version": self.version,
            "org.opencontainers.image.revision": self.revision,
            "org.opencontainers.image.created": self.created,
            "org.opencontainers.image.source": self.source,
            "org.opencontainers.image.url": self.source,
            "org.opencontainers.image.documentation": format!("{}/blob/main/host/docs/deploy.md", self.source),
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.vendor": "informer",
        })
    }
}

// === impl Layout ===

impl Layout {
    /// Adds the image of a platform, and returns the digest of its manifest.
    ///
    /// # Errors
    /// The JSON cannot be written.
    pub fn add(&mut self, image: &Image, about: &About) -> Result<String> {
        let config = self.store(serde_json::to_vec(&image.config(about))?, CONFIG);
        let layers: Vec<Value> =
            image.layers.iter().map(|layer| self.store(layer.bytes.clone(), LAYER)).collect();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers, "annotations": about.labels(),
        });
        let bytes = serde_json::to_vec(&manifest)?;
        let digest = digest(&bytes);
        let mut descriptor = self.store(bytes, MANIFEST);
        if let Some(fields) = descriptor.as_object_mut() {
            let platform = json!({"architecture": image.platform.architecture, "os": "linux"});
            fields.insert("platform".to_owned(), platform);
        }
        self.manifests.push(descriptor);
        Ok(digest)
    }

    /// Writes the layout with one image index of all platforms, and returns it with the digest of the index.
    ///
    /// # Errors
    /// The JSON or the archive cannot be written.
    pub fn finish(mut self, name: &str, about: &About) -> Result<(Vec<u8>, String)> {
        let index = json!({
            "schemaVersion": 2, "mediaType": INDEX, "manifests": self.manifests, "annotations": about.labels(),
        });
        let bytes = serde_json::to_vec(&index)?;
        let digest = digest(&bytes);
        let mut descriptor = self.store(bytes, INDEX);
        if let Some(fields) = descriptor.as_object_mut() {
            // containerd takes the name from the first, other tools the tag from the second.
            let names = json!({
                "io.containerd.image.name": format!("{name}:{}", about.version),
                "org.opencontainers.image.ref.name": about.version,
            });
            fields.insert("annotations".to_owned(), names);
        }
        let top = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [descriptor]});
        let mut archive = Builder::new(Vec::new());
        append(&mut archive, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        append(&mut archive, "index.json", &serde_json::to_vec(&top)?)?;
        for (digest, bytes) in &self.blobs {
            append(&mut archive, &format!("blobs/{}", digest.replace(':', "/")), bytes)?;
        }
        Ok((archive.into_inner()?, digest))
    }

    /// Stores a blob and returns its descriptor.
    fn store(&mut self, bytes: Vec<u8>, media_type: &str) -> Value {
        let (digest, size) = (digest(&bytes), bytes.len());
        self.blobs.insert(digest.clone(), bytes);
        json!({"mediaType": media_type, "digest": digest, "size": size})
    }
}

fn append(archive: &mut Builder<Vec<u8>>, path: &str, bytes: &[u8]) -> Result<()> {
    let mut header = Header::new_gnu();
    header.set_mtime(0);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(bytes.len() as u64);
    archive.append_data(&mut header, path, bytes)?;
    Ok(())
}
