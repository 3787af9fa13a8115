//! The name of an artifact in a registry.

use std::{fmt, str::FromStr, sync::Arc};

use crate::{Digest, digest::InvalidDigest};

/// How a source in a registry begins.
pub const SCHEME: &str = "oci://";

/// The host that a name without a host would mean. It must be written, so that no typing error leads there.
const EXAMPLE: &str = "oci://ghcr.io/acme/plugin:1.2";

/// An artifact in a registry, cheap to clone: by a tag, a digest or both: `oci://ghcr.io/acme/plugin:1.2@sha256:...`. With both, the digest decides.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Reference(Arc<Name>);

#[derive(PartialEq, Eq, Hash)]
struct Name {
    name: oci_client::Reference,
    digest: Option<Digest>,
}

/// A text that does not name an artifact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReference {
    /// It does not begin with the scheme.
    #[error("`{0}` does not begin with {SCHEME}; write for example {EXAMPLE}")]
    Scheme(String),
    /// The first part is no host.
    #[error("`{0}` names no registry; write its host first, for example {EXAMPLE}")]
    NoHost(String),
    /// Neither a tag nor a digest.
    #[error(
        "`{0}` names neither a tag nor a digest; write for example {EXAMPLE}, or @sha256:... behind the name"
    )]
    NoVersion(String),
    /// The digest is no SHA-256.
    #[error(transparent)]
    Digest(#[from] InvalidDigest),
    /// The library does not read it.
    #[error("`{text}` is not the name of an artifact ({why}); write for example {EXAMPLE}")]
    Syntax {
        /// The text.
        text: String,
        /// The error of the library.
        why: String,
    },
}

// === impl Reference ===

impl Reference {
    /// The host, and the port if there is one, as the reference writes it.
    pub fn registry(&self) -> &str {
        self.0.name.registry()
    }

    /// The host that is connected to: `docker.io` has another one.
    pub(crate) fn endpoint(&self) -> &str {
        self.0.name.resolve_registry()
    }

    /// The name below the host: `acme/plugin`.
    pub fn repository(&self) -> &str {
        self.0.name.repository()
    }

    /// The host and the name below it: `ghcr.io/acme/plugin`. Policies are found by it.
    pub fn full_repository(&self) -> String {
        format!("{}/{}", self.registry(), self.repository())
    }

    /// The tag, if there is one.
    pub fn tag(&self) -> Option<&str> {
        self.0.name.tag()
    }

    /// The digest, if there is one.
    pub fn digest(&self) -> Option<Digest> {
        self.0.digest
    }

    /// The same repository with another tag and no digest.
    pub(crate) fn with_tag(&self, tag: &str) -> Self {
        let (registry, repository) = (self.registry().to_owned(), self.repository().to_owned());
        Self::of(oci_client::Reference::with_tag(registry, repository, tag.to_owned()), None)
    }

    /// The artifact of this digest in the same repository, without a tag.
    pub fn with_digest(&self, digest: Digest) -> Self {
        let (registry, repository) = (self.registry().to_owned(), self.repository().to_owned());
        let name = oci_client::Reference::with_digest(registry, repository, digest.to_string());
        Self::of(name, Some(digest))
    }

    fn of(name: oci_client::Reference, digest: Option<Digest>) -> Self {
        Self(Arc::new(Name { name, digest }))
    }

    /// The reference of the library.
    pub(crate) fn library(&self) -> &oci_client::Reference {
        &self.0.name
    }
}

impl FromStr for Reference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        let own = || text.to_owned();
        let name = text.strip_prefix(SCHEME).ok_or_else(|| InvalidReference::Scheme(own()))?;
        let host = name.split_once('/').map(|(host, _)| host);
        let is_host = |host: &str| host.contains(['.', ':']) || host == "localhost";
        if !host.is_some_and(is_host) {
            return Err(InvalidReference::NoHost(own()));
        }
        let digest = name.split_once('@').map(|(_, digest)| digest.parse()).transpose()?;
        let path = name.split('@').next().unwrap_or_default();
        let has_tag = path.rsplit('/').next().is_some_and(|last| last.contains(':'));
        if digest.is_none() && !has_tag {
            return Err(InvalidReference::NoVersion(own()));
        }
        let syntax =
            |error: oci_client::ParseError| InvalidReference::Syntax { text: own(), why: error.to_string() };
        Ok(Self::of(name.parse().map_err(syntax)?, digest))
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.full_repository())?;
        self.tag().map_or(Ok(()), |tag| write!(f, ":{tag}"))?;
        self.0.digest.map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_reads_back_as_it_was_written() {
        let digest = Digest::of(b"x");
        for text in [
            "oci://ghcr.io/acme/plugin:1.2".to_owned(),
            "oci://localhost:5000/plugin:latest".to_owned(),
            "oci://[::1]:5000/plugin:latest".to_owned().replace("[::1]", "127.0.0.1"),
            format!("oci://ghcr.io/acme/deep/er/plugin@{digest}"),
            format!("oci://ghcr.io/acme/plugin:1.2@{digest}"),
        ] {
            let reference: Reference = text.parse().unwrap();
            assert_eq!(reference.to_string(), text);
        }
        let reference: Reference = "oci://ghcr.io/acme/plugin:1.2".parse().unwrap();
        assert_eq!(reference.full_repository(), "ghcr.io/acme/plugin");
        assert_eq!(reference.with_digest(digest).to_string(), format!("oci://ghcr.io/acme/plugin@{digest}"));
    }

    #[test]
    fn a_text_that_names_no_single_artifact_is_refused_with_an_example() {
        for (text, problem) in [
            ("ghcr.io/acme/plugin:1", "does not begin with oci://"),
            ("oci://plugin:1", "names no registry"),
            ("oci://acme/plugin:1", "names no registry"),
            ("oci://ghcr.io/acme/plugin", "neither a tag nor a digest"),
            ("oci://localhost:5000/plugin", "neither a tag nor a digest"),
            ("oci://ghcr.io/acme/plugin@sha256:12", "is not a digest"),
            ("oci://ghcr.io/Acme/plugin:1", "is not the name of an artifact"),
            ("oci://ghcr.io/acme/plugin:a b", "is not the name of an artifact"),
            ("oci://ghcr.io/:1", "is not the name of an artifact"),
        ] {
            let error = text.parse::<Reference>().unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("; write"), "{text}: {error}");
        }
    }
}
