//! A subscription that begins with what its plugin acknowledged in an earlier process.

use informer_types::{LabelSelector, SyncToken};

use super::*;
use crate::{Queue, QueueConfig, Settlement, receipts::Write, testing::Held};

/// A subscription to what changed, whose plugin acknowledged this state of `shop/web`.
struct Recalling {
    subscription: Subscription,
    receipts: Receipts,
}

// === impl Recalling ===

impl Recalling {
    fn new(config: FilterConfig, acknowledged: Option<&Arc<Object>>) -> Self {
        let source = Source::new("v1/pods".parse().unwrap());
        let receipts = Receipts::default();
        receipts.keep([source.clone()]);
        receipts.take(usize::MAX).unwrap();
        let recalled = acknowledged.map(|object| (object.key(), Receipt::of(object).unwrap()));
        let recalled = recalled.into_iter().collect();
        let Subscription { filter, received } =
            Subscription::new(FilterConfig { initial: Initial::Changed, ..config });
        let filter = filter.recalling(source, receipts.clone(), recalled);
        Self { subscription: Subscription { filter, received }, receipts }
    }

    fn of_web(acknowledged: &Arc<Object>) -> Self {
        let labels = "app=web".parse().unwrap();
        Self::new(FilterConfig { labels, ..FilterConfig::default() }, Some(acknowledged))
    }

    /// A subscription that begins to keep receipts, or goes on, in place of another one.
    fn in_place_of(before: &Filter<Received>) -> Self {
        let labels = "app=web".parse().unwrap();
        let recalling = Self::new(FilterConfig { labels, ..FilterConfig::default() }, None);
        recalling.subscription.filter.continues(before);
        recalling
    }

    fn receives(&self, change: Change, cause: Cause) -> Vec<String> {
        self.subscription.receives(change, cause)
    }

    /// The first list is complete.
    fn ends(&self) -> Vec<String> {
        self.subscription.filter.end_recall(|_| false);
        std::mem::take(&mut *self.subscription.received.0.lock())
    }

    fn stats(&self) -> FilterStats {
        self.subscription.filter.stats()
    }

    /// The receipt that is to be written.
    fn writes(&self) -> Option<Write> {
        written(&self.receipts).pop()
    }
}

/// The receipts that are to be written.
fn written(receipts: &Receipts) -> Vec<Write> {
    let rows = receipts.take(usize::MAX).map(|batch| batch.rows).unwrap_or_default();
    rows.into_iter().flat_map(|rows| rows.writes).map(|(_, write)| write).collect()
}

fn receipt(object: &Object) -> Receipt {
    Receipt::of(object).unwrap()
}

/// What the plugin acknowledged in an earlier process is not delivered again (D-17).
#[test]
fn an_object_that_did_not_change_is_not_delivered_and_its_next_change_is_an_update() {
    let (one, two) = (state("a1", "web", "1"), state("a2", "web", "1"));
    for config in
        [FilterConfig::default(), FilterConfig { labels: "app=web".parse().unwrap(), ..Default::default() }]
    {
        let recalling = Recalling::new(config, Some(&one));
        assert!(recalling.subscription.filter.recalls());

        assert_eq!(recalling.receives(add(&one), Cause::Initial), NOTHING);
        assert!(!recalling.subscription.filter.recalls());
        assert_eq!(recalling.ends(), NOTHING);
        assert_eq!(recalling.receives(update(&one, &two), Cause::Live), ["a1>a2"]);
        assert_eq!(recalling.receives(delete(&two), Cause::Live), ["-a2"]);
        assert_eq!((recalling.stats().suppressed.initial, recalling.stats().gone), (1, 0));
    }
}

#[test]
fn an_object_that_changed_or_is_new_is_an_addition_with_the_cause_initial() {
    let (one, two) = (state("a1", "web", "1"), state("a2", "web", "1"));
    assert_eq!(Recalling::of_web(&one).receives(add(&two), Cause::Initial), ["+a2 initial"]);
    assert_eq!(
        Recalling::of_web(&one).receives(add(&two), Cause::Live),
        ["+a2 initial"],
        "the first list was that of a server that is behind"
    );
    let new = Recalling::new(FilterConfig::default(), None);
    assert_eq!(new.receives(add(&one), Cause::Initial), ["+a1 initial"]);
    assert_eq!(new.receives(delete(&one), Cause::Live), ["-a1"]);
}

