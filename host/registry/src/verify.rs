//! Signatures: what an operator requires, what a registry has, and whether they fit.
//!
//! Two forms are read: sigstore bundles that refer to the manifest, and cosign's older tags `sha256-....sig`. The cryptography, the
//! formats of bundles and the rules of certificates and logs are those of `sigstore-verify`.

mod found;
mod judge;
mod keyless;
mod provider;
mod public_key;
mod simple_signing;

pub(crate) use found::{Found, collect};
pub(crate) use judge::Judge;
