//! The requests to a registry.

use http::StatusCode;
use reqwest::Response;

use super::failure::read_error;
use crate::{Digest, Reference, RegistryError};

/// The types of a manifest, and of the lists that are refused with their name.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";

/// The subject of a request, for the request and for its errors.
pub(super) struct Wanted<'a> {
    pub(super) reference: &'a Reference,
    /// The path below `/v2/NAME/`.
    pub(super) path: String,
    pub(super) accept: &'a str,
    /// In words.
    pub(super) what: String,
}

// === impl Wanted ===

impl<'a> Wanted<'a> {
    pub(super) fn manifest(reference: &'a Reference) -> Self {
        let version = reference.digest().map(|digest| digest.to_string());
        let version = version.or_else(|| reference.tag().map(str::to_owned)).unwrap_or_default();
        let accept = MANIFESTS;
        Self {
            reference,
            path: format!("manifests/{version}"),
            accept,
            what: format!("manifest of {reference}"),
        }
    }

    pub(super) fn registry(&self) -> String {
        self.reference.registry().to_owned()
    }

    pub(super) fn other_bytes(&self, expected: Digest, found: Digest) -> RegistryError {
        RegistryError::OtherBytes { registry: self.registry(), what: self.what.clone(), expected, found }
    }

    /// The meaning of an answer that is not a success.
    pub(super) async fn failed(&self, response: Response) -> RegistryError {
        let (registry, what, status) = (self.registry(), self.what.clone(), response.status());
        let why = read_error(response).await;
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => RegistryError::Unauthorized {
                registry,
                repository: self.reference.repository().to_owned(),
                why,
            },
            StatusCode::NOT_FOUND => RegistryError::Absent { registry, what },
            status => RegistryError::Status { registry, status: status.as_u16(), what, why },
        }
    }
}
