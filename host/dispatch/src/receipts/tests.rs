//! The writes for each history of acknowledgements, withheld changes and failed writes.

use std::{collections::BTreeMap, num::NonZeroUsize};

use informer_types::{Cause, Failure, FailureKind, NotificationSink, Source};
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    DeliveryMode, Queue, QueueBuilder, QueueConfig, Settlement,
    testing::{add, added, deleted, notification, object, update, updated},
};

fn source() -> Source {
    Source::new("v1/pods".parse().unwrap())
}

fn web() -> ObjectRef {
    ObjectRef { source: source(), key: ObjectKey::new("shop", "web") }
}

fn receipt(rv: &str) -> Receipt {
    Receipt::of(&object("web", rv)).unwrap()
}

fn skip(from: &str, to: &str) -> Skip {
    Skip { from: receipt(from), to: receipt(to) }
}

/// Receipts of pods, without anything to write.
fn kept() -> Receipts {
    let receipts = Receipts::default();
    receipts.keep([source()]);
    receipts.take(usize::MAX).unwrap();
    receipts
}

fn acknowledge(receipts: &Receipts, rv: &str) {
    acknowledge_change(receipts, &web(), &added("web", rv, Cause::Live).change);
}

/// The call began just before.
fn acknowledge_change(receipts: &Receipts, object: &ObjectRef, change: &Change) {
    receipts.acknowledged(object, change, Some(receipts.expiries()));
}

fn withhold(receipts: &Receipts, from: &str, to: &str) {
    receipts.skipped(&source(), &object("web", from), &object("web", to));
}

/// A queue that delivers each change.
fn every() -> QueueBuilder {
    let delivery = DeliveryMode::Every { capacity: NonZeroUsize::new(100).unwrap() };
    Queue::builder(&QueueConfig { delivery, ..QueueConfig::default() })
}

/// What is written of `shop/web`.
fn taken(receipts: &Receipts) -> Option<Write> {
    let mut rows = receipts.take(usize::MAX)?.rows;
    rows.pop().and_then(|mut rows| rows.writes.pop()).map(|(_, write)| write)
}

#[test]
fn the_last_acknowledgement_of_an_object_is_written() {
    let receipts = kept();
    acknowledge(&receipts, "a1");
    acknowledge_change(&receipts, &web(), &updated("web", "a1", "a2", Cause::Live).change);
    assert_eq!(receipts.unwritten(), 1);
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a2"))));
    assert_eq!((receipts.unwritten(), taken(&receipts)), (0, None));

    acknowledge(&receipts, "a3");
    acknowledge_change(&receipts, &web(), &deleted("web", "a3", true).change);
    assert_eq!(taken(&receipts), Some(Write::Gone));
}

fn begin(receipts: &Receipts, rv: &str) {
    receipts.begun(&web(), &added("web", rv, Cause::Live).change);
}

#[test]
fn an_addition_whose_call_began_is_written_unless_there_is_an_acknowledgement() {
    let receipts = kept();
    begin(&receipts, "a1");
    assert_eq!(taken(&receipts), Some(Write::Begun(receipt("a1").begun())));
    receipts.begun(&web(), &updated("web", "a1", "a2", Cause::Live).change);
    assert_eq!(taken(&receipts), None, "it is known by then");

    begin(&receipts, "a1");
    acknowledge(&receipts, "a1");
    begin(&receipts, "a1");
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a1"))));
}

/// The row of the object before must not stay, and a write that failed must not be forgotten.
#[test]
fn an_addition_whose_call_began_follows_the_writes_before_it() {
    let receipts = kept();
    acknowledge_change(&receipts, &web(), &deleted("web", "a1", true).change);
    begin(&receipts, "b1");
    assert_eq!(taken(&receipts), Some(Write::State(receipt("b1").begun())));

    for (before, written) in [
        (deleted("web", "a1", true), receipt("b1").begun()),
        (added("web", "b0", Cause::Live), receipt("b0")),
    ] {
        acknowledge_change(&receipts, &web(), &before.change);
        let failed = receipts.take(usize::MAX).unwrap();
        begin(&receipts, "b1");
        receipts.put_back(failed);
        assert_eq!(taken(&receipts), Some(Write::State(written)));
    }
}

