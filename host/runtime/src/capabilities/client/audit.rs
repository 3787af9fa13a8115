//! One line of the log for every write: who, what, to which object, and what came of it. Never a body.

use std::sync::Arc;

use super::{ApiAnswer, body::text, error::word, gate::Write, target::Target};
use crate::bindings::informer::plugin::client::ApiError;

/// What `RUST_LOG`-style filters and collectors know it by.
const TARGET: &str = "audit";

/// A write on its way. Dropped before its end, it says that nobody knows what came of it.
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
    /// It is sent now.
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

    /// What came of it.
    pub(super) fn settle(mut self, answer: &Result<ApiAnswer, ApiError>) {
        self.settled = true;
        match answer {
            Ok(ApiAnswer { status, body, .. }) => {
                if self.name.is_empty() {
                    // The server chose it.
                    self.name = text(body, "/metadata/name");
                }
                self.write("ok", (*status).into(), &text(body, "/metadata/resourceVersion"));
            }
            Err(error) => self.write(word(error.code), error.status, ""),
        }
    }

    /// Not sent after all: the plugin tried what it may not.
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
