//! The requirements for the artifacts of a repository.

use std::path::PathBuf;

use informer_types::Pattern;

use crate::{Digest, Reference};

/// The requirements for the artifacts of some repositories.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The repositories, with their hosts.
    pub repository: Pattern,
    /// Nothing is accepted from them.
    pub refuse: bool,
    /// Only artifacts are accepted whose digest is in the configuration or the lock file.
    pub pinned: bool,
    /// Each of these must have signed.
    pub all_of: Vec<Signer>,
    /// At least one of these must have signed, if there are any.
    pub any_of: Vec<Signer>,
}

/// A person or a program that signs.
#[derive(Clone, Debug, PartialEq)]
pub struct Signer {
    /// The name in the configuration.
    pub name: String,
    /// How its signatures are recognised.
    pub kind: SignerKind,
}

/// How signatures are recognised.
#[derive(Clone, Debug, PartialEq)]
pub enum SignerKind {
    /// Its signatures fit a public key.
    PublicKey {
        /// A PEM file, absolute.
        file: PathBuf,
        /// The signature must also be in the transparency log of the trust root.
        transparency_log: bool,
        /// A file in the form of sigstore's `trusted_root.json`; `None` means the one of sigstore's public instance.
        trust_root: Option<PathBuf>,
    },
    /// Its certificates, which live for some minutes, have an identity.
    Identity {
        /// The service that knows the identity.
        issuer: String,
        /// The identity: an address, or the URL of a workflow.
        subject: Pattern,
        /// A file in the form of sigstore's `trusted_root.json`; `None` means the one of sigstore's public instance.
        trust_root: Option<PathBuf>,
    },
}

/// A file of the policy cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}, which is {what} of the [[signer]] `{signer}`, cannot be used: {why}", file.display())]
pub struct PolicyError {
    pub(crate) file: PathBuf,
    pub(crate) what: &'static str,
    pub(crate) signer: String,
    pub(crate) why: String,
}

/// The artifact does not satisfy the policy.
#[derive(Debug, thiserror::Error)]
pub enum NotVerified {
    /// Nothing of the repository is accepted.
    #[error(
        "{reference} is refused: the [[verify]] of `{repository}` refuses everything; use another repository, or add a [[verify]] before it"
    )]
    Refuse {
        /// The artifact.
        reference: Reference,
        /// The pattern of the policy.
        repository: String,
    },
    /// Its digest is not pinned.
    #[error(
        "{reference} is not pinned, which the [[verify]] of `{repository}` requires: run `informer plugin lock`, or write `digest` \
         beside `source`"
    )]
    Unpinned {
        /// The artifact.
        reference: Reference,
        /// The pattern of the policy.
        repository: String,
    },
    /// Signatures are missing.
    #[error(
        "{reference} ({artifact}) is not signed as the [[verify]] of `{repository}` requires: {missing}; found: {found}"
    )]
    Unsigned {
        /// The artifact.
        reference: Reference,
        /// Its digest.
        artifact: Digest,
        /// The pattern of the policy.
        repository: String,
        /// The signers whose signature is missing.
        missing: String,
        /// The content of the registry.
        found: String,
    },
}

// === impl Policy ===

impl Policy {
    /// Returns true if signatures are required.
    pub fn wants_signatures(&self) -> bool {
        !self.all_of.is_empty() || !self.any_of.is_empty()
    }
}

// === impl Signer ===

impl Signer {
    /// The signer in a few words.
    pub fn describe(&self) -> String {
        match &self.kind {
            SignerKind::PublicKey { file, transparency_log, .. } => {
                let log = if *transparency_log { ", in the transparency log" } else { "" };
                format!("`{}` (public key {}{log})", self.name, file.display())
            }
            SignerKind::Identity { issuer, subject, .. } => {
                format!("`{}` (subject {subject}, issuer {issuer})", self.name)
            }
        }
    }
}
