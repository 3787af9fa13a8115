mod marks;
mod receivers;

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use informer_sdk::{Failure, testing::TestHost};
use serde_json::json;

use super::*;
use crate::{
    http::{Answer, Request, Verdict},
    state::memory::Memory,
};

const EVENTS: &str = "v1/events";

/// The clock of the tests.
fn now() -> Timestamp {
    "2026-05-01T12:00:00Z".parse().unwrap()
}

/// A receiver with a list of answers. After the last one it answers 503 to a request with the poison, and otherwise 200.
#[derive(Clone, Default)]
struct Receiver {
    answers: Rc<RefCell<VecDeque<Answer>>>,
    /// A part of a body. Empty means no poison.
    poison: Rc<RefCell<String>>,
    requests: Rc<RefCell<Vec<Request>>>,
}

impl Post for Receiver {
    fn post(&self, request: &Request) -> std::result::Result<Answer, Verdict> {
        self.requests.borrow_mut().push(request.clone());
        let poison = self.poison.borrow();
        let fails = !poison.is_empty() && request.body.contains(poison.as_str());
        let answer = Answer { status: if fails { 503 } else { 200 }, ..Answer::default() };
        Ok(self.answers.borrow_mut().pop_front().unwrap_or(answer))
    }
}

impl Receiver {
    fn answers(&self, statuses: &[u16]) {
        let answer = |status: &u16| Answer { status: *status, ..Answer::default() };
        self.answers.borrow_mut().extend(statuses.iter().map(answer));
    }

    fn poison(&self, part: &str) {
        part.clone_into(&mut self.poison.borrow_mut());
    }

    /// The bodies of the requests so far.
    fn took(&self) -> Vec<Value> {
        let requests = self.requests.borrow();
        requests.iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect()
    }

    /// The name and the count of each Event so far.
    fn events(&self) -> Vec<String> {
        let shown =
            |body: &Value| format!("{} {}", body["metadata"]["name"].as_str().unwrap(), body["count"]);
        self.took().iter().map(shown).collect()
    }
}

/// The plugin with its receiver, on a host with a disk.
struct World {
    host: TestHost,
    disk: Memory,
    receiver: Receiver,
    config: Value,
    exporter: Exporter,
}

impl World {
    fn new(config: Value) -> Self {
        let (disk, receiver) = (Memory::default(), Receiver::default());
        let exporter = started(&config, &disk, &receiver);
        Self { host: TestHost::new(), disk, receiver, config, exporter }
    }

    /// One webhook that gets every Event.
    fn webhook() -> Self {
        Self::new(json!({
            "route": {"match": [{"receiver": "hook"}]},
            "receivers": [{"name": "hook", "webhook": {"endpoint": "http://hook"}}],
        }))
    }

    /// The host restarts: the disk and the receiver stay.
    fn restart(&mut self) {
        self.exporter.stop();
        self.host = TestHost::new();
        self.exporter = started(&self.config, &self.disk, &self.receiver);
    }

    fn add(&mut self, event: Value) -> Result {
        self.host.store(EVENTS, event.clone());
        self.exporter.on_add(self.host.event(EVENTS, event), Cause::Live)
    }

    fn reconcile(&mut self, key: &str) -> ReconcileResult {
        self.exporter.reconcile(key)
    }

    /// Reconciles every key of the workqueue once.
    fn work(&mut self) -> Vec<(String, ReconcileResult)> {
        let keys: Vec<String> = std::iter::from_fn(|| self.host.take_key()).collect();
        keys.into_iter().map(|key| (key.clone(), self.reconcile(&key))).collect()
    }

    fn queued(&self) -> usize {
        self.disk.names().iter().filter(|key| key.starts_with("out/")).count()
    }

    /// The keys of the Events that receivers refused.
    fn refused(&self) -> Vec<String> {
        self.disk.names().into_iter().filter(|key| key.starts_with(UNDELIVERED)).collect()
    }

    /// Reconciles a key until this number of Events waits. Returns the number of calls.
    fn until(&mut self, key: &str, queued: usize) -> usize {
        let calls = (1..=100).find(|_| {
            self.reconcile(key).ok();
            self.queued() == queued
        });
        calls.unwrap()
    }
}

