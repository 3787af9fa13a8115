//! The steps of an object, and its reported place.

use std::num::NonZeroU32;

use informer_types::{Step, Then};

use super::*;
use crate::testing::Steps;

fn traced(config: &QueueConfig) -> (Queue, Steps) {
    let steps = Steps::default();
    (Queue::builder(config).traced(steps.tracer()).build(), steps)
}

fn web() -> ObjectRef {
    ObjectRef { source: Source::new("v1/pods".parse().unwrap()), key: "shop/web".parse().unwrap() }
}

fn live(verb: &'static str) -> Step {
    Step::Queued { verb, cause: Cause::Live }
}

/// The steps of calls, each as its attempt, its failure and what it led to.
fn calls(steps: &Steps) -> Vec<(u32, Option<String>, Then)> {
    let call = |step| match step {
        Step::Called { attempt, failure, then, .. } => {
            (attempt, failure.map(|failure| failure.to_string()), then)
        }
        other => panic!("{other:?}"),
    };
    steps.take().into_iter().map(call).collect()
}

#[test]
fn each_offer_is_queued_merged_or_cancelled() {
    let (queue, steps) = traced(&QueueConfig::default());

    queue.offer(added("web", "a1", Cause::Initial));
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    queue.offer(updated("web", "a2", "a2", Cause::Resync));
    queue.offer(deleted("web", "a3", true));
    queue.offer(added("web", "b1", Cause::Live));
    queue.close();
    queue.offer(deleted("web", "b1", true));

    assert_eq!(
        steps.take(),
        [
            Step::Queued { verb: "add", cause: Cause::Initial },
            Step::Merged { verb: "update", cause: Cause::Live, into: "add" },
            Step::Merged { verb: "update", cause: Cause::Resync, into: "what it is" },
            Step::Cancelled { verb: "delete" },
            live("add"),
            Step::Discarded { verb: "add" },
            Step::Discarded { verb: "delete" },
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn each_call_is_a_step_with_its_duration_and_result() {
    let (queue, steps) = traced(&QueueConfig::default());
    queue.offer(added("web", "a1", Cause::Live));
    time::advance(Duration::from_millis(20)).await;
    let (lease, _) = take(&queue);
    time::advance(Duration::from_millis(30)).await;
    lease.settle(retry(500, 500));

    let Some(Step::Called { queued, took, failure, then, verb, cause, attempt }) = steps.take().pop() else {
        panic!("no call")
    };
    assert_eq!((verb, cause, attempt), ("add", Cause::Live, 1));
    assert_eq!((queued, took), (Duration::from_millis(20), Duration::from_millis(30)));
    assert_eq!(failure, Some(Box::new(super::failure())));
    assert_eq!(then, Then::Retry { after: Duration::from_millis(500), superseded: false });

    time::advance(Duration::from_millis(500)).await;
    take(&queue).0.settle(Settlement::Acknowledged);
    assert_eq!(calls(&steps), [(2, None, Then::Acknowledged)]);
}

#[test]
fn every_end_of_a_call_has_its_words() {
    let now = Duration::ZERO;
    for (settlement, then) in [
        (permanent(), Then::DeadLetter),
        (spent(0, Fate::DeadLetter), Then::DeadLetter),
        (spent(0, Fate::Drop), Then::Dropped),
        (retry(0, 0), Then::Retry { after: now, superseded: false }),
    ] {
        let (queue, steps) = traced(&QueueConfig::default());
        queue.offer(added("web", "a1", Cause::Live));
        steps.take();
        take(&queue).0.settle(settlement);
        assert_eq!(calls(&steps), [(1, Some("handler: no".to_owned()), then)]);
    }
    let (queue, steps) = traced(&QueueConfig::default());
    queue.offer(added("web", "a1", Cause::Live));
    let (lease, _) = take(&queue);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    steps.take();
    lease.settle(retry(0, 0));
    let superseded = Then::Retry { after: now, superseded: true };
    assert_eq!(calls(&steps), [(1, Some("handler: no".to_owned()), superseded)]);

    drop(take(&queue).0);
    assert_eq!(calls(&steps), [(2, None, Then::GivenBack)]);
    let (lease, _) = take(&queue);
    queue.close();
    drop(lease);
    assert_eq!(calls(&steps), [(3, None, Then::Discarded)]);
}

#[tokio::test(start_paused = true)]
async fn the_calls_that_begin_and_end_a_quarantine_record_it() {
    let mut config = QueueConfig::default();
    config.quarantine.after = NonZeroU32::new(1);
    let (queue, steps) = traced(&config);
    queue.offer(added("web", "a1", Cause::Live));
    steps.take();

    let delay = Duration::from_millis(10);
    let trap = Failure::new(FailureKind::Trap, "unreachable\nat the second line");
    take(&queue).0.settle(Settlement::Retry { delay, floor: delay, failure: trap });
    let probe_in = queue.stats().quarantine.unwrap().probe_in;
    time::advance(probe_in).await;
    take(&queue).0.settle(Settlement::Acknowledged);

    let trap = Some("trap: unreachable".to_owned());
    assert_eq!(calls(&steps), [(1, trap, Then::Quarantined { probe_in }), (1, None, Then::Recovered)]);
}

#[test]
fn the_failure_text_of_a_plugin_is_kept_in_short() {
    let (queue, steps) = traced(&QueueConfig::default());
    queue.offer(added("web", "a1", Cause::Live));
    steps.take();

    let failure = Failure::new(FailureKind::Handler, "\u{e9}".repeat(10_000));
    take(&queue).0.settle(Settlement::Permanent { failure });

    let [(_, Some(failure), _)] = &calls(&steps)[..] else { panic!("no call") };
    assert_eq!(failure.len(), "handler: ".len() + 256);
}

#[tokio::test(start_paused = true)]
async fn the_standing_of_an_object_shows_each_place() {
    let (queue, _) = traced(&QueueConfig::default());
    assert_eq!(queue.standing(&web()), None);

    queue.offer(added("web", "a1", Cause::Live));
    time::advance(Duration::from_millis(20)).await;
    let since = Duration::from_millis(20);
    let ready = Standing { stands: Stands::Ready, pending: vec!["add"], attempts: 0, since, quiet_in: None };
    assert_eq!(queue.standing(&web()), Some(ready));

    let (lease, _) = take(&queue);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    time::advance(Duration::from_millis(5)).await;
    let stands = Stands::InFlight { lasting: Duration::from_millis(5) };
    let since = Duration::from_millis(25);
    let in_flight = Standing { stands, pending: vec!["update"], attempts: 0, since, quiet_in: None };
    assert_eq!(queue.standing(&web()), Some(in_flight));

    lease.settle(retry(500, 100));
    let stands = Stands::Delayed { retry_in: Duration::from_millis(100) };
    let delayed = Standing { stands, pending: vec!["add"], attempts: 1, since, quiet_in: None };
    assert_eq!(queue.standing(&web()), Some(delayed));
}
