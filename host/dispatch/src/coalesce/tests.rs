use std::time::{Duration, Instant};

use informer_types::{Cause, Notification};

use super::*;
use crate::testing::{Held, added, deleted, text, updated};

fn entry(notification: Notification) -> Entry {
    Entry::new(notification, Instant::now()).1
}

/// `+a1` and so on as [`text`] writes it, live unless a cause follows: `+a1 initial`. An addition that was
/// attempted is `+a1!`.
fn parse(notation: &str) -> Entry {
    let (change, cause) = notation.split_once(' ').unwrap_or((notation, "live"));
    let cause = [Cause::Live, Cause::Initial, Cause::Relist, Cause::Resync, Cause::Replay]
        .into_iter()
        .find(|candidate| candidate.as_str() == cause)
        .unwrap();
    let attempted = change.ends_with('!');
    let change = change.trim_end_matches('!');
    let mut entry = entry(match change.split_once('>') {
        Some((old, new)) => updated("web", old, new, cause),
        None if change.starts_with('+') => added("web", &change[1..], cause),
        None => Notification {
            cause,
            ..deleted("web", change[1..].trim_end_matches('?'), !change.ends_with('?'))
        },
    });
    if attempted {
        entry.unseen = false;
        entry.attempts = 3;
    }
    entry
}

fn write(entry: &Entry) -> String {
    let cause = if entry.cause == Cause::Live { String::new() } else { format!(" {}", entry.cause) };
    format!("{}{cause}", text(&entry.change))
}

fn merge(earlier: &str, later: &str) -> String {
    let (earlier, later, _) = coalesce(parse(earlier), parse(later));
    earlier.iter().chain(&later).map(write).collect::<Vec<_>>().join(", ")
}

fn one(earlier: Entry, later: Entry) -> (Entry, Merge, bool) {
    match coalesce(earlier, later) {
        (Some(entry), None, Effect::Merged { merge, newer }) => (entry, merge, newer),
        other => panic!("not one entry: {other:?}"),
    }
}

#[test]
fn every_pair_of_pending_entries_merges_as_the_table_defines() {
    for (earlier, later, expected) in [
        // An addition.
        ("+a1", "a1>a2", "+a2"),
        ("+a1", "-a1", ""),
        ("+a1", "-a1?", ""),
        ("+a1!", "-a1", "-a1"),
        ("+a1 replay", "-a1", "-a1"),
        ("+a1!", "a1>a2", "+a2"),
        ("+a1", "+a1", "+a1"),
        ("+a1", "+a2", "+a2"),
        // An update.
        ("a1>a2", "a2>a3", "a1>a3"),
        ("a1>a2", "b3>b4", "b3>b4"),
        ("a1>a2", "-a2", "-a2"),
        ("a1>a2", "-a2?", "-a2?"),
        ("a1>a2", "+a2 replay", "+a2 replay"),
        // A deletion.
        ("-a1", "+b1", "-a1, +b1"),
        ("-a1?", "+b1", "-a1?, +b1"),
        ("-a1", "b1>b2", "-a1, b1>b2"),
        ("-a1", "a2>a3", "-a1, a2>a3"),
        ("-a1", "b1>b1 resync", "-a1, b1>b1 resync"),
        ("-a1", "-a1", "-a1"),
        ("-a1", "-a2", "-a1"),
        ("-a1?", "-a2?", "-a1?"),
        ("-a1?", "-a2", "-a2"),
        ("-a1?", "-b1", "-a1?"),
        ("-a2", "-a1?", "-a2"),
        ("-a1", "a1>a1 resync", "-a1"),
    ] {
        assert_eq!(merge(earlier, later), expected, "{earlier} then {later}");
    }
}

#[test]
fn the_cause_is_the_additions_own_or_the_deletions_own_or_the_stronger_one() {
    for (earlier, later, expected) in [
        ("+a1 initial", "a1>a2", "+a2 initial"),
        ("+a1", "a1>a2 relist", "+a2"),
        ("+a1 relist", "a1>a2", "+a2 relist"),
        ("+a1 initial", "+a1 replay", "+a1 initial"),
        ("+a1 replay", "+a1 initial", "+a1 initial"),
        ("a1>a1 resync", "a1>a2", "a1>a2"),
        ("a1>a2", "a2>a3 relist", "a1>a3"),
        ("a1>a2 relist", "a2>a3", "a1>a3"),
        ("a1>a1 resync", "a1>a2 relist", "a1>a2 relist"),
        ("a1>a1 resync", "a1>a1 resync", "a1>a1 resync"),
        ("a1>a2 replay", "a2>a3 relist", "a1>a3 relist"),
        ("a1>a2", "-a2? relist", "-a2? relist"),
        ("a1>a2 relist", "-a2", "-a2"),
        ("-a1? relist", "-a1", "-a1"),
        ("-a1", "+b1 relist", "-a1, +b1 relist"),
    ] {
        assert_eq!(merge(earlier, later), expected, "{earlier} then {later}");
    }
}

