//! Tests of the comparison itself: which deviations it accepts and which it finds.

use std::time::{Duration, Instant};

use super::{difference::Difference, *};
use crate::oracle::journal::{State, What, Why};

const ID: &str = "shop/web";

fn id() -> Id {
    (Resource::Pods, ID.into())
}

fn life(uid: &str, versions: &[u64], ended: bool) -> Life {
    Life { uid: uid.into(), versions: versions.into(), ended, marked: false }
}

fn truth(lives: &[Life]) -> Truth {
    let mut truth = Truth::default();
    for life in lives {
        life.versions.iter().for_each(|version| truth.wrote(&id(), &life.uid, *version));
        if life.ended {
            truth.ended(&id(), life.marked);
        }
    }
    truth
}

fn state(uid: &str, version: u64) -> State {
    State { uid: uid.into(), version }
}

fn add(uid: &str, version: u64, why: Why) -> Call {
    Call { id: id(), what: What::Add(state(uid, version)), why }
}

fn update(uid: &str, old: u64, new: u64, why: Why) -> Call {
    Call { id: id(), what: What::Update { old: state(uid, old), new: state(uid, new) }, why }
}

fn delete(uid: &str, version: u64, known: bool, why: Why) -> Call {
    Call { id: id(), what: What::Delete { state: state(uid, version), known }, why }
}

/// The cause of notifications from the n-th list.
fn relist(number: u64) -> Why {
    let at = *START.get_or_init(Instant::now) + Duration::from_secs(number);
    Why::Listed { initial: false, at }
}

static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
const UNSAID: Why = Why::Unsaid { initial: false };

fn side(calls: Vec<Call>, lists: u64) -> Side {
    Side { calls: [(Resource::Pods, calls)].into(), lists: [(Resource::Pods, lists)].into() }
}

/// The complete notifications of one life with three states.
fn whole(why: Why) -> Vec<Call> {
    vec![add("a", 1, why), update("a", 1, 2, why), update("a", 2, 3, why)]
}

/// Compares these calls of ours with a valid story of client-go.
fn found(lives: &[Life], calls: Vec<Call>, lists: u64) -> String {
    let notified = |life: &Life| {
        let states = life.versions.windows(2).map(|pair| update(&life.uid, pair[0], pair[1], UNSAID));
        let end = life.ended.then(|| delete(&life.uid, life.versions.last().unwrap() + 1, true, UNSAID));
        [add(&life.uid, life.versions[0], UNSAID)].into_iter().chain(states).chain(end).collect::<Vec<_>>()
    };
    let theirs = side(lives.iter().flat_map(notified).collect(), 1);
    let (_, findings) = compare(&truth(lives), &theirs, &side(calls, lists));
    findings.into_iter().map(|it| it.text).collect::<Vec<_>>().join("; ")
}

#[test]
fn equal_stories_have_no_difference_and_no_finding() {
    let lives = [life("a", &[1, 2, 3], false)];

    let (differences, findings) =
        compare(&truth(&lives), &side(whole(UNSAID), 1), &side(whole(Why::Live), 1));

    assert_eq!((differences, findings.len()), (Differences::default(), 0));
}

#[test]
fn documented_differences_are_counted_by_name() {
    let lives = [life("a", &[1, 2, 3], true), life("b", &[5, 6], false)];
    let theirs = vec![
        add("a", 1, UNSAID),
        update("a", 1, 2, UNSAID),
        update("a", 2, 2, UNSAID),
        Call { id: id(), what: What::Update { old: state("a", 2), new: state("b", 5) }, why: UNSAID },
        update("b", 5, 6, UNSAID),
    ];
    let mut ours = whole(Why::Live);
    ours.extend([delete("a", 4, true, Why::Live), add("b", 6, relist(1))]);

    let (differences, findings) = compare(&truth(&lives), &side(theirs, 2), &side(ours, 2));

    assert!(findings.is_empty(), "{findings:?}");
    let mut expected = Differences::default();
    expected.found(Difference::UnchangedOnRelist, 1);
    expected.found(Difference::ReplacedUnderOneName, 1);
    expected.found(Difference::StateMissedByClientGo, 1);
    expected.found(Difference::StateMissedByUs, 1);
    assert_eq!(differences, expected);
}

