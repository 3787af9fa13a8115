//! Crashes between two steps of a roll, and changes while the host is down. No roll is lost, and no roll happens twice.

use informer_sdk::client::{Patch, WriteOptions};

use super::*;
use crate::source::sha1;

const IMPORT: &str = "batch/v1/jobs shop/web";
const NIGHTLY: &str = "batch/v1/cronjobs shop/web";

fn at(key: &str) -> Option<Memory> {
    Memory::read(&key.parse().unwrap()).unwrap()
}

/// Puts back the memory that a roll had when its request was sent: the host ended before it could note the end.
fn crash_in_the_roll(reloader: &mut Reloader, host: &TestHost, key: &str) {
    host.fail_write(ApiCode::Unavailable, "the host ends here");
    assert!(reloader.reconcile(key).is_err());
    let begun = at(key).unwrap();
    assert!(begun.attempt.is_some());
    reloader.reconcile(key).unwrap();
    begun.write(&key.parse().unwrap(), None).unwrap();
}

#[test]
fn a_source_that_gets_its_earlier_content_back_after_a_crash_rolls_what_was_rolled_before_the_crash() {
    for strategy in ["env-vars", "annotations"] {
        let mut reloader = reloader(json!({"reload-strategy": strategy}));
        let host = seen(&mut reloader);
        host.store(MAPS, map("app", "2"));
        crash_in_the_roll(&mut reloader, &host, WEB);
        host.store(MAPS, map("app", "1"));
        let before = of_verb(&host, "patch").len();
        for _ in 0..3 {
            super::reloader(json!({"reload-strategy": strategy})).reconcile(WEB).unwrap();
        }
        assert_eq!(
            of_verb(&host, "patch").len(),
            before + 1,
            "{strategy}: the pods have read the content between"
        );
        let memory = memory().unwrap();
        assert_eq!(memory.hashes[&SourceId::new(SourceKind::ConfigMap, "app")], sha1(b"key=1"));
        assert_eq!(memory.attempt, None);
    }
}

#[test]
fn a_roll_that_a_crash_hides_counts_for_the_limits() {
    const API: &str = "apps/v1/deployments shop/api";
    for config in [json!({"rolls-at-a-time": 1}), json!({"rolls-per-minute": 1})] {
        let (host, mut first) = (host(), reloader(config.clone()));
        let mut api = deployment(json!({"reloader.stakater.com/auto": "true"}));
        api["metadata"]["name"] = json!("api");
        host.store(DEPLOYMENTS, api);
        for workload in [WEB, API] {
            first.reconcile(workload).unwrap();
        }
        host.store(MAPS, map("app", "2"));
        crash_in_the_roll(&mut first, &host, WEB);
        store::set("rolls", b"[]").unwrap();
        store::set("rollouts", b"{}").unwrap();

        let mut second = reloader(config.clone());
        assert_eq!(second.reconcile(WEB).unwrap(), Reconciled::Done);
        let waits = matches!(second.reconcile(API).unwrap(), Reconciled::RequeueAfter(_));
        assert!(waits, "{config}");
        assert_eq!(of_verb(&host, "patch").len(), 2, "one that failed, and one that was made");
    }
}

/// A clock that writes the roll to the API server before it returns the time. For the plugin this looks as if it had sent the
/// roll before: the answer was lost, and the cache does not have the roll yet.
fn after_a_lost_answer() -> Timestamp {
    let mark = json!({"name": "STAKATER_APP_CONFIGMAP", "value": sha1(b"key=2")});
    let containers = json!([{"name": "main", "env": [mark]}]);
    let patch = Patch::strategic_merge(json!({"spec": {"template": {"spec": {"containers": containers}}}}));
    client::patch(DEPLOYMENTS, &ObjectKey::new("shop", "web"), &patch, &WriteOptions::new()).unwrap();
    now()
}

#[test]
fn a_roll_whose_answer_was_lost_and_that_is_refused_the_second_time_is_remembered() {
    let mut reloader = reloader(json!({}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));

    reloader.now = after_a_lost_answer;
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Requeue);
    assert!(memory().unwrap().attempt.is_some());
    reloader.now = now;
    let patches = of_verb(&host, "patch").len();
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);

    assert_eq!(of_verb(&host, "patch").len(), patches);
    let memory = memory().unwrap();
    assert_eq!(memory.hashes[&SourceId::new(SourceKind::ConfigMap, "app")], sha1(b"key=2"));
    assert_eq!(memory.attempt, None);
}

