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

/// How long the states `Loading` and `Syncing` are not written after the first look at an object: the first value if it has no
/// status yet, the second one otherwise, because after a start of the host every plugin loads although nothing changed.
const ON_ITS_WAY: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(30));

/// The status on the server.
struct Written {
    status: Status,
    /// The first look at the object.
    seen: Instant,
    /// The last write of this host, or the end of one that got no answer.
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

    /// Writes the differences while requests are left: in turns by namespace, and in each turn the urgent ones first.
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
            // The server may not have applied the status, so it is written again after the wait.
            Err(_) => {
                tracing::debug!(plugin = judged.name, "the write of a status takes too long");
                if let Some(written) = self.written.get_mut(judged.object.uid()) {
                    written.at = Some(Instant::now());
                }
                return Ok(());
            }
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

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future::pending, sync::Arc};

    use http::{Request, Response};
    use informer_types::{Body, Header, Object};
    use kube::client;

    use super::*;
    use crate::app::objects::Verdict;

    #[tokio::test(start_paused = true)]
    async fn a_status_that_the_server_does_not_answer_for_counts_as_not_written() {
        type Answer = Result<Response<client::Body>, Infallible>;
        let silent = tower::service_fn(|_: Request<client::Body>| pending::<Answer>());
        let client = kube::Client::new(silent, "default");
        let mut writer = Writer::new(Objects::default(), RunningPlugins::default(), client);
        let header =
            Header { namespace: "shop".into(), name: "echo".into(), uid: "u".into(), ..Header::default() };
        let object = Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap());
        let judged = Judged { object, name: "shop/echo".to_owned(), verdict: Verdict::Accepted };
        let (status, seen) = (Status::default(), Instant::now());
        let wanted = Status::wanted(&judged, None, &status, "2026-11-23T10:00:00Z");
        writer.written.insert("u".to_owned(), Written { status, seen, at: None, given_up: None });

        writer.write(&judged, wanted, None).await.unwrap();

        let written = &writer.written["u"];
        assert_eq!(written.status, Status::default());
        assert!(written.at.is_some_and(|at| at > seen), "the next write comes after the wait");
    }
}
