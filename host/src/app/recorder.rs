//! Records the calls of one plugin with the objects that it is called for, for `informer test --record`.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::Method;
use informer_cache::SharedInformer;
use informer_runtime::capabilities::{ApiAnswer, ApiFailure, ApiRequest};
use informer_types::{Change, Delivery, Gvr, Object, ObjectKey, Outcome, Reconciled, Request, SignalCall};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::{sync::Notify, time::timeout};

use super::running_plugin::RunningPlugin;
use crate::{
    admin::types::{RecordRequest, RecordedCall, RecordedObject, Recording},
    wiring::{Ending, Witness, WitnessSlot},
};

/// The longest recording.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// The most calls and bytes of a recording. A story has at most 16 MiB.
const CALLS: u32 = 10_000;
const BYTES: u64 = 16 << 20;

/// Collects calls until a bound is reached. Clones share one recording.
#[derive(Clone)]
struct Recorder(Arc<Shared>);

struct Shared {
    plugin: Arc<RunningPlugin>,
    informers: Vec<SharedInformer>,
    request: RecordRequest,
    calls: Mutex<Calls>,
    full: AtomicBool,
    ended: Notify,
}

#[derive(Default)]
struct Calls {
    /// Each call, and the resource versions of its objects.
    recorded: Vec<(RecordedCall, Vec<String>)>,
    bytes: u64,
    /// The resource versions that the plugin wrote.
    own: HashSet<String>,
}

/// The part of an answer that names the version that a request wrote.
#[derive(Deserialize)]
struct Written {
    metadata: WrittenMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenMetadata {
    resource_version: String,
}

/// The part of the body of a deletion that decides whether it is a dry run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeleteOptions {
    #[serde(default)]
    dry_run: Vec<String>,
}

/// Records calls of a plugin until a bound of the request is reached.
///
/// # Errors
/// Another recording runs.
///
/// # Cancel safety
/// If the future is dropped, the recording ends and is lost.
pub(super) async fn record(
    witness: &WitnessSlot,
    plugin: Arc<RunningPlugin>,
    informers: Vec<SharedInformer>,
    mut request: RecordRequest,
) -> Result<Recording, String> {
    request.calls = request.calls.clamp(1, CALLS);
    request.bytes = request.bytes.min(BYTES);
    let longest = Duration::from_secs(request.seconds.into()).min(LONGEST);
    let shared = Shared {
        plugin,
        informers,
        request,
        calls: Mutex::default(),
        full: AtomicBool::new(false),
        ended: Notify::new(),
    };
    let recorder = Recorder(Arc::new(shared));
    let guard = witness.install(Box::new(recorder.clone()));
    let guard = guard.ok_or("another recording runs: wait until it ends")?;
    let Shared { request, plugin, .. } = &*recorder.0;
    // Bodies of objects leave the host, so the log records it.
    tracing::info!(plugin = plugin.name(), calls = request.calls, ?longest, "a recording begins");
    let ended = timeout(longest, recorder.0.ended.notified()).await;
    drop(guard);
    let recording =
        recorder.recording(if ended.is_ok() { "the bound was reached" } else { "the time is over" });
    tracing::info!(plugin = plugin.name(), calls = recording.calls.len(), "the recording has ended");
    Ok(recording)
}

// === impl Recorder ===

impl Recorder {
    fn recording(&self, ended: &str) -> Recording {
        let Calls { recorded, own, .. } = std::mem::take(&mut *self.0.calls.lock());
        let calls = recorded.into_iter().map(|(mut call, versions)| {
            // An answer may come after the notification of what it wrote.
            for (object, version) in call.objects.iter_mut().zip(versions) {
                object.own = own.contains(&version);
            }
            call
        });
        Recording { calls: calls.collect(), ended: ended.to_owned() }
    }

    fn add(&self, call: RecordedCall, versions: Vec<String>) {
        let Shared { request, calls, full, ended, .. } = &*self.0;
        let mut calls = calls.lock();
        let texts = call.objects.iter().flat_map(|object| [&object.old, &object.new]).flatten();
        let bytes: usize = texts.map(String::len).sum();
        let fits = calls.bytes.saturating_add(bytes as u64) <= request.bytes;
        if fits && !full.load(Ordering::Relaxed) {
            calls.bytes += bytes as u64;
            calls.recorded.push((call, versions));
        }
        if !fits || calls.recorded.len() >= request.calls as usize {
            full.store(true, Ordering::Relaxed);
            ended.notify_one();
        }
    }

    /// Returns true for a first attempt of the plugin, while there is room.
    fn wants(&self, plugin: &str, attempt: u32) -> bool {
        plugin == self.0.request.plugin && attempt <= 1 && !self.0.full.load(Ordering::Relaxed)
    }

