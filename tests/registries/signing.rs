//! Components that the real cosign signs.

use std::{path::Path, process::Stdio};

use informer_registry::{Digest, Puller};
use informer_tests::cluster;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{process::Command, task::spawn_blocking};

use crate::{http::Repository, named, puller, push, without_tls};

/// The repositories, by what signs their component.
pub(crate) const REPOSITORIES: [&str; 8] = [
    "acme/bundle",
    "acme/tag",
    "acme/both",
    "acme/stranger-bundle",
    "acme/stranger-tag",
    "acme/attested",
    "acme/copied-bundle",
    "acme/copied-tag",
];

/// The public keys.
pub(crate) const FILES: [&str; 2] = ["acme.pub", "stranger.pub"];

/// A file that makes cosign use neither a transparency log nor a time server.
const OFFLINE: &str = r#"{"mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json"}"#;

/// The type of the statement that is not a signature.
pub(crate) const PREDICATE: &str = "https://example.com/reviewed/v1";

struct Cosign<'a> {
    program: &'a Path,
    directory: &'a TempDir,
    host: &'a str,
    puller: Puller,
}

/// Pushes a component to each repository and signs it. The public keys are written to the directory.
pub(crate) async fn sign_all(host: &str, directory: &TempDir) {
    let program = spawn_blocking(cluster::cosign).await.unwrap().unwrap();
    let cosign = Cosign { program: &program, directory, host, puller: puller(&without_tls(host)) };
    std::fs::write(directory.path().join("offline.json"), OFFLINE).unwrap();
    std::fs::write(directory.path().join("predicate.json"), "{}").unwrap();
    for key in ["acme", "stranger"] {
        cosign.run(&["generate-key-pair", "--output-key-prefix", key]).await;
    }
    let bundled = cosign.add("acme/bundle").await;
    cosign.sign_bundle("acme", "acme/bundle", bundled).await;
    let tagged = cosign.add("acme/tag").await;
    cosign.sign_tag("acme", "acme/tag", tagged).await;
    let both = cosign.add("acme/both").await;
    cosign.sign_bundle("acme", "acme/both", both).await;
    cosign.sign_bundle("stranger", "acme/both", both).await;
    let strange = cosign.add("acme/stranger-bundle").await;
    cosign.sign_bundle("stranger", "acme/stranger-bundle", strange).await;
    let strange = cosign.add("acme/stranger-tag").await;
    cosign.sign_tag("stranger", "acme/stranger-tag", strange).await;
    let attested = cosign.add("acme/attested").await;
    cosign.attest("acme", "acme/attested", attested).await;
    copy_bundle(host, bundled, cosign.add("acme/copied-bundle").await).await;
    copy_tag(host, tagged, cosign.add("acme/copied-tag").await).await;
}

// === impl Cosign ===

impl Cosign<'_> {
    /// Pushes a component under the tag `1`.
    async fn add(&self, repository: &str) -> Digest {
        push(&self.puller, &named(self.host, &format!("{repository}:1")), repository).await
    }

    /// Signs as cosign does since version 3.
    async fn sign_bundle(&self, key: &str, repository: &str, artifact: Digest) {
        let (key, image) = (format!("{key}.key"), format!("{}/{repository}@{artifact}", self.host));
        self.run(&["sign", "--yes", "--key", &key, "--signing-config", "offline.json", &image]).await;
    }

    /// Signs as cosign did before version 3.
    async fn sign_tag(&self, key: &str, repository: &str, artifact: Digest) {
        let (key, image) = (format!("{key}.key"), format!("{}/{repository}@{artifact}", self.host));
        let older = ["--use-signing-config=false", "--new-bundle-format=false", "--tlog-upload=false"];
        self.run(&[["sign", "--yes", "--key", &key].as_slice(), &older, &[&image]].concat()).await;
    }

    /// States something else about the component.
    async fn attest(&self, key: &str, repository: &str, artifact: Digest) {
        let (key, image) = (format!("{key}.key"), format!("{}/{repository}@{artifact}", self.host));
        let what = ["--predicate", "predicate.json", "--type", PREDICATE, "--signing-config", "offline.json"];
        self.run(&[["attest", "--yes", "--key", &key].as_slice(), &what, &[&image]].concat()).await;
    }

    async fn run(&self, arguments: &[&str]) {
        let output = Command::new(self.program)
            .args(arguments)
            .current_dir(self.directory.path())
            .env("HOME", self.directory.path())
            .env("COSIGN_PASSWORD", "")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cosign {}: {text}", arguments.join(" "));
    }
}

/// Lets the bundle of one component refer to another one.
async fn copy_bundle(host: &str, from: Digest, to: Digest) {
    let source = Repository { host, name: "acme/bundle" };
    let target = Repository { host, name: "acme/copied-bundle" };
    let text = bundle_holder(&source, from).await;
    let manifest: Value = serde_json::from_str(&text).unwrap();
    for part in [&manifest["config"], &manifest["layers"][0]] {
        target.put_blob(&source.blob(part["digest"].as_str().unwrap()).await).await;
    }
    let text = text.replace(&from.to_string(), &to.to_string());
    let holder = target.put_manifest(&Digest::of(text.as_bytes()).to_string(), &text).await;
    let entry = json!({"mediaType": manifest["mediaType"], "size": text.len(), "digest": holder.to_string(),
        "artifactType": manifest["artifactType"]});
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [entry]});
    target.put_manifest(&to.to_string().replace(':', "-"), &index.to_string()).await;
}

/// The manifest of the only bundle, by the list of referrers or the tag that replaces it.
async fn bundle_holder(repository: &Repository<'_>, artifact: Digest) -> String {
    let list = match repository.referrers(artifact).await {
        Some(list) => list,
        None => repository.manifest(&artifact.to_string().replace(':', "-")).await.unwrap(),
    };
    let list: Value = serde_json::from_str(&list).unwrap();
    repository.manifest(list["manifests"][0]["digest"].as_str().unwrap()).await.unwrap()
}

/// Uploads the signature of one component under the tag for another one.
async fn copy_tag(host: &str, from: Digest, to: Digest) {
    let source = Repository { host, name: "acme/tag" };
    let target = Repository { host, name: "acme/copied-tag" };
    let tag = |artifact: Digest| format!("{}.sig", artifact.to_string().replace(':', "-"));
    let text = source.manifest(&tag(from)).await.unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    for part in [&manifest["config"], &manifest["layers"][0]] {
        target.put_blob(&source.blob(part["digest"].as_str().unwrap()).await).await;
    }
    target.put_manifest(&tag(to), &text).await;
}
