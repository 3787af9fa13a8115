//! The checks that every request passes: grant, limit, audit.

use std::{sync::Arc, time::Instant};

use informer_types::WriteVerb;
use wasmtime::component::HasData;

use super::{
    audit::{Audit, Write},
    draft::Draft,
    error,
    source::{ApiAnswer, ApiFailure, ApiRequest},
    target::Target,
};
use crate::{
    bindings::informer::plugin::client::{ApiCode, ApiError},
    capabilities::secret::masked_answer,
    counters::Counters,
    guest::Guest,
    request_span::{Request, RequestSpan},
};

/// A call of the guest to this capability.
pub(super) struct Calls<'a>(pub(super) &'a mut Guest);

/// A request that is not answered yet. Dropping it counts the request as failed, so a call that reaches its deadline counts it too.
struct Unanswered(Option<Arc<Counters>>);

impl HasData for Calls<'static> {
    type Data<'a> = Calls<'a>;
}

// === impl Calls ===

impl Calls<'_> {
    /// Checks the grant to read one object, or its subresource.
    pub(super) fn may_read(&self, target: &Target) -> Result<(), ApiError> {
        let read = self.0.config.grants.read.as_ref();
        let namespaces = read.and_then(|read| read.of(&target.gvr, target.subresource.as_deref()));
        if !namespaces.is_some_and(|namespaces| namespaces.contains(&target.namespace)) {
            return Err(self.refuse(&format!("reading {target}"), "read"));
        }
        if target.gvr.is_secrets() && !self.0.config.grants.secrets.contains(&target.namespace, target.name())
        {
            return Err(self.refuse(&format!("reading {target}"), "secrets"));
        }
        Ok(())
    }

    /// Checks the grant to list the objects of a namespace, or of all namespaces.
    pub(super) fn may_list(&self, target: &Target, namespace: Option<&str>) -> Result<(), ApiError> {
        let read = self.0.config.grants.read.as_ref();
        let namespaces = read.and_then(|read| read.namespaces(&target.gvr));
        // The empty namespace stands for all namespaces: a grant contains it only if it covers them all.
        if !namespaces.is_some_and(|granted| granted.contains(namespace.unwrap_or_default())) {
            return Err(self.refuse(&format!("listing {target}"), "read"));
        }
        if target.gvr.is_secrets() && !self.0.config.grants.secrets.contain_all(namespace) {
            return Err(self.refuse(&format!("listing {target}"), "secrets"));
        }
        Ok(())
    }

    /// Makes a write with an audit record: checks the grant, waits for the budget, builds the request and sends it.
    pub(super) async fn write(
        &mut self,
        write: Write<'_>,
        draft: impl FnOnce() -> Result<Draft, ApiError> + Send,
    ) -> Result<String, ApiError> {
        self.may_write(write)?;
        self.audited(write, draft).await.and_then(|answer| error::text(answer.body))
    }

    fn may_write(&self, write: Write<'_>) -> Result<(), ApiError> {
        let Write { verb, target, name, may_create, .. } = write;
        let grants = &self.0.config.grants;
        let subresource = target.subresource.as_deref();
        let allow = |verb| {
            let write = grants.write.as_ref();
            write.is_some_and(|grants| grants.allow(verb, &target.gvr, subresource, &target.namespace))
        };
        // A plugin that writes a Secret can read it: the answer is the whole object.
        let secret = !target.gvr.is_secrets()
            || grants.secrets.contains(&target.namespace, name)
            || grants.secrets.contain_all(Some(&target.namespace));
        let (what, line) = if !allow(verb) {
            (format!("{verb} of {target}"), "write")
        } else if may_create && !allow(WriteVerb::Create) {
            let why = "without the `metadata.uid` of the existing object, which may create it and so also needs `create`,";
            (format!("{verb} of {target} {why}"), "write")
        } else if !secret {
            (format!("{verb} of {target}"), "secrets")
        } else {
            return Ok(());
        };
        // A line takes a token as a request does, so a plugin that tries again and again cannot fill the log.
        let now = Instant::now();
        if self.0.sources.client.0.budget.reserve(self.0.config.limits.requests, now, now).is_ok() {
            Audit::begin(&self.0.config.name, write).refused();
        }
        Err(self.refuse(&what, line))
    }

    /// Sends a write that is granted. It leaves no record if the budget refuses it or the request cannot be built.
    pub(super) async fn audited(
        &mut self,
        write: Write<'_>,
        draft: impl FnOnce() -> Result<Draft, ApiError> + Send,
    ) -> Result<ApiAnswer, ApiError> {
        self.token().await?;
        let request = self.request(draft()?)?;
        let audit = Audit::begin(&self.0.config.name, write);
        let answer = self.exchange(request).await;
        audit.settle(&answer);
        answer
    }

    /// Sends a read, which needs no audit record.
    pub(super) async fn read(&mut self, request: Draft) -> Result<ApiAnswer, ApiError> {
        let request = self.request(request)?;
        self.token().await?;
        self.exchange(request).await
    }

    /// Waits for a token of the plugin's budget.
    ///
    /// # Errors
    /// If the token would come too late for the deadline of the call.
    async fn token(&mut self) -> Result<(), ApiError> {
        let limit = self.0.config.limits.requests;
        // A tenth of the call's time stays for the request itself: a request sent at the deadline would be useless.
        let (deadline, room) = (self.0.call.clock.deadline(), self.0.call.allowed / 10);
        let latest = deadline.checked_sub(room).unwrap_or(deadline);
        match self.0.sources.client.0.budget.reserve(limit, Instant::now(), latest) {
            Ok(wait) if wait.is_zero() => Ok(()),
            Ok(wait) => {
                tokio::time::sleep(wait).await;
                Ok(())
            }
            Err(wait) => {
                self.0.counters.client.lock().limited += 1;
                let message = format!(
                    "the plugin makes more than {limit} requests a second, and no further one fits before the deadline of \
                     this call: make fewer, or raise `requests` under [plugin.limits]"
                );
                let retry_after_ms = Some(u32::try_from(wait.as_millis()).unwrap_or(u32::MAX));
                Err(ApiError { retry_after_ms, ..ApiError::host(ApiCode::LimitExceeded, message) })
            }
        }
    }

    fn request(&self, draft: Draft) -> Result<ApiRequest, ApiError> {
        Ok(ApiRequest {
            plugin: self.0.config.name.clone(),
            path: draft.path()?,
            method: draft.method,
            content_type: draft.content_type,
            body: draft.body,
            longest_answer: self.0.config.limits.response_bytes,
        })
    }

    /// Sends the request. An answer whose status is not a success is an error.
    async fn exchange(&mut self, request: ApiRequest) -> Result<ApiAnswer, ApiError> {
        self.0.sent(request.body.len());
        let unanswered = Unanswered(Some(Arc::clone(&self.0.counters)));
        self.0.counters.client.lock().requests += 1;
        let client = &self.0.sources.client.0;
        let secrets = &self.0.config.grants.secrets;
        let span = RequestSpan::begin(self.0.call.trace.as_ref(), || {
            let path = request.path.split('?').next().unwrap_or_default().to_owned();
            Request::Api { method: request.method.clone(), path }
        });
        let answered = client.transport.send(request).await;
        if let Some(span) = span {
            match &answered {
                Ok(answer) => span.end(Some(answer.status), None),
                Err(ApiFailure::TooLarge { status, .. }) => span.end(Some(*status), Some("too-large")),
                Err(ApiFailure::Unavailable(_)) => span.end(None, Some("unavailable")),
            }
        }
        // Whatever the path was: the grant names the Secrets that the plugin may see.
        let masked = answered.map(|answer| ApiAnswer { body: masked_answer(secrets, answer.body), ..answer });
        let answer = match masked {
            Ok(answer) if (200..300).contains(&answer.status) => Ok(answer),
            Ok(answer) => Err(ApiError::answered(&answer)),
            Err(failure) => Err(failure.into()),
        };
        if let Ok(answer) = &answer {
            unanswered.succeeded();
            self.0.receives(answer.body.len());
        }
        answer
    }

    pub(super) fn refuse(&self, what: &str, line: &str) -> ApiError {
        self.0.counters.client.lock().refused += 1;
        let message = format!("{what} is not granted: add it to `{line}` under [plugin.grant]");
        ApiError::host(ApiCode::NotGranted, message)
    }
}

// === impl Unanswered ===

impl Unanswered {
    /// The server answered with a success.
    fn succeeded(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some(counters) = &self.0 {
            counters.client.lock().failed += 1;
        }
    }
}