fn started(config: &Value, disk: &Memory, receiver: &Receiver) -> Exporter {
    Exporter {
        settings: Settings::read(&config.to_string()).unwrap(),
        state: State::new(Box::new(disk.clone())),
        http: Box::new(receiver.clone()),
        now,
        since: None,
        marks: Vec::new(),
    }
}

fn event(name: &str, count: u64, at: &str) -> Value {
    json!({
        "metadata": {"namespace": "shop", "name": name, "uid": format!("uid-of-{name}")},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web"},
        "reason": "BackOff", "type": "Warning", "message": "m", "count": count, "lastTimestamp": at,
    })
}

const AT: &str = "2026-05-01T12:00:00Z";

#[test]
fn an_event_is_sent_once_and_again_when_its_count_rises() {
    let mut world = World::webhook();
    world.add(event("a", 1, AT)).unwrap();
    world.add(event("a", 1, AT)).unwrap();
    assert_eq!(world.work(), [("send hook".to_owned(), Ok(Reconciled::Done))]);
    assert_eq!(world.receiver.events(), ["a 1"]);

    let raised = world.host.update(EVENTS, event("a", 1, AT), event("a", 2, AT));
    world.exporter.on_update(raised, Cause::Live).unwrap();
    world.work();

    assert_eq!(world.receiver.events(), ["a 1", "a 2"]);
    assert_eq!(world.queued(), 0);
}

#[test]
fn a_restart_neither_repeats_nor_loses_an_event() {
    let mut world = World::webhook();
    world.add(event("sent", 1, AT)).unwrap();
    world.work();
    world.add(event("queued", 1, AT)).unwrap();
    world.restart();

    // The first list delivers all Events again, with those that happened meanwhile.
    for seen in [event("sent", 1, AT), event("queued", 1, AT), event("meanwhile", 1, "2026-05-01T12:00:00Z")]
    {
        world.host.store(EVENTS, seen.clone());
        world.exporter.on_add(world.host.event(EVENTS, seen), Cause::Initial).unwrap();
    }
    world.reconcile(SWEEP).unwrap();
    world.work();

    assert_eq!(world.receiver.events(), ["sent 1", "meanwhile 1", "queued 1"]);
}

#[test]
fn events_from_before_the_first_start_are_not_sent_and_later_ones_are_however_old() {
    let mut world = World::webhook();
    world.add(event("old", 1, "2026-05-01T11:59:54Z")).unwrap();
    world.add(event("recent", 1, "2026-05-01T11:59:56Z")).unwrap();
    world.work();
    assert_eq!(world.receiver.events(), ["recent 1"]);

    // The state says that the exporter ran an hour ago: this Event happened while it was down.
    let an_hour_ago = b"2026-05-01T11:00:00Z".to_vec();
    world.disk.entries.borrow_mut().insert("since".to_owned(), an_hour_ago);
    world.restart();
    world.add(event("while-down", 1, "2026-05-01T11:30:00Z")).unwrap();
    world.work();
    assert_eq!(world.receiver.events(), ["recent 1", "while-down 1"]);
}

