//! What every request passes on its way out: grant, limit, audit.

use std::{sync::atomic::Ordering::Relaxed, time::Instant};

use informer_types::WriteVerb;

use super::{
    ApiAnswer, ApiRequest,
    audit::Audit,
    error,
    target::{Draft, Target},
};
use crate::{
    bindings::informer::plugin::client::{ApiCode, ApiError},
    guest::Guest,
};

/// What is to be done.
pub(super) struct Write<'a> {
    pub(super) verb: WriteVerb,
    pub(super) dry_run: bool,
    /// Of the object; empty where the server chooses it.
    pub(super) name: &'a str,
    /// It may make an object that is not there, and `verb` does not say so.
    pub(super) may_create: bool,
}

impl Guest {
    /// One object, or its subresource.
    pub(super) fn may_read(&self, target: &Target) -> Result<(), ApiError> {
        let read = self.config.grants.read.as_ref();
        let namespaces = read.and_then(|read| read.of(&target.gvr, target.subresource.as_deref()));
        if !namespaces.is_some_and(|namespaces| namespaces.contains(&target.namespace)) {
            return Err(self.refuse(&format!("reading {target}"), "read"));
        }
        if target.gvr.is_secrets() && !self.config.grants.secrets.contains(&target.namespace, target.name()) {
            return Err(self.refuse(&format!("reading {target}"), "secrets"));
        }
        Ok(())
    }

    /// The objects of a namespace, or of all.
    pub(super) fn may_list(&self, target: &Target, namespace: Option<&str>) -> Result<(), ApiError> {
        let read = self.config.grants.read.as_ref();
        let namespaces = read.and_then(|read| read.namespaces(&target.gvr));
        // Without a namespace the path names none: `contains` is true for all namespaces then, and only then.
        if !namespaces.is_some_and(|granted| granted.contains(namespace.unwrap_or_default())) {
            return Err(self.refuse(&format!("listing {target}"), "read"));
        }
        if target.gvr.is_secrets() && !self.config.grants.secrets.contain_all(namespace) {
            return Err(self.refuse(&format!("listing {target}"), "secrets"));
        }
        Ok(())
    }

    /// Checks the grant, waits for the budget, and only then makes the request and sends it, with an audit record.
    pub(super) async fn write(
        &mut self,
        write: Write<'_>,
        target: &Target,
        draft: impl FnOnce() -> Result<Draft, ApiError> + Send,
    ) -> Result<String, ApiError> {
        self.may_write(&write, target)?;
        self.audited(write, target, draft).await.and_then(|answer| error::text(answer.body))
    }

    fn may_write(&self, write: &Write<'_>, target: &Target) -> Result<(), ApiError> {
        let Write { verb, name, may_create, .. } = *write;
        let grants = &self.config.grants;
        let subresource = target.subresource.as_deref();
        let allow = |verb| {
            let write = grants.write.as_ref();
            write.is_some_and(|grants| grants.allow(verb, &target.gvr, subresource, &target.namespace))
        };
        // Who writes a Secret can read it: the answer is the whole object.
        let secret = !target.gvr.is_secrets()
            || grants.secrets.contains(&target.namespace, name)
            || grants.secrets.contain_all(Some(&target.namespace));
        let (what, line) = if !allow(verb) {
            (format!("{verb} of {target}"), "write")
        } else if may_create && !allow(WriteVerb::Create) {
            let why = "without the `metadata.uid` of one that is there, which may make it and so needs `create` too,";
            (format!("{verb} of {target} {why}"), "write")
        } else if !secret {
            (format!("{verb} of {target}"), "secrets")
        } else {
            return Ok(());
        };
        // A token each, as long as there are some: a plugin that does not stop does not fill the log.
        let now = Instant::now();
        if self.sources.client.0.budget.reserve(self.config.limits.requests, now, now).is_ok() {
            Audit::begin(&self.config.name, write, target).refused();
        }
        Err(self.refuse(&what, line))
    }

    /// A write that is granted. What the budget does not let out, or what makes no request, leaves no record.
    pub(super) async fn audited(
        &mut self,
        write: Write<'_>,
        target: &Target,
        draft: impl FnOnce() -> Result<Draft, ApiError> + Send,
    ) -> Result<ApiAnswer, ApiError> {
        self.token().await?;
        let request = self.request(draft()?)?;
        let audit = Audit::begin(&self.config.name, &write, target);
        let answer = self.exchange(request).await;
        audit.settle(&answer);
        answer
    }

    /// A request that needs no record.
    pub(super) async fn ask(&mut self, request: Draft) -> Result<ApiAnswer, ApiError> {
        let request = self.request(request)?;
        self.token().await?;
        self.exchange(request).await
    }

    /// Waits for the plugin's budget, if that is within the deadline of the call.
    async fn token(&mut self) -> Result<(), ApiError> {
        let limit = self.config.limits.requests;
        // A tenth of the call's time is left for the request: one that is sent at the deadline is sent for nothing.
        let (deadline, room) = (self.call.clock.deadline(), self.call.allowed / 10);
        let latest = deadline.checked_sub(room).unwrap_or(deadline);
        match self.sources.client.0.budget.reserve(limit, Instant::now(), latest) {
            Ok(wait) if wait.is_zero() => Ok(()),
            Ok(wait) => {
                tokio::time::sleep(wait).await;
                Ok(())
            }
            Err(wait) => {
                self.counters.client.limited.fetch_add(1, Relaxed);
                let message = format!(
                    "more than {limit} requests a second, and the next may not be made before the deadline of this \
                     call: make fewer, or raise `requests` under [plugin.limits]"
                );
                let retry_after_ms = Some(u32::try_from(wait.as_millis()).unwrap_or(u32::MAX));
                Err(ApiError { retry_after_ms, ..ApiError::host(ApiCode::LimitExceeded, message) })
            }
        }
    }

    fn request(&self, draft: Draft) -> Result<ApiRequest, ApiError> {
        Ok(ApiRequest {
            plugin: self.config.name.clone(),
            path: draft.path()?,
            method: draft.method,
            content_type: draft.content_type,
            body: draft.body,
            longest_answer: self.config.limits.response_bytes,
        })
    }

    /// Sends, and turns what is no success into an error.
    async fn exchange(&mut self, request: ApiRequest) -> Result<ApiAnswer, ApiError> {
        let (counters, client) = (&self.counters.client, &self.sources.client.0);
        counters.requests.fetch_add(1, Relaxed);
        let answer = match client.transport.send(request).await {
            Ok(answer) if (200..300).contains(&answer.status) => Ok(answer),
            Ok(answer) => Err(ApiError::answered(&answer)),
            Err(failure) => Err(failure.into()),
        };
        if answer.is_err() {
            counters.failed.fetch_add(1, Relaxed);
        }
        answer
    }

    pub(super) fn refuse(&self, what: &str, line: &str) -> ApiError {
        self.counters.client.refused.fetch_add(1, Relaxed);
        let message = format!("{what} is not granted: add it to `{line}` under [plugin.grant]");
        ApiError::host(ApiCode::NotGranted, message)
    }
}
