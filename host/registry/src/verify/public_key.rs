//! Signatures by a key that the operator names.

use sigstore_verify::{
    PublicKeyVerificationPolicy, Verifier,
    crypto::{KeyAlgorithm, verify_signature},
    types::{
        Artifact, Bundle, DerPublicKey, DsseEnvelope, Sha256Hash, SignatureBytes, SignatureContent, Statement,
    },
};

use super::{found::Found, simple_signing::SimpleSigning};
use crate::Digest;

/// What cosign states when it signs an artifact. Other statements, such as a list of parts, are about the artifact but accept it
/// not.
pub(super) const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

/// Returns why the key cannot be used.
pub(super) fn check(key: &DerPublicKey) -> Result<(), String> {
    KeyAlgorithm::from_spki(key).map(drop).map_err(|error| error.to_string())
}

/// Returns why this is no signature of the artifact by the key. With a verifier, the signature must also be in its log.
pub(super) fn verify(
    artifact: Digest,
    found: &Found,
    key: &DerPublicKey,
    log: Option<&Verifier>,
) -> Result<(), String> {
    match found {
        Found::Bundle { bundle, .. } => {
            bundled(artifact, bundle, key)?;
            log.map_or(Ok(()), |log| logged(artifact, bundle, key, log))
        }
        Found::Simple(simple) => {
            simple_signed(artifact, simple, key)?;
            // This form has a promise of the log and no proof, as cosign accepts.
            log.map_or(Ok(()), |log| in_log(simple.payload.as_slice().into(), &simple.to_bundle()?, key, log))
        }
        Found::Unreadable { why, .. } => Err(why.clone()),
    }
}

fn bundled(artifact: Digest, bundle: &Bundle, key: &DerPublicKey) -> Result<(), String> {
    match &bundle.content {
        SignatureContent::DsseEnvelope(envelope) => {
            signed(key, &envelope.pae(), &envelope.signature.sig)?;
            states(artifact, envelope)
        }
        _ => Err("it signs no statement of cosign".to_owned()),
    }
}

/// Returns why the envelope is no statement that the artifact is signed.
pub(super) fn states(artifact: Digest, envelope: &DsseEnvelope) -> Result<(), String> {
    let statement: Statement = serde_json::from_slice(envelope.payload.as_bytes())
        .map_err(|error| format!("its statement cannot be read: {error}"))?;
    if statement.predicate_type != SIGNED {
        return Err(format!("it states {:?}, and {SIGNED:?} is required", statement.predicate_type));
    }
    let digest = Sha256Hash::from_hex(&artifact.hex()).map_err(|error| error.to_string())?;
    if statement.matches_sha256(&digest) { Ok(()) } else { Err("it is about another artifact".to_owned()) }
}

fn logged(artifact: Digest, bundle: &Bundle, key: &DerPublicKey, log: &Verifier) -> Result<(), String> {
    let digest = Sha256Hash::from_hex(&artifact.hex()).map_err(|error| error.to_string())?;
    in_log(Artifact::from_digest(digest), bundle, key, log)
}

fn in_log(artifact: Artifact<'_>, bundle: &Bundle, key: &DerPublicKey, log: &Verifier) -> Result<(), String> {
    let verified = log.verify(artifact, bundle, &PublicKeyVerificationPolicy::new(key.clone()));
    let verified = verified.map_err(|error| format!("the transparency log: {error}"))?;
    if verified.tlog_verified() && !bundle.verification_material.tlog_entries.is_empty() {
        Ok(())
    } else {
        Err("it is not in the transparency log".to_owned())
    }
}

fn simple_signed(artifact: Digest, simple: &SimpleSigning, key: &DerPublicKey) -> Result<(), String> {
    signed(key, &simple.payload, &SignatureBytes::from_bytes(&simple.signature))?;
    simple.is_about(artifact)
}

fn signed(key: &DerPublicKey, message: &[u8], signature: &SignatureBytes) -> Result<(), String> {
    let algorithm = KeyAlgorithm::from_spki(key).map_err(|error| error.to_string())?;
    verify_signature(key, message, signature, algorithm.default_signing_scheme())
        .map_err(|_| "the signature is by another key, or of other bytes".to_owned())
}
