//! Reads from registries, over the distribution protocol of OCI. Every answer is read up to a bound: the client of `oci-client` reads
//! manifests, tokens and errors of any size into memory, so it is used for names, manifests and pushes only.

mod body;
mod endpoint;
mod failure;
mod token;
mod wanted;
mod wire;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use http::{Method, header::HeaderName};
use parking_lot::Mutex;
use reqwest::Response;
use tokio::time::timeout;

use crate::{Digest, Reference, RegistryError, manifest::Part, media_type, settings::Settings};
use body::Body;
use endpoint::Endpoint;
pub(crate) use failure::unreachable;
pub(crate) use token::Authorization;
use wanted::Wanted;
pub(crate) use wire::authorities;

/// The most bytes of a manifest, which the specification recommends.
pub(crate) const MANIFEST_BYTES: u64 = 4 << 20;

/// The time for a manifest, a config or a signature.
const DOCUMENT_WITHIN: Duration = Duration::from_secs(60);

/// The time for a layer.
const LAYER_WITHIN: Duration = Duration::from_secs(10 * 60);

/// How long a connection is used again. Then authorities and credentials are read anew: both rotate.
const ENDPOINT_AGE: Duration = Duration::from_secs(5 * 60);

const DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// Connections to registries.
#[derive(Debug)]
pub(crate) struct Transport {
    settings: Settings,
    endpoints: Mutex<BTreeMap<String, (Instant, Arc<Endpoint>)>>,
}

// === impl Transport ===