/// If the labels of such a namespace cannot be read, its objects must not leave the filter (D-2).
#[test]
fn a_filter_knows_the_namespaces_of_the_objects_that_the_plugin_may_know() {
    let one = state("a1", "web", "1");
    let known = |recalling: &Recalling, cached: &[&Arc<Object>]| {
        let cached: Vec<_> = cached.iter().copied().cloned().collect();
        recalling.subscription.filter.known_namespaces(|| cached).into_iter().collect::<Vec<_>>()
    };
    let shop: Arc<str> = "shop".into();

    let recalling = Recalling::of_web(&one);
    assert_eq!(known(&recalling, &[]), [Arc::clone(&shop)], "from an earlier process");
    recalling.receives(add(&one), Cause::Initial);
    assert_eq!(known(&recalling, &[]), [Arc::clone(&shop)], "inside");
    recalling.receives(delete(&one), Cause::Live);
    assert!(known(&recalling, &[&one]).is_empty());
    let new = Recalling::new(FilterConfig::default(), None);
    assert_eq!(known(&new, &[&one]), [shop], "everything passes");
}

/// With a receipt, the next process delivers the deletion of the object (D-17).
#[test]
fn an_object_that_the_plugin_knows_has_a_receipt_as_soon_as_receipts_are_kept() {
    let (one, out) = (state("a1", "web", "1"), state("a1", "db", "1"));
    for (object, expected) in [(&one, Some(Write::Begun(receipt(&one).begun()))), (&out, None)] {
        let labels = "app=web".parse().unwrap();
        let before = Subscription::new(FilterConfig { labels, ..FilterConfig::default() });
        before.receives(add(object), Cause::Initial);
        let recalling = Recalling::in_place_of(&before.filter);

        recalling.subscription.filter.succeed(&before.filter, object);

        assert_eq!(recalling.writes(), expected);
        let again = Recalling::in_place_of(&recalling.subscription.filter);
        again.subscription.filter.succeed(&recalling.subscription.filter, object);
        assert_eq!(again.writes(), None, "the receipts go on");
    }
}

#[test]
fn an_object_that_is_gone_is_a_deletion_of_what_is_known() {
    let one = state("a1", "web", "1");
    let recalling = Recalling::of_web(&one);

    assert_eq!(recalling.ends(), ["-a1? relist"]);
    assert_eq!(recalling.ends(), NOTHING);
    assert_eq!(recalling.stats().gone, 1);

    let live = Recalling::of_web(&one);
    let moved = state("a2", "db", "1");
    assert_eq!(live.receives(delete(&moved), Cause::Live), ["-a2"], "its last state does not match");
    assert_eq!(live.ends(), NOTHING);
}

/// Another UID under the same name is another object (D-6).
#[test]
fn an_object_that_was_replaced_is_a_deletion_and_an_addition() {
    let (one, two, other) = (state("a1", "web", "1"), state("b2", "web", "1"), state("b2", "db", "1"));

    assert_eq!(Recalling::of_web(&one).receives(add(&two), Cause::Initial), ["-a1? relist", "+b2 initial"]);
    assert_eq!(Recalling::of_web(&one).receives(add(&other), Cause::Initial), ["-a1? relist"]);
    assert_eq!(Recalling::of_web(&one).receives(delete(&two), Cause::Live), ["-a1? relist", "-b2"]);
}

#[test]
fn an_object_that_left_the_filter_is_a_deletion_and_one_that_entered_is_an_addition() {
    let (one, moved) = (state("a1", "web", "1"), state("a2", "db", "1"));
    let recalling = Recalling::of_web(&one);
    assert_eq!(recalling.receives(add(&moved), Cause::Initial), ["-a2? initial"]);
    assert_eq!(recalling.receives(delete(&moved), Cause::Live), NOTHING);

    // The filter changed while the host was down, and the object did not.
    let db = FilterConfig { labels: "app=db".parse().unwrap(), ..FilterConfig::default() };
    assert_eq!(Recalling::new(db.clone(), Some(&one)).receives(add(&one), Cause::Initial), ["-a1? initial"]);
    assert_eq!(Recalling::new(db, None).receives(add(&moved), Cause::Initial), ["+a2 initial"]);
}

