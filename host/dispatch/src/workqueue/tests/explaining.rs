//! The steps of a key, for `informer explain`.

use informer_types::{Enqueued, KeyThen, Step};

use super::*;
use crate::{Stands, testing::Steps};

const KEY: &str = "shop/web";

/// A [`queue`] that records its steps.
fn traced(capacity: usize) -> (RateLimitingQueue, Steps) {
    let steps = Steps::default();
    let limiter = RateLimiter::exponential(Duration::from_millis(10), Duration::from_secs(1));
    (RateLimitingQueue::traced(NonZeroUsize::new(capacity).unwrap(), limiter, steps.tracer()), steps)
}

fn added(led_to: Enqueued) -> Step {
    Step::KeyAdded { led_to }
}

fn taken(attempt: u32, waited: u64) -> Step {
    Step::KeyTaken { attempt, waited: Duration::from_millis(waited) }
}

fn done(attempt: u32, took: u64, failure: Option<Failure>, then: KeyThen) -> Step {
    let failure = failure.map(Box::new);
    Step::KeyDone { attempt, took: Duration::from_millis(took), failure, then }
}

fn again(millis: u64) -> KeyThen {
    KeyThen::Again { after: Duration::from_millis(millis) }
}

/// The result of each add is recorded (W-2, W-7).
#[tokio::test(start_paused = true)]
async fn the_result_of_each_add_is_recorded() {
    let (queue, steps) = traced(1);
    queue.add_after(KEY, Duration::from_millis(50)).unwrap();
    queue.add_after(KEY, Duration::from_millis(60)).unwrap();
    queue.add(KEY).unwrap();
    queue.add(KEY).unwrap();
    let work = queue.take().unwrap();
    queue.add(KEY).unwrap();

    let delayed = Enqueued::Delayed { by: Duration::from_millis(50) };
    assert_eq!(
        steps.take(),
        [
            added(delayed),
            added(Enqueued::DueAlready),
            added(Enqueued::Waits),
            added(Enqueued::WaitsAlready),
            taken(1, 0),
            added(Enqueued::WaitsAfterCall),
        ]
    );
    work.succeed();
}

#[tokio::test(start_paused = true)]
async fn the_standing_of_a_key_shows_each_place() {
    let queue = queue(10);
    let stands = |failed, again, stands| Some(KeyStanding { stands, again, failed });
    let (one, two) = (Duration::from_secs(1), Duration::from_secs(2));
    assert_eq!(queue.standing("a"), None);

    queue.add_after("a", two).unwrap();
    after(1_000).await;
    assert_eq!(queue.standing("a"), stands(0, false, Stands::Delayed { retry_in: one }));
    after(1_000).await;
    assert_eq!(queue.standing("a"), stands(0, false, Stands::Ready));
    let work = queue.take().unwrap();
    after(1_000).await;
    assert_eq!(queue.standing("a"), stands(0, false, Stands::InFlight { lasting: one }));
    queue.add("a").unwrap();
    assert_eq!(queue.standing("a"), stands(0, true, Stands::InFlight { lasting: one }));
    work.retry(&failure());
    assert_eq!(queue.standing("a"), stands(1, false, Stands::Ready));
    queue.take().unwrap().succeed();
    // It was to be tried again too.
    after(10).await;
    queue.take().unwrap().succeed();
    assert_eq!(queue.standing("a"), None);
}

/// Each call of a key is a step with its result (W-1, W-12).
#[tokio::test(start_paused = true)]
async fn each_call_of_a_key_is_a_step_with_its_result() {
    let (queue, steps) = traced(1);
    queue.add(KEY).unwrap();
    after(7).await;
    let work = queue.take().unwrap();
    after(3).await;
    work.retry(&Failure::new(FailureKind::Handler, "no way\nwhatever else it says"));
    after(10).await;
    queue.take().unwrap().give_up(failure());
    queue.add(KEY).unwrap();
    queue.take().unwrap().requeue_after(Duration::from_millis(5));
    after(5).await;
    queue.take().unwrap().requeue();
    after(10).await;
    drop(queue.take().unwrap());
    queue.take().unwrap().succeed();

    let brief = Failure::new(FailureKind::Handler, "no way");
    let waits = || added(Enqueued::Waits);
    assert_eq!(
        steps.take(),
        [
            waits(),
            taken(1, 7),
            done(1, 3, Some(brief), again(10)),
            taken(2, 0),
            done(2, 0, Some(failure()), KeyThen::GivenUp),
            waits(),
            taken(1, 0),
            done(1, 0, None, again(5)),
            taken(1, 0),
            done(1, 0, None, again(10)),
            taken(1, 0),
            done(1, 0, None, KeyThen::GivenBack),
            taken(1, 0),
            done(1, 0, None, KeyThen::Done),
        ]
    );
}

/// Refused keys, and keys that a closed queue discards, are recorded (W-4, W-5, W-8).
#[tokio::test(start_paused = true)]
async fn refused_and_discarded_keys_are_recorded() {
    let (queue, steps) = traced(1);
    queue.add("other/key/of-no-object").unwrap();
    queue.add(KEY).unwrap_err();
    assert_eq!(steps.take(), [Step::KeyRefused { capacity: 1 }], "and nothing of what is no object's key");

    let (queue, steps) = traced(1);
    queue.add(KEY).unwrap();
    queue.close();
    queue.add(KEY).unwrap();
    assert_eq!(steps.take(), [added(Enqueued::Waits), Step::KeyDiscarded, Step::KeyDiscarded]);

    let (queue, steps) = traced(1);
    queue.add_after(KEY, Duration::from_secs(1)).unwrap();
    queue.shut_down();
    assert_eq!(steps.take().last(), Some(&Step::KeyDiscarded));

    let (queue, steps) = traced(1);
    queue.add(KEY).unwrap();
    let work = queue.take().unwrap();
    queue.shut_down();
    work.retry(&failure());
    assert_eq!(steps.take().last(), Some(&done(1, 0, Some(failure()), KeyThen::Discarded)));
}

/// A discarded key is recorded once, and only if it will not be reconciled any more (W-5, W-8).
#[tokio::test(start_paused = true)]
async fn a_discarded_key_is_recorded_once_and_only_if_it_will_not_be_reconciled() {
    let (queue, steps) = traced(1);
    queue.add(KEY).unwrap();
    queue.add_after(KEY, Duration::from_secs(1)).unwrap();
    steps.take();
    queue.shut_down();
    assert_eq!(steps.take(), [], "it waits, and is handed out");
    queue.add(KEY).unwrap();
    assert_eq!(steps.take(), [added(Enqueued::WaitsAlready)]);
    queue.close();
    assert_eq!(steps.take(), [Step::KeyDiscarded]);

    for delay in [Duration::ZERO, Duration::MAX] {
        let (queue, steps) = traced(1);
        queue.add(KEY).unwrap();
        let work = queue.take().unwrap();
        queue.add_after(KEY, delay).unwrap();
        steps.take();
        queue.close();
        assert_eq!(steps.take(), [], "it is in flight");
        work.succeed();
        assert_eq!(steps.take(), [done(1, 0, None, KeyThen::Discarded)]);
    }
}
