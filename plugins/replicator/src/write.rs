//! The writes. A patch or a deletion names the UID and the version that the plugin read, so it never changes a newer state.

use std::time::Duration;

use informer_sdk::{
    Error, ObjectKey, ReconcileError, ReconcileResult, Reconciled,
    client::{self, ApiCode, DeleteOptions, ObjectEvent, Patch, WriteOptions, Written},
    lister, log, metrics,
};
use serde_json::Value;

use crate::{bond::set_metadata, kind::Kind, settings::Settings};

/// The longest time to wait until the cache has a write of this plugin, so that the next call for the key reads it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes one target.
pub(crate) struct Writer<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) kind: &'static Kind,
    pub(crate) target: &'a ObjectKey,
}

// === impl Writer ===

impl Writer<'_> {
    pub(crate) fn create(&self, object: &Value, note: &str) -> ReconcileResult {
        if self.is_dry("created", note) {
            return Ok(Reconciled::Done);
        }
        let written = client::create(self.kind.gvr, &self.target.namespace, object, &WriteOptions::new());
        self.settle("created", note, written.map(Some))
    }

    /// Applies a merge patch to the state of the target that was read.
    pub(crate) fn change(&self, read: &Value, patch: Value, note: &str) -> ReconcileResult {
        self.change_and(read, patch, note, || ())
    }

    /// Does the same as [`change`](Self::change), and calls `written` if the API server has accepted the patch.
    pub(crate) fn change_and(
        &self,
        read: &Value,
        mut patch: Value,
        note: &str,
        written: impl FnOnce(),
    ) -> ReconcileResult {
        if self.is_dry("changed", note) {
            return Ok(Reconciled::Done);
        }
        let [uid, version] = identity(read);
        set_metadata(&mut patch, [("uid", uid), ("resourceVersion", version)]);
        let answer = client::patch(self.kind.gvr, self.target, &Patch::merge(patch), &WriteOptions::new());
        if answer.is_ok() {
            written();
        }
        self.settle("changed", note, answer.map(Some))
    }

    /// Deletes the target, if it is still in the state that was read.
    pub(crate) fn delete(&self, read: &Value, note: &str) -> ReconcileResult {
        if self.is_dry("deleted", note) {
            return Ok(Reconciled::Done);
        }
        let [uid, version] = identity(read);
        let exactly = DeleteOptions::new().uid(uid).resource_version(version);
        let deleted = client::delete(self.kind.gvr, self.target, &exactly);
        self.settle("deleted", note, deleted.map(|()| None))
    }

    /// Logs and counts a write, or decides what follows a failed one.
    fn settle(&self, done: &str, note: &str, answer: Result<Option<Written>, Error>) -> ReconcileResult {
        let error = match answer {
            Ok(written) => {
                log::info!("{self} was {done}: {note}");
                count("replicator_writes_total", &[("resource", self.kind.gvr), ("outcome", done)]);
                let version = written.as_ref().map(Written::resource_version).unwrap_or_default();
                if !version.is_empty() {
                    lister::wait_until(self.kind.gvr, Some(&self.target.namespace), version, PATIENCE)?;
                }
                return Ok(Reconciled::Done);
            }
            Err(error) => error,
        };
        match error.api_code() {
            // The target is gone, and its deletion adds the key again. A creation fails like this if the namespace or the role of a binding
            // is missing; then the call is repeated.
            Some(ApiCode::NotFound) if done != "created" => Ok(Reconciled::Done),
            // The cache does not have the newest state yet.
            Some(ApiCode::Conflict | ApiCode::AlreadyExists) => {
                log::debug!("{self} changed meanwhile: {error}");
                Ok(Reconciled::Requeue)
            }
            // The grants change with the configuration only.
            Some(ApiCode::NotGranted) => {
                log::warn!("{self} was not {done}: {error}");
                count("replicator_refused_total", &[("resource", self.kind.gvr)]);
                Ok(Reconciled::Done)
            }
            // The same request fails each time, until a person changes the source, the target or the policies of the cluster.
            Some(ApiCode::Invalid | ApiCode::BadArgument) => {
                count("replicator_refused_total", &[("resource", self.kind.gvr)]);
                Err(ReconcileError::terminal(format!("{self} cannot be {done} ({note}): {error}")))
            }
            _ => Err(error.into()),
        }
    }

    fn is_dry(&self, done: &str, note: &str) -> bool {
        if self.settings.dry_run {
            log::info!("dry run: {self} would be {done}: {note}");
        }
        self.settings.dry_run
    }

    /// Logs why nothing is written, and records an Event about the object whose owner can change that.
    pub(crate) fn refuse(&self, regarding: &ObjectKey, note: &str) {
        log::warn!("{self} stays as it is: {note}");
        count("replicator_refused_total", &[("resource", self.kind.gvr)]);
        if self.settings.dry_run {
            return;
        }
        notify(self.kind.gvr, regarding, &format!("{self} stays as it is: {note}"));
    }
}

impl std::fmt::Display for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.gvr, self.target)
    }
}

/// Records an Event about an object that is not replicated, or not to each namespace that it asks for.
pub(crate) fn notify(gvr: &str, regarding: &ObjectKey, note: &str) {
    let short: String = note.chars().take(250).collect();
    let event = ObjectEvent::new(gvr, regarding, "NotReplicated", "Replicating").warning();
    if let Err(error) = client::record(&event.note(short)) {
        log::debug!("no Event about {gvr} {regarding}: {error}");
    }
}

/// The UID and the version of an object.
pub(crate) fn identity(read: &Value) -> [&str; 2] {
    ["/metadata/uid", "/metadata/resourceVersion"]
        .map(|pointer| read.pointer(pointer).and_then(Value::as_str).unwrap_or_default())
}

fn count(name: &str, labels: &[(&str, &str)]) {
    // The host logs a metric that it refuses.
    metrics::counter_add(name, labels, 1.0).ok();
}