#[test]
fn the_receipt_of_a_withheld_addition_stays_until_every_earlier_deletion_has_ended() {
    let receipts = kept();
    ["a1", "b1"].iter().for_each(|rv| receipts.leaves(&source(), &object("web", rv)));
    receipts.withheld(&source(), &object("web", "c1"));
    for rv in ["a1", "b1"] {
        taken(&receipts);
        acknowledge_change(&receipts, &web(), &deleted("web", rv, true).change);
        assert_eq!(taken(&receipts), Some(Write::State(receipt("c1").begun())));
    }
    receipts.leaves(&source(), &object("web", "c1"));
    receipts.withheld(&source(), &object("web", "d1"));
    receipts.forgotten(&source(), &object("web", "d1"));
    receipts.abandoned(&source(), &object("web", "c1"));
    assert_eq!(taken(&receipts), Some(Write::Gone));
}

#[test]
fn the_queue_reports_the_first_call_for_an_addition_and_no_other() {
    let receipts = kept();
    let queue = Queue::builder(&QueueConfig::default()).with_receipts(receipts.clone()).build();
    queue.offer(added("web", "a1", Cause::Live));
    assert_eq!(taken(&receipts), None, "it is pending");

    let (lease, _) = queue.take().unwrap();
    assert_eq!(taken(&receipts), Some(Write::Begun(receipt("a1").begun())));
    // The call is put back, and begins again.
    drop(lease);
    let (lease, _) = queue.take().unwrap();
    assert_eq!(taken(&receipts), None);
    lease.settle(Settlement::Acknowledged);
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a1"))));
}

#[test]
fn a_resource_whose_receipts_are_not_kept_is_left_out() {
    let receipts = Receipts::default();
    acknowledge(&receipts, "a1");
    assert!(receipts.take(usize::MAX).is_none() && !receipts.keeps(&source()) && !receipts.keeps_any());

    receipts.keep([source()]);
    assert!(receipts.keeps(&source()));
    let batch = receipts.take(usize::MAX).unwrap();
    assert_eq!((batch.only, batch.rows.len()), (Some([source()].into()), 0));
}

#[test]
fn a_withheld_change_counts_once_the_state_before_it_is_acknowledged() {
    let receipts = kept();
    withhold(&receipts, "a1", "a2");
    withhold(&receipts, "a2", "a3");
    assert_eq!(taken(&receipts), Some(Write::Skip(skip("a1", "a3"))));

    acknowledge(&receipts, "a3");
    withhold(&receipts, "a3", "a4");
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a4"))));

    // Not on disk: a1 waits for its call.
    receipts.wait(&source(), [(web().key, skip("a1", "a2"))]);
    assert_eq!((receipts.unwritten(), taken(&receipts)), (0, None));
    acknowledge(&receipts, "a1");
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a2"))));
}

#[test]
fn a_withheld_change_does_not_count_for_another_state() {
    let receipts = kept();
    acknowledge(&receipts, "a0");
    withhold(&receipts, "a1", "a2");
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a0"))));
    assert_eq!(taken(&receipts), None);

    acknowledge(&receipts, "a1");
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a2"))));
    withhold(&receipts, "a5", "a6");
    receipts.forgotten(&source(), &object("web", "a9"));
    assert_eq!(taken(&receipts), Some(Write::Gone));
    acknowledge(&receipts, "a5");
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a5"))), "the object before is forgotten");
}

/// The call for `a2` was given up, and a resync delivered `a3`.
#[test]
fn a_withheld_change_to_a_state_that_is_acknowledged_waits_no_more() {
    for is_being_written in [true, false] {
        let receipts = kept();
        withhold(&receipts, "a2", "a3");
        assert_eq!(taken(&receipts), Some(Write::Skip(skip("a2", "a3"))));
        let wait = || receipts.wait(&source(), [(web().key, skip("a2", "a3"))]);
        if is_being_written {
            acknowledge(&receipts, "a3");
            wait();
        } else {
            wait();
            acknowledge(&receipts, "a3");
        }
        assert_eq!(taken(&receipts), Some(Write::State(receipt("a3"))));

        withhold(&receipts, "a3", "a4");

        assert_eq!(taken(&receipts), Some(Write::Skip(skip("a3", "a4"))), "{is_being_written}");
    }
}

