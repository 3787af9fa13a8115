use std::convert::Infallible;

use serde_json::json;

use super::*;
use crate::{decision::Annotations, kind::SourceKind, settings::Strategy};

fn map(name: &str) -> SourceId {
    SourceId::new(SourceKind::ConfigMap, name)
}

fn chosen(name: &str, hash: &str) -> Chosen {
    Chosen { source: map(name), hash: Some(hash.to_owned()), container: 0 }
}

fn memory(pairs: &[(&str, &str)]) -> Memory {
    let hashes = pairs.iter().map(|(name, hash)| (map(name), (*hash).to_owned())).collect();
    Memory { uid: "u".to_owned(), scope: "s".to_owned(), hashes, ..Memory::default() }
}

fn marked(variables: &[(&str, &str)]) -> Markers {
    let env: Vec<_> =
        variables.iter().map(|(name, hash)| json!({"name": variable(&map(name)), "value": hash})).collect();
    let template = json!({"spec": {"containers": [{"env": env}]}});
    Markers::read(&template, &Annotations::new(), Strategy::EnvVars, &mut Vec::new())
}

/// Only changed data counts. A source that appears or disappears is no change.
const DATA_ONLY: Counts = Counts { creations: false, deletions: false, markers: true };
const ALL: Counts = Counts { creations: true, deletions: true, markers: true };

/// The source `gone` does not exist, `ignored` exists and is not chosen, and the cache lacks all others.
fn plan(chosen: &[Chosen], markers: &Markers, before: Option<&Memory>, counts: Counts) -> Plan {
    let is_missing =
        |name: &&str| *name != "ignored" && chosen.iter().all(|chosen| chosen.source.name != **name);
    let missing = ["a", "gone", "ignored"].into_iter().filter(is_missing).map(map).collect();
    let sources = Sources { chosen: chosen.to_vec(), missing, ..Sources::default() };
    let deleted = |source: &SourceId| Ok::<_, Infallible>(source.name == "gone");
    Plan::new(("u".to_owned(), "s".to_owned()), &sources, markers, before, counts, deleted).unwrap()
}

fn changed(plan: &Plan) -> Vec<String> {
    plan.changes.iter().map(|change| change.source.name.clone()).collect()
}

#[test]
fn the_first_sight_is_remembered_and_rolls_nothing() {
    let plan = plan(&[chosen("a", "1")], &marked(&[]), None, ALL);
    assert_eq!(changed(&plan), [""; 0]);
    assert_eq!(plan.memory, memory(&[("a", "1")]));
}

#[test]
fn a_change_is_found_by_the_memory_or_by_the_marker() {
    for (marker, before, expected) in [
        (Some("1"), Some("1"), false),
        (Some("1"), None, false),
        (None, Some("1"), false),
        // The workload was rolled, and the host was killed before the memory was written.
        (Some("1"), Some("0"), false),
        // The workload was rolled, the memory was written, and then a rollback restored an older template.
        (Some("0"), Some("1"), false),
        (None, Some("0"), true),
        // The source changed while neither the original nor this plugin ran.
        (Some("0"), None, true),
        (Some("0"), Some("0"), true),
    ] {
        let markers = marked(&marker.map(|hash| ("a", hash)).into_iter().collect::<Vec<_>>());
        let before = before.map(|hash| memory(&[("a", hash)]));
        let plan = plan(&[chosen("a", "1")], &markers, before.as_ref(), DATA_ONLY);
        assert_eq!(!plan.changes.is_empty(), expected, "{marker:?} {before:?}");
        let after = plan.after();
        assert_eq!(
            (after.rolls, after.hashes),
            (u64::from(expected), memory(&[("a", "1")]).hashes),
            "{marker:?} {before:?}"
        );
        let kept = plan.memory.hashes.get(&map("a")).map(String::as_str);
        assert_eq!(kept == Some("1"), !expected, "before the roll the change is not remembered");
    }
}

