//! The signatures that a registry has of an artifact.

use base64::{Engine, engine::general_purpose::STANDARD};
use informer_types::excerpt;
use oci_client::manifest::{ImageIndexEntry, OciDescriptor};
use sigstore_verify::types::{Bundle, SignatureContent, bundle::VerificationMaterialContent};

use super::simple_signing::SimpleSigning;
use crate::{
    Digest, Reference, RegistryError,
    manifest::{any, index, part},
    media_type,
    transport::Transport,
};

/// The most signatures that are looked at, of each form. A registry may list any number.
const MOST: usize = 32;

/// The most bytes of a bundle.
const BUNDLE_BYTES: u64 = 1 << 20;

/// The most bytes of what cosign signs for a `.sig` tag.
const PAYLOAD_BYTES: u64 = 64 << 10;

/// The most bytes shown of why a signature cannot be read.
const SHOWN: usize = 256;

/// cosign's names for the parts of a signature.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const LOG_ENTRY: &str = "dev.sigstore.cosign/bundle";

/// One signature, not verified yet.
#[derive(Debug)]
pub(crate) enum Found {
    /// A sigstore bundle that refers to the manifest.
    Bundle {
        /// The artifact that holds it.
        holder: Digest,
        /// The bundle.
        bundle: Box<Bundle>,
    },
    /// A layer of cosign's tag.
    Simple(Box<SimpleSigning>),
    /// Something that cannot be read.
    Unreadable {
        /// The place in the registry.
        place: String,
        /// Why it cannot be read.
        why: String,
    },
}

/// Reads the signatures of an artifact: bundles by the list of referrers, or by the tag that replaces the list, and cosign's tag.
///
/// # Errors
/// [`RegistryError`] if the registry fails. A signature that cannot be read is reported as such and affects no other.
pub(crate) async fn collect(
    transport: &Transport,
    reference: &Reference,
    artifact: Digest,
) -> Result<Vec<Found>, RegistryError> {
    let mut found = bundles(transport, reference, artifact).await?;
    found.extend(simple(transport, reference, artifact).await?);
    Ok(found)
}

async fn bundles(
    transport: &Transport,
    reference: &Reference,
    artifact: Digest,
) -> Result<Vec<Found>, RegistryError> {
    let list = match transport.referrers(reference, artifact).await?.map(|list| index(&list)) {
        Some(Ok(list)) => Some(Ok(list)),
        // A registry without such lists may answer with a page of its web site.
        unlisted => {
            let tagged = present(transport.manifest(&reference.with_tag(&tag(artifact))).await)?;
            tagged.map(|(bytes, _)| index(&bytes)).or(unlisted)
        }
    };
    let list = match list {
        Some(Ok(list)) => list,
        Some(Err(error)) => {
            let place = "the list of referrers".to_owned();
            return Ok(vec![Found::Unreadable { place, why: error.to_string() }]);
        }
        None => return Ok(Vec::new()),
    };
    let bundles = list.manifests.iter().filter(|one| is_bundle(one));
    // A registry may list the type of the config, which is empty, instead of the type of the artifact.
    let unnamed = list.manifests.iter().filter(|one| is_unnamed(one));
    let mut found = Vec::new();
    for holder in bundles.chain(unnamed).take(MOST) {
        let Ok(digest) = holder.digest.parse::<Digest>() else { continue };
        match bundle(transport, &reference.with_digest(digest), artifact).await {
            Ok(Some(bundle)) => found.push(Found::Bundle { holder: digest, bundle }),
            Ok(None) => {}
            Err(Unreadable::Registry(error)) => return Err(error),
            Err(Unreadable::Bundle(why)) => {
                found.push(Found::Unreadable { place: format!("the bundle in {digest}"), why });
            }
        }
    }
    Ok(found)
}

fn is_bundle(entry: &ImageIndexEntry) -> bool {
    entry.artifact_type.as_ref().is_some_and(|kind| kind.starts_with(media_type::BUNDLE))
}

fn is_unnamed(entry: &ImageIndexEntry) -> bool {
    entry.artifact_type.as_ref().is_none_or(|kind| kind == media_type::EMPTY)
}

/// Why a bundle is not read.
enum Unreadable {
    Registry(RegistryError),
    Bundle(String),
}

