//! Every interleaving of offers, attempts and settlements, one step at a time.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::{Duration, Instant},
};

use informer_dispatch::{
    DeliveryMode, Fate, Lease, MergeCounts, QuarantineConfig, Queue, QueueConfig, QueueStats, Rate, Settled,
    Settlement,
};
use informer_types::{Delivery, Failure, FailureKind, NotificationSink, Source};
use proptest::prelude::*;

use crate::{
    contract::{Contract, End, assert_deletion_is_as_told},
    history::{Collection, Event, OBJECTS, cases, event},
    quiet::Quiet,
};

#[derive(Clone, Debug)]
enum Step {
    Happen {
        object: usize,
        event: Event,
    },
    Take,
    /// Ends the call with this index among those in flight.
    Settle {
        call: usize,
        how: How,
    },
    Wait {
        millis: u64,
    },
    Pause {
        paused: bool,
    },
}

#[derive(Clone, Copy, Debug)]
enum How {
    Acknowledge,
    Retry { delay: u64, floor: u64, kind: FailureKind },
    Spent { fate: Fate, floor: u64 },
    Permanent,
    Drop,
}

/// The system under test, and everybody around it.
struct Play {
    queue: Queue,
    /// Entries that may be pending, where that is not two for each object.
    bound: Option<usize>,
    workers: usize,
    calls: Vec<(Lease, Delivery)>,
    collection: Collection,
    contract: Contract,
    /// Watches the wait of each object until it is quiet. `None` if changes do not merge.
    quiet: Option<Quiet>,
    /// Calls are held back by nothing but the state of their objects.
    is_free: bool,
    /// For each object: its last finished call resulted in a dead letter.
    dead: [bool; OBJECTS],
}

fn how() -> impl Strategy<Value = How> {
    let fate = prop_oneof![Just(Fate::DeadLetter), Just(Fate::Drop), Just(Fate::Quarantine)];
    let kind = prop_oneof![Just(FailureKind::Handler), Just(FailureKind::Trap)];
    prop_oneof![
        4 => Just(How::Acknowledge),
        3 => (0..200_u64, 0..20_u64, kind).prop_map(|(delay, floor, kind)| How::Retry { delay, floor, kind }),
        1 => (fate, 0..20_u64).prop_map(|(fate, floor)| How::Spent { fate, floor }),
        1 => Just(How::Permanent),
        1 => Just(How::Drop),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..OBJECTS, event()).prop_map(|(object, event)| Step::Happen { object, event }),
        4 => Just(Step::Take),
        4 => (0..4_usize, how()).prop_map(|(call, how)| Step::Settle { call, how }),
        2 => (0..100_u64).prop_map(|millis| Step::Wait { millis }),
        1 => any::<bool>().prop_map(|paused| Step::Pause { paused }),
    ]
}

/// Every way to hand out, with a rate and a quarantine that are felt.
fn config() -> impl Strategy<Value = QueueConfig> {
    let every = prop_oneof![1..12_usize, Just(1000)];
    let delivery = prop_oneof![
        Just(DeliveryMode::Latest),
        every.prop_map(|capacity| DeliveryMode::Every { capacity: NonZeroUsize::new(capacity).unwrap() }),
    ];
    let rate = prop::option::of((1.0..1000.0, 1..5_u32));
    let settle = prop::option::of(1..60_u64);
    (delivery, rate, prop::option::of(1..6_u32), settle).prop_map(|(delivery, rate, after, settle)| {
        QueueConfig {
            delivery,
            settle: settle.into_iter().map(|millis| (pods(), Duration::from_millis(millis))).collect(),
            rate: rate.map(|(per_second, burst)| Rate { per_second, burst: NonZeroU32::new(burst).unwrap() }),
            quarantine: QuarantineConfig {
                after: after.and_then(NonZeroU32::new),
                ..QuarantineConfig::default()
            },
            ..QueueConfig::default()
        }
    })
}

fn pods() -> Source {
    Source::new("v1/pods".parse().unwrap())
}

/// The time of the paused clock.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

fn bound(config: &QueueConfig) -> Option<usize> {
    match config.delivery {
        DeliveryMode::Latest => None,
        DeliveryMode::Every { capacity } => Some(capacity.get()),
    }
}

// === impl Play ===

impl Play {
    fn new(workers: usize, config: &QueueConfig) -> Self {
        Self {
            queue: Queue::new(config),
            bound: bound(config),
            workers,
            calls: Vec::new(),
            collection: Collection::default(),
            contract: Contract::default(),
            quiet: (config.delivery == DeliveryMode::Latest).then(|| Quiet::new(config)),
            is_free: config.rate.is_none(),
            dead: Default::default(),
        }
    }

    async fn step(&mut self, step: &Step) {
        match *step {
            Step::Happen { object, event } => {
                if let Some(notification) = self.collection.apply(object, event) {
                    self.quiet.iter_mut().for_each(|quiet| quiet.offered(&notification, now()));
                    self.queue.offer(notification);
                }
            }
            Step::Take => {
                self.take();
            }
            Step::Settle { call, how } => {
                if !self.calls.is_empty() {
                    self.settle(call % self.calls.len(), how);
                }
            }
            Step::Wait { millis } => tokio::time::advance(Duration::from_millis(millis)).await,
            Step::Pause { paused: true } => self.queue.pause(),
            Step::Pause { paused: false } => self.queue.resume(),
        }
        self.check_counters();
    }