/// The patch of a roll reaches the cache later than the memory.
#[test]
fn a_marker_in_a_cache_does_not_win_over_the_memory() {
    let (sources, markers, before) = ([chosen("a", "1")], marked(&[("a", "1")]), memory(&[("a", "2")]));
    let in_cache = Counts { markers: false, ..DATA_ONLY };
    assert_eq!(changed(&plan(&sources, &markers, Some(&before), in_cache)), ["a"]);
    assert_eq!(changed(&plan(&sources, &markers, Some(&before), DATA_ONLY)), [""; 0]);
    assert_eq!(changed(&plan(&sources, &markers, None, in_cache)), [""; 0], "without a memory it counts");
}

/// The older revision comes back first, and the older content of the source later.
#[test]
fn a_marker_that_came_back_with_an_older_revision_is_none_for_the_content_that_comes_back_later() {
    let restored = plan(&[chosen("a", "2")], &marked(&[("a", "1")]), Some(&memory(&[("a", "2")])), DATA_ONLY);
    assert_eq!(changed(&restored), [""; 0], "its pods are new already");
    let again = plan(&[chosen("a", "2")], &marked(&[("a", "1")]), Some(&restored.memory), DATA_ONLY);
    let back = plan(&[chosen("a", "1")], &marked(&[("a", "1")]), Some(&again.memory), DATA_ONLY);
    assert_eq!(changed(&back), ["a"], "its pods have read the content between");
    let rolled = plan(&[chosen("a", "1")], &marked(&[("a", "1")]), Some(&back.after()), DATA_ONLY);
    assert_eq!((changed(&rolled), rolled.memory.outdated.len()), (Vec::new(), 0));
}

/// A person undoes a rollout, and later deletes the ConfigMap and creates it with its older content.
#[test]
fn a_marker_that_came_back_is_none_also_if_the_source_is_away_before_its_content_comes_back() {
    let before = memory(&[("a", "2")]);
    let restored = plan(&[chosen("a", "2")], &marked(&[("a", "1")]), Some(&before), DATA_ONLY);
    for counts in [DATA_ONLY, ALL] {
        let away = plan(&[], &marked(&[("a", "1")]), Some(&restored.memory), counts);
        assert_eq!((changed(&away), &away.memory), (Vec::new(), &restored.memory));
        let back = plan(&[chosen("a", "1")], &marked(&[("a", "1")]), Some(&away.memory), counts);
        assert_eq!(changed(&back), ["a"], "its pods have read the content between");
    }
}

#[test]
fn a_second_deletion_counts_although_the_marker_of_the_first_one_is_still_there() {
    let deletions = Counts { creations: false, ..ALL };
    let markers = marked(&[("gone", NOTHING)]);
    let created = plan(&[chosen("gone", "1")], &markers, Some(&memory(&[])), deletions);
    assert_eq!(changed(&created), [""; 0], "creations do not count");
    let deleted = plan(&[], &markers, Some(&created.memory), deletions);
    assert_eq!(changed(&deleted), ["gone"]);
    let again = plan(&[], &markers, Some(&deleted.memory), deletions);
    assert_eq!(changed(&again), ["gone"], "until it is rolled");
    let rolled = plan(&[], &markers, Some(&deleted.after()), deletions);
    assert_eq!((changed(&rolled), rolled.memory.outdated.len()), (Vec::new(), 0));
}

#[test]
fn a_source_that_the_pods_read_in_an_unknown_state_counts_as_changed() {
    let before = memory(&[("a", UNKNOWN)]);
    for marker in ["1", "0"] {
        let plan = plan(&[chosen("a", "1")], &marked(&[("a", marker)]), Some(&before), DATA_ONLY);
        assert_eq!(changed(&plan), ["a"], "{marker}");
        assert_eq!(plan.after().hashes, memory(&[("a", "1")]).hashes);
    }
}

