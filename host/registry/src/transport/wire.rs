//! The connections to one registry, which is trusted by its authorities.

use std::time::Duration;

use informer_system::read_file;
use reqwest::{Certificate, Client, RequestBuilder, Response, Url, redirect};
use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject};

use super::failure::unreachable;
use crate::{RegistryError, settings::RegistrySettings};

/// The most bytes of a file of authorities. Those of all browsers together are a quarter of it.
const AUTHORITY_BYTES: u64 = 1 << 20;

/// The time for a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// The longest silence of a registry that is sending.
const SILENCE: Duration = Duration::from_secs(30);

/// The most redirects for one request. Registries redirect layers to their storage.
const REDIRECTS: usize = 5;

/// The connections to one registry.
#[derive(Debug)]
pub(super) struct Wire {
    settings: RegistrySettings,
    /// For manifests and blobs: follows redirects to storage.
    content: Client,
    /// For tokens: follows no redirect, because a request may hold credentials in its body.
    tokens: Client,
}

// === impl Wire ===

impl Wire {
    /// Reads the authorities, and opens no connection. Blocks.
    pub(super) fn new(settings: RegistrySettings) -> Result<Self, RegistryError> {
        let trusted = authorities(&settings)?;
        let content = client(&settings, &trusted, redirect::Policy::custom(follow))?;
        let tokens = client(&settings, &trusted, redirect::Policy::none())?;
        Ok(Self { settings, content, tokens })
    }

    pub(super) async fn sent(&self, request: RequestBuilder) -> Result<Response, RegistryError> {
        request.send().await.map_err(|error| unreachable(&self.settings.host, &error))
    }

    pub(super) fn content(&self) -> &Client {
        &self.content
    }

    pub(super) fn tokens(&self) -> &Client {
        &self.tokens
    }

    pub(super) fn settings(&self) -> &RegistrySettings {
        &self.settings
    }

    /// A place that the registry names for tokens. Credentials leave this host encrypted, unless the operator named the registry
    /// as insecure.
    pub(super) fn realm(&self, text: &str) -> Option<Url> {
        let url: Url = text.parse().ok()?;
        let is_allowed = url.scheme() == "https" || (url.scheme() == "http" && self.settings.insecure);
        is_allowed.then_some(url)
    }
}

fn client(
    settings: &RegistrySettings,
    trusted: &[Vec<u8>],
    redirects: redirect::Policy,
) -> Result<Client, RegistryError> {
    let mut builder = Client::builder()
        .user_agent(concat!("informer/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_WITHIN)
        .read_timeout(SILENCE)
        .redirect(redirects);
    if !settings.insecure {
        let authorities = trusted.iter().filter_map(|der| Certificate::from_der(der).ok());
        builder = builder.tls_certs_only(authorities);
    }
    builder.build().map_err(|error| unreachable(&settings.host, &error))
}

/// The authorities of the system and of the registry's file, in binary form. Blocks.
pub(crate) fn authorities(settings: &RegistrySettings) -> Result<Vec<Vec<u8>>, RegistryError> {
    // It fails if the process has a provider already, which then is used.
    drop(tokio_rustls::rustls::crypto::ring::default_provider().install_default());
    let native = rustls_native_certs::load_native_certs().certs;
    let mut authorities: Vec<Vec<u8>> = native.iter().map(|der| der.to_vec()).collect();
    if let Some(path) = &settings.ca {
        let failed = |why: String| RegistryError::File {
            path: path.clone(),
            registry: settings.host.clone(),
            what: "the authorities",
            why,
        };
        let pem = read_file(path, AUTHORITY_BYTES)
            .map_err(|error| failed(std::io::Error::from(error).to_string()))?;
        let own: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
        let own = own.map_err(|error| failed(error.to_string()))?;
        if own.is_empty() {
            return Err(failed("it has no certificate in PEM form".to_owned()));
        }
        authorities.extend(own.iter().map(|der| der.to_vec()));
    }
    Ok(authorities)
}

/// Follows a few redirects, never from TLS to plain text. The library sends credentials to no other host, and `Endpoint::send` answers
/// no challenge of another host.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let from_tls = attempt.previous().first().is_some_and(|first| first.scheme() == "https");
    if attempt.previous().len() > REDIRECTS {
        attempt.error("it redirects too often")
    } else if from_tls && attempt.url().scheme() != "https" {
        attempt.error("it redirects from https to plain http")
    } else {
        attempt.follow()
    }
}