/// A resync merges into any pending notification.
#[test]
fn a_resync_merges_into_any_pending_notification() {
    for (earlier, resync, expected) in [
        ("+a1 initial", "a1>a1 resync", "+a1 initial"),
        ("a1>a2", "a2>a2 resync", "a1>a2"),
        ("a1>a2 relist", "a2>a2 resync", "a1>a2 relist"),
    ] {
        let (entry, merge, newer) = one(parse(earlier), parse(resync));

        assert_eq!((write(&entry).as_str(), merge, newer), (expected, Merge::Resync, false), "{earlier}");
    }
}

#[test]
fn a_notification_behind_a_deletion_is_unseen_even_if_it_is_a_replay() {
    for later in ["+b1", "+b1 replay", "b1>b2", "b1>b1 resync"] {
        let (_, Some(behind), _) = coalesce(parse("-a1"), parse(later)) else {
            panic!("a deletion and what follows it merged");
        };

        assert!(behind.unseen, "{later}");
        let cancelled = coalesce(behind, parse("-b2"));
        assert!(
            matches!(cancelled, (None, None, Effect::Cancelled { .. })),
            "{later} then its deletion: {cancelled:?}"
        );
    }
}

#[test]
fn an_unseen_addition_stays_unseen_while_it_grows_and_a_seen_one_stays_seen() {
    for (earlier, later, unseen) in [
        ("+a1", "a1>a2", true),
        ("+a1", "+a1 replay", true),
        ("+a1!", "a1>a2", false),
        ("+a1!", "+a1", false),
        ("a1>a2", "+a2", false),
        ("a1>a2", "a2>a3", false),
    ] {
        assert_eq!(one(parse(earlier), parse(later)).0.unseen, unseen, "{earlier} then {later}");
    }
}

#[test]
fn newer_means_another_state_or_a_deletion_and_not_a_repetition() {
    for (earlier, later, newer) in [
        ("+a1", "a1>a2", true),
        ("+a1!", "+a1 replay", false),
        ("a1>a2", "a2>a3", true),
        ("a1>a2", "+a2 replay", false),
        ("a1>a2", "-a2", true),
        ("-a1", "-a1", false),
        ("-a1?", "-a1", false),
    ] {
        assert_eq!(one(parse(earlier), parse(later)).2, newer, "{earlier} then {later}");
    }
}

#[test]
fn the_attempts_go_on_with_newer_state_but_a_deletion_starts_again() {
    let attempted = |notation| Entry { attempts: 3, counted: true, unseen: false, ..parse(notation) };
    for (earlier, later, attempts) in [
        ("+a1", "a1>a2", 3),
        ("a1>a2", "a2>a3", 3),
        ("a1>a2", "a2>a2 resync", 3),
        ("a1>a2", "-a2", 0),
        ("+a1", "-a1", 0),
        ("-a1", "-a1", 3),
    ] {
        let entry = one(attempted(earlier), parse(later)).0;
        assert_eq!((entry.attempts, entry.counted), (attempts, attempts > 0), "{earlier} then {later}");
    }
}

#[test]
fn the_times_are_those_of_the_oldest() {
    let start = Instant::now();
    let at = |seconds, notation| Entry {
        observed: (start + Duration::from_secs(seconds)).into(),
        queued: start + Duration::from_secs(seconds + 1),
        ..parse(notation)
    };

    let (entry, ..) = one(at(5, "a1>a2"), at(9, "a2>a3"));

    assert_eq!(entry.observed.at, start + Duration::from_secs(5));
    assert_eq!(entry.queued, start + Duration::from_secs(6));
}

#[test]
fn every_sync_token_is_held_until_the_merged_entry_goes() {
    let held = Held::default();
    let with_token = |notification| entry(Notification { initial: Some(held.token()), ..notification });

    let (merged, ..) =
        one(with_token(added("web", "a1", Cause::Initial)), with_token(added("web", "a1", Cause::Replay)));
    let (merged, ..) = one(merged, parse("a1>a2"));
    assert_eq!(held.count(), 2);

    drop(merged);
    assert_eq!(held.count(), 0);
}

#[test]
fn an_entry_with_anything_live_in_it_belongs_to_the_live_lane() {
    for (earlier, later, live) in [
        ("+a1 initial", "a1>a2", true),
        ("a1>a2", "a2>a3 relist", true),
        ("a1>a1 resync", "a1>a2 relist", false),
    ] {
        assert_eq!(one(parse(earlier), parse(later)).0.live, live, "{earlier} then {later}");
    }
}