#[test]
fn an_expired_receipt_holds_no_object_back() {
    let one = state("a1", "web", "1");
    let recalling = Recalling::of_web(&one);

    recalling.subscription.filter.expire_recalled();

    assert_eq!(recalling.receives(add(&one), Cause::Initial), ["+a1 initial"]);
}

#[test]
fn a_changed_filter_keeps_the_receipts_that_are_not_compared_yet() {
    let one = state("a1", "web", "1");
    let (before, after) = (Recalling::of_web(&one), Recalling::new(FilterConfig::default(), None));

    after.subscription.filter.continues(&before.subscription.filter);

    assert_eq!(before.ends(), NOTHING);
    assert_eq!(after.receives(add(&one), Cause::Initial), NOTHING);
}

#[test]
fn the_first_list_is_not_over_before_the_deletions_of_what_is_gone() {
    let (one, held) = (state("a1", "web", "1"), Held::default());
    let recalling = Recalling::of_web(&one);
    recalling.subscription.filter.listed(held.token());
    assert_eq!(held.count(), 1);
    recalling.ends();
    assert_eq!(held.count(), 0);

    recalling.subscription.filter.listed(SyncToken::clone(&held.token()));
    assert_eq!(held.count(), 0, "nothing is left to compare");
}

/// The first list came from a server that is behind. The watch or a replay reports the last object that the plugin knows. A replay
/// has a second token.
#[test]
fn the_first_list_is_over_when_the_last_object_is_delivered_or_withheld() {
    let (one, two) = (state("a1", "web", "1"), state("a2", "web", "1"));
    for (now, pending, is_replay) in [(&one, 0, false), (&two, 1, false), (&one, 0, true), (&two, 1, true)] {
        let source = Source::new("v1/pods".parse().unwrap());
        let (held, own, queue) = (Held::default(), Held::default(), Queue::new(&QueueConfig::default()));
        let recalled = HashMap::from([(one.key(), receipt(&one))]);
        let config = FilterConfig { initial: Initial::Changed, ..FilterConfig::default() };
        let filter = Filter::new(config, queue.clone()).recalling(source, Receipts::default(), recalled);
        filter.listed(held.token());

        let cause = if is_replay { Cause::Replay } else { Cause::Live };
        let initial = is_replay.then(|| own.token());
        filter.offer(Notification { initial, ..crate::testing::notification(add(now), cause) });

        assert_eq!((filter.recalls(), held.count(), queue.stats().pending), (false, pending, pending));
        if let Some((lease, _)) = queue.take() {
            lease.settle(Settlement::Acknowledged);
        }
        assert_eq!((held.count(), own.count()), (0, 0));
    }
}

#[test]
fn an_object_that_exists_and_cannot_be_decoded_is_not_gone() {
    let one = state("a1", "web", "1");
    let recalling = Recalling::of_web(&one);

    recalling.subscription.filter.end_recall(|key| *key == one.key());

    assert_eq!(recalling.receives(add(&one), Cause::Live), NOTHING, "it decodes again");
}

#[test]
fn the_newest_version_shows_when_an_informer_has_seen_everything() {
    let recalling = Recalling::new(FilterConfig::default(), Some(&object("70", "{}")));
    assert_eq!(recalling.subscription.filter.newest_recalled::<u64>(), Some(70));
    recalling.ends();
    assert_eq!(recalling.subscription.filter.newest_recalled::<u64>(), None);
}

#[test]
fn a_change_that_is_withheld_moves_the_receipt_and_one_of_another_object_does_not() {
    let spec = FilterConfig { changed: changed(&["/spec"]), ..FilterConfig::default() };
    let (one, two, three) = (state("a1", "web", "1"), state("a2", "web", "1"), state("a3", "web", "2"));
    let recalling = Recalling::new(spec, None);
    recalling.receives(add(&one), Cause::Initial);
    assert_eq!(recalling.writes(), None, "nothing is acknowledged by that");

    assert_eq!(recalling.receives(update(&one, &two), Cause::Live), NOTHING);
    let skip = crate::receipts::Skip { from: receipt(&one), to: receipt(&two) };
    assert_eq!(recalling.writes(), Some(Write::Skip(skip)));
    assert_eq!(recalling.receives(update(&two, &three), Cause::Live), ["a2>a3"]);
    assert_eq!(recalling.writes(), None);

    let outside =
        Recalling::new(FilterConfig { labels: "app=db".parse().unwrap(), ..Default::default() }, None);
    outside.receives(update(&one, &two), Cause::Live);
    outside.receives(delete(&two), Cause::Live);
    assert_eq!(outside.writes(), None);
}