#[test]
fn a_roll_that_a_crash_prevented_is_none_if_the_source_gets_its_content_back() {
    let mut reloader = reloader(json!({}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    host.fail_write(ApiCode::Unavailable, "the host ends here");
    assert!(reloader.reconcile(WEB).is_err());
    host.store(MAPS, map("app", "1"));
    super::reloader(json!({})).reconcile(WEB).unwrap();
    assert_eq!(of_verb(&host, "patch").len(), 1, "only the one that failed");
    assert_eq!(memory().unwrap().attempt, None);
}

/// Another client has made new pods meanwhile. Nothing says what they have read.
#[test]
fn a_workload_that_another_client_changed_during_a_crash_is_rolled() {
    let mut reloader = reloader(json!({}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    host.fail_write(ApiCode::Unavailable, "the host ends here");
    assert!(reloader.reconcile(WEB).is_err());
    let mut other = stored(DEPLOYMENTS);
    other["spec"]["template"]["spec"]["containers"][0]["image"] = json!("web:2");
    host.store(DEPLOYMENTS, other);
    host.store(MAPS, map("app", "1"));
    for _ in 0..2 {
        super::reloader(json!({})).reconcile(WEB).unwrap();
    }
    assert_eq!(of_verb(&host, "patch").len(), 2);
}

#[test]
fn a_cron_job_whose_run_a_crash_hides_runs_again_only_for_other_content() {
    for (content, expected) in [("2", 1), ("1", 2), ("3", 2)] {
        let (host, mut reloader) = (host(), reloader(json!({})));
        let spec = json!({"jobTemplate": {"spec": {"template": template()}}});
        host.store(
            "batch/v1/cronjobs",
            json!({
                "apiVersion": "batch/v1", "kind": "CronJob", "spec": spec, "metadata": {
                    "namespace": "shop", "name": "web", "uid": "u",
                    "annotations": {"reloader.stakater.com/auto": "true"},
                },
            }),
        );
        reloader.reconcile(NIGHTLY).unwrap();
        host.store(MAPS, map("app", "2"));
        crash_in_the_roll(&mut reloader, &host, NIGHTLY);
        host.store(MAPS, map("app", content));
        for _ in 0..2 {
            super::reloader(json!({})).reconcile(NIGHTLY).unwrap();
        }
        let jobs = lister::list_meta("batch/v1/jobs", &Selector::all()).count();
        assert_eq!(jobs, expected, "{content}");
    }
}

/// The new Job has another UID, so that the memory is not about it.
#[test]
fn a_source_that_changes_while_a_job_is_replaced_replaces_it_once_more() {
    for strategy in ["env-vars", "annotations"] {
        let (host, mut reloader) = (host(), reloader(json!({"reload-strategy": strategy})));
        host.store("batch/v1/jobs", json!({
            "apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template()}, "metadata": {
                "namespace": "shop", "name": "web", "uid": "first", "annotations": {"reloader.stakater.com/auto": "true"},
            },
        }));
        reloader.reconcile(IMPORT).unwrap();
        host.store(MAPS, map("app", "2"));
        reloader.reconcile(IMPORT).unwrap();
        host.store(SECRETS, secret("app", "Mg=="));
        for _ in 0..3 {
            reloader.reconcile(IMPORT).unwrap();
        }
        assert_eq!(of_verb(&host, "create").len(), 2, "{strategy}");
    }
}

/// A person undoes the rollout first, and the change of the ConfigMap later.
#[test]
fn a_change_that_is_undone_after_its_rollout_was_undone_rolls() {
    let mut reloader = reloader(json!({}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    reloader.reconcile(WEB).unwrap();
    let older = stored(DEPLOYMENTS);
    host.store(MAPS, map("app", "3"));
    reloader.reconcile(WEB).unwrap();
    host.store(DEPLOYMENTS, older);
    reloader.reconcile(WEB).unwrap();
    assert_eq!(of_verb(&host, "patch").len(), 2, "the pods are new already");

    host.store(MAPS, map("app", "2"));
    for _ in 0..2 {
        reloader.reconcile(WEB).unwrap();
    }
    let patches = of_verb(&host, "patch");
    assert_eq!(patches.len(), 3, "the variable is right, and the pods have read the content between");
    let annotations = &patches[2].body["spec"]["template"]["metadata"]["annotations"];
    assert!(
        annotations["reloader.stakater.com/last-reloaded-from"].is_string(),
        "another mark makes new pods"
    );
}

#[test]
fn a_marker_of_the_strategy_before_is_none_for_content_that_comes_back() {
    let host = seen(&mut reloader(json!({})));
    host.store(MAPS, map("app", "2"));
    reloader(json!({})).reconcile(WEB).unwrap();
    let mut annotations = reloader(json!({"reload-strategy": "annotations"}));
    for (value, expected) in [("3", 2), ("2", 3)] {
        host.store(MAPS, map("app", value));
        annotations.reconcile(WEB).unwrap();
        assert_eq!(of_verb(&host, "patch").len(), expected, "{value}");
    }
}
