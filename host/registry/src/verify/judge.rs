//! Compares signatures with a policy.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use informer_system::read_file;
use informer_types::excerpt;
use sigstore_verify::{
    Verifier,
    trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot},
    types::DerPublicKey,
};

use super::{found::Found, keyless, provider, public_key};
use crate::{
    Digest, Reference,
    policy::{NotVerified, Policy, PolicyError, Signer, SignerKind},
};

/// The most bytes of a public key or a trust root.
const FILE_BYTES: u64 = 1 << 20;

/// The most bytes shown of one reason.
const SHOWN: usize = 256;

/// A policy with its keys and trust roots.
pub(crate) struct Judge {
    policy: Policy,
    all_of: Vec<Known>,
    any_of: Vec<Known>,
    fingerprint: Digest,
}

/// A signer with its key or trust root.
struct Known {
    signer: Signer,
    key: Option<DerPublicKey>,
    verifier: Option<Verifier>,
}

// === impl Judge ===

impl Judge {
    /// Reads the keys and trust roots of a policy, each time anew: they are replaced while the host runs. Blocks.
    ///
    /// # Errors
    /// [`PolicyError`] if one of them cannot be used. Then nothing is accepted.
    pub(crate) fn new(policy: Policy) -> Result<Self, PolicyError> {
        provider::install();
        let mut print = format!("{} {} {}", policy.repository, policy.refuse, policy.pinned);
        let mut known = |signers: &[Signer], group: &str| {
            let mut all = Vec::with_capacity(signers.len());
            for signer in signers {
                all.push(Known::of(signer, &mut print)?);
                // Writing to a string does not fail.
                let _ = writeln!(print, "{group} {:?}", signer.kind);
            }
            Ok(all)
        };
        let (all_of, any_of) = (known(&policy.all_of, "all")?, known(&policy.any_of, "any")?);
        Ok(Self { policy, all_of, any_of, fingerprint: Digest::of(print.as_bytes()) })
    }

    /// Changes with everything that a verdict depends on.
    pub(crate) fn fingerprint(&self) -> Digest {
        self.fingerprint
    }

    /// Compares the signatures of an artifact with the policy.
    pub(crate) fn judge(
        &self,
        reference: &Reference,
        artifact: Digest,
        found: &[Found],
    ) -> Result<(), NotVerified> {
        let mut reasons: Vec<String> = vec![String::new(); found.len()];
        let mut signed = |known: &Known| {
            found.iter().zip(&mut reasons).any(|(one, reasons)| match known.accepts(artifact, one) {
                Ok(()) => true,
                Err(why) => {
                    let before = if reasons.is_empty() { "" } else { ", and " };
                    let _ =
                        write!(reasons, "{before}not by `{}`: {}", known.signer.name, excerpt(&why, SHOWN));
                    false
                }
            })
        };
        let missing: Vec<String> =
            self.all_of.iter().filter(|known| !signed(known)).map(|known| known.signer.describe()).collect();
        let any = self.any_of.is_empty() || self.any_of.iter().any(&mut signed);
        if missing.is_empty() && any {
            return Ok(());
        }
        let mut texts: Vec<String> =
            missing.iter().map(|signer| format!("no signature by {signer}")).collect();
        if !any {
            let names: Vec<String> = self.any_of.iter().map(|known| known.signer.describe()).collect();
            texts.push(format!("no signature by any of {}", names.join(", ")));
        }
        let found: Vec<String> =
            found.iter().zip(&reasons).map(|(one, why)| format!("{} ({why})", one.describe())).collect();
        Err(NotVerified::Unsigned {
            reference: reference.clone(),
            artifact,
            repository: self.policy.repository.to_string(),
            missing: texts.join(", and "),
            found: if found.is_empty() { "no signature at all".to_owned() } else { found.join("; ") },
        })
    }

    /// The signers of the policy whose signature was found, for a report.
    pub(crate) fn signers(&self, artifact: Digest, found: &[Found]) -> Vec<String> {
        let all = self.all_of.iter().chain(&self.any_of);
        let signed = all.filter(|known| found.iter().any(|one| known.accepts(artifact, one).is_ok()));
        signed.map(|known| known.signer.describe()).collect()
    }
}

// === impl Known ===

impl Known {
    fn of(signer: &Signer, print: &mut String) -> Result<Self, PolicyError> {
        let failed = |file: &Path, what, why: String| PolicyError {
            file: file.to_owned(),
            what,
            signer: signer.name.clone(),
            why,
        };
        let read = |file: &Path, what| {
            let bytes = read_file(file, FILE_BYTES)
                .map_err(|error| failed(file, what, std::io::Error::from(error).to_string()))?;
            String::from_utf8(bytes).map_err(|_| failed(file, what, "it is not text".to_owned()))
        };
        let mut noted = |text: &str| {
            let _ = writeln!(print, "{}", Digest::of(text.as_bytes()));
        };
        let verifier = |file: Option<&PathBuf>, noted: &mut dyn FnMut(&str)| {
            let what = "the trust root";
            let place = file.map_or(Path::new("the embedded trust root"), PathBuf::as_path);
            let text =
                file.map_or(Ok(SIGSTORE_PRODUCTION_TRUSTED_ROOT.to_owned()), |file| read(file, what))?;
            // The embedded one is replaced by another version of this program.
            noted(&text);
            let root =
                TrustedRoot::from_json(&text).map_err(|error| failed(place, what, error.to_string()))?;
            Verifier::new(&root).map_err(|error| failed(place, what, error.to_string()))
        };
        match &signer.kind {
            SignerKind::PublicKey { file, transparency_log, trust_root } => {
                let logged = transparency_log.then(|| verifier(trust_root.as_ref(), &mut noted));
                let verifier = logged.transpose()?;
                let what = "the public key";
                let text = read(file, what)?;
                noted(&text);
                let key =
                    DerPublicKey::from_pem(&text).map_err(|error| failed(file, what, error.to_string()))?;
                public_key::check(&key).map_err(|why| failed(file, what, why))?;
                Ok(Self { signer: signer.clone(), key: Some(key), verifier })
            }
            SignerKind::Identity { trust_root, .. } => {
                let verifier = verifier(trust_root.as_ref(), &mut noted)?;
                Ok(Self { signer: signer.clone(), key: None, verifier: Some(verifier) })
            }
        }
    }

    /// Returns why a signature is not one of this signer.
    fn accepts(&self, artifact: Digest, found: &Found) -> Result<(), String> {
        match (&self.signer.kind, &self.key, &self.verifier) {
            (SignerKind::PublicKey { .. }, Some(key), verifier) => {
                public_key::verify(artifact, found, key, verifier.as_ref())
            }
            (SignerKind::Identity { issuer, subject, .. }, _, Some(verifier)) => {
                keyless::verify(artifact, found, verifier, (issuer, subject))
            }
            _ => Err("the signer has no key".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An artifact that was accepted is verified anew after a new version of this program has another trust root.
    #[test]
    fn the_fingerprint_of_a_policy_changes_with_the_embedded_trust_root() {
        provider::install();
        let kind = SignerKind::Identity {
            issuer: "https://issuer.example".to_owned(),
            subject: "*".parse().unwrap(),
            trust_root: None,
        };
        let mut print = String::new();

        Known::of(&Signer { name: "ci".to_owned(), kind }, &mut print).unwrap();

        let embedded = Digest::of(SIGSTORE_PRODUCTION_TRUSTED_ROOT.as_bytes()).to_string();
        assert!(print.contains(&embedded), "{print}");
    }
}