#[test]
fn a_failed_write_is_repeated_unless_there_is_a_newer_one() {
    let receipts = kept();
    acknowledge(&receipts, "a1");
    let failed = receipts.take(usize::MAX).unwrap();
    withhold(&receipts, "a1", "a2");
    receipts.put_back(failed);
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a2"))));

    acknowledge(&receipts, "a3");
    let failed = receipts.take(usize::MAX).unwrap();
    receipts.forgotten(&source(), &object("web", "a9"));
    receipts.put_back(failed);
    assert_eq!(taken(&receipts), Some(Write::Gone));

    withhold(&receipts, "a3", "a4");
    let failed = receipts.take(usize::MAX).unwrap();
    withhold(&receipts, "a4", "a5");
    receipts.put_back(failed);
    assert_eq!(taken(&receipts), Some(Write::Skip(skip("a3", "a5"))));
}

/// The deletion of the object before is acknowledged after a change of the new one was withheld.
#[test]
fn a_withheld_change_of_a_new_object_outlives_the_deletion_of_the_one_before() {
    let receipts = kept();
    withhold(&receipts, "b1", "b2");
    receipts.forgotten(&source(), &object("web", "a9"));
    acknowledge(&receipts, "b1");
    assert_eq!(taken(&receipts), Some(Write::State(receipt("b2"))));
}

/// The number of objects in memory.
fn in_memory(receipts: &Receipts) -> usize {
    receipts.0.book.lock().subscriptions.iter().map(|kept| kept.unwritten.len()).sum()
}

/// The plugin acknowledges no state of such an object, so nothing else ends the wait of the change.
#[test]
fn a_withheld_change_is_forgotten_with_an_object_that_the_plugin_never_saw() {
    let receipts = kept();
    let queue = Queue::builder(&QueueConfig::default()).with_receipts(receipts.clone()).build();
    queue.offer(added("web", "a1", Cause::Live));
    withhold(&receipts, "a1", "a2");
    assert_eq!(taken(&receipts), Some(Write::Skip(skip("a1", "a2"))));
    receipts.wait(&source(), [(web().key, skip("a1", "a2"))]);
    assert_eq!((taken(&receipts), in_memory(&receipts)), (None, 1));

    queue.offer(deleted("web", "a2", true));

    assert_eq!((taken(&receipts), in_memory(&receipts)), (None, 0));
}

#[test]
fn a_withheld_change_that_is_being_written_is_forgotten_with_its_object() {
    for fails in [false, true] {
        let receipts = kept();
        let queue = Queue::builder(&QueueConfig::default()).with_receipts(receipts.clone()).build();
        queue.offer(added("web", "a1", Cause::Live));
        withhold(&receipts, "a1", "a2");
        let batch = receipts.take(usize::MAX).unwrap();
        queue.offer(deleted("web", "a2", true));
        if fails {
            receipts.put_back(batch);
        } else {
            receipts.wait(&source(), [(web().key, skip("a1", "a2"))]);
        }

        assert_eq!((taken(&receipts), in_memory(&receipts)), (None, 0));
    }
}

/// The filter is ahead of the queue.
#[test]
fn a_withheld_change_of_a_new_object_outlives_the_one_before_that_the_plugin_never_saw() {
    let receipts = kept();
    let queue = Queue::builder(&QueueConfig::default()).with_receipts(receipts.clone()).build();
    queue.offer(added("web", "a1", Cause::Live));
    withhold(&receipts, "b1", "b2");
    assert_eq!(taken(&receipts), Some(Write::Skip(skip("b1", "b2"))));
    queue.offer(deleted("web", "a1", true));
    receipts.wait(&source(), [(web().key, skip("b1", "b2"))]);

    acknowledge(&receipts, "b1");

    assert_eq!(taken(&receipts), Some(Write::State(receipt("b2"))));
}