impl Transport {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, endpoints: Mutex::default() }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The digest of a manifest, without reading it; `None` if the registry does not say.
    pub(crate) async fn digest(&self, reference: &Reference) -> Result<Option<Digest>, RegistryError> {
        let wanted = Wanted::manifest(reference);
        let asking = async {
            let response = self.request(Method::HEAD, &wanted).await?;
            Ok(response.headers().get(DIGEST).and_then(|value| value.to_str().ok()?.parse().ok()))
        };
        within(DOCUMENT_WITHIN, &wanted, asking).await
    }

    /// The bytes of a manifest with their digest. If the reference has a digest, they have it.
    pub(crate) async fn manifest(&self, reference: &Reference) -> Result<(Vec<u8>, Digest), RegistryError> {
        let wanted = Wanted::manifest(reference);
        let reading = async {
            let response = self.request(Method::GET, &wanted).await?;
            Body::new(response, &wanted).read(MANIFEST_BYTES, "").await
        };
        let (bytes, found) = within(DOCUMENT_WITHIN, &wanted, reading).await?;
        match reference.digest() {
            Some(expected) if expected != found => Err(wanted.other_bytes(expected, found)),
            _ => Ok((bytes, found)),
        }
    }

    /// The bytes of a part of an artifact, which have its digest and its length.
    pub(crate) async fn document(
        &self,
        reference: &Reference,
        part: Part,
        what: &str,
        limit: u64,
    ) -> Result<Vec<u8>, RegistryError> {
        self.blob(reference, part, what, (limit, "", DOCUMENT_WITHIN)).await
    }

    /// The bytes of the layer with the component.
    pub(crate) async fn layer(
        &self,
        reference: &Reference,
        part: Part,
        limit: u64,
    ) -> Result<Vec<u8>, RegistryError> {
        let remedy = "; raise `component-size` under [host]";
        self.blob(reference, part, "the component", (limit, remedy, LAYER_WITHIN)).await
    }

    async fn blob(
        &self,
        reference: &Reference,
        part: Part,
        what: &str,
        (limit, remedy, time): (u64, &'static str, Duration),
    ) -> Result<Vec<u8>, RegistryError> {
        let what = format!("{what} of {reference}");
        if part.bytes > limit {
            return Err(RegistryError::TooLarge { what, limit, remedy });
        }
        let wanted = Wanted { reference, path: format!("blobs/{}", part.digest), accept: "*/*", what };
        let reading = async {
            let response = self.request(Method::GET, &wanted).await?;
            // One byte more than announced is enough to see that it is something else.
            Body::new(response, &wanted).read(part.bytes, " (the manifest says so)").await
        };
        let (bytes, found) = within(time, &wanted, reading).await?;
        if found == part.digest { Ok(bytes) } else { Err(wanted.other_bytes(part.digest, found)) }
    }

    /// The list of the artifacts that refer to a manifest; `None` if the registry keeps no such lists.
    pub(crate) async fn referrers(
        &self,
        reference: &Reference,
        subject: Digest,
    ) -> Result<Option<Vec<u8>>, RegistryError> {
        let what = format!("referrers of {reference}");
        let wanted =
            Wanted { reference, path: format!("referrers/{subject}"), accept: media_type::INDEX, what };
        let reading = async {
            let response = self.request(Method::GET, &wanted).await?;
            Body::new(response, &wanted).read(MANIFEST_BYTES, "").await
        };
        match within(DOCUMENT_WITHIN, &wanted, reading).await {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(error) if is_unsupported(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The authorization for a push into the repository, and the time for which it is used. Returns `None` if the registry itself
    /// requires no authorization, or if this host cannot answer the challenges of the registry.
    pub(crate) async fn push_authorization(
        &self,
        reference: &Reference,
    ) -> Result<Option<(Authorization, Duration)>, RegistryError> {
        let what = format!("a token for a push to {reference}");
        let wanted = Wanted { reference, path: String::new(), accept: "*/*", what };
        let asking =
            async { self.endpoint(reference).await?.push_authorization(reference.repository()).await };
        within(DOCUMENT_WITHIN, &wanted, asking).await
    }

    /// Sends a request, with a token if the registry requires one. The answer is a success.
    async fn request(&self, method: Method, wanted: &Wanted<'_>) -> Result<Response, RegistryError> {
        let endpoint = self.endpoint(wanted.reference).await?;
        let repository = wanted.reference.repository();
        let sent = endpoint.send(method, repository, (&wanted.path, wanted.accept)).await;
        let response = match sent {
            Ok(response) => response,
            Err(error) => {
                // Authorities and addresses may have changed.
                self.endpoints.lock().remove(wanted.reference.registry());
                return Err(error);
            }
        };
        if response.status().is_success() { Ok(response) } else { Err(wanted.failed(response).await) }
    }

    async fn endpoint(&self, reference: &Reference) -> Result<Arc<Endpoint>, RegistryError> {
        let registry = reference.registry();
        let known = self.endpoints.lock().get(registry).cloned();
        if let Some((made, endpoint)) = known
            && made.elapsed() < ENDPOINT_AGE
        {
            return Ok(endpoint);
        }
        let endpoint = Arc::new(Endpoint::new(self.settings.of(registry), reference.endpoint()).await?);
        self.remember(registry, Arc::clone(&endpoint), Instant::now());
        Ok(endpoint)
    }

    /// Keeps an endpoint that is made now, and forgets those that are not used again: Plugin objects may name ever new registries.
    fn remember(&self, registry: &str, endpoint: Arc<Endpoint>, now: Instant) {
        let mut endpoints = self.endpoints.lock();
        endpoints.retain(|_, (made, _)| now.saturating_duration_since(*made) < ENDPOINT_AGE);
        endpoints.insert(registry.to_owned(), (now, endpoint));
    }
}

/// Registries without the list of referrers answer one of these.
fn is_unsupported(error: &RegistryError) -> bool {
    match error {
        RegistryError::Absent { .. } => true,
        RegistryError::Status { status, .. } => [400, 405, 406].contains(status),
        _ => false,
    }
}

async fn within<T>(
    limit: Duration,
    wanted: &Wanted<'_>,
    reading: impl Future<Output = Result<T, RegistryError>>,
) -> Result<T, RegistryError> {
    let slow = |_| RegistryError::TooSlow { registry: wanted.registry(), what: wanted.what.clone(), limit };
    timeout(limit, reading).await.map_err(slow)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_registry_that_is_named_no_more_is_forgotten() {
        let transport = Transport::new(Settings::default());
        let old: Reference = "oci://a.example/acme/plugin:1".parse().unwrap();
        let endpoint = transport.endpoint(&old).await.unwrap();
        let names = || transport.endpoints.lock().keys().cloned().collect::<Vec<_>>();
        transport.remember("b.example", Arc::clone(&endpoint), Instant::now());
        assert_eq!(names(), ["a.example", "b.example"]);

        transport.remember("c.example", endpoint, Instant::now() + ENDPOINT_AGE);

        assert_eq!(names(), ["c.example"]);
    }
}
