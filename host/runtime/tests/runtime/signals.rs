//! Signals: calls for caches that are complete and for timers, and the timers that a guest sets.

use std::{sync::atomic::Ordering, time::Duration};

use informer_types::{FailureKind, Outcome, Reconciled, Selected, Signal, SignalCall, SignalHandler};

use crate::host::{Running, Setup, added, object};

async fn signal(running: &Running, signal: Signal, attempt: u32) -> Option<Reconciled> {
    let selected = Selected { objects: 3, resource_version: "17".to_owned() };
    running.plugin.signal(SignalCall { signal, selected, attempt, queued: Duration::from_millis(7) }).await
}

fn synced() -> Signal {
    Signal::Synced("v1/pods".parse().unwrap())
}

fn timer(name: &str) -> Signal {
    Signal::Timer(name.into())
}

#[tokio::test]
async fn a_signal_calls_the_export_that_is_made_for_it() {
    let running = Setup::new("{}").load("signals").await;

    assert_eq!(signal(&running, synced(), 1).await, Some(Reconciled::Done));
    assert_eq!(signal(&running, timer("nightly"), 2).await, Some(Reconciled::Done));
    assert_eq!(signal(&running, Signal::Config, 1).await, Some(Reconciled::Done));

    assert_eq!(
        running.log.messages(),
        ["synced v1/pods 3 true attempt 1", "timer nightly attempt 2", "config {}"]
    );
    let stats = running.plugin.stats();
    assert_eq!((stats.calls, stats.acknowledged, stats.instances.created), (3, 3, 1));
    let version = running.plugin.version().unwrap();
    assert!(version.handles && version.handles_synced && version.has_timers && !version.reconciles);
    assert!(version.follows_config);
}

#[tokio::test]
async fn a_component_without_the_export_is_not_called() {
    for guest in ["echo", "story_0_1"] {
        let setup = Setup::new("{}").read(&["v1/configmaps"]).cache("v1/configmaps", Vec::new());
        let running = setup.load(guest).await;

        assert_eq!(signal(&running, synced(), 1).await, None, "{guest}");
        assert_eq!(signal(&running, timer("nightly"), 1).await, None, "{guest}");
        assert_eq!(signal(&running, Signal::Config, 1).await, None, "{guest}");
        assert_eq!(running.plugin.stats().calls, 0);
    }
}

#[tokio::test]
async fn each_failure_of_a_signal_has_its_result() {
    let answer = async |how: &str| {
        let config = format!(r#"{{"times": 1, "how": "{how}"}}"#);
        let running = Setup::new(&config).load("signals").await;
        signal(&running, timer("nightly"), 1).await.unwrap()
    };

    let Reconciled::Retry { after: None, failure } = answer("retry").await else { panic!() };
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Handler, "failure 1 of nightly"));
    let Reconciled::Retry { after, .. } = answer("retry-after").await else { panic!() };
    assert_eq!(after, Some(Duration::from_millis(1500)));
    let Reconciled::Terminal { failure } = answer("permanent").await else { panic!() };
    assert_eq!(failure.message, "failure 1 of nightly");
    let Reconciled::Retry { after: None, failure } = answer("trap").await else { panic!() };
    assert_eq!(failure.kind, FailureKind::Trap);
    assert!(failure.message.starts_with("on-timer of nightly: "), "{failure}");
}

#[tokio::test]
async fn a_guest_sets_and_cancels_timers_and_receives_the_reason_of_a_refusal() {
    let running = Setup::new("{}").load("signals").await;
    let add = async |name: &str, after: &str| {
        let json = format!(r#"{{"metadata":{{"name":"{name}"}},"data":{{"after":"{after}"}}}}"#);
        running.deliver(added(object("default", name, "1", &json))).await
    };

    assert_eq!(add("web", "1500").await, Outcome::Acknowledged);
    assert_eq!(add("web", "never").await, Outcome::Acknowledged);
    running.keys.capacity.store(0, Ordering::Relaxed);
    assert_eq!(add("api", "1").await, Outcome::Acknowledged);

    assert_eq!(running.keys.asked(), ["set web after 1.5s", "cancel web"]);
    let refused = "refused: limit-exceeded: the plugin has 1 timers, and no more are kept: cancel one, or set one of them again";
    assert_eq!(running.log.messages().last().map(String::as_str), Some(refused));
}

#[tokio::test]
async fn a_handler_may_ask_for_another_call_and_a_timer_may_not() {
    let running = Setup::new("{}").load("signals").await;
    let asking = object("default", "a", "1", r#"{"data":{"again":"1500"}}"#);

    assert_eq!(running.deliver(added(asking)).await, Outcome::Again(Duration::from_millis(1500)));
    assert_eq!(running.add("web").await, Outcome::Acknowledged, "the wish of a call ends with it");
    let failing = object("default", "a", "2", r#"{"data":{"again":"1500","fail":"why"}}"#);
    assert!(matches!(running.deliver(added(failing)).await, Outcome::Permanent { .. }));
    assert_eq!(signal(&running, timer("again"), 1).await, Some(Reconciled::Done));

    let refused = "refused: invalid: only a call of `handler` is for an object that can be delivered again; a reconciler \
                   returns `requeue-after`, and a batch handler `again`";
    assert_eq!(running.log.messages().last().unwrap(), refused);
}
