//! Writes the status of Plugin objects, by server-side apply: important changes within seconds, counters once a minute, and never
//! more than a few requests a second.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use informer_types::TokenBucket;
use jiff::Timestamp;
use kube::{
    api::{Api, ApiResource, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
};
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::{
    recorder::{Recorder, notes},
    status::{Difference, Status, View},
};
use crate::app::{
    objects::{Judged, Objects},
    running_plugin::{RunningPlugins, event_instance},
};

/// The field manager of all that the host itself writes.
const MANAGER: &str = "informer";

/// Time between two looks.
const TICK: Duration = Duration::from_secs(1);

/// Least time between two writes of one object.
const MAJOR: Duration = Duration::from_secs(5);

/// Least time between two writes of one object for the sake of its counters and words.
const MINOR: Duration = Duration::from_secs(60);

/// Requests of all objects together.
const PER_SECOND: f64 = 10.0;
const BURST: f64 = 50.0;

/// Time for one request.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// The wait after a request that failed for a reason that concerns all objects.
const PAUSE: Duration = Duration::from_secs(30);

/// Writes the status of objects.
pub(super) struct Writer {
    objects: Objects,
    plugins: RunningPlugins,
    client: kube::Client,
    recorder: Recorder,
    bucket: TokenBucket,
    /// The status that the server has, by the uid of the object.
    written: HashMap<String, Written>,
}

/// How long an object may be on its way before it is written: shorter if nothing is written yet. After a start of the host,
/// each object is on its way although nothing happened to it.
const ON_ITS_WAY: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(30));

/// The status on the server.
struct Written {
    status: Status,
    /// The first look at the object.
    seen: Instant,
    /// The last write of this host.
    at: Option<Instant>,
    /// Notifications and keys that were given up by then; `None` before the first look at the plugin.
    given_up: Option<u64>,
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(objects: Objects, plugins: RunningPlugins, client: kube::Client) -> Self {
        Self {
            objects,
            plugins,
            recorder: Recorder::new(client.clone(), event_instance()),
            client,
            bucket: TokenBucket::new(PER_SECOND, BURST),
            written: HashMap::new(),
        }
    }

    /// Writes for as long as it is polled. Never returns.
    pub(super) async fn run(mut self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.round().await {
                tracing::warn!(%error, "the status of Plugin objects cannot be written; `informer rbac` prints the roles that this needs");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Writes what differs, the urgent first, as long as requests are left.
    async fn round(&mut self) -> Result<(), kube::Error> {
        let judged = self.objects.judged();
        let present: HashSet<&str> = judged.iter().map(|one| one.object.uid()).collect();
        self.written.retain(|uid, _| present.contains(uid.as_str()));
        let mut due: Vec<(Difference, &Judged, Status, Option<View>)> = Vec::new();
        let (now, time) = (Instant::now(), Timestamp::now());
        for one in judged.iter() {
            let view = self.plugins.find(&one.name).map(|plugin| View::of(&plugin));
            let written = self.written.entry(one.object.uid().to_owned()).or_insert_with(|| Written {
                status: Status::written(&one.object),
                seen: now,
                at: None,
                given_up: None,
            });
            let wanted = Status::wanted(one, view.as_ref(), &written.status, &format!("{time:.0}"));
            let difference = written.status.difference(&wanted);
            let wait = match difference {
                Difference::None => continue,
                Difference::Minor => MINOR,
                Difference::Major => MAJOR,
            };
            if wanted.is_on_its_way() && written.is_patient(now) {
                continue;
            }
            if written.at.is_none_or(|at| now.saturating_duration_since(at) >= wait) {
                due.push((difference, one, wanted, view));
            }
        }
        // Namespaces take turns: one with thousands of objects delays the others by one write.
        let mut of_namespace: BTreeMap<&str, usize> = BTreeMap::new();
        due.sort_by_key(|one| Reverse(one.0));
        due.sort_by_cached_key(|one| {
            let turn = of_namespace.entry(one.1.object.namespace()).or_default();
            *turn += 1;
            *turn
        });
        for (_, one, wanted, view) in due {
            if !self.bucket.take(std::time::Instant::now()) {
                break;
            }
            self.write(one, wanted, view.as_ref()).await?;
        }
        Ok(())
    }

    async fn write(
        &mut self,
        judged: &Judged,
        wanted: Status,
        view: Option<&View>,
    ) -> Result<(), kube::Error> {
        match timeout(ANSWERED_WITHIN, self.apply(judged, &wanted)).await {
            Ok(Ok(())) => {}
            // It is gone, or another object has its name: the watch will report that.
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => {}
            // The API server refuses the status of this object only.
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 400 | 422) => {
                tracing::warn!(
                    plugin = judged.name,
                    reason = status.message,
                    "the status of a Plugin object is refused"
                );
            }
            Ok(Err(error)) => return Err(error),
            Err(_) => tracing::debug!(plugin = judged.name, "the write of a status takes too long"),
        }
        let given_up = view.map(|view| view.given_up);
        let Some(written) = self.written.get_mut(judged.object.uid()) else { return Ok(()) };
        let before = std::mem::replace(&mut written.status, wanted.clone());
        let earlier = std::mem::replace(&mut written.given_up, given_up);
        written.at = Some(Instant::now());
        for note in notes(&before, &wanted, earlier, view) {
            let recorded = timeout(ANSWERED_WITHIN, self.recorder.record(judged, &note)).await;
            if let Ok(Err(error)) = recorded {
                tracing::debug!(plugin = judged.name, %error, "an Event about a Plugin object is not recorded");
            }
        }
        Ok(())
    }

    async fn apply(&self, judged: &Judged, status: &Status) -> Result<(), kube::Error> {
        let (namespace, name) = (judged.object.namespace(), judged.object.name());
        let kind = if namespace.is_empty() { "ClusterPlugin" } else { "Plugin" };
        let kind = GroupVersionKind::gvk("informer.dev", "v1alpha1", kind);
        let resource = ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> = if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        };
        let body = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name},
            "status": status,
        });
        let parameters = PatchParams::apply(MANAGER).force();
        api.patch_status(name, &parameters, &Patch::Apply(&body)).await.map(drop)
    }
}

// === impl Written ===

impl Written {
    /// Returns true if an object that is on its way may still arrive before it is written.
    fn is_patient(&self, now: Instant) -> bool {
        let (new, known) = ON_ITS_WAY;
        let patience = if self.status == Status::default() { new } else { known };
        now.saturating_duration_since(self.seen) < patience
    }
}
