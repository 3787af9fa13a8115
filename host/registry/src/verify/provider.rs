//! The cryptography of `sigstore-verify`, by the libraries that this host has anyway: `ring` for messages, and the curves of
//! RustCrypto for digests, which `ring` does not verify.

use p256::ecdsa::signature::hazmat::PrehashVerifier;
use ring::{digest, signature};
use sigstore_verify::{
    crypto::{CryptoProvider, Error, HashContext, SigningScheme, install_default_provider},
    types::HashAlgorithm,
};

#[derive(Debug)]
struct Provider;

struct Context(digest::Context);

/// Installs the provider for this process. Later calls change nothing.
pub(super) fn install() {
    install_default_provider(&Provider).ok();
}

// === impl Provider ===

impl CryptoProvider for Provider {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>, Error> {
        let algorithm = match algorithm {
            HashAlgorithm::Sha2256 => &digest::SHA256,
            HashAlgorithm::Sha2384 => &digest::SHA384,
            HashAlgorithm::Sha2512 => &digest::SHA512,
            other => return Err(Error::UnsupportedAlgorithm(format!("{other} is not supported"))),
        };
        Ok(Box::new(Context(digest::Context::new(algorithm))))
    }

    fn verify_raw(&self, scheme: SigningScheme, key: &[u8], data: &[u8], own: &[u8]) -> Result<(), Error> {
        let algorithm: &dyn signature::VerificationAlgorithm = match scheme {
            SigningScheme::EcdsaP256Sha256 => &signature::ECDSA_P256_SHA256_ASN1,
            SigningScheme::EcdsaP256Sha384 => &signature::ECDSA_P256_SHA384_ASN1,
            SigningScheme::EcdsaP384Sha256 => &signature::ECDSA_P384_SHA256_ASN1,
            SigningScheme::EcdsaP384Sha384 => &signature::ECDSA_P384_SHA384_ASN1,
            SigningScheme::Ed25519 => &signature::ED25519,
            SigningScheme::RsaPkcs1Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            SigningScheme::RsaPkcs1Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
            SigningScheme::RsaPkcs1Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
            SigningScheme::RsaPssSha256 => &signature::RSA_PSS_2048_8192_SHA256,
            SigningScheme::RsaPssSha384 => &signature::RSA_PSS_2048_8192_SHA384,
            SigningScheme::RsaPssSha512 => &signature::RSA_PSS_2048_8192_SHA512,
            other => return Err(unsupported(other)),
        };
        signature::UnparsedPublicKey::new(algorithm, key).verify(data, own).map_err(|_| invalid())
    }

    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        digest: &[u8],
        own: &[u8],
    ) -> Result<(), Error> {
        match scheme {
            SigningScheme::EcdsaP256Sha256 | SigningScheme::EcdsaP256Sha384 => {
                let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key).map_err(|_| invalid())?;
                let own = p256::ecdsa::Signature::from_der(own).map_err(|_| invalid())?;
                key.verify_prehash(digest, &own).map_err(|_| invalid())
            }
            SigningScheme::EcdsaP384Sha256 | SigningScheme::EcdsaP384Sha384 => {
                let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(key).map_err(|_| invalid())?;
                let own = p384::ecdsa::Signature::from_der(own).map_err(|_| invalid())?;
                key.verify_prehash(digest, &own).map_err(|_| invalid())
            }
            other => Err(unsupported(other)),
        }
    }
}

// === impl Context ===

impl HashContext for Context {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

fn unsupported(scheme: SigningScheme) -> Error {
    Error::UnsupportedAlgorithm(format!("{} is not supported", scheme.name()))
}

fn invalid() -> Error {
    Error::Verification("the signature does not fit".to_owned())
}
