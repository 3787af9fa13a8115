//! What each policy accepts, and what it says about the rest.

use std::{fs, path::PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use informer_registry::{Digest, Policy, Puller, Reference, Settings, Signer, SignerKind};
use p256::ecdsa::{DerSignature, SigningKey, signature::Signer as _};
use serde_json::{Value, json};
use sigstore_verify::types::pae;
use tempfile::TempDir;

use crate::{
    LARGEST, add, named, pull, pull_error,
    server::{MANIFEST, Registry},
    settings,
};

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const IN_TOTO: &str = "application/vnd.in-toto+json";
const COSIGN: &str = "https://sigstore.dev/cosign/sign/v1";

/// The start of a P-256 key in the form of SubjectPublicKeyInfo.
const SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A registry with a component, and a directory with the public keys of its signers.
struct Stage {
    registry: Registry,
    keys: TempDir,
    artifact: Digest,
    tag: Reference,
}

impl Stage {
    async fn new() -> Self {
        let registry = Registry::start().await;
        let artifact = add(&registry, "1", b"component");
        let tag = named(&registry, ":1");
        Self { registry, keys: TempDir::new().unwrap(), artifact, tag }
    }

    /// A signer with a key of this number.
    fn signer(&self, name: &str, key: u8) -> Signer {
        let point = key_of(key).verifying_key().to_encoded_point(false);
        let body = STANDARD.encode([SPKI.as_slice(), point.as_bytes()].concat());
        let file = self.file(&format!("{name}.pub"));
        fs::write(&file, format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")).unwrap();
        let kind = SignerKind::PublicKey { file, transparency_log: false, trust_root: None };
        Signer { name: name.to_owned(), kind }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.keys.path().join(name)
    }

    fn puller(&self, policies: Vec<Policy>) -> Puller {
        Puller::without_store(Settings { policies, ..settings(&self.registry) }, LARGEST)
    }

    /// Signs as `cosign sign --key` does since version 3.
    fn add_bundle(&self, key: u8, subject: Digest, predicate: &str) -> Digest {
        let statement = json!({"_type": "https://in-toto.io/Statement/v1", "predicateType": predicate,
            "subject": [{"digest": {"sha256": subject.hex()}}], "predicate": {}});
        let payload = statement.to_string().into_bytes();
        let signature = sign(key, &pae(IN_TOTO, &payload));
        let bundle = json!({"mediaType": BUNDLE, "verificationMaterial": {"publicKey": {"hint": "x"}},
            "dsseEnvelope": {"payload": STANDARD.encode(&payload), "payloadType": IN_TOTO,
                "signatures": [{"sig": signature, "keyid": ""}]}});
        self.add_holder(&bundle.to_string())
    }

    /// Adds an artifact that holds a bundle and refers to the component.
    fn add_holder(&self, bundle: &str) -> Digest {
        let layer = self.registry.add_typed(BUNDLE, bundle.as_bytes());
        let config = self.registry.add_typed("application/vnd.oci.empty.v1+json", b"{}");
        let subject = json!({"mediaType": MANIFEST, "digest": self.artifact.to_string(), "size": 1});
        let holder = json!({"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": BUNDLE, "config": config,
            "layers": [layer], "subject": subject});
        self.registry.add_manifest("acme/plugin", "holder", &holder)
    }

    /// Lists holders under the tag that replaces the list of referrers.
    fn add_fallback(&self, holders: &[Digest]) {
        let entry = |digest: &Digest| json!({"mediaType": MANIFEST, "digest": digest.to_string(), "size": 1, "artifactType": BUNDLE});
        let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": holders.iter().map(entry).collect::<Value>()});
        self.registry.add_manifest("acme/plugin", &self.artifact.to_string().replace(':', "-"), &index);
    }

    /// Signs as `cosign sign --key` did before version 3.
    fn add_simple(&self, key: u8, subject: Digest) {
        let payload = json!({"critical": {"identity": {"docker-reference": "x"}, "type": "cosign container image signature",
            "image": {"docker-manifest-digest": subject.to_string()}}, "optional": null})
        .to_string();
        let mut layer =
            self.registry.add_typed("application/vnd.dev.cosign.simplesigning.v1+json", payload.as_bytes());
        layer["annotations"] = json!({"dev.cosignproject.cosign/signature": sign(key, payload.as_bytes())});
        let config = self.registry.add_typed("application/vnd.oci.image.config.v1+json", b"{}");
        let manifest =
            json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
        let tag = format!("{}.sig", self.artifact.to_string().replace(':', "-"));
        self.registry.add_manifest("acme/plugin", &tag, &manifest);
    }
}

fn key_of(number: u8) -> SigningKey {
    SigningKey::from_slice(&[number; 32]).unwrap()
}

fn sign(key: u8, message: &[u8]) -> String {
    let signature: DerSignature = key_of(key).sign(message);
    STANDARD.encode(signature.as_bytes())
}

fn policy(all_of: &[Signer], any_of: &[Signer]) -> Policy {
    Policy {
        repository: "*/acme/*".parse().unwrap(),
        refuse: false,
        pinned: false,
        all_of: all_of.to_vec(),
        any_of: any_of.to_vec(),
    }
}

#[tokio::test]
async fn a_component_without_a_signature_is_refused_with_what_was_looked_for() {
    let stage = Stage::new().await;
    let acme = stage.signer("acme", 1);

    let error = pull_error(&stage.puller(vec![policy(&[acme], &[])]), &stage.tag).await;

    let Stage { tag, artifact, .. } = &stage;
    let key = stage.file("acme.pub");
    assert_eq!(
        error,
        format!(
            "{tag} ({artifact}) is not signed as the [[verify]] of `*/acme/*` requires: no signature by `acme` (public key {}); \
             found: no signature at all",
            key.display()
        )
    );
    let layer = format!("blobs/{}", Digest::of(b"component"));
    assert!(
        stage.registry.requests().iter().all(|(request, _)| !request.ends_with(&layer)),
        "it is not pulled"
    );
}

#[tokio::test]
async fn a_bundle_is_found_as_a_referrer_and_under_the_tag_that_replaces_the_list() {
    let stage = Stage::new().await;
    let puller = stage.puller(vec![policy(&[stage.signer("acme", 1)], &[])]);
    let holder = stage.add_bundle(1, stage.artifact, COSIGN);
    assert!(pull(&puller, &stage.tag).await.is_err(), "nothing lists it yet");

    stage.add_fallback(&[holder]);
    pull(&puller, &stage.tag).await.unwrap();

    stage.add_fallback(&[]);
    assert!(pull(&puller, &stage.tag).await.is_err());
    stage.registry.set(|faults| faults.referrers = true);
    pull(&puller, &stage.tag).await.unwrap();
}

/// Some registries redirect an unknown path to their web site.
#[tokio::test]
async fn a_bundle_is_found_under_the_tag_if_a_page_is_in_place_of_the_list() {
    let stage = Stage::new().await;
    let puller = stage.puller(vec![policy(&[stage.signer("acme", 1)], &[])]);
    stage.registry.set(|faults| faults.page = true);
    let holder = stage.add_bundle(1, stage.artifact, COSIGN);
    let error = pull_error(&puller, &stage.tag).await;
    assert!(error.contains("found: the list of referrers, which cannot be read: "), "{error}");

    stage.add_fallback(&[holder]);

    pull(&puller, &stage.tag).await.unwrap();
}

/// The registry of go-containerregistry lists them so.
#[tokio::test]
async fn a_bundle_is_found_in_a_list_that_names_the_type_of_its_config() {
    let stage = Stage::new().await;
    let puller = stage.puller(vec![policy(&[stage.signer("acme", 1)], &[])]);
    stage.registry.set(|faults| (faults.referrers, faults.lists_configs) = (true, true));

    stage.add_bundle(1, stage.artifact, COSIGN);

    pull(&puller, &stage.tag).await.unwrap();
}

#[tokio::test]
async fn a_signature_under_the_older_tag_is_found() {
    let stage = Stage::new().await;
    let puller = stage.puller(vec![policy(&[stage.signer("acme", 1)], &[])]);

    stage.add_simple(1, stage.artifact);

    pull(&puller, &stage.tag).await.unwrap();
    let (artifact, signers) = puller.verify(&stage.tag, None).await.unwrap();
    assert_eq!(artifact, stage.artifact);
    assert!(signers.unwrap()[0].starts_with("`acme` (public key "));
}

#[tokio::test]
async fn signatures_of_others_and_of_other_things_are_refused_each_with_its_reason() {
    let stage = Stage::new().await;
    let puller = stage.puller(vec![policy(&[stage.signer("acme", 1)], &[])]);
    stage.registry.set(|faults| faults.referrers = true);
    let refused = async |add: &dyn Fn(), reason: &str| {
        add();
        let error = pull_error(&puller, &stage.tag).await;
        assert!(error.contains(reason), "{reason}: {error}");
    };

    refused(
        &|| _ = stage.add_bundle(2, stage.artifact, COSIGN),
        "with a statement by a key (not by `acme`: the signature is by another key, or of other bytes)",
    )
    .await;
    refused(&|| _ = stage.add_bundle(1, Digest::of(b"x"), COSIGN), "it is about another artifact").await;
    let predicate = "https://slsa.dev/provenance/v1";
    refused(&|| _ = stage.add_bundle(1, stage.artifact, predicate), &format!("it states {predicate:?}, and"))
        .await;
    refused(
        &|| stage.add_simple(2, stage.artifact),
        "signature under the .sig tag by a key (not by `acme`: the signature is by another key",
    )
    .await;
    refused(&|| stage.add_simple(1, Digest::of(b"x")), "it is about another artifact, sha256:").await;
    refused(&|| _ = stage.add_holder("{"), "which cannot be read: ").await;

    // One valid signature among the others is enough.
    stage.add_bundle(1, stage.artifact, COSIGN);
    pull(&puller, &stage.tag).await.unwrap();
}

#[tokio::test]
async fn all_of_needs_every_signer_and_any_of_needs_one() {
    let stage = Stage::new().await;
    stage.registry.set(|faults| faults.referrers = true);
    let (ann, bob, eve) = (stage.signer("ann", 1), stage.signer("bob", 2), stage.signer("eve", 3));
    stage.add_bundle(1, stage.artifact, COSIGN);
    stage.add_bundle(2, stage.artifact, COSIGN);
    let accepts = async |all: &[Signer], any: &[Signer]| {
        let pulled = pull(&stage.puller(vec![policy(all, any)]), &stage.tag).await;
        pulled.map(drop).map_err(|error| error.to_string())
    };

    assert_eq!(accepts(&[ann.clone(), bob.clone()], &[]).await, Ok(()));
    assert_eq!(accepts(std::slice::from_ref(&ann), &[eve.clone(), bob.clone()]).await, Ok(()));
    let error = accepts(&[ann.clone(), eve.clone()], &[bob]).await.unwrap_err();
    assert!(
        error.contains("requires: no signature by `eve` (") && error.contains("; found: bundle sha256:"),
        "{error}"
    );
    let error = accepts(&[ann], &[eve]).await.unwrap_err();
    assert!(error.contains("requires: no signature by any of `eve` ("), "{error}");
}

#[tokio::test]
async fn the_first_policy_that_fits_applies() {
    let stage = Stage::new().await;
    let refuse = Policy { repository: "*".parse().unwrap(), refuse: true, ..policy(&[], &[]) };
    let pinned = Policy { pinned: true, ..policy(&[], &[]) };

    let error = pull_error(&stage.puller(vec![refuse.clone(), pinned.clone()]), &stage.tag).await;
    assert!(error.contains("is refused: the [[verify]] of `*` refuses everything"), "{error}");

    let puller = stage.puller(vec![pinned, refuse]);
    let error = pull_error(&puller, &stage.tag).await;
    assert!(
        error.contains(
            "is not pinned, which the [[verify]] of `*/acme/*` requires: run `informer plugin lock`"
        ),
        "{error}"
    );
    pull(&puller, &stage.tag.with_digest(stage.artifact)).await.unwrap();
}

#[tokio::test]
async fn a_key_that_cannot_be_read_accepts_nothing() {
    let stage = Stage::new().await;
    stage.registry.set(|faults| faults.referrers = true);
    let acme = stage.signer("acme", 1);
    stage.add_bundle(1, stage.artifact, COSIGN);
    let puller = stage.puller(vec![policy(&[acme], &[])]);
    pull(&puller, &stage.tag).await.unwrap();

    fs::write(stage.file("acme.pub"), "no key").unwrap();
    let error = pull_error(&puller, &stage.tag).await;

    assert!(error.contains("which is the public key of the [[signer]] `acme`, cannot be used: "), "{error}");
}

/// A verdict holds for one policy: with another key, or without the registry, it is made anew or not at all.
#[tokio::test]
async fn an_accepted_artifact_stays_accepted_until_the_policy_changes() {
    let stage = Stage::new().await;
    stage.registry.set(|faults| faults.referrers = true);
    let acme = stage.signer("acme", 1);
    stage.add_bundle(1, stage.artifact, COSIGN);
    let directory = TempDir::new().unwrap();
    let settings = Settings { policies: vec![policy(&[acme], &[])], ..settings(&stage.registry) };
    let puller = Puller::new(settings, Some(directory.path()), LARGEST).unwrap();
    pull(&puller, &stage.tag).await.unwrap();
    stage.registry.set(|faults| faults.referrers = false);

    pull(&puller, &stage.tag).await.unwrap();
    assert!(puller.verify(&stage.tag, None).await.is_err(), "a verification on request asks the registry");

    stage.signer("acme", 2);
    assert!(pull(&puller, &stage.tag).await.is_err());
}

#[tokio::test]
async fn a_signature_that_is_not_in_the_log_is_refused_if_the_log_is_required() {
    let stage = Stage::new().await;
    stage.registry.set(|faults| faults.referrers = true);
    let Signer { name, kind } = stage.signer("acme", 1);
    let SignerKind::PublicKey { file, .. } = kind else { unreachable!() };
    let kind = SignerKind::PublicKey { file, transparency_log: true, trust_root: None };
    let puller = stage.puller(vec![policy(&[Signer { name, kind }], &[])]);

    stage.add_bundle(1, stage.artifact, COSIGN);
    stage.add_simple(1, stage.artifact);
    let error = pull_error(&puller, &stage.tag).await;

    assert!(
        error.contains("the transparency log: ") && error.contains("it is not in the transparency log"),
        "{error}"
    );
}