/// The bundle in one of the artifacts that refer to the manifest; `None` if it holds something else.
async fn bundle(
    transport: &Transport,
    holder: &Reference,
    artifact: Digest,
) -> Result<Option<Box<Bundle>>, Unreadable> {
    let (bytes, _) = transport.manifest(holder).await.map_err(failed)?;
    let manifest = any(&bytes).map_err(|error| Unreadable::Bundle(error.to_string()))?;
    if manifest.subject.as_ref().is_none_or(|subject| subject.digest != artifact.to_string()) {
        return Err(Unreadable::Bundle("it refers to another artifact".to_owned()));
    }
    let is_bundle = |layer: &&OciDescriptor| layer.media_type.starts_with(media_type::BUNDLE);
    let Some(layer) = manifest.layers.iter().find(is_bundle) else { return Ok(None) };
    let layer = part("layer", layer).map_err(|error| Unreadable::Bundle(error.to_string()))?;
    let bytes = transport.document(holder, layer, "the bundle", BUNDLE_BYTES).await.map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| Unreadable::Bundle("it is not text".to_owned()))?;
    let bundle = Bundle::from_json(&text).map_err(|error| Unreadable::Bundle(error.to_string()))?;
    Ok(Some(Box::new(bundle)))
}

/// A broken artifact is a broken signature. A registry that fails may hide one.
fn failed(error: RegistryError) -> Unreadable {
    match error {
        error if error.is_about_registry() && !matches!(error, RegistryError::Absent { .. }) => {
            Unreadable::Registry(error)
        }
        error => Unreadable::Bundle(error.to_string()),
    }
}

async fn simple(
    transport: &Transport,
    reference: &Reference,
    artifact: Digest,
) -> Result<Vec<Found>, RegistryError> {
    let place = reference.with_tag(&format!("{}.sig", tag(artifact)));
    let Some((bytes, holder)) = present(transport.manifest(&place).await)? else { return Ok(Vec::new()) };
    let manifest = match any(&bytes) {
        Ok(manifest) => manifest,
        Err(error) => {
            return Ok(vec![Found::Unreadable { place: place.to_string(), why: error.to_string() }]);
        }
    };
    let mut found = Vec::new();
    let layers = manifest.layers.iter().filter(|layer| layer.media_type == media_type::SIMPLE_SIGNING);
    for layer in layers.take(MOST) {
        found.push(match layer_of(transport, &place.with_digest(holder), layer).await {
            Ok(simple) => Found::Simple(Box::new(simple)),
            Err(Unreadable::Registry(error)) => return Err(error),
            Err(Unreadable::Bundle(why)) => Found::Unreadable { place: place.to_string(), why },
        });
    }
    Ok(found)
}

async fn layer_of(
    transport: &Transport,
    holder: &Reference,
    layer: &OciDescriptor,
) -> Result<SimpleSigning, Unreadable> {
    let annotation = |name: &str| layer.annotations.as_ref().and_then(|all| all.get(name)).cloned();
    let own = part("layer", layer).map_err(|error| Unreadable::Bundle(error.to_string()))?;
    let payload = transport.document(holder, own, "the signature", PAYLOAD_BYTES).await.map_err(failed)?;
    let signature =
        annotation(SIGNATURE).ok_or_else(|| Unreadable::Bundle(format!("it lacks {SIGNATURE}")))?;
    let signature = STANDARD.decode(signature.trim());
    let signature =
        signature.map_err(|error| Unreadable::Bundle(format!("{SIGNATURE} cannot be read: {error}")))?;
    Ok(SimpleSigning {
        payload,
        signature,
        certificate: annotation(CERTIFICATE),
        log_entry: annotation(LOG_ENTRY),
    })
}

/// `sha256-0123...`
fn tag(artifact: Digest) -> String {
    artifact.to_string().replace(':', "-")
}

fn present<T>(read: Result<T, RegistryError>) -> Result<Option<T>, RegistryError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(RegistryError::Absent { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

// === impl Found ===

impl Found {
    /// The signature in a few words.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Bundle { holder, bundle } => {
                let by = match &bundle.verification_material.content {
                    VerificationMaterialContent::PublicKey(_) => "a key",
                    _ => "a certificate",
                };
                let what = match &bundle.content {
                    SignatureContent::DsseEnvelope(_) => "statement",
                    _ => "signature",
                };
                format!("bundle {holder} with a {what} by {by}")
            }
            Self::Simple(simple) => {
                let by = if simple.certificate.is_some() { "a certificate" } else { "a key" };
                format!("signature under the .sig tag by {by}")
            }
            Self::Unreadable { place, why } => {
                format!("{place}, which cannot be read: {}", excerpt(why, SHOWN))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reader of a bundle may quote any part of it.
    #[test]
    fn the_reason_of_a_signature_that_cannot_be_read_is_cut() {
        let found = Found::Unreadable { place: "the bundle".to_owned(), why: "x".repeat(1 << 20) };

        let described = found.describe();

        assert!(described.starts_with("the bundle, which cannot be read: xxx"), "{described}");
        assert!(described.len() < 512, "{}", described.len());
    }
}
