//! An API server with scripted answers, which keeps the requests.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, Ordering},
};

use futures::future::BoxFuture;
use informer_runtime::capabilities::{ApiAnswer, ApiClient, ApiFailure, ApiRequest};
use parking_lot::Mutex;

/// The answer if the test has set none.
const OBJECT: &str = r#"{"metadata":{"name":"web","resourceVersion":"5"}}"#;

#[derive(Default)]
pub(crate) struct Api {
    pub(crate) requests: Mutex<Vec<ApiRequest>>,
    answers: Mutex<VecDeque<Result<ApiAnswer, ApiFailure>>>,
    /// True if it never answers.
    pub(crate) silent: AtomicBool,
}

impl Api {
    /// Adds the answer for the next request without one.
    pub(crate) fn answer(&self, status: u16, body: &str) {
        let answer = ApiAnswer { status, retry_after: None, body: body.to_owned().into() };
        self.answers.lock().push_back(Ok(answer));
    }

    pub(crate) fn fail(&self, failure: ApiFailure) {
        self.answers.lock().push_back(Err(failure));
    }

    /// Each request as `METHOD path`.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.requests.lock().iter().map(|request| format!("{} {}", request.method, request.path)).collect()
    }
}

impl ApiClient for Api {
    fn send(&self, request: ApiRequest) -> BoxFuture<'_, Result<ApiAnswer, ApiFailure>> {
        assert_eq!(&*request.plugin, "fixture");
        self.requests.lock().push(request);
        let answer = self.answers.lock().pop_front();
        let silent = self.silent.load(Ordering::Relaxed);
        Box::pin(async move {
            if silent {
                std::future::pending::<()>().await;
            }
            answer.unwrap_or_else(|| Ok(ApiAnswer { status: 200, retry_after: None, body: OBJECT.into() }))
        })
    }
}
