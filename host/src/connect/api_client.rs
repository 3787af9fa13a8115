//! Adapter: sends the requests of plugins to the API server, with the credentials of the host, in its own name or in that of a
//! ServiceAccount.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use http::{
    Request, Response,
    header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT},
};
use http_body_util::BodyExt;
use informer_runtime::capabilities::{ApiAnswer, ApiClient, ApiFailure, ApiRequest};
use informer_types::ServiceAccount;
use kube::client::Body;
use parking_lot::Mutex;

use super::{impersonation, user_agent};
use crate::election::{Leadership, NOT_LEADING};

/// Most bytes of an error of the API server. A plugin receives them even if its own limit is lower.
const LONGEST_STATUS: usize = 256 << 10;

/// Sends the requests of plugins. Cheap to clone; clones share the identity.
#[derive(Clone)]
pub(crate) struct KubeClient {
    client: kube::Client,
    /// `None` means the identity of the host.
    account: Arc<Mutex<Option<ServiceAccount>>>,
    leadership: Leadership,
}

// === impl KubeClient ===

impl KubeClient {
    /// No request is sent while the host does not lead.
    pub(crate) fn new(client: kube::Client, leadership: Leadership) -> Self {
        Self { client, account: Arc::default(), leadership }
    }

    /// The client of one plugin, with an identity of its own.
    pub(crate) fn of_plugin(&self, account: Option<ServiceAccount>) -> Self {
        let (client, leadership) = (self.client.clone(), self.leadership.clone());
        Self { client, account: Arc::new(Mutex::new(account)), leadership }
    }

    /// Sends as this ServiceAccount, or as the host, from the next request on.
    pub(crate) fn act_as(&self, account: Option<ServiceAccount>) {
        *self.account.lock() = account;
    }

    fn request(&self, request: ApiRequest) -> Result<Request<Body>, http::Error> {
        let mut request = http_request(request)?;
        let account = self.account.lock().clone();
        if let Some(account) = account {
            impersonation::act_as(&account, &mut request)?;
        }
        Ok(request)
    }
}

impl ApiClient for KubeClient {
    fn send(&self, request: ApiRequest) -> BoxFuture<'_, Result<ApiAnswer, ApiFailure>> {
        Box::pin(async move {
            if !self.leadership.holds() {
                return Err(ApiFailure::Unavailable(NOT_LEADING.to_owned()));
            }
            let longest = request.longest_answer;
            let request = self.request(request).map_err(unavailable)?;
            let response = self.client.send(request).await.map_err(unavailable)?;
            read(response, longest).await
        })
    }
}

fn http_request(request: ApiRequest) -> Result<Request<Body>, http::Error> {
    let builder = Request::builder()
        .method(request.method)
        .uri(request.path)
        .header(USER_AGENT, user_agent::of_plugin(&request.plugin))
        .header(ACCEPT, "application/json");
    match request.content_type {
        Some(content_type) => {
            builder.header(CONTENT_TYPE, content_type).body(Body::from(Vec::from(request.body)))
        }
        None => builder.body(Body::empty()),
    }
}

async fn read(response: Response<Body>, longest: usize) -> Result<ApiAnswer, ApiFailure> {
    let (head, mut body) = response.into_parts();
    let status = head.status.as_u16();
    let limit = if head.status.is_success() { longest } else { longest.max(LONGEST_STATUS) };
    let retry_after = head
        .headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
        .map(Duration::from_secs);
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| unavailable(kube::Error::Service(error.into())))?;
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > limit {
                return Err(ApiFailure::TooLarge { status, limit });
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(ApiAnswer { status, retry_after, body: bytes.into() })
}

/// The error and its causes on one line.
fn unavailable(error: impl std::error::Error + 'static) -> ApiFailure {
    let mut line = error.to_string();
    for cause in anyhow::Chain::new(&error).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    ApiFailure::Unavailable(line)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Method;

    use super::*;
    use crate::election::{Elector, Timing};

    /// Another host may lead already (E-9).
    #[tokio::test]
    async fn a_host_that_does_not_hold_its_lease_sends_no_request_of_a_plugin() {
        let client =
            kube::Client::try_from(kube::Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let (lease, timing) = ("a/b".parse().unwrap(), Timing::of(Duration::from_secs(3)));
        let (_elector, leadership) = Elector::new(client.clone(), lease, timing, "x".to_owned());
        let request = || ApiRequest {
            plugin: "p".into(),
            method: Method::GET,
            path: "/api/v1/pods".to_owned(),
            content_type: None,
            body: Default::default(),
            longest_answer: 1024,
        };
        let why = async |leadership| match KubeClient::new(client.clone(), leadership).send(request()).await {
            Err(ApiFailure::Unavailable(why)) => why,
            _ => panic!("nothing answers"),
        };

        assert_eq!(why(leadership).await, NOT_LEADING);
        assert!(!why(Leadership::unconditional()).await.contains("lease"));
    }
}