#[test]
fn several_changes_are_one_plan() {
    let before = memory(&[("a", "0"), ("b", "0"), ("c", "1")]);
    let plan =
        plan(&[chosen("a", "1"), chosen("b", "1"), chosen("c", "1")], &marked(&[]), Some(&before), DATA_ONLY);
    assert_eq!(changed(&plan), ["a", "b"]);
}

#[test]
fn a_creation_counts_only_if_it_is_wanted_and_the_workload_chose_the_source_before() {
    let sources = [chosen("a", "1"), chosen("new", "1")];
    let before = memory(&[("a", "1")]);
    let other_scope = Memory { scope: "other".to_owned(), ..before.clone() };
    let other_uid = Memory { uid: "other".to_owned(), ..before.clone() };
    for (before, counts, expected) in [
        (Some(&before), ALL, &["new"][..]),
        (Some(&before), DATA_ONLY, &[]),
        (Some(&other_scope), ALL, &[]),
        (Some(&other_uid), ALL, &[]),
        (None, ALL, &[]),
    ] {
        let plan = plan(&sources, &marked(&[]), before, counts);
        assert_eq!(changed(&plan), expected, "{before:?}");
        assert_eq!(plan.after().hashes, memory(&[("a", "1"), ("new", "1")]).hashes);
    }
}

#[test]
fn a_deletion_counts_only_if_it_is_wanted_and_is_real() {
    let before = memory(&[("gone", "1"), ("ignored", "1")]);
    let wanted = plan(&[], &marked(&[]), Some(&before), ALL);
    assert_eq!(changed(&wanted), ["gone"]);
    assert_eq!(wanted.memory, memory(&[("gone", "1")]), "what the workload no longer chooses is forgotten");
    assert_eq!(wanted.after().hashes, memory(&[]).hashes);

    let unwanted = plan(&[], &marked(&[]), Some(&before), DATA_ONLY);
    assert_eq!(changed(&unwanted), [""; 0]);
    assert_eq!(unwanted.memory, memory(&[("gone", "1")]));
    let back = plan(&[chosen("gone", "2")], &marked(&[]), Some(&unwanted.memory), DATA_ONLY);
    assert_eq!(changed(&back), ["gone"], "the source is back with other data");

    let other_scope = Memory { scope: "other".to_owned(), ..before.clone() };
    assert_eq!(plan(&[], &marked(&[]), Some(&other_scope), ALL).memory, memory(&[]));

    let killed = plan(&[], &marked(&[("gone", NOTHING)]), Some(&before), ALL);
    assert_eq!(
        (changed(&killed), killed.memory),
        (Vec::new(), memory(&[])),
        "it was rolled, and not remembered"
    );
    let created = plan(&[chosen("gone", "1")], &marked(&[("gone", NOTHING)]), None, ALL);
    assert_eq!(changed(&created), [""; 0], "the mark of a deletion is not one of other data");
}

/// A source is deleted and created again. A call then finds that the cache still lacks the source, and the API server has it.
#[test]
fn a_source_that_the_cache_lacks_for_a_moment_is_compared_when_it_is_back() {
    for counts in [DATA_ONLY, ALL] {
        let before = memory(&[("a", "1")]);
        let away = plan(&[], &marked(&[]), Some(&before), counts);
        assert_eq!((changed(&away), &away.memory), (Vec::new(), &before));
        let back = plan(&[chosen("a", "2")], &marked(&[]), Some(&away.memory), counts);
        assert_eq!(changed(&back), ["a"]);
    }
}

/// A person edits the list of sources of the workload, and meanwhile another source is deleted and created again.
#[test]
fn a_source_that_the_cache_lacks_while_the_workload_begins_to_choose_otherwise_is_compared_when_it_is_back() {
    let before = Memory { scope: "other".to_owned(), ..memory(&[("a", "1")]) };
    for counts in [DATA_ONLY, ALL] {
        let away = plan(&[], &marked(&[]), Some(&before), counts);
        assert_eq!((changed(&away), &away.memory), (Vec::new(), &memory(&[("a", "1")])));
        let back = plan(&[chosen("a", "2")], &marked(&[]), Some(&away.memory), counts);
        assert_eq!(changed(&back), ["a"]);
    }
}