    fn visible(&self, gvr: &Gvr, object: &Object) -> Option<String> {
        self.0.plugin.plugin().visible(gvr, object)
    }

    /// The objects with this key that the plugin subscribes to.
    fn objects(&self, key: &ObjectKey) -> (Vec<RecordedObject>, Vec<String>) {
        let informers = self.0.informers.iter();
        let found = informers.map(|informer| {
            let gvr = &informer.key().gvr;
            let object = informer.lister().get(key);
            let new = object.as_ref().and_then(|object| self.visible(gvr, object));
            let version = object.map(|object| object.resource_version().to_owned()).unwrap_or_default();
            let (resource, key) = (gvr.to_string(), key.to_string());
            (RecordedObject { resource, key, new, ..RecordedObject::default() }, version)
        });
        found.unzip()
    }
}

impl Witness for Recorder {
    fn handled(&self, plugin: &str, delivery: &Delivery, outcome: &Outcome) {
        if !self.wants(plugin, delivery.attempt) {
            return;
        }
        let notification = &delivery.notification;
        let (gvr, change) = (notification.source.gvr(), &notification.change);
        let old = match change {
            Change::Updated { old, .. } => self.visible(gvr, old),
            Change::Added { .. } | Change::Deleted { .. } => None,
        };
        let (object, key) = (change.object(), notification.key().to_string());
        let new = self.visible(gvr, object);
        let version = object.resource_version().to_owned();
        let object = RecordedObject { resource: gvr.to_string(), key: key.clone(), old, new, own: false };
        let Ending { next, failure } = Ending::of_handler(outcome);
        let call = format!("on-{}", change.verb());
        self.add(RecordedCall { call, key, objects: vec![object], next, failure }, vec![version]);
    }

    fn reconciled(&self, plugin: &str, request: &Request, outcome: &Reconciled) {
        if !self.wants(plugin, request.attempt) {
            return;
        }
        let found = ObjectKey::in_work_key(&request.key).map(|key| self.objects(&key));
        let (objects, versions) = found.unwrap_or_default();
        let Ending { next, failure } = Ending::of_reconciler(outcome);
        let (call, key) = ("reconcile".to_owned(), request.key.to_string());
        self.add(RecordedCall { call, key, objects, next, failure }, versions);
    }

    /// A story causes these signals itself, so a recording leaves them out.
    fn signalled(&self, _plugin: &str, _call: &SignalCall, _outcome: &Reconciled) {}

    fn requested(&self, request: &ApiRequest, answer: &Result<ApiAnswer, ApiFailure>) {
        let Some(answer) = answer.as_ref().ok().filter(|_| *request.plugin == *self.0.request.plugin) else {
            return;
        };
        if let Some(version) = written(request, &answer.body) {
            self.0.calls.lock().own.insert(version);
        }
    }
}

/// The resource version that a request wrote. Returns `None` for a read and for a dry run. The answer to a dry run has the previous
/// version of the object, which the plugin did not write.
fn written(request: &ApiRequest, answer: &[u8]) -> Option<String> {
    let is_dry_run = if request.method == Method::DELETE {
        let options = serde_json::from_slice::<DeleteOptions>(&request.body);
        options.is_ok_and(|options| !options.dry_run.is_empty())
    } else {
        request.path.split_once('?').is_some_and(|(_, query)| query.contains("dryRun="))
    };
    if request.method == Method::GET || is_dry_run {
        return None;
    }
    let written = serde_json::from_slice::<Written>(answer).ok()?;
    Some(written.metadata.resource_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_and_a_dry_run_write_no_version() {
        let answer = br#"{"metadata": {"resourceVersion": "7"}}"#;
        let is_written = |method: Method, path: &str, body: &'static str| {
            let request = ApiRequest {
                plugin: "p".into(),
                method,
                path: path.to_owned(),
                content_type: None,
                body: body.into(),
                longest_answer: 1 << 20,
            };
            written(&request, answer).as_deref() == Some("7")
        };

        assert!(is_written(Method::PATCH, "/api/v1/a?fieldManager=informer%2Fp", "{}"));
        assert!(!is_written(Method::PATCH, "/api/v1/a?fieldManager=informer%2Fp&dryRun=All", "{}"));
        assert!(is_written(Method::DELETE, "/api/v1/a", r#"{"kind": "DeleteOptions"}"#));
        assert!(!is_written(Method::DELETE, "/api/v1/a", r#"{"dryRun": ["All"]}"#));
        assert!(!is_written(Method::GET, "/api/v1/a", ""));
    }
}
