use std::{collections::BTreeMap, time::Duration};

use informer_types::{Cause, EventTrace, Failure, FailureKind, Gvr, HostRequest, ObjectKey, Then, WatchVerb};
use tokio::sync::mpsc::Receiver;

use super::*;
use crate::Spans;

struct World {
    spans: Spans,
    sent: Receiver<SpanData>,
    source: Source,
}

impl World {
    fn new() -> Self {
        let (outbox, sent) = Outbox::new(1_000);
        let source = Source::new(Gvr::new("apps", "v1", "deployments"));
        Self { spans: Spans::new(1.0, Arc::new(outbox)), sent, source }
    }

    fn begin(&self) -> EventTrace {
        let seen = SeenEvent { namespace: "shop", name: "web", verb: WatchVerb::Modified, version: "7" };
        self.spans.begin(&self.source, &seen)
    }

    fn traced(&self, plugin: Option<&str>, step: Step) -> Traced {
        let key = ObjectKey::new("shop", "web");
        Traced { source: Some(self.source.clone()), key, plugin: plugin.map(Arc::from), step }
    }

    fn finished(&mut self) -> Vec<SpanData> {
        std::iter::from_fn(|| self.sent.try_recv().ok()).collect()
    }
}

fn about(span: &SpanData) -> BTreeMap<&str, String> {
    span.attributes.iter().map(|pair| (pair.key.as_str(), pair.value.to_string())).collect()
}

fn called(attempt: u32, failure: Option<FailureKind>, then: Then) -> Step {
    let failure = failure.map(|kind| Box::new(Failure::new(kind, "the token is hunter2")));
    let took = Duration::ZERO;
    Step::Called { verb: "update", cause: Cause::Live, attempt, queued: Duration::ZERO, took, failure, then }
}

#[test]
fn the_spans_of_an_event_form_a_tree_with_each_attempt() {
    let mut world = World::new();
    let trace = world.begin();
    let (plugin, live) = (Some("hello"), Cause::Live);
    trace.step(&world.traced(None, Step::Stored { cause: live, old: None, new: "7".into() }), None);
    let listeners = Step::Distributed { verb: "update", cause: live, listeners: 2 };
    trace.step(&world.traced(None, listeners), None);
    let passed = Step::Passed { offered: "update", verb: "update", cause: live };
    trace.step(&world.traced(plugin, passed), trace.now());
    trace.step(&world.traced(plugin, Step::Queued { verb: "update", cause: live }), None);
    let call = trace.begin_call(&"hello".into()).unwrap();
    let request = HostRequest::Api { method: "GET", path: "/api/v1/pods", status: Some(404) };
    call.ended(Instant::now(), request, Some("404"));
    let retry = Then::Retry { after: Duration::from_millis(5), superseded: false };
    trace.step(&world.traced(plugin, called(1, Some(FailureKind::Trap), retry)), None);
    assert!(world.finished().iter().all(|span| span.name != "watch apps/v1/deployments"), "it is not over");
    let again = trace.begin_call(&"hello".into()).unwrap();
    trace.step(&world.traced(plugin, called(2, None, Then::Acknowledged)), None);
    drop((trace, call, again));

    let rest = world.finished();
    let root = rest.last().unwrap();
    assert_eq!((root.name.as_ref(), root.parent_span_id), ("watch apps/v1/deployments", SpanId::INVALID));
    assert_eq!(about(root)["k8s.deployment.name"], "web");
    assert_eq!(about(root)["informer.listeners"], "2");
    let attempt = rest.iter().find(|span| span.name == "attempt").unwrap();
    assert_eq!(attempt.parent_span_id, root.span_context.span_id());
    assert_eq!(about(attempt)["informer.attempt"], "2");
    assert!(attempt.start_time >= root.start_time && attempt.end_time <= root.end_time);
}

#[test]
fn a_request_is_below_its_attempt_and_a_failure_is_one_word() {
    let mut world = World::new();
    let trace = world.begin();
    let call = trace.begin_call(&"hello".into()).unwrap();
    let child = call.child();
    let request =
        HostRequest::Http { method: "POST", https: true, host: "a.example", port: 443, status: None };
    call.ended_as(child.span_id, Instant::now(), request, Some("timed-out"));
    let failed = called(1, Some(FailureKind::Deadline), Then::DeadLetter);
    trace.step(&world.traced(Some("hello"), failed), None);
    drop((trace, call));

    let spans = world.finished();
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_ref()).collect();
    assert_eq!(names, ["http request", "attempt", "watch apps/v1/deployments"]);
    let (request, attempt) = (&spans[0], &spans[1]);
    assert_eq!(request.parent_span_id, attempt.span_context.span_id());
    assert_eq!(request.span_context.span_id(), SpanId::from(child.span_id));
    assert_eq!(request.span_kind, SpanKind::Client);
    assert_eq!(about(request)["error.type"], "timed-out");
    assert_eq!(about(attempt)["error.type"], "deadline");
    assert_eq!(attempt.status, Status::error(""));
    let all = format!("{spans:?}");
    assert!(!all.contains("hunter2"), "{all}");
}

#[test]
fn an_event_that_merged_into_another_links_to_it_and_ends() {
    let mut world = World::new();
    let (earlier, later) = (world.begin(), world.begin());
    later.step(
        &world.traced(Some("hello"), Step::Merged { verb: "update", cause: Cause::Live, into: "update" }),
        None,
    );
    let kept = earlier.merge(later);

    let spans = world.finished();
    let (queue, root) = (&spans[0], &spans[1]);
    assert_eq!((queue.name.as_ref(), about(queue)["informer.result"].as_str()), ("queue", "merged"));
    drop(kept);
    let survivor = world.finished().remove(0);
    assert_eq!(root.links.first().unwrap().span_context, survivor.span_context);
    assert_ne!(root.span_context.trace_id(), survivor.span_context.trace_id());
}

#[test]
fn a_guest_that_calls_the_host_without_end_makes_a_bounded_number_of_spans() {
    let mut world = World::new();
    let trace = world.begin();
    let call = trace.begin_call(&"hello".into()).unwrap();
    (0..10_000).for_each(|_| call.ended(Instant::now(), HostRequest::KeyValue { operation: "read" }, None));
    trace.step(&world.traced(Some("hello"), called(1, None, Then::Acknowledged)), None);
    drop((trace, call));

    let spans = world.finished();
    assert_eq!(spans.len(), SPANS as usize + 2);
    assert_eq!(spans.last().unwrap().name, "watch apps/v1/deployments");
}
