//! One registry: a client that trusts its authorities, and the tokens that it issued.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use http::{Method, StatusCode, header};
use parking_lot::Mutex;
use reqwest::{RequestBuilder, Response, Url};

use super::{
    token::{self, Authorization},
    wire::Wire,
};
use crate::{RegistryError, credentials::Credentials, settings::RegistrySettings};

/// One registry.
#[derive(Debug)]
pub(super) struct Endpoint {
    wire: Wire,
    /// `https://ghcr.io`
    base: String,
    /// The credentials that are sent for each repository, and the time of their end.
    grants: Mutex<BTreeMap<String, Grant>>,
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
        let base = format!("{}://{host}", settings.scheme());
        let registry = settings.host.clone();
        let building = tokio::task::spawn_blocking(move || Wire::new(settings));
        let failed =
            |error: tokio::task::JoinError| RegistryError::Unreachable { registry, why: error.to_string() };
        Ok(Self { wire: building.await.map_err(failed)??, base, grants: Mutex::default() })
    }

    /// Sends a request for something below a repository. If the registry requires a token, gets one and sends it again.
    pub(super) async fn send(
        &self,
        method: Method,
        repository: &str,
        (path, accept): (&str, &str),
    ) -> Result<Response, RegistryError> {
        let url = format!("{}/v2/{repository}/{path}", self.base);
        let request = || self.wire.content().request(method.clone(), &url).header(header::ACCEPT, accept);
        let known = self.grants.lock().get(repository).filter(|grant| Instant::now() < grant.until).cloned();
        let response =
            self.wire.sent(with(request(), known.map(|grant| grant.authorization).as_ref())).await?;
        // Storage that the registry redirects to is another server. It gets no credentials, whatever it requires.
        if response.status() != StatusCode::UNAUTHORIZED || !self.is_own(response.url()) {
            return Ok(response);
        }
        self.grants.lock().remove(repository);
        let challenges = challenges(&response);
        let Some((authorization, lifetime)) = self.answer(&challenges, (repository, token::PULL)).await?
        else {
            return Ok(response);
        };
        let response = self.wire.sent(with(request(), Some(&authorization))).await?;
        if response.status().is_success() {
            let grant = Grant { authorization, until: Instant::now() + lifetime };
            self.grants.lock().insert(repository.to_owned(), grant);
        }
        Ok(response)
    }

    /// The authorization for a push into a repository, and the time for which it is used. Returns `None` if the registry itself
    /// requires no authorization, or if this host cannot answer the challenges of the registry.
    pub(super) async fn push_authorization(
        &self,
        repository: &str,
    ) -> Result<Option<(Authorization, Duration)>, RegistryError> {
        let response = self.wire.sent(self.wire.content().get(format!("{}/v2/", self.base))).await?;
        let challenges = challenges(&response);
        // The password goes to the realm of the challenge, so the challenge must come from the registry itself.
        if challenges.is_empty() || !self.is_own(response.url()) {
            return Ok(None);
        }
        self.answer(&challenges, (repository, token::PUSH)).await
    }

    /// Answers challenges of the registry with the credentials of this host.
    async fn answer(
        &self,
        challenges: &[String],
        wanted: (&str, &str),
    ) -> Result<Option<(Authorization, Duration)>, RegistryError> {
        let credentials = Credentials::of(self.wire.settings()).await?;
        token::answer(&self.wire, challenges, wanted, &credentials).await
    }

    /// Returns true if the registry itself serves this URL.
    fn is_own(&self, url: &Url) -> bool {
        Url::parse(&self.base).is_ok_and(|base| base.origin() == url.origin())
    }
}

fn challenges(response: &Response) -> Vec<String> {
    let challenges = response.headers().get_all(header::WWW_AUTHENTICATE);
    challenges.iter().filter_map(|value| value.to_str().ok().map(str::to_owned)).collect()
}

fn with(request: RequestBuilder, authorization: Option<&Authorization>) -> RequestBuilder {
    match authorization {
        Some(Authorization::Basic { user, password }) => request.basic_auth(user, Some(password)),
        Some(Authorization::Bearer(token)) => request.bearer_auth(token),
        None => request,
    }
}