#[test]
fn a_withheld_change_is_forgotten_when_the_deletion_of_its_object_is_given_up() {
    let receipts = kept();
    let queue = Queue::builder(&QueueConfig::default()).with_receipts(receipts.clone()).build();
    let give_up = || {
        let failure = Failure::new(FailureKind::Handler, "no");
        queue.take().unwrap().0.settle(Settlement::Permanent { failure });
    };
    queue.offer(added("web", "a1", Cause::Live));
    give_up();
    withhold(&receipts, "a1", "a2");
    assert_eq!(taken(&receipts), Some(Write::Begun(receipt("a1").begun())));
    assert_eq!((taken(&receipts), in_memory(&receipts)), (None, 1));

    queue.offer(deleted("web", "a2", true));
    give_up();

    assert_eq!((taken(&receipts), in_memory(&receipts)), (None, 0));
}

#[test]
fn a_batch_has_a_most_number_of_objects_and_loses_none() {
    let receipts = kept();
    for name in ["a", "b", "c"] {
        let object = ObjectRef { source: source(), key: ObjectKey::new("shop", name) };
        acknowledge_change(&receipts, &object, &added(name, "a1", Cause::Live).change);
    }
    let counts = std::iter::from_fn(|| receipts.take(2).map(|batch| batch.rows[0].writes.len()));
    assert_eq!(counts.collect::<Vec<_>>(), [2, 1]);
}

/// Each object has an addition that is not written yet when it is deleted.
#[test]
fn deleted_objects_do_not_fill_the_memory_while_nothing_can_be_written() {
    let receipts = kept();
    let (addition, deletion) = (added("web", "a1", Cause::Live).change, deleted("web", "a1", true).change);
    for number in 0..FULL + 10 {
        let object = ObjectRef { source: source(), key: ObjectKey::new("shop", number.to_string()) };
        receipts.begun(&object, &addition);
        acknowledge_change(&receipts, &object, &deletion);
    }

    assert!(receipts.unwritten() <= FULL, "{}", receipts.unwritten());
}

#[test]
fn expired_receipts_are_written_as_stale_and_later_ones_are_not() {
    let receipts = kept();
    acknowledge(&receipts, "a1");
    let failed = receipts.take(usize::MAX).unwrap();
    receipts.expire();
    receipts.put_back(failed);
    let batch = receipts.take(usize::MAX).unwrap();
    let Rows { first, writes, .. } = &batch.rows[0];
    assert_eq!((*first, &writes[0].1), (First::Stale, &Write::State(receipt("a1").stale())));

    receipts.expire();
    acknowledge(&receipts, "a2");
    let batch = receipts.take(usize::MAX).unwrap();
    assert_eq!(batch.rows[0].writes[0].1, Write::State(receipt("a2")));
}

/// A new version has to receive every object once more. A call by the earlier version may end after the receipts expired.
#[test]
fn a_call_that_began_before_the_receipts_expired_leaves_a_stale_one() {
    let receipts = kept();
    let queue = Queue::builder(&QueueConfig::default()).with_receipts(receipts.clone()).build();
    queue.offer(added("web", "a1", Cause::Live));
    let (before, _) = queue.take().unwrap();
    receipts.expire();
    queue.offer(added("web", "a1", Cause::Replay));

    before.settle(Settlement::Acknowledged);
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a1").stale())));

    let (after, _) = queue.take().unwrap();
    after.settle(Settlement::Acknowledged);
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a1"))));
}

