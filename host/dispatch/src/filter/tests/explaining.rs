//! The steps that a filter writes.

use informer_types::Step;

use super::*;
use crate::testing::Steps;

/// The steps that a filter writes for a few notifications of one object.
fn written(config: FilterConfig, offered: impl IntoIterator<Item = (Change, Cause)>) -> Vec<Step> {
    let steps = Steps::default();
    let filter = Filter::traced(config, Received::default(), steps.tracer());
    let source = Source::new("v1/pods".parse().unwrap());
    for (change, cause) in offered {
        let source = source.clone();
        filter.offer(Notification { source, change, cause, initial: None, observed: Instant::now().into() });
    }
    steps.take()
}

fn labels() -> FilterConfig {
    FilterConfig { labels: "app=web".parse().unwrap(), ..FilterConfig::default() }
}

fn passed(offered: &'static str, verb: &'static str) -> Step {
    Step::Passed { offered, verb, cause: Cause::Live }
}

fn dropped(verb: &'static str, by: &'static str) -> Step {
    Step::Suppressed { verb, cause: Cause::Live, by }
}

/// A step names the offered verb and the mapped one, or the condition that suppressed the notification (P-21).
#[test]
fn a_step_names_the_offered_and_the_mapped_verb_or_the_condition() {
    let (out, web, db) = (state("a1", "db", "1"), state("a2", "web", "1"), state("a3", "db", "1"));
    let update =
        |old: &Arc<Object>, new: &Arc<Object>| Change::Updated { old: old.clone(), new: new.clone() };

    let steps = written(
        labels(),
        [
            (Change::Added { object: out.clone() }, Cause::Live),
            (update(&out, &web), Cause::Live),
            (update(&web, &web), Cause::Live),
            (update(&web, &db), Cause::Live),
            (Change::Deleted { object: db, final_state_known: true }, Cause::Live),
        ],
    );

    assert_eq!(
        steps,
        [
            dropped("add", "labels"),
            passed("update", "add"),
            passed("update", "update"),
            passed("update", "delete"),
            dropped("delete", "labels"),
        ]
    );
}

#[test]
fn each_condition_is_named_by_its_key() {
    let open = FilterConfig::default;
    let (old, new) = (state("a1", "web", "1"), state("a2", "web", "1"));
    let update = Change::Updated { old, new: new.clone() };
    let added = Change::Added { object: new };
    let no_updates = Events { update: false, ..Events::ALL };
    for (config, change, cause, by) in [
        (FilterConfig { initial: Initial::Skip, ..open() }, &added, Cause::Initial, "initial"),
        (FilterConfig { events: no_updates, ..open() }, &update, Cause::Live, "events"),
        (FilterConfig { fields: "spec.n=2".parse().unwrap(), ..open() }, &added, Cause::Live, "fields"),
        (FilterConfig { annotations: "auto".parse().unwrap(), ..open() }, &added, Cause::Live, "annotations"),
        (FilterConfig { changed: changed(&["/spec"]), ..open() }, &update, Cause::Live, "changed"),
        (
            FilterConfig { when: Some("object.spec.n > 1".parse().unwrap()), ..open() },
            &added,
            Cause::Live,
            "when",
        ),
        (
            FilterConfig { when: Some("event == 'delete'".parse().unwrap()), ..open() },
            &added,
            Cause::Live,
            "when",
        ),
    ] {
        let steps = written(config, [(change.clone(), cause)]);
        assert_eq!(steps, [Step::Suppressed { verb: change.verb(), cause, by }]);
    }
}

/// An expression without an answer records the reason and lets the notification pass (D-9).
#[test]
fn an_expression_without_an_answer_records_the_reason_and_lets_the_notification_pass() {
    let when = FilterConfig { when: Some("object.spec.m > 1".parse().unwrap()), ..FilterConfig::default() };

    let steps = written(when, [(Change::Added { object: state("a1", "web", "1") }, Cause::Live)]);

    let [Step::Undecided { why }, second] = &steps[..] else { panic!("{steps:?}") };
    assert!(why.starts_with("when: ") && why.contains('m'), "{why}");
    assert_eq!(*second, passed("add", "add"));
}

#[test]
fn a_filter_without_conditions_decides_nothing() {
    let added = Change::Added { object: state("a1", "web", "1") };

    assert!(written(FilterConfig::default(), [(added, Cause::Live)]).is_empty());
}

#[test]
fn the_selection_of_an_object_is_checked_without_counting() {
    let filter = Filter::new(labels(), Received::default());
    assert_eq!(filter.excludes(&state("a1", "db", "1")), Some("labels"));
    assert_eq!(filter.excludes(&state("a1", "web", "1")), None);
    assert_eq!(filter.stats(), FilterStats::default());
}
