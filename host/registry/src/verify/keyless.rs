//! Signatures by an identity: a certificate that lived for some minutes, and a log that proves when it was used.

use informer_types::{Pattern, excerpt};
use sigstore_verify::{
    VerificationPolicy, VerificationResult, Verifier,
    types::{Sha256Hash, SignatureContent},
};

use super::{found::Found, public_key::states};
use crate::Digest;

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

/// The bundles are test data of `sigstore-verify`, made by the public instance.
#[cfg(test)]
mod tests {
    use sigstore_verify::{
        trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot},
        types::Bundle,
    };

    use super::*;
    use crate::verify::provider;

    const BLOB: &[u8] = include_bytes!("../../tests/vectors/cosign-v3-blob.txt");
    const SIGNED: &str = include_str!("../../tests/vectors/cosign-v3-blob.sigstore.json");
    const PROVENANCE: &str = include_str!("../../tests/vectors/provenance.sigstore.json");

    const ISSUER: &str = "https://github.com/login/oauth";
    const SUBJECT: &str = "w.*@gmail.com";

    fn verified(bundle: &str, artifact: Digest, issuer: &str, subject: &str) -> Result<(), String> {
        provider::install();
        let root = TrustedRoot::from_json(SIGSTORE_PRODUCTION_TRUSTED_ROOT).unwrap();
        let bundle = Box::new(Bundle::from_json(bundle).unwrap());
        let found = Found::Bundle { holder: artifact, bundle };
        verify(artifact, &found, &Verifier::new(&root).unwrap(), (issuer, &subject.parse().unwrap()))
    }

    #[test]
    fn a_signature_by_an_identity_is_accepted_with_its_issuer_and_its_subject() {
        let artifact = Digest::of(BLOB);

        assert_eq!(verified(SIGNED, artifact, ISSUER, SUBJECT), Ok(()));
        assert_eq!(verified(SIGNED, artifact, ISSUER, "*"), Ok(()));
        for (issuer, subject) in [(ISSUER, "ann@example.com"), ("https://example.com", "*")] {
            let error = verified(SIGNED, artifact, issuer, subject).unwrap_err();
            assert!(
                error.starts_with("it is by w.") && error.ends_with(&format!("of the issuer {ISSUER}")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_signature_of_other_bytes_or_with_another_certificate_is_refused() {
        assert!(verified(SIGNED, Digest::of(b"x"), ISSUER, "*").is_err());
        let broken = SIGNED.replacen("IFLtJd6X", "IFLtJd6Y", 1);
        assert_ne!(broken, SIGNED);
        assert!(verified(&broken, Digest::of(BLOB), ISSUER, "*").is_err());
    }

    #[test]
    fn a_statement_about_the_build_is_no_signature() {
        let error = verified(PROVENANCE, Digest::of(b"x"), ISSUER, "*").unwrap_err();

        assert!(error.starts_with("it states \"https://slsa.dev/provenance/v1\", and"), "{error}");
    }
}