/// After a change of a CRD the content may differ at the same version (D-5). If the host ends before the plugin has acknowledged the
/// new content, the next process delivers the object again.
#[test]
fn other_content_at_the_same_version_has_to_be_acknowledged_too() {
    for is_replayed in [false, true] {
        let receipts = kept();
        let queue = Queue::builder(&QueueConfig::default()).with_receipts(receipts.clone()).build();
        let stale = || Some(Write::State(receipt("a1").stale()));
        queue.offer(added("web", "a1", Cause::Live));
        let (before, _) = queue.take().unwrap();
        queue.offer(updated("web", "a1", "a1", Cause::Relist));
        assert_eq!(taken(&receipts), stale());
        if is_replayed {
            // It merges with the change, and the result is an addition.
            queue.offer(added("web", "a1", Cause::Replay));
        }
        before.settle(Settlement::Acknowledged);
        assert_eq!(taken(&receipts), stale(), "the call was for the content before");

        let (after, _) = queue.take().unwrap();
        after.settle(Settlement::Acknowledged);
        assert_eq!(taken(&receipts), Some(Write::State(receipt("a1"))));

        let unchanged = object("web", "a1");
        queue.offer(notification(update(&unchanged, &unchanged), Cause::Relist));
        assert_eq!(taken(&receipts), None);
    }
}

/// A notification about an unchanged object may be pending before the new content, and a later version may be pending behind it.
#[test]
fn only_other_content_at_the_version_in_flight_makes_its_receipt_stale() {
    let receipts = kept();
    let queue = every().with_receipts(receipts.clone()).build();
    let [one, other, two, three] = ["a1", "a1", "a2", "a2"].map(|rv| object("web", rv));
    let changes =
        [add(&one), update(&one, &one), update(&one, &other), update(&other, &two), update(&two, &three)];
    let (first, rest) = changes.split_first().unwrap();
    queue.offer(notification(first.clone(), Cause::Live));
    let (lease, _) = queue.take().unwrap();
    rest.iter().for_each(|change| queue.offer(notification(change.clone(), Cause::Relist)));
    lease.settle(Settlement::Acknowledged);

    let (a1, a2) = (receipt("a1"), receipt("a2"));
    let mut written = vec![taken(&receipts)];
    while let Some((lease, _)) = queue.take() {
        lease.settle(Settlement::Acknowledged);
        written.push(taken(&receipts));
    }
    let expected = [a1.stale(), a1.stale(), a1, a2.stale(), a2].map(|receipt| Some(Write::State(receipt)));
    assert_eq!(written, expected);
}

/// With a receipt, a restart would deliver the deletion of the object, which the plugin never saw.
#[test]
fn other_content_of_an_object_that_the_plugin_never_saw_leaves_no_receipt() {
    for builder in [Queue::builder(&QueueConfig::default()), every()] {
        let receipts = kept();
        let queue = builder.with_receipts(receipts.clone()).build();
        queue.offer(added("web", "a1", Cause::Live));
        queue.offer(updated("web", "a1", "a2", Cause::Live));
        queue.offer(updated("web", "a2", "a2", Cause::Relist));
        assert_eq!(taken(&receipts), None);
    }
}

#[test]
fn a_plugin_that_takes_keys_keeps_no_receipts() {
    let receipts = kept();
    acknowledge(&receipts, "a1");
    receipts.switch(true);
    receipts.switch(false);
    receipts.switch(false);
    assert!(!receipts.keeps(&source()));
    acknowledge(&receipts, "a2");
    let batch = receipts.take(usize::MAX).unwrap();
    assert_eq!((batch.rows[0].first, batch.rows[0].writes.len()), (First::Remove, 0));
    assert!(receipts.take(usize::MAX).is_none());

    receipts.switch(true);
    acknowledge(&receipts, "a3");
    assert_eq!(taken(&receipts), Some(Write::State(receipt("a3"))));
}

/// One thing that happens to an object, or to its receipt.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The object changes, and the change is withheld or not.
    Change { is_withheld: bool },
    /// A call for the oldest state that waits begins, as that of an addition.
    Begin,
    /// The plugin acknowledges the newest state that was passed on, or an older one that is in flight.
    Acknowledge { is_old: bool },
    /// What is to be written is written, or not.
    Write { fails: bool },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<bool>().prop_map(|is_withheld| Step::Change { is_withheld }),
        1 => Just(Step::Begin),
        2 => any::<bool>().prop_map(|is_old| Step::Acknowledge { is_old }),
        2 => any::<bool>().prop_map(|fails| Step::Write { fails }),
    ]
}

