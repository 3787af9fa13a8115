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

/// Most bytes of an error of the API server. A plugin receives them even if its own limit is lower.
const LONGEST_STATUS: usize = 256 << 10;

/// Sends the requests of plugins. Cheap to clone; clones share the identity.
#[derive(Clone)]
pub(crate) struct KubeClient {
    client: kube::Client,
    /// `None` means the identity of the host.
    account: Arc<Mutex<Option<ServiceAccount>>>,
}

// === impl KubeClient ===

impl KubeClient {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self { client, account: Arc::default() }
    }

    /// The client of one plugin, with an identity of its own.
    pub(crate) fn of_plugin(&self, account: Option<ServiceAccount>) -> Self {
        Self { client: self.client.clone(), account: Arc::new(Mutex::new(account)) }
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
