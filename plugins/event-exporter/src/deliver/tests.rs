use informer_sdk::{ObjectKey, testing::TestHost};
use serde_json::json;

use super::*;
use crate::{
    http::{Answer, Request},
    record::Occurrence,
    state::{Seen, memory::Memory},
};

/// A receiver that gives each request the same answer.
struct Receiver(Answer);

impl Post for Receiver {
    fn post(&self, _request: &Request) -> Result<Answer, Verdict> {
        Ok(self.0.clone())
    }
}

fn now() -> Timestamp {
    "2026-05-01T12:00:00Z".parse().unwrap()
}

/// The state with one Event in the queue of the receiver `hook`.
fn queued() -> State {
    let state = State::new(Box::new(Memory::default()));
    let event = ObjectKey::new("shop", "web.1");
    let seen =
        Seen { uid: "u".to_owned(), occurrence: Occurrence { count: 1, at: now() }, done: Some(Vec::new()) };
    let record = Record::new(json!({"metadata": {"namespace": "shop", "name": "web.1", "uid": "u"}}));
    state.judged(&[], Some((&event, &seen, &record, &["hook"]))).unwrap();
    state
}

fn drained(state: &State, receiver: &Receiver) -> ReconcileResult {
    let destination = Destination::new("webhook", json!({"endpoint": "http://hook"})).unwrap();
    let (name, metrics_prefix) = ("hook", "");
    Delivery { name, destination: &destination, state, http: receiver, now, metrics_prefix }.drain()
}

#[test]
fn a_pause_from_before_the_clock_was_set_back_is_over() {
    let _host = TestHost::new();
    let accepts = Receiver(Answer { status: 200, ..Answer::default() });
    for (until, expected) in [
        ("2026-05-01T12:15:00Z", Reconciled::RequeueAfter(Duration::from_secs(15 * 60))),
        ("2026-05-02T12:00:00Z", Reconciled::Done),
    ] {
        let state = queued();
        state.set_pause("hook", Some(until.parse().unwrap())).unwrap();
        assert_eq!(drained(&state, &accepts).unwrap(), expected, "{until}");
        assert_eq!(state.queue("hook", 10).unwrap().is_empty(), expected == Reconciled::Done);
    }
}

#[test]
fn a_pause_of_no_time_is_the_backoff() {
    let _host = TestHost::new();
    for retry_after in ["0", "Fri, 01 May 2026 11:00:00 GMT"] {
        let retry_after = Some(retry_after.to_owned());
        for status in [429, 503] {
            let state = queued();
            let receiver = Receiver(Answer { status, retry_after: retry_after.clone(), ..Answer::default() });
            let waits = drained(&state, &receiver);
            assert!(matches!(waits, Err(ReconcileError::Retry(_))), "{waits:?}");
            assert_eq!(state.paused("hook").unwrap(), None);
        }
    }
}