#[test]
fn a_missing_state_that_no_list_explains_is_found() {
    let lives = [life("a", &[1, 2, 3], false)];
    let skips = vec![add("a", 1, Why::Live), update("a", 1, 3, Why::Live)];

    let lost = "ours: version 2 was never notified, and no list explains that";
    assert_eq!(found(&lives, skips.clone(), 0), lost);
    // A list with the object would have delivered version 2, or came before version 2.
    assert_eq!(found(&lives, skips, 9), lost);
    let listed = vec![add("a", 1, relist(1)), update("a", 1, 3, Why::Live)];
    assert_eq!(found(&lives, listed, 1), lost);
    let passed_over = vec![add("a", 1, Why::Live), update("a", 1, 3, relist(1))];
    assert_eq!(found(&lives, passed_over, 1), "");
}

#[test]
fn a_missing_life_is_found_unless_a_list_passed_over_it() {
    let lives = [life("a", &[1, 2], true), life("b", &[5], false)];

    assert!(!found(&lives, vec![add("b", 5, Why::Live)], 0).is_empty());
    assert!(found(&lives, vec![add("b", 5, relist(1))], 1).is_empty());
    // The time of a list without notifications is unknown.
    assert!(found(&lives, vec![add("b", 5, Why::Live)], 1).is_empty());
}

#[test]
fn a_missing_deletion_and_a_stale_end_are_found() {
    let gone = [life("a", &[1, 2, 3], true)];
    assert!(found(&gone, whole(Why::Live), 0).contains("the story ends with"));

    let there = [life("a", &[1, 2, 3, 4], false)];
    assert!(found(&there, whole(Why::Live), 5).contains("the story ends with"));
}

#[test]
fn each_breach_of_the_contract_is_found() {
    let lives = [life("a", &[1, 2, 3], true), life("b", &[5, 6], false)];
    let broken: [(&str, Vec<Call>); 9] = [
        ("already exists", vec![add("a", 1, Why::Live), add("a", 2, Why::Live)]),
        ("another state", vec![add("a", 1, Why::Live), update("a", 2, 3, Why::Live)]),
        ("does not exist", vec![update("a", 1, 2, Why::Live)]),
        ("does not exist", vec![delete("a", 4, true, Why::Live)]),
        ("nothing new", vec![add("a", 1, Why::Live), update("a", 1, 1, relist(1))]),
        ("back in time", vec![add("a", 3, Why::Live), update("a", 3, 2, Why::Live)]),
        ("final state", vec![add("a", 3, Why::Live), delete("a", 3, false, Why::Live)]),
        ("last", vec![add("a", 1, Why::Live), delete("a", 2, false, relist(1))]),
        ("one UID", {
            let what = What::Update { old: state("a", 3), new: state("b", 5) };
            vec![add("a", 3, Why::Live), Call { id: id(), what, why: relist(1) }]
        }),
    ];
    for (problem, calls) in broken {
        let finding = found(&lives, calls, 9);
        assert!(finding.starts_with("ours: ") && finding.contains(problem), "{problem}: {finding}");
    }
}

#[test]
fn states_and_objects_that_never_existed_are_found() {
    let lives = [life("a", &[1, 3], false)];
    assert!(found(&lives, whole(Why::Live), 0).contains("the object never had version 2"));

    let mut strange = whole(Why::Live);
    strange.push(Call { id: (Resource::Pods, "shop/stranger".into()), ..add("x", 4, Why::Live) });
    assert_eq!(found(&[life("a", &[1, 2, 3], false)], strange, 0), "this object was never written");
}

#[test]
fn the_deletion_mark_of_a_pod_may_be_notified_or_missed() {
    let lives = [Life { marked: true, ..life("a", &[1], true) }];
    let marked = vec![add("a", 1, Why::Live), update("a", 1, 2, Why::Live), delete("a", 3, true, Why::Live)];
    let unmarked = vec![add("a", 1, Why::Live), delete("a", 3, true, Why::Live)];

    assert_eq!((found(&lives, marked, 0), found(&lives, unmarked, 0)), (String::new(), String::new()));
}

#[test]
fn every_counted_difference_is_documented() {
    let document = include_str!("../../../../../host/cache/DIFFERENCES.md");
    for difference in Difference::ALL {
        let counter = format!("`{}`", difference.counter());
        assert!(document.contains(&counter), "DIFFERENCES.md does not name {counter}");
    }
}
