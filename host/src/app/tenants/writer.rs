//! Writes the status of Plugin objects, by server-side apply: important changes within seconds, counters once a minute, and never
//! more than a few requests a second.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use informer_cache::ResourceVersion;
use informer_types::{Object, TokenBucket};
use jiff::Timestamp;
use kube::{
    api::{Api, ApiResource, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
};
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::{
    recorder::{Recorder, notes},
    status::{Difference, PluginState, Status},
};
use crate::{
    app::{
        objects::{Judged, Objects},
        running_plugin::{RunningPlugins, event_instance},
    },
    election::Leadership,
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

/// The wait after a request that failed: of all objects, if the reason concerns all of them, and otherwise of this object.
const PAUSE: Duration = Duration::from_secs(30);

/// Writes the status of objects.
pub(super) struct Writer {
    objects: Objects,
    plugins: RunningPlugins,
    client: kube::Client,
    /// Nothing is written while the host does not lead (E-9).
    leadership: Leadership,
    recorder: Recorder,
    bucket: TokenBucket,
    /// What is known about the status of each object, by the uid of the object.
    written: HashMap<String, Written>,
    /// The last log line about an object whose status was refused.
    logged: Option<Instant>,
}

/// What is written about one object.
type Due<'a> = (Difference, &'a Judged, Status, Option<PluginState>);

/// How long the states `Loading` and `Syncing` are not written after the first look at an object: the first value if it has no
/// status yet, the second one otherwise, because after a start of the host every plugin loads although nothing changed.
const ON_ITS_WAY: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(30));