#[test]
fn a_receiver_that_fails_gets_the_event_later_and_others_get_it_now() {
    let mut world = World::new(json!({
        "clusterName": "prod",
        "route": {"match": [{"receiver": "hook"}, {"receiver": "log"}]},
        "receivers": [
            {"name": "hook", "webhook": {"endpoint": "http://hook/secret"}},
            {"name": "log", "stdout": {"layout": {"n": "{{ .Name }} in {{ .ClusterName }}"}}},
        ],
    }));
    world.receiver.answers(&[503, 500]);
    world.add(event("a", 1, AT)).unwrap();
    world.add(event("b", 1, AT)).unwrap();

    let results = world.work();
    let why = "receiver `hook`: it answered 503";
    assert_eq!(results[0], ("send hook".to_owned(), Err(ReconcileError::retry(why))));
    assert_eq!(results[1], ("send log".to_owned(), Ok(Reconciled::Done)));
    let lines: Vec<String> = world.host.log().into_iter().map(|line| line.message).collect();
    assert_eq!(lines, [r#"{"n":"a in prod"}"#, r#"{"n":"b in prod"}"#]);
    assert_eq!(world.receiver.events(), ["a 1"], "the rest waits for the receiver");

    assert!(world.reconcile("send hook").is_err());
    assert_eq!(world.reconcile("send hook"), Ok(Reconciled::Done));
    assert_eq!(world.receiver.events(), ["a 1", "a 1", "a 1", "b 1"]);
    assert_eq!(world.queued(), 0);
}

#[test]
fn a_receiver_is_left_alone_for_the_time_that_it_names() {
    let mut world = World::webhook();
    let busy = Answer { status: 429, retry_after: Some("30".to_owned()), ..Answer::default() };
    world.receiver.answers.borrow_mut().push_back(busy);
    world.add(event("a", 1, AT)).unwrap();

    let in_30_seconds = Ok(Reconciled::RequeueAfter(Duration::from_secs(30)));
    assert_eq!(world.work(), [("send hook".to_owned(), in_30_seconds.clone())]);
    assert_eq!(world.reconcile("send hook"), in_30_seconds, "the clock stands still");
    assert_eq!(world.receiver.events(), ["a 1"]);

    world.exporter.now = || "2026-05-01T12:00:30Z".parse().unwrap();
    assert_eq!(world.reconcile("send hook"), Ok(Reconciled::Done));
    assert_eq!(world.receiver.events(), ["a 1", "a 1"]);
}

#[test]
fn a_refused_event_becomes_a_dead_letter_and_can_be_replayed() {
    let mut world = World::webhook();
    world.receiver.answers(&[400]);
    world.add(event("a", 1, AT)).unwrap();
    world.add(event("b", 1, AT)).unwrap();
    assert_eq!(world.work(), [("send hook".to_owned(), Ok(Reconciled::Done))]);
    assert_eq!(world.receiver.events(), ["a 1", "b 1"], "the others go on");

    let refused = world.work();
    let [(key, result)] = refused.as_slice() else { panic!("{refused:?}") };
    assert!(key.starts_with("undelivered/hook/"), "{key}");
    assert_eq!(*result, Err(ReconcileError::terminal("receiver `hook`: it answered 400")));
    assert_eq!(world.receiver.took().len(), 2, "a dead letter needs no request");

    world.receiver.answers(&[422, 503]);
    assert!(matches!(world.reconcile(key), Err(ReconcileError::Terminal(_))));
    assert!(matches!(world.reconcile(key), Err(ReconcileError::Retry(_))));
    assert_eq!(world.reconcile(key), Ok(Reconciled::Done));
    assert_eq!(world.reconcile(key), Ok(Reconciled::Done), "there is nothing left to send");
    assert_eq!(world.receiver.events(), ["a 1", "b 1", "a 1", "a 1", "a 1"]);
}

#[test]
fn a_template_that_fails_for_an_event_refuses_that_event_only() {
    let mut world = World::new(json!({
        "route": {"match": [{"receiver": "hook"}]},
        "receivers": [{"name": "hook", "webhook": {
            "endpoint": "http://hook", "layout": {"n": "{{ if eq .Name \"a\" }}{{ fail \"no a\" }}{{ end }}{{ .Name }}"},
        }}],
    }));
    world.add(event("a", 1, AT)).unwrap();
    world.add(event("b", 1, AT)).unwrap();
    world.work();

    assert_eq!(world.receiver.took(), [json!({"n": "b"})]);
    let refused = world.work();
    assert_eq!(refused[0].1, Err(ReconcileError::terminal("receiver `hook`: layout: fail: no a")));
}

#[test]
fn several_events_are_one_request_and_a_refused_one_does_not_hold_up_the_others() {
    let mut world = World::new(json!({
        "route": {"match": [{"receiver": "loki"}]},
        "receivers": [{"name": "loki", "loki": {"url": "http://loki", "layout": {"n": "{{ .Name }}"}}}],
    }));
    for name in ["a", "b", "c"] {
        world.add(event(name, 1, AT)).unwrap();
    }
    world.receiver.answers(&[400, 204, 400, 204]);
    assert_eq!(world.work(), [("send loki".to_owned(), Ok(Reconciled::Done))]);

    let values = |body: &Value| body["streams"][0]["values"].as_array().unwrap().len();
    let sizes: Vec<usize> = world.receiver.took().iter().map(values).collect();
    assert_eq!(sizes, [3, 1, 1, 1]);
    let refused = world.work();
    assert!(refused[0].0.ends_with("/shop/b"), "{refused:?}");
    assert_eq!(world.queued(), 0);
}

#[test]
fn an_event_waits_outside_while_the_disk_is_full() {
    let mut world = World::webhook();
    *world.disk.is_full.borrow_mut() = true;
    let failed = world.add(event("a", 1, AT));
    assert!(matches!(failed, Err(Failure::Retry(why)) if why.contains("quota exceeded")));

    *world.disk.is_full.borrow_mut() = false;
    world.add(event("a", 1, AT)).unwrap();
    world.work();
    assert_eq!(world.receiver.events(), ["a 1"]);
}

/// A receiver was down until its queue had used up the quota. Without room, no refused Event becomes a dead letter.
#[test]
fn a_refused_event_does_not_hold_up_the_others_while_the_disk_is_full() {
    let layout = json!({"n": "{{ if eq .Name \"a\" }}{{ fail \"no a\" }}{{ end }}{{ .Name }}"});
    for destination in [
        json!({"webhook": {"endpoint": "http://to", "layout": layout}}),
        json!({"loki": {"url": "http://to", "layout": layout}}),
        json!({"stdout": {"layout": layout}}),
    ] {
        let mut receiver = destination.clone();
        receiver["name"] = json!("to");
        let mut world =
            World::new(json!({"route": {"match": [{"receiver": "to"}]}, "receivers": [receiver]}));
        for name in ["a", "b", "c"] {
            world.add(event(name, 1, AT)).unwrap();
        }
        *world.disk.is_full.borrow_mut() = true;
        let failed = world.reconcile("send to");
        assert!(
            matches!(&failed, Err(ReconcileError::Retry(why)) if why.contains("quota exceeded")),
            "{failed:?}"
        );
        assert_eq!((world.queued(), world.refused().len()), (1, 0), "{destination}");

        *world.disk.is_full.borrow_mut() = false;
        assert_eq!(world.reconcile("send to"), Ok(Reconciled::Done));
        assert_eq!((world.queued(), world.refused().len()), (0, 1), "{destination}");
    }
}

#[test]
fn a_namespace_and_a_receiver_without_updates_limit_what_is_sent() {
    let mut world = World::new(json!({
        "namespace": "shop", "omitLookup": true,
        "route": {"match": [{"receiver": "hook"}]},
        "receivers": [{"name": "hook", "webhook": {"endpoint": "http://hook", "sentUpdateEvent": false}}],
    }));
    let mut elsewhere = event("b", 1, AT);
    elsewhere["metadata"]["namespace"] = json!("blog");
    world.add(elsewhere).unwrap();
    world.add(event("a", 1, AT)).unwrap();
    world.add(event("a", 2, AT)).unwrap();
    world.work();

    assert_eq!(world.receiver.events(), ["a 1"]);
    assert_eq!(world.receiver.took()[0]["involvedObject"].get("deleted"), None);
}

#[test]
fn the_same_event_from_both_versions_of_the_resource_is_sent_once() {
    let mut world = World::webhook();
    world.add(event("a", 1, AT)).unwrap();
    let mut other = event("a", 1, AT);
    let fields = other.as_object_mut().unwrap();
    for (from, to) in [
        ("involvedObject", "regarding"),
        ("count", "deprecatedCount"),
        ("lastTimestamp", "deprecatedLastTimestamp"),
    ] {
        let value = fields.remove(from).unwrap();
        fields.insert(to.to_owned(), value);
    }
    world.exporter.on_add(world.host.event("events.k8s.io/v1/events", other), Cause::Live).unwrap();
    world.work();

    assert_eq!(world.receiver.events(), ["a 1"]);
}

#[test]
fn the_newest_thousand_refused_events_are_kept() {
    let mut world = World::webhook();
    for number in 0..1003 {
        let key = format!("undelivered/hook/{number:015}-1/shop/x");
        world.disk.entries.borrow_mut().insert(key, b"{}".to_vec());
    }
    world.reconcile(SWEEP).unwrap();

    let kept = world.disk.names();
    assert_eq!(kept.len(), 1000);
    assert_eq!(kept[0], "undelivered/hook/000000000000003-1/shop/x");
}

#[test]
fn an_event_that_fails_while_the_receiver_accepts_another_one_becomes_a_dead_letter() {
    let mut world = World::webhook();
    world.receiver.poison("poison");
    for name in ["poison", "x", "y"] {
        world.add(event(name, 1, AT)).unwrap();
    }
    for attempt in 1..=10 {
        assert!(world.reconcile("send hook").is_err());
        if attempt == 5 {
            world.restart();
        }
    }
    assert_eq!(world.receiver.events(), ["poison 1"; 10]);

    assert_eq!(world.reconcile("send hook"), Ok(Reconciled::Done));
    assert_eq!(world.receiver.events()[10..], ["x 1", "poison 1", "y 1"]);
    let refused = world.work();
    let [(key, result)] = refused.as_slice() else { panic!("{refused:?}") };
    assert!(key.ends_with("/shop/poison"), "{key}");
    let why = "receiver `hook`: it answered 503; it accepts other Events";
    assert_eq!(*result, Err(ReconcileError::terminal(why)));

    world.receiver.poison("");
    assert_eq!(world.reconcile(key), Ok(Reconciled::Done), "a replay sends it again");
    assert_eq!(world.receiver.events().last().unwrap(), "poison 1");
}

/// A call sends for at most some seconds, so the answer about the other Event may be the last one of its call.
#[test]
fn an_event_that_a_slow_receiver_never_accepts_becomes_a_dead_letter_too() {
    thread_local! {
        static SECONDS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    let mut world = World::webhook();
    world.receiver.poison("poison");
    for name in ["poison", "x", "y"] {
        world.add(event(name, 1, AT)).unwrap();
    }
    world.exporter.now = || {
        SECONDS.set(SECONDS.get() + 6);
        now() + Duration::from_secs(SECONDS.get())
    };
    for _ in 0..10 {
        assert!(world.reconcile("send hook").is_err());
    }

    world.until("send hook", 0);

    assert_eq!(world.receiver.events()[10..], ["x 1", "poison 1", "y 1"]);
    assert_eq!(world.refused().len(), 1);
}

#[test]
fn no_event_becomes_a_dead_letter_while_the_receiver_accepts_none() {
    let mut world = World::webhook();
    world.receiver.answers(&[503; 21]);
    for name in ["a", "b", "c"] {
        world.add(event(name, 1, AT)).unwrap();
    }

    assert_eq!(world.until("send hook", 0), 22);
    let mut expected = vec!["a 1"; 10];
    expected.push("b 1");
    expected.extend(["a 1"; 9]);
    expected.extend(["c 1", "a 1", "b 1", "c 1"]);
    assert_eq!(world.receiver.events(), expected);
    assert_eq!(world.refused(), [""; 0]);
}

#[test]
fn an_event_that_succeeds_after_another_one_is_no_dead_letter() {
    let mut world = World::webhook();
    world.receiver.answers(&[503; 10]);
    world.add(event("a", 1, AT)).unwrap();
    world.add(event("b", 1, AT)).unwrap();

    assert_eq!(world.until("send hook", 0), 11);
    assert_eq!(world.receiver.events()[10..], ["b 1", "a 1"]);
    assert_eq!(world.refused(), [""; 0]);
}

#[test]
fn neither_a_busy_receiver_nor_an_event_that_waits_alone_makes_a_dead_letter() {
    let mut world = World::webhook();
    world.receiver.answers(&[429; 30]);
    world.add(event("a", 1, AT)).unwrap();
    world.add(event("b", 1, AT)).unwrap();
    assert_eq!(world.until("send hook", 0), 31);
    assert_eq!(world.receiver.events()[29..], ["a 1", "a 1", "b 1"]);

    world.receiver.answers(&[503; 30]);
    world.add(event("alone", 1, AT)).unwrap();
    assert_eq!(world.until("send hook", 0), 31);
    assert_eq!(world.refused(), [""; 0]);
}

#[test]
fn an_event_in_a_batch_that_fails_by_its_own_fault_is_found() {
    let mut world = World::new(json!({
        "route": {"match": [{"receiver": "loki"}]},
        "receivers": [{"name": "loki", "loki": {"url": "http://loki", "layout": {"n": "{{ .Name }}"}}}],
    }));
    world.receiver.poison("poison");
    for name in ["a", "poison", "y", "z"] {
        world.add(event(name, 1, AT)).unwrap();
    }
    world.until("send loki", 0);

    let refused = world.refused();
    assert!(matches!(refused.as_slice(), [one] if one.ends_with("/shop/poison")), "{refused:?}");
    let bodies: Vec<String> = world.receiver.took().iter().map(Value::to_string).collect();
    let accepted: Vec<&String> = bodies.iter().filter(|body| !body.contains("poison")).collect();
    assert_eq!(accepted.len(), 3, "each of the others arrives once: {accepted:?}");
}

#[test]
fn two_events_in_a_row_that_fail_by_their_own_fault_are_found() {
    let mut world = World::webhook();
    world.receiver.poison("poison");
    for name in ["poison-1", "poison-2", "y"] {
        world.add(event(name, 1, AT)).unwrap();
    }
    world.until("send hook", 1);
    assert!(world.refused()[0].ends_with("/shop/poison-1"));

    world.add(event("z", 1, AT)).unwrap();
    world.until("send hook", 0);
    assert!(world.refused()[1].ends_with("/shop/poison-2"));
    let events = world.receiver.events();
    let accepted: Vec<&String> = events.iter().filter(|event| !event.starts_with("poison")).collect();
    assert_eq!(accepted, ["y 1", "z 1"]);
}

#[test]
fn a_refused_event_is_reported_after_a_crash_that_came_before_the_report() {
    let mut world = World::webhook();
    world.receiver.answers(&[400]);
    world.add(event("a", 1, AT)).unwrap();
    world.work();
    // The workqueue has the key of the refused Event, and a restart empties it.
    world.restart();
    world.exporter.now = || now() + sweep::REPORTED_WITHIN;
    assert_eq!(world.reconcile(SWEEP), Ok(Reconciled::RequeueAfter(sweep::EVERY)));

    let reported = world.work();
    let [(key, result)] = reported.as_slice() else { panic!("{reported:?}") };
    assert!(key.starts_with("undelivered/hook/"), "{key}");
    assert_eq!(*result, Err(ReconcileError::terminal("receiver `hook`: it answered 400")));
    world.reconcile(SWEEP).unwrap();
    assert_eq!(world.work(), [], "one report is enough");
    assert_eq!(world.receiver.events(), ["a 1"]);
}

/// The start of a second instance leads to a housekeeping while the key of the refused Event is in flight.
#[test]
fn a_refused_event_that_is_about_to_be_reported_is_not_added_once_more() {
    let mut world = World::webhook();
    world.receiver.answers(&[400]);
    world.add(event("a", 1, AT)).unwrap();
    world.reconcile("send hook").unwrap();
    let [key] = world.refused().try_into().unwrap();
    assert_eq!(world.host.take_key(), Some("send hook".to_owned()));
    assert_eq!(world.host.take_key(), Some(key.clone()));

    assert_eq!(world.reconcile(SWEEP), Ok(Reconciled::RequeueAfter(sweep::REPORTED_WITHIN)));

    world.reconcile(&key).unwrap_err();
    assert_eq!(world.host.take_key(), None);
    assert_eq!(world.receiver.events(), ["a 1"]);
}

#[test]
fn a_refused_event_of_a_removed_receiver_is_reported_once() {
    let mut world = World::webhook();
    let key = "undelivered/removed/1-1/shop/x".to_owned();
    let value = json!({"why": "it answered 400", "reported": false, "document": {}});
    world.disk.entries.borrow_mut().insert(key.clone(), value.to_string().into_bytes());
    world.reconcile(SWEEP).unwrap();

    let why = "receiver `removed`: it answered 400";
    assert_eq!(world.work(), [(key.clone(), Err(ReconcileError::terminal(why)))]);
    world.reconcile(SWEEP).unwrap();
    assert_eq!(world.work(), []);
    let why = "the receiver `removed` is no longer configured";
    assert_eq!(world.reconcile(&key), Err(ReconcileError::terminal(why)));
}
