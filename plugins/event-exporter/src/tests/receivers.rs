//! Receivers with several hosts, receivers that name the time of the next request, and the log.

use super::*;

fn in_30_seconds() -> ReconcileResult {
    Ok(Reconciled::RequeueAfter(Duration::from_secs(30)))
}

/// An answer that names the time of the next request.
fn busy(status: u16) -> Answer {
    Answer { status, retry_after: Some("30".to_owned()), ..Answer::default() }
}

/// After a wait, the host counts the attempts of the key from 1 again.
#[test]
fn the_next_host_gets_the_event_after_the_time_that_a_host_named() {
    let hosts = ["http://one", "http://two", "http://three"];
    let mut world = World::new(json!({
        "route": {"match": [{"receiver": "es"}]},
        "receivers": [{"name": "es", "elasticsearch": {"hosts": hosts, "index": "events"}}],
    }));
    let accepts = || Answer { status: 200, body: r#"{"errors": false}"#.to_owned(), ..Answer::default() };
    world.receiver.answers.borrow_mut().extend([busy(503), busy(429), accepts(), accepts()]);
    let asked = |world: &World| -> Vec<String> {
        world.receiver.requests.borrow().iter().map(|request| request.url.authority.clone()).collect()
    };
    world.add(event("a", 1, AT)).unwrap();

    for _ in ["the answer", "no request before the time"] {
        assert_eq!(world.reconcile("send es"), in_30_seconds());
        assert_eq!(asked(&world), ["one"]);
    }
    world.restart();
    world.exporter.now = || "2026-05-01T12:00:30Z".parse().unwrap();
    assert_eq!(world.reconcile("send es"), in_30_seconds());
    assert_eq!(asked(&world), ["one", "two"]);
    world.exporter.now = || "2026-05-01T12:01:00Z".parse().unwrap();
    assert_eq!(world.reconcile("send es"), Ok(Reconciled::Done));

    world.add(event("b", 1, AT)).unwrap();
    assert_eq!(world.reconcile("send es"), Ok(Reconciled::Done));
    assert_eq!(asked(&world), ["one", "two", "three", "three"], "a host that works is kept");
    assert_eq!(world.queued(), 0);
}

/// The queue of a receiver that is down for long uses up the room on the disk.
#[test]
fn a_receiver_is_left_alone_for_its_time_while_the_disk_is_full() {
    let mut world = World::webhook();
    world.add(event("a", 1, AT)).unwrap();
    world.receiver.answers.borrow_mut().push_back(busy(503));
    *world.disk.is_full.borrow_mut() = true;

    assert_eq!(world.reconcile("send hook"), in_30_seconds());

    assert!(world.host.log().iter().any(|line| line.message.contains("quota exceeded")));
}

#[test]
fn a_replay_makes_no_request_before_the_time_that_the_receiver_named() {
    let mut world = World::webhook();
    world.receiver.answers(&[400]);
    world.receiver.answers.borrow_mut().push_back(busy(503));
    world.add(event("a", 1, AT)).unwrap();
    world.work();
    let key = world.refused().remove(0);
    assert!(matches!(world.reconcile(&key), Err(ReconcileError::Terminal(_))), "the report");

    let failed = world.reconcile(&key);
    assert_eq!(failed, Err(ReconcileError::retry("receiver `hook`: it answered 503")));
    let waits = Err(ReconcileError::retry("receiver `hook`: it wants no request for 30 s"));
    assert_eq!(world.reconcile(&key), waits);
    assert_eq!(world.receiver.events(), ["a 1", "a 1"]);

    world.exporter.now = || "2026-05-01T12:00:30Z".parse().unwrap();
    assert_eq!(world.reconcile(&key), Ok(Reconciled::Done));
    assert_eq!(world.refused(), [""; 0]);
}

/// The host cuts the log of a call at 64 KiB. A layout may make a long line of a short Event.
#[test]
fn the_lines_of_a_call_fit_into_the_log_and_a_line_that_never_fits_is_a_dead_letter() {
    let text =
        "{{ .Name }} {{ if eq .Name \"huge\" }}{{ repeat 70000 \"x\" }}{{ end }}{{ repeat 20000 \"x\" }}";
    let mut world = World::new(json!({
        "route": {"match": [{"receiver": "log"}]},
        "receivers": [{"name": "log", "stdout": {"layout": {"text": text}}}],
    }));
    for name in ["a", "b", "c", "huge"] {
        world.add(event(name, 1, AT)).unwrap();
    }
    let logged = |world: &World| -> Vec<String> {
        let lines = world.host.log().into_iter().filter(|line| line.level == log::Level::Info);
        lines.map(|line| line.message).collect()
    };

    let more = Ok(Reconciled::RequeueAfter(Duration::from_millis(1)));
    assert_eq!(world.reconcile("send log"), more);
    assert_eq!(logged(&world).len(), 2);
    assert_eq!(world.reconcile("send log"), more, "the Event without a line waits for the next call");
    assert_eq!(world.refused(), [""; 0]);
    assert_eq!(world.reconcile("send log"), Ok(Reconciled::Done));

    let lines = logged(&world);
    assert_eq!(lines.len(), 3);
    for (line, name) in lines.iter().zip(["a", "b", "c"]) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["text"], format!("{name} {}", "x".repeat(20_000)));
    }
    let refused = world.refused();
    assert!(matches!(refused.as_slice(), [one] if one.ends_with("/shop/huge")), "{refused:?}");
}
