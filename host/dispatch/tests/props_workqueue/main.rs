//! The workqueue against a model that is too simple to be wrong: client-go's three collections (queue, dirty, processing)
//! and a list of delays, searched from end to end (W-2, W-3, W-6, W-7, W-10, W-12).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "the helpers of tests are tests too")]

mod model;

use std::{num::NonZeroUsize, time::Duration};

use informer_dispatch::workqueue::{RateLimiter, RateLimitingQueue, Work};
use informer_types::{Failure, FailureKind, Workqueue};
use proptest::prelude::*;

use model::{CAPACITY, MAX, MIN, Model};

/// As many cases as `PROPTEST_CASES` says, or `usual` if it is not set.
fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { usual };
    ProptestConfig { cases, ..config }
}

fn failure() -> Failure {
    Failure::new(FailureKind::Handler, "no")
}

/// What may be done with a queue. Keys are few, so that they meet.
#[derive(Clone, Debug)]
enum Step {
    Add(u8),
    AddAfter(u8, u64),
    AddRateLimited(u8),
    Forget(u8),
    Take,
    /// Ends the work with this index among those in flight.
    End(usize, End),
    Advance(u64),
}

#[derive(Clone, Copy, Debug)]
enum End {
    Done,
    Succeed,
    Requeue,
    RequeueAfter(u64),
    Retry,
    GiveUp,
    Drop,
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Done),
        Just(End::Succeed),
        Just(End::Requeue),
        (0_u64..60).prop_map(End::RequeueAfter),
        Just(End::Retry),
        Just(End::GiveUp),
        Just(End::Drop),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0_u8..6;
    prop_oneof![
        4 => key.clone().prop_map(Step::Add),
        2 => (key.clone(), 0_u64..60).prop_map(|(key, millis)| Step::AddAfter(key, millis)),
        2 => key.clone().prop_map(Step::AddRateLimited),
        1 => key.prop_map(Step::Forget),
        4 => Just(Step::Take),
        4 => (0_usize..3, end()).prop_map(|(which, end)| Step::End(which, end)),
        2 => (0_u64..50).prop_map(Step::Advance),
    ]
}

/// The queue, the model, and the work in flight.
struct Pair {
    queue: RateLimitingQueue,
    model: Model,
    in_flight: Vec<Work>,
}

impl Pair {
    fn new() -> Self {
        let limiter = RateLimiter::exponential(Duration::from_millis(MIN), Duration::from_millis(MAX));
        let queue = RateLimitingQueue::new(NonZeroUsize::new(CAPACITY).unwrap(), limiter);
        Self { queue, model: Model::default(), in_flight: Vec::new() }
    }

    async fn step(&mut self, step: Step) {
        let Self { queue, model, in_flight } = self;
        let name = |key: u8| key.to_string();
        let millis = Duration::from_millis;
        match step {
            Step::Add(key) => assert_eq!(queue.add(&name(key)).is_ok(), model.add(key)),
            Step::AddAfter(key, wait) => {
                assert_eq!(queue.add_after(&name(key), millis(wait)).is_ok(), model.add_after(key, wait));
            }
            Step::AddRateLimited(key) => {
                assert_eq!(queue.add_rate_limited(&name(key)).is_ok(), model.add_rate_limited(key));
            }
            Step::Forget(key) => {
                queue.forget(&name(key));
                model.forget(key);
            }
            Step::Take => {
                let work = queue.take();
                assert_eq!(work.as_ref().map(|work| work.key().to_string()), model.take().map(name));
                in_flight.extend(work);
            }
            Step::End(which, how) if which < in_flight.len() => {
                let work = in_flight.remove(which);
                let key: u8 = work.key().parse().unwrap();
                match how {
                    End::Done => work.done(),
                    End::Succeed => assert!(!work.succeed()),
                    End::Requeue => assert!(!work.requeue()),
                    End::RequeueAfter(wait) => assert!(!work.requeue_after(millis(wait))),
                    End::Retry => work.retry(&failure()),
                    End::GiveUp => work.give_up(failure()),
                    End::Drop => drop(work),
                }
                match how {
                    End::Done => {}
                    End::Succeed | End::GiveUp => model.forget(key),
                    End::Requeue | End::Retry => assert!(model.add_rate_limited(key)),
                    End::RequeueAfter(wait) => {
                        model.forget(key);
                        assert!(model.add_after(key, wait));
                    }
                    End::Drop => assert!(model.add(key)),
                }
                model.done(key);
            }
            Step::End(..) => {}
            Step::Advance(wait) => {
                tokio::time::advance(millis(wait)).await;
                model.advance(wait);
            }
        }
    }

    fn compare(&self) {
        let Self { queue, model, .. } = self;
        let stats = queue.stats();
        assert_eq!(stats.ready, model.ready.len());
        assert_eq!(stats.in_flight, model.processing.len());
        assert_eq!(stats.depth, model.dirty.len());
        assert_eq!(stats.delayed, model.delayed.len());
        assert_eq!(stats.keys, model.distinct());
        (0..6).for_each(|key| assert_eq!(queue.num_requeues(&key.to_string()), model.failures(key)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..cases(500) })]

    #[test]
    fn whatever_is_done_with_it_the_queue_is_where_the_model_is(steps in prop::collection::vec(step(), 1..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut pair = Pair::new();
            for step in steps {
                pair.step(step).await;
                pair.compare();
            }
            // In the end every key comes out, in the model's order.
            pair.step(Step::Advance(10 * MAX)).await;
            while !pair.in_flight.is_empty() {
                pair.step(Step::End(0, End::Succeed)).await;
            }
            while pair.model.distinct() > 0 {
                pair.step(Step::Take).await;
                pair.step(Step::End(0, End::Succeed)).await;
                pair.step(Step::Advance(10 * MAX)).await;
            }
            pair.compare();
        });
    }
}
