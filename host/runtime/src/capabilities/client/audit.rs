//! One line of the log for every write: the plugin, the verb, the object and the outcome. Never a body.

use std::sync::Arc;

use informer_types::WriteVerb;

use super::{body::text, error::word, source::ApiAnswer, target::Target};
use crate::bindings::informer::plugin::client::ApiError;

/// The target of the line, for `RUST_LOG` filters and log collectors.
const TARGET: &str = "audit";

/// A write that a plugin wants to make.
#[derive(Clone, Copy)]
pub(super) struct Write<'a> {
    pub(super) verb: WriteVerb,
    pub(super) target: &'a Target,
    pub(super) dry_run: bool,
    /// The name of the object; empty if the server chooses it.
    pub(super) name: &'a str,
    /// True if the write may create a missing object although its verb is not `create`.
    pub(super) may_create: bool,
}

/// A write in flight. If it is dropped before it is settled, the outcome `unknown` is logged.
pub(super) struct Audit<'a> {
    plugin: Arc<str>,
    write: Write<'a>,
    settled: bool,
}

// === impl Write ===

impl<'a> Write<'a> {
    /// A write of the target, which has a name.
    pub(super) fn new(verb: WriteVerb, target: &'a Target, dry_run: bool) -> Self {
        Self { verb, target, dry_run, name: target.name(), may_create: false }
    }
}

// === impl Audit ===

impl<'a> Audit<'a> {
    /// To be called right before the write is sent.
    pub(super) fn begin(plugin: &Arc<str>, write: Write<'a>) -> Self {
        Self { plugin: Arc::clone(plugin), write, settled: false }
    }

    /// Logs the outcome.
    pub(super) fn settle(mut self, answer: &Result<ApiAnswer, ApiError>) {
        self.settled = true;
        match answer {
            Ok(ApiAnswer { status, body, .. }) => {
                // The server chose the name if the write has none.
                let chosen =
                    if self.write.name.is_empty() { text(body, "/metadata/name") } else { String::new() };
                self.log(&chosen, "ok", (*status).into(), &text(body, "/metadata/resourceVersion"));
            }
            Err(error) => self.log("", word(error.code), error.status, ""),
        }
    }

    /// Logs that the write was refused and not sent: no grant allows it.
    pub(super) fn refused(mut self) {
        self.settled = true;
        let Write { verb, target: Target { gvr, namespace, subresource, .. }, name, dry_run, .. } =
            self.write;
        let (resource, subresource) = (gvr.to_string(), subresource.as_deref().unwrap_or_default());
        tracing::warn!(
            target: TARGET, plugin = &*self.plugin, verb = verb.as_str(), resource, subresource, namespace,
            name = %name.escape_debug(), dry_run, outcome = "not-granted", "a write was refused"
        );
    }

    fn log(&self, chosen: &str, outcome: &str, status: u32, resource_version: &str) {
        let Write { verb, target: Target { gvr, namespace, subresource, .. }, name, dry_run, .. } =
            self.write;
        let (resource, subresource) = (gvr.to_string(), subresource.as_deref().unwrap_or_default());
        let name = if name.is_empty() { chosen } else { name };
        tracing::info!(
            target: TARGET, plugin = &*self.plugin, verb = verb.as_str(), resource, subresource, namespace,
            name = %name.escape_debug(), dry_run, outcome, status, resource_version, "write"
        );
    }
}

impl Drop for Audit<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.log("", "unknown", 0, "");
        }
    }
}
