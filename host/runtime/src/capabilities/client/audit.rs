//! One line of the log for every write: the plugin, the verb, the object and the outcome. Never a body.

use std::sync::Arc;

use super::{body::text, error::word, target::Target, transport::ApiAnswer, write::Write};
use crate::bindings::informer::plugin::client::ApiError;

/// The target of the line, for `RUST_LOG` filters and log collectors.
const TARGET: &str = "audit";

/// A write in flight. If it is dropped before it is settled, the outcome `unknown` is logged.
pub(super) struct Audit {
    plugin: Arc<str>,
    verb: &'static str,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    dry_run: bool,
    settled: bool,
}

// === impl Audit ===

impl Audit {
    /// To be called right before the write is sent.
    pub(super) fn begin(plugin: &Arc<str>, write: &Write<'_>, target: &Target) -> Self {
        Self {
            plugin: Arc::clone(plugin),
            verb: write.verb.as_str(),
            resource: target.gvr.to_string(),
            subresource: target.subresource.clone().unwrap_or_default(),
            namespace: target.namespace.clone(),
            name: write.name.to_owned(),
            dry_run: write.dry_run,
            settled: false,
        }
    }

    /// Logs the outcome.
    pub(super) fn settle(mut self, answer: &Result<ApiAnswer, ApiError>) {
        self.settled = true;
        match answer {
            Ok(ApiAnswer { status, body, .. }) => {
                if self.name.is_empty() {
                    // The server chose the name.
                    self.name = text(body, "/metadata/name");
                }
                self.write("ok", (*status).into(), &text(body, "/metadata/resourceVersion"));
            }
            Err(error) => self.write(word(error.code), error.status, ""),
        }
    }

    /// Logs that the write was refused and not sent: no grant allows it.
    pub(super) fn refused(mut self) {
        self.settled = true;
        let Self { plugin, verb, resource, subresource, namespace, name, dry_run, .. } = &self;
        tracing::warn!(
            target: TARGET, plugin = &**plugin, verb, resource, subresource, namespace, name = %name.escape_debug(),
            dry_run, outcome = "not-granted", "a write was refused"
        );
    }

    fn write(&self, outcome: &str, status: u32, resource_version: &str) {
        let Self { plugin, verb, resource, subresource, namespace, name, dry_run, .. } = self;
        tracing::info!(
            target: TARGET, plugin = &**plugin, verb, resource, subresource, namespace, name = %name.escape_debug(),
            dry_run, outcome, status, resource_version, "write"
        );
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        if !self.settled {
            self.write("unknown", 0, "");
        }
    }
}