/// An object whose state `aN` is the N-th one.
#[derive(Default)]
struct History {
    /// For each state: whether its change was passed on.
    passed: Vec<bool>,
    /// The newest state that the plugin acknowledged.
    acknowledged: Option<usize>,
    disk: BTreeMap<ObjectKey, Receipt>,
}

impl History {
    fn rv(state: usize) -> String {
        format!("a{state:03}")
    }

    fn play(&mut self, receipts: &Receipts, step: Step) {
        match step {
            Step::Change { is_withheld } => {
                self.passed.push(!is_withheld);
                let new = self.passed.len() - 1;
                if is_withheld && new > 0 {
                    withhold(receipts, &Self::rv(new - 1), &Self::rv(new));
                }
            }
            Step::Begin => {
                if let Some(state) = self.waiting().next() {
                    begin(receipts, &Self::rv(state));
                }
            }
            Step::Acknowledge { is_old } => {
                let state = if is_old { self.waiting().next() } else { self.waiting().next_back() };
                if let Some(state) = state {
                    self.acknowledged = Some(state);
                    acknowledge(receipts, &Self::rv(state));
                }
            }
            Step::Write { fails } => {
                let Some(batch) = receipts.take(usize::MAX) else { return };
                if fails {
                    return receipts.put_back(batch);
                }
                for Rows { source, writes, .. } in batch.rows {
                    let waiting = writes.into_iter().filter_map(|(key, write)| self.write(key, write));
                    receipts.wait(&source, waiting.collect::<Vec<_>>());
                }
            }
        }
    }

    /// The states that were passed on and are newer than the acknowledged one.
    fn waiting(&self) -> impl DoubleEndedIterator<Item = usize> {
        let first = self.acknowledged.map_or(0, |newest| newest + 1);
        (first..self.passed.len()).filter(move |state| self.passed[*state])
    }

    fn write(&mut self, key: ObjectKey, write: Write) -> Option<(ObjectKey, Skip)> {
        match write {
            Write::Begun(receipt) => {
                self.disk.entry(key).or_insert(receipt);
                None
            }
            Write::State(receipt) => self.disk.insert(key, receipt),
            Write::Skip(skip) if self.disk.get(&key) == Some(&skip.from) => self.disk.insert(key, skip.to),
            Write::Skip(skip) => return Some((key, skip)),
            Write::Gone => self.disk.remove(&key),
        };
        None
    }

    /// The acknowledged state on disk.
    fn on_disk(&self) -> Option<usize> {
        let row = self.disk.get(&web().key)?;
        let state = row.resource_version().strip_prefix('a')?.parse().ok()?;
        (*row == receipt(&Self::rv(state))).then_some(state)
    }

    /// Returns true if the plugin acknowledged every change that was passed on up to this state.
    fn is_handled(&self, state: usize) -> bool {
        let newest = (0..=state).rev().find(|earlier| self.passed[*earlier]);
        newest <= self.acknowledged
    }
}

proptest! {
    /// A receipt never claims more than what the plugin acknowledged; and when all is acknowledged and written, it is that of
    /// the newest state, so that a restart delivers nothing.
    #[test]
    fn a_receipt_is_true_at_each_moment_and_complete_in_the_end(steps in vec(step(), 1..40)) {
        let (receipts, mut history) = (kept(), History::default());
        history.passed.push(true);
        for step in steps {
            history.play(&receipts, step);
            if let Some(state) = history.on_disk() {
                prop_assert!(history.is_handled(state), "a{state} is on disk, {:?} is acknowledged", history.acknowledged);
            }
        }
        history.play(&receipts, Step::Acknowledge { is_old: false });
        history.play(&receipts, Step::Write { fails: false });
        prop_assert_eq!(history.on_disk(), Some(history.passed.len() - 1));
        prop_assert_eq!(receipts.unwritten(), 0);
    }
}