/// The status of one object.
struct Written {
    /// The status that this host has written, or the one of the first look.
    status: Status,
    /// The newest version of the object that this host knows.
    version: String,
    /// The status in that version. It may differ from what was written: a definition of an older release has fewer fields.
    kept: Status,
    /// Another client has changed the status since the last write.
    is_changed: bool,
    /// The first look at the object.
    seen: Instant,
    /// The last write of this host, or the end of one that failed.
    at: Option<Instant>,
    /// True if the API server refused the last write.
    refused: bool,
    /// Notifications and keys that were given up by then; `None` before the first look at the plugin.
    given_up: Option<u64>,
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(
        objects: Objects,
        plugins: RunningPlugins,
        client: kube::Client,
        leadership: Leadership,
    ) -> Self {
        Self {
            objects,
            plugins,
            recorder: Recorder::new(client.clone(), event_instance()),
            client,
            leadership,
            bucket: TokenBucket::new(PER_SECOND, BURST),
            written: HashMap::new(),
            logged: None,
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
        if !self.leadership.leads() {
            // The leader writes. When this host begins to lead, its plugins load, and it looks at each object as if for the first time.
            self.written.clear();
            return Ok(());
        }
        let judged = self.objects.judged();
        let present: HashSet<String> = judged.iter().map(|one| one.object.uid().to_string()).collect();
        self.written.retain(|uid, _| present.contains(uid));
        let mut due: Vec<Due<'_>> = Vec::new();
        let (now, time) = (Instant::now(), Timestamp::now());
        for one in judged.iter() {
            let plugin = self.plugins.find(&one.name).map(|plugin| PluginState::of(&plugin));
            let written = self.written.entry(one.object.uid().to_string());
            let written = written.or_insert_with(|| Written::first(&one.object, now));
            written.follow(&one.object);
            let wanted = Status::wanted(one, plugin.as_ref(), written.present(), &format!("{time:.0}"));
            let difference = written.difference(&wanted);
            let wait = match difference {
                Difference::None => continue,
                Difference::Minor => MINOR,
                Difference::Major if written.refused => PAUSE,
                // The other client may do the same, and both would write without a pause.
                Difference::Major if written.is_changed => MINOR,
                Difference::Major => MAJOR,
            };
            if wanted.is_on_its_way() && written.is_patient(now) {
                continue;
            }
            if written.at.is_none_or(|at| now.saturating_duration_since(at) >= wait) {
                due.push((difference, one, wanted, plugin));
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
        self.write_all(due).await
    }

    /// Writes in this order while requests are left. An object whose status is refused delays no other.
    async fn write_all(&mut self, due: Vec<Due<'_>>) -> Result<(), kube::Error> {
        let (mut accepted, mut refusals) = (0, Vec::new());
        for (_, one, wanted, plugin) in due {
            if !self.leadership.holds() || !self.bucket.take(std::time::Instant::now()) {
                break;
            }
            match self.write(one, wanted, plugin.as_ref()).await {
                Ok(()) => accepted += 1,
                Err(error) if may_be_of_one(&error) => {
                    self.refused(one, &error);
                    refusals.push(error);
                }
                Err(error) => return Err(error),
            }
        }
        match refusals.pop() {
            // The host lacks the role, for example.
            Some(error) if accepted == 0 && !refusals.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// The API server refused the status of this object: it is written again after a wait.
    fn refused(&mut self, judged: &Judged, error: &kube::Error) {
        let now = Instant::now();
        if let Some(written) = self.written.get_mut(&judged.object.uid().to_string()) {
            (written.at, written.refused) = (Some(now), true);
        }
        if self.logged.is_none_or(|at| now.saturating_duration_since(at) >= PAUSE) {
            self.logged = Some(now);
            tracing::warn!(plugin = judged.name, %error, "the status of a Plugin object is refused; it is written again later");
        }
    }

    async fn write(
        &mut self,
        judged: &Judged,
        wanted: Status,
        plugin: Option<&PluginState>,
    ) -> Result<(), kube::Error> {
        let mut answer = None;
        match timeout(ANSWERED_WITHIN, self.apply(judged, &wanted)).await {
            Ok(Ok(object)) => answer = Some(object),
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
                if let Some(written) = self.written.get_mut(&judged.object.uid().to_string()) {
                    written.at = Some(Instant::now());
                }
                return Ok(());
            }
        }
        let given_up = plugin.map(|plugin| plugin.given_up);
        let Some(written) = self.written.get_mut(&judged.object.uid().to_string()) else { return Ok(()) };
        let before = written.ended(wanted.clone(), answer);
        let earlier = std::mem::replace(&mut written.given_up, given_up);
        for note in notes(&before, &wanted, earlier, plugin) {
            if !self.leadership.holds() {
                break;
            }
            let recorded = timeout(ANSWERED_WITHIN, self.recorder.record(judged, &note)).await;
            if let Ok(Err(error)) = recorded {
                tracing::debug!(plugin = judged.name, %error, "an Event about a Plugin object is not recorded");
            }
        }
        Ok(())
    }

    async fn apply(&self, judged: &Judged, status: &Status) -> Result<DynamicObject, kube::Error> {
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
        api.patch_status(name, &parameters, &Patch::Apply(&body)).await
    }
}

// === impl Written ===

impl Written {
    fn first(object: &Object, now: Instant) -> Self {
        let status = Status::written(object);
        Self {
            kept: status.clone(),
            status,
            version: object.resource_version().to_owned(),
            is_changed: false,
            seen: now,
            at: None,
            refused: false,
            given_up: None,
        }
    }

    /// The status on the server, as far as this host knows.
    fn present(&self) -> &Status {
        if self.is_changed { &self.kept } else { &self.status }
    }

    /// Returns how the status on the server differs from `wanted`. If another client wrote the status and only counters and messages
    /// differ, `wanted` is compared with what this host wrote: otherwise two hosts that follow one object would write theirs in turns.
    fn difference(&self, wanted: &Status) -> Difference {
        match self.present().difference(wanted) {
            Difference::Minor if self.is_changed => self.status.difference(wanted).min(Difference::Minor),
            difference => difference,
        }
    }

    /// Looks whether another client has changed the status. The cache may be behind the last write.
    fn follow(&mut self, object: &Object) {
        if !is_newer(object.resource_version(), &self.version) {
            return;
        }
        let status = Status::written(object);
        self.is_changed |= status != self.kept;
        (self.version, self.kept) = (object.resource_version().to_owned(), status);
    }

    /// A write has ended; `answer` is the object of the server, if it accepted the status. Returns the status before.
    fn ended(&mut self, wanted: Status, answer: Option<DynamicObject>) -> Status {
        if let Some(DynamicObject { metadata, data, .. }) = answer {
            self.version = metadata.resource_version.unwrap_or_default();
            self.kept = Status::of(data);
        }
        (self.is_changed, self.at, self.refused) = (false, Some(Instant::now()), false);
        std::mem::replace(&mut self.status, wanted)
    }

    /// Returns true if an object that is on its way may still arrive before it is written.
    fn is_patient(&self, now: Instant) -> bool {
        let (new, known) = ON_ITS_WAY;
        let patience = if self.status == Status::default() { new } else { known };
        now.saturating_duration_since(self.seen) < patience
    }
}

/// Versions without an order count as newer if they differ.
fn is_newer(version: &str, than: &str) -> bool {
    match (version.parse::<ResourceVersion>(), than.parse::<ResourceVersion>()) {
        (Ok(version), Ok(than)) => version > than,
        _ => version != than,
    }
}

/// Returns true if the reason may concern this object only, such as a role of its namespace or a webhook for it. Otherwise no request
/// succeeds now.
fn may_be_of_one(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if !matches!(status.code, 401 | 429 | 502 | 503 | 504))
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        future::{pending, ready},
        sync::Arc,
    };

    use http::{Request, Response};
    use informer_types::{Body, Header, Object};
    use kube::client;

    use super::*;
    use crate::app::{
        applier::tests::config,
        objects::{Candidate, Verdict},
    };

    type Answer = Result<Response<client::Body>, Infallible>;

    /// An accepted object with this key, its first look, and the status that it should have.
    fn looked(writer: &mut Writer, namespace: &str, name: &str) -> (Judged, Status) {
        let uid = format!("uid of {name}");
        let header = Header {
            namespace: namespace.into(),
            name: name.into(),
            uid: uid.as_str().into(),
            ..Header::default()
        };
        let object = Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap());
        let judged = Judged { object, name: format!("{namespace}/{name}"), verdict: Verdict::Accepted };
        let written = Written::first(&judged.object, Instant::now());
        let wanted = Status::wanted(&judged, None, &written.status, "2026-11-23T10:00:00Z");
        writer.written.insert(uid, written);
        (judged, wanted)
    }

    fn writer(client: kube::Client) -> Writer {
        let leadership = Leadership::unconditional();
        Writer::new(Objects::default(), RunningPlugins::default(), client, leadership)
    }

    #[tokio::test(start_paused = true)]
    async fn a_status_that_the_server_does_not_answer_for_counts_as_not_written() {
        let silent = tower::service_fn(|_: Request<client::Body>| pending::<Answer>());
        let client = kube::Client::new(silent, "default");
        let mut writer = writer(client);
        let (judged, wanted) = looked(&mut writer, "shop", "echo");
        let seen = Instant::now();

        writer.write(&judged, wanted, None).await.unwrap();

        let written = &writer.written["uid of echo"];
        assert_eq!(written.status, Status::default());
        assert!(written.at.is_some_and(|at| at > seen), "the next write comes after the wait");
    }

    /// The API server answers with this code for the namespace `closed`, and accepts everything else.
    fn closed(code: u16) -> kube::Client {
        let answer = move |request: Request<client::Body>| {
            let refused = request.uri().path().contains("/namespaces/closed/");
            let body = if refused {
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": "", "code": code})
            } else {
                json!({"kind": "Plugin", "apiVersion": "informer.dev/v1alpha1", "metadata": {"name": "echo"}})
            };
            let answer = Response::builder().status(if refused { code } else { 200 });
            let answer = answer.body(client::Body::from(body.to_string().into_bytes()));
            ready(Ok::<_, Infallible>(answer.unwrap()))
        };
        kube::Client::new(tower::service_fn(answer), "default")
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_whose_status_is_refused_keeps_no_other_from_being_written() {
        for (code, of_all) in [(403, false), (500, false), (429, true), (503, true)] {
            let mut writer = writer(closed(code));
            let (first, status) = looked(&mut writer, "closed", "first");
            let (second, other) = looked(&mut writer, "open", "second");
            let due = vec![
                (Difference::Major, &first, status, None),
                (Difference::Major, &second, other.clone(), None),
            ];

            let round = writer.write_all(due).await;

            assert_eq!(round.is_err(), of_all, "{code} {round:?}");
            let written = |name: &str| &writer.written[&format!("uid of {name}")];
            assert_eq!(written("first").status, Status::default(), "{code}");
            assert_eq!(written("first").refused, !of_all, "{code}");
            assert_eq!(written("second").status == other, !of_all, "{code}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_of_every_status_pauses_the_writer() {
        let mut writer = writer(closed(403));
        let (first, status) = looked(&mut writer, "closed", "first");
        let (second, other) = looked(&mut writer, "closed", "second");
        let due = vec![(Difference::Major, &first, status, None), (Difference::Major, &second, other, None)];

        assert!(writer.write_all(due).await.is_err());
    }

    /// Another host may lead already (E-9).
    #[tokio::test(start_paused = true)]
    async fn a_host_that_does_not_hold_its_lease_writes_no_status() {
        let mut writer = Writer { leadership: Leadership::never(), ..writer(closed(403)) };
        let (judged, wanted) = looked(&mut writer, "open", "echo");

        writer.write_all(vec![(Difference::Major, &judged, wanted, None)]).await.unwrap();

        assert_eq!(writer.written["uid of echo"].status, Status::default());
    }

    const TENANCY: &str = "[tenancy]\nnamespaces = [\"shop\"]\nread = [\"v1/configmaps\"]\n\
                           registries = [\"ghcr.io/acme/*\"]\n";

    /// An object without a spec, which is refused, with this version and status.
    fn echo(version: &str, status: &serde_json::Value) -> Candidate {
        let header = Header {
            namespace: "shop".into(),
            name: "echo".into(),
            uid: "uid of echo".into(),
            resource_version: version.into(),
            ..Header::default()
        };
        let body = json!({ "status": status }).to_string();
        Candidate(Arc::new(Object::new(&header, Body::Raw(body.into())).unwrap()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_stands_by_keeps_no_status_that_is_old_when_it_begins_to_lead() {
        let leads = writer(closed(403));
        leads.objects.set(vec![echo("1", &json!({}))]);
        leads.objects.choose(&config(TENANCY));
        let mut stands_by = Writer { leadership: Leadership::never(), ..leads };

        stands_by.round().await.unwrap();
        assert!(stands_by.written.is_empty());

        let mut leads = Writer { leadership: Leadership::unconditional(), ..stands_by };
        leads.round().await.unwrap();
        assert!(leads.written.contains_key("uid of echo"));
    }

    #[tokio::test(start_paused = true)]
    async fn two_hosts_of_one_object_write_once_a_minute_and_only_if_their_verdicts_differ() {
        let mut writer = writer(closed(403));
        let at = |writer: &Writer| writer.written["uid of echo"].at;
        writer.objects.set(vec![echo("1", &json!({}))]);
        writer.objects.choose(&config(TENANCY));
        writer.round().await.unwrap();
        let first = at(&writer);
        assert!(first.is_some());

        // The other host has had the same verdict since another time.
        let mut same = serde_json::to_value(&writer.written["uid of echo"].status).unwrap();
        for condition in same["conditions"].as_array_mut().unwrap() {
            condition["lastTransitionTime"] = json!("2026-01-01T00:00:00Z");
        }
        writer.objects.set(vec![echo("2", &same)]);
        tokio::time::advance(MINOR).await;
        writer.round().await.unwrap();
        assert_eq!(at(&writer), first);

        writer.objects.set(vec![echo("3", &json!({"state": "Serving"}))]);
        writer.round().await.unwrap();
        let second = at(&writer);
        assert_ne!(second, first);

        writer.objects.set(vec![echo("4", &json!({"state": "Serving"}))]);
        tokio::time::advance(MAJOR).await;
        writer.round().await.unwrap();
        assert_eq!(at(&writer), second);
        tokio::time::advance(MINOR).await;
        writer.round().await.unwrap();
        assert_ne!(at(&writer), second);
    }

    /// An object of this version with this status.
    fn object(version: &str, status: &serde_json::Value) -> Object {
        let header = Header { resource_version: version.into(), ..Header::default() };
        Object::new(&header, Body::Raw(json!({ "status": status }).to_string().into())).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn counters_of_another_host_are_not_replaced_until_those_of_this_host_change() {
        let of = |state: &str, calls: u64| json!({"state": state, "calls": calls});
        let own = |state: &str, calls: u64| Status::of(json!({ "status": of(state, calls) }));
        let mut written = Written::first(&object("1", &of("Serving", 3)), Instant::now());

        written.follow(&object("2", &of("Serving", 8)));
        assert_eq!(written.difference(&own("Serving", 3)), Difference::None);
        assert_eq!(written.difference(&own("Serving", 4)), Difference::Minor);
        assert_eq!(written.difference(&own("Quarantined", 3)), Difference::Major);

        written.follow(&object("3", &of("Refused", 0)));
        assert_eq!(written.difference(&own("Serving", 3)), Difference::Major);
    }

    #[tokio::test(start_paused = true)]
    async fn a_status_that_another_client_changed_differs_and_one_that_this_host_wrote_does_not() {
        let object = |version: &str, state: &str| object(version, &json!({ "state": state }));
        let answer = json!({
            "kind": "Plugin", "apiVersion": "informer.dev/v1alpha1",
            "metadata": {"name": "echo", "resourceVersion": "7"}, "status": {"state": "Pruned"},
        });
        let wanted = Status::of(json!({"status": {"state": "Serving"}}));
        let mut written = Written::first(&object("5", ""), Instant::now());

        // The server keeps less than what was written.
        written.ended(wanted.clone(), Some(serde_json::from_value(answer).unwrap()));

        // The cache is behind the write; it has the write; something else changed; an older state; the status changed.
        for (version, state, is_changed) in [
            ("6", "", false),
            ("7", "Pruned", false),
            ("9", "Pruned", false),
            ("8", "Other", false),
            ("10", "Other", true),
        ] {
            written.follow(&object(version, state));
            assert_eq!(*written.present() != wanted, is_changed, "{version}");
        }
        written.ended(wanted.clone(), None);
        assert_eq!(*written.present(), wanted);
    }
}
