//! Signatures by an identity: a certificate that lived for some minutes, and a log that proves when it was used.

use informer_types::excerpt;
use sigstore_verify::{
    VerificationPolicy, VerificationResult, Verifier,
    types::{Sha256Hash, SignatureContent},
};

use super::{Found, public_key::states};
use crate::{Digest, pattern::Pattern};

/// The most bytes shown of an identity.
const SHOWN: usize = 256;

/// Returns why this is no signature of the artifact by the identity.
pub(super) fn verify(
    artifact: Digest,
    found: &Found,
    verifier: &Verifier,
    (issuer, subject): (&str, &Pattern),
) -> Result<(), String> {
    // Any identity at first: the subject may be a pattern.
    let policy = VerificationPolicy::any_identity();
    let verified = match found {
        Found::Bundle { bundle, .. } => {
            if let SignatureContent::DsseEnvelope(envelope) = &bundle.content {
                states(artifact, envelope)?;
            }
            let digest = Sha256Hash::from_hex(&artifact.hex()).map_err(|error| error.to_string())?;
            verifier.verify(digest, bundle, &policy)
        }
        Found::Simple(simple) => {
            if simple.certificate.is_none() {
                return Err("it is by a key, not by an identity".to_owned());
            }
            simple.is_about(artifact)?;
            verifier.verify(simple.payload.as_slice(), &simple.to_bundle()?, &policy)
        }
        Found::Unreadable { why, .. } => return Err(why.clone()),
    };
    identified(&verified.map_err(|error| error.to_string())?, issuer, subject)
}

/// Returns why the identity in a valid signature is another one.
fn identified(verified: &VerificationResult, issuer: &str, subject: &Pattern) -> Result<(), String> {
    if !verified.certificate_verified() || !verified.tlog_verified() {
        return Err("its certificate or its log entry was not verified".to_owned());
    }
    let own = verified.identity().map_or("nothing", |identity| identity.as_str());
    let by = verified.issuer().unwrap_or("nothing");
    if verified.identity().is_some() && subject.fits(own) && verified.issuer() == Some(issuer) {
        return Ok(());
    }
    Err(format!("it is by {} of the issuer {}", excerpt(own, SHOWN), excerpt(by, SHOWN)))
}