/// A person removes the reference to a source from a workload that was rolled for the source, and adds it again later. Both steps replace
/// the pods.
#[test]
fn a_marker_of_a_source_that_a_workload_begins_to_choose_again_rolls_nothing() {
    let before = Memory { scope: "other".to_owned(), ..memory(&[]) };
    let again = plan(&[chosen("a", "2")], &marked(&[("a", "1")]), Some(&before), ALL);
    assert_eq!((changed(&again), &again.memory.hashes), (Vec::new(), &memory(&[("a", "2")]).hashes));
    let back = plan(&[chosen("a", "1")], &marked(&[("a", "1")]), Some(&again.memory), ALL);
    assert_eq!(changed(&back), ["a"], "the marker does not describe the pods");
}

/// The ConfigMaps have generated names, which change with each version of the workload.
#[test]
fn the_sources_that_are_gone_when_a_workload_chooses_otherwise_do_not_add_up() {
    let names: Vec<String> = (0..150).map(|number| format!("map-{number}")).collect();
    let pairs: Vec<_> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let missing = names.iter().map(|name| map(name)).collect();
    let sources = Sources { missing, ..Sources::default() };
    let exists = |_: &SourceId| Ok::<_, Infallible>(false);
    for (scope, expected) in [("s", 150), ("other", MOST_ABSENT)] {
        let before = Memory { scope: scope.to_owned(), ..memory(&pairs) };
        let identity = ("u".to_owned(), "s".to_owned());
        let plan = Plan::new(identity, &sources, &marked(&[]), Some(&before), DATA_ONLY, exists).unwrap();
        assert_eq!((changed(&plan), plan.memory.hashes.len()), (Vec::new(), expected), "{scope}");
    }
}

/// A roll for another source replaces the markers. The workload may be a new Job, of which the memory knows nothing.
#[test]
fn a_marker_of_a_source_that_cannot_be_read_now_is_remembered() {
    let unreadable = Chosen { hash: None, ..chosen("a", "") };
    let first = plan(&[unreadable], &marked(&[("a", "1"), ("gone", "1")]), None, DATA_ONLY);
    assert_eq!((changed(&first), &first.memory), (Vec::new(), &memory(&[("a", "1"), ("gone", "1")])));
    let changes = plan(&[chosen("a", "2")], &marked(&[("a", "1")]), None, DATA_ONLY);
    assert_eq!((changed(&changes), &changes.memory), (vec!["a".to_owned()], &memory(&[("a", "1")])));
    let away = plan(&[], &marked(&[]), Some(&changes.memory), DATA_ONLY);
    let back = plan(&[chosen("a", "2")], &marked(&[]), Some(&away.memory), DATA_ONLY);
    assert_eq!(changed(&back), ["a"]);
}

#[test]
fn a_source_that_cannot_be_read_changes_nothing() {
    let unreadable = Chosen { hash: None, ..chosen("a", "") };
    let before = memory(&[("a", "1")]);
    let plan = plan(&[unreadable], &marked(&[("a", "0")]), Some(&before), ALL);
    assert_eq!((changed(&plan), plan.memory), (Vec::new(), before));
}

#[test]
fn two_sources_with_one_variable_do_not_roll_in_turns() {
    let sources = [chosen("a.b", "1"), chosen("a-b", "2")];
    let first = plan(&sources, &marked(&[("a-b", "2")]), None, DATA_ONLY);
    assert_eq!(changed(&first), [""; 0], "the marker is that of the other one");

    let sources = [chosen("a.b", "3"), chosen("a-b", "2")];
    let second = plan(&sources, &marked(&[("a-b", "2")]), Some(&first.memory), DATA_ONLY);
    assert_eq!(changed(&second), ["a.b"]);
    let third = plan(&sources, &marked(&[("a-b", "3")]), Some(&second.after()), DATA_ONLY);
    assert_eq!(changed(&third), [""; 0]);
}