#[test]
fn the_receipt_of_an_object_goes_with_a_deletion_that_is_withheld() {
    let events = Events { delete: false, ..Events::ALL };
    let one = state("a1", "web", "1");
    for gone in [
        (|recalling: &Recalling, one: &Arc<Object>| recalling.receives(delete(one), Cause::Live))
            as fn(&_, &_) -> _,
        |recalling: &Recalling, _: &Arc<Object>| recalling.ends(),
    ] {
        let recalling = Recalling::new(FilterConfig { events, ..FilterConfig::default() }, Some(&one));
        assert_eq!(gone(&recalling, &one), NOTHING);
        assert_eq!(recalling.writes(), Some(Write::Gone));
    }
}

/// The plugin has to receive the deletion of such an object after a restart, too.
#[test]
fn an_object_whose_addition_is_withheld_has_a_receipt_if_its_deletion_may_pass() {
    let one = state("a1", "web", "1");
    let begun = Some(Write::Begun(receipt(&one).begun()));
    let when = |text: &str| FilterConfig { when: Some(text.parse().unwrap()), ..FilterConfig::default() };
    let events = |events| FilterConfig { events, ..FilterConfig::default() };
    for (config, expected) in [
        (when("event == 'delete'"), begun.clone()),
        (events(Events { add: false, update: false, delete: true }), begun),
        (events(Events { add: false, update: true, delete: false }), None),
        (when("object.spec.n > 100"), None),
    ] {
        let recalling = Recalling::new(config, None);
        assert_eq!(recalling.receives(add(&one), Cause::Live), NOTHING);
        assert_eq!(recalling.writes(), expected);
    }
}

#[test]
fn the_deletion_of_an_object_whose_addition_was_withheld_is_delivered_after_a_restart() {
    let one = state("a1", "web", "1");
    let config = FilterConfig { when: Some("event == 'delete'".parse().unwrap()), ..FilterConfig::default() };

    let restarted = Recalling::new(config, Some(&one));

    assert_eq!(restarted.ends(), ["-a1? relist"]);
}

/// The addition is withheld at once, while the deletion before it waits in the queue.
#[test]
fn an_object_whose_addition_is_withheld_has_a_receipt_once_an_earlier_deletion_is_acknowledged() {
    let (one, other) = (state("a1", "web", "1"), state("b1", "web", "1"));
    let (outside, back) = (state("a2", "db", "1"), state("a3", "web", "1"));
    let is_created_again = ([delete(&one), add(&other)], &other);
    let leaves_and_returns = ([update(&one, &outside), update(&outside, &back)], &back);
    let events = Events { add: false, update: false, delete: true };
    let labels: LabelSelector = "app=web".parse().unwrap();
    for (changes, present) in [is_created_again, leaves_and_returns] {
        for is_written_meanwhile in [false, true] {
            let source = Source::new("v1/pods".parse().unwrap());
            let receipts = Receipts::default();
            receipts.keep([source.clone()]);
            let queue = Queue::builder(&QueueConfig::default()).with_receipts(receipts.clone()).build();
            let config = FilterConfig { events, labels: labels.clone(), ..FilterConfig::default() };
            let filter =
                Filter::new(config, queue.clone()).recalling(source, receipts.clone(), HashMap::new());
            filter.offer(crate::testing::notification(add(&one), Cause::Live));
            for change in changes.clone() {
                filter.offer(crate::testing::notification(change, Cause::Live));
            }
            if is_written_meanwhile {
                written(&receipts);
            }

            queue.take().unwrap().0.settle(Settlement::Acknowledged);

            assert_eq!(written(&receipts), [Write::State(receipt(present).begun())]);
            assert!(queue.take().is_none());
        }
    }
}
