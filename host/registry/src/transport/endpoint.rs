//! One registry: a client that trusts its authorities, and the tokens that it issued.

use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, Instant},
};

use http::{Method, StatusCode, header};
use informer_system::read_file;
use parking_lot::Mutex;
use reqwest::{Certificate, Client, RequestBuilder, Response, Url, redirect};
use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject};

use super::{body::unreachable, token};
use crate::{RegistryError, credentials::Credentials, settings::RegistrySettings};

/// The most bytes of a file of authorities. Those of all browsers together are a quarter of it.
const AUTHORITY_BYTES: u64 = 1 << 20;

/// The time for a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// The longest silence of a registry that is sending.
const SILENCE: Duration = Duration::from_secs(30);

/// The most redirects for one request. Registries redirect layers to their storage.
const REDIRECTS: usize = 5;

/// One registry.
#[derive(Debug)]
pub(super) struct Endpoint {
    settings: RegistrySettings,
    /// `https://ghcr.io`
    base: String,
    client: Client,
    /// What each repository is shown, and until when.
    grants: Mutex<BTreeMap<String, Grant>>,
}

/// What a registry is shown with each request.
#[derive(Clone)]
pub(super) enum Authorization {
    Basic { user: String, password: String },
    Bearer(String),
}

#[derive(Clone, Debug)]
struct Grant {
    authorization: Authorization,
    until: Instant,
}

// === impl Endpoint ===

impl Endpoint {
    /// Reads the authorities, and opens no connection.
    pub(super) async fn new(settings: RegistrySettings, host: &str) -> Result<Self, RegistryError> {
        let scheme = if settings.insecure { "http" } else { "https" };
        let base = format!("{scheme}://{host}");
        let own = settings.clone();
        let building = tokio::task::spawn_blocking(move || client(&own));
        let client = building.await.map_err(|error| RegistryError::Unreachable {
            registry: settings.host.clone(),
            why: error.to_string(),
        })??;
        Ok(Self { settings, base, client, grants: Mutex::default() })
    }

    /// Sends a request for something below a repository. If the registry requires a token, gets one and sends it again.
    pub(super) async fn send(
        &self,
        method: Method,
        repository: &str,
        (path, accept): (&str, &str),
    ) -> Result<Response, RegistryError> {
        let url = format!("{}/v2/{repository}/{path}", self.base);
        let request = || self.client.request(method.clone(), &url).header(header::ACCEPT, accept);
        let known = self.grants.lock().get(repository).filter(|grant| Instant::now() < grant.until).cloned();
        let response = self.sent(with(request(), known.map(|grant| grant.authorization).as_ref())).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        self.grants.lock().remove(repository);
        let credentials = Credentials::of(&self.settings).await?;
        let challenges = response.headers().get_all(header::WWW_AUTHENTICATE);
        let challenges: Vec<String> =
            challenges.iter().filter_map(|value| value.to_str().ok().map(str::to_owned)).collect();
        let Some((authorization, lifetime)) =
            token::answer(self, &challenges, repository, &credentials).await?
        else {
            return Ok(response);
        };
        let response = self.sent(with(request(), Some(&authorization))).await?;
        if response.status().is_success() {
            let grant = Grant { authorization, until: Instant::now() + lifetime };
            self.grants.lock().insert(repository.to_owned(), grant);
        }
        Ok(response)
    }

    pub(super) async fn sent(&self, request: RequestBuilder) -> Result<Response, RegistryError> {
        request.send().await.map_err(|error| unreachable(&self.settings.host, &error))
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
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

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization")
    }
}

fn with(request: RequestBuilder, authorization: Option<&Authorization>) -> RequestBuilder {
    match authorization {
        Some(Authorization::Basic { user, password }) => request.basic_auth(user, Some(password)),
        Some(Authorization::Bearer(token)) => request.bearer_auth(token),
        None => request,
    }
}

fn client(settings: &RegistrySettings) -> Result<Client, RegistryError> {
    let failed = |error: &reqwest::Error| unreachable(&settings.host, error);
    let mut builder = Client::builder()
        .user_agent(concat!("informer/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_WITHIN)
        .read_timeout(SILENCE)
        .redirect(redirect::Policy::custom(follow));
    let trusted = authorities(settings)?;
    if !settings.insecure {
        let authorities = trusted.iter().filter_map(|der| Certificate::from_der(der).ok());
        builder = builder.tls_certs_only(authorities);
    }
    builder.build().map_err(|error| failed(&error))
}

/// The authorities of the system, and those of the file of the registry, in binary form. Blocks.
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

/// Follows a few redirects, never from TLS to plain text. The library sends credentials to no other host.
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