    fn take(&mut self) -> bool {
        if self.calls.len() >= self.workers {
            return false;
        }
        let Some((lease, delivery)) = self.queue.take() else {
            self.check_that_nothing_is_due();
            return false;
        };
        self.contract.begin(&delivery);
        self.quiet.iter_mut().for_each(|quiet| quiet.began(&delivery, now()));
        assert_deletion_is_as_told(&delivery, &self.collection);
        self.calls.push((lease, delivery));
        true
    }

    fn settle(&mut self, call: usize, how: How) {
        let (lease, delivery) = self.calls.remove(call);
        let object: usize = lease.object().key.name.parse().unwrap();
        let millis = Duration::from_millis;
        let failure = Failure::new(FailureKind::Handler, "no");
        let settlement = match how {
            How::Acknowledge => Settlement::Acknowledged,
            How::Retry { delay, floor, kind } => {
                let failure = Failure::new(kind, "no");
                Settlement::Retry { delay: millis(delay), floor: millis(floor), failure }
            }
            How::Spent { fate, floor } => Settlement::Spent { floor: millis(floor), fate, failure },
            How::Permanent => Settlement::Permanent { failure },
            How::Drop => {
                drop(lease);
                self.end(&delivery, End::Again);
                return;
            }
        };
        let end = match lease.settle(settlement) {
            Settled::Acknowledged | Settled::Recovered => {
                self.dead[object] = false;
                End::Over
            }
            Settled::GaveUp { fate, .. } => {
                self.dead[object] |= fate == Fate::DeadLetter;
                End::Over
            }
            Settled::Retrying { .. } | Settled::Quarantined { .. } => End::Again,
            Settled::Enqueued => panic!("the queue has no workqueue beside it"),
            Settled::Discarded => panic!("the queue is not closed"),
        };
        self.end(&delivery, end);
    }

    fn end(&mut self, delivery: &Delivery, end: End) {
        self.contract.end(delivery, end);
        self.quiet.iter_mut().for_each(|quiet| quiet.ended(delivery, end == End::Again));
    }

    fn check_that_nothing_is_due(&self) {
        let stats = self.queue.stats();
        if let Some(quiet) =
            self.quiet.as_ref().filter(|_| self.is_free && !stats.paused && stats.quarantine.is_none())
        {
            let in_flight = self.calls.iter().map(|(lease, _)| lease.object().key.name.parse().unwrap());
            quiet.assert_none_is_due(&in_flight.collect::<Vec<_>>(), now());
        }
    }

    /// Everything succeeds from now on, until nothing is left.
    async fn finish(&mut self) {
        self.queue.resume();
        loop {
            while !self.calls.is_empty() {
                self.settle(0, How::Acknowledge);
            }
            if !self.take() {
                if self.queue.stats().objects == 0 {
                    return;
                }
                tokio::time::advance(Duration::from_secs(1)).await;
            }
            self.check_counters();
        }
    }

    fn check_counters(&self) {
        let stats = self.queue.stats();
        let QueueStats { acknowledged, merged, cancelled, dead, dropped, discarded, .. } = stats;
        let elsewhere = acknowledged + merged.total() + cancelled + dead + dropped + discarded;
        assert_eq!(stats.offered, elsewhere + (stats.pending + stats.in_flight) as u64, "{stats:?}");
        assert_eq!(stats.in_flight, self.calls.len());
        let bound = self.bound.map_or(0, |capacity| capacity + self.workers);
        assert!(stats.pending <= bound.max(2 * stats.objects), "the bound: {stats:?}");
        assert!(stats.objects <= OBJECTS && stats.delayed <= stats.objects, "{stats:?}");
        assert!(stats.settling <= stats.delayed, "{stats:?}");
        assert_eq!(stats.oldest.is_some(), stats.objects > 0, "{stats:?}");
    }

    fn check_end(&self) {
        let stats = self.queue.stats();
        assert_eq!((stats.objects, stats.pending, stats.in_flight), (0, 0, 0));
        if self.bound.is_some() && stats.overflows == 0 {
            let MergeCounts { add, update, .. } = stats.merged;
            assert_eq!((add, update, stats.cancelled), (0, 0, 0), "each change was requested: {stats:?}");
        }
        assert_eq!(self.collection.tokens_held(), 0, "a sync token is still held");
        self.contract.assert_up_to_date(&self.collection);
        for (object, dead) in self.dead.iter().enumerate() {
            let listed = self
                .queue
                .dead_letters()
                .list()
                .iter()
                .any(|letter| *letter.object.key.name == *object.to_string());
            assert_eq!(listed, *dead, "the dead letter of {object}");
        }
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn any_interleaving_of_changes_calls_and_failures_keeps_the_contract(
        workers in 1..4_usize,
        config in config(),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let mut play = Play::new(workers, &config);
            for step in &steps {
                play.step(step).await;
            }
            play.finish().await;
            play.check_end();
        });
    }
}
