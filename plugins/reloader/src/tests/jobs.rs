//! CronJobs and Jobs.

use super::*;
use crate::source::sha1;

const CRON_JOBS: &str = "batch/v1/cronjobs";
const JOBS: &str = "batch/v1/jobs";
const NIGHTLY: &str = "batch/v1/cronjobs shop/web";
const IMPORT: &str = "batch/v1/jobs shop/web";

fn cron_job() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {"namespace": "shop", "name": "web", "uid": "u", "annotations": {"reloader.stakater.com/auto": "true"}},
        "spec": {"schedule": "0 0 * * *", "jobTemplate": {
            "metadata": {"labels": {"app": "nightly"}, "annotations": {"note": "x"}},
            "spec": {"backoffLimit": 1, "template": template()},
        }},
    })
}

fn job() -> Value {
    let mut labelled = template();
    labelled["metadata"] = json!({"labels": {"app": "import", "controller-uid": "u", "job-name": "web"}});
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "namespace": "shop", "name": "web", "uid": "u", "resourceVersion": "7",
            "labels": {"app": "import", "batch.kubernetes.io/controller-uid": "u"},
            "annotations": {"reloader.stakater.com/auto": "true"},
        },
        "spec": {"selector": {"matchLabels": {"controller-uid": "u"}}, "template": labelled},
        "status": {"succeeded": 1},
    })
}

/// The bodies of the Jobs that were created.
fn created(host: &TestHost) -> Vec<Value> {
    of_verb(host, "create").into_iter().map(|request| request.body).collect()
}

/// Reconciles a workload, and twice more after the data of its ConfigMap changed.
fn reconcile_a_change(host: &TestHost, reloader: &mut Reloader, key: &str) {
    reloader.reconcile(key).unwrap();
    host.store(MAPS, map("app", "2"));
    reloader.reconcile(key).unwrap();
    reloader.reconcile(key).unwrap();
}

#[test]
fn a_cron_job_runs_now_and_is_not_changed() {
    let (host, mut reloader) = (host(), reloader(json!({})));
    host.store(CRON_JOBS, cron_job());
    reconcile_a_change(&host, &mut reloader, NIGHTLY);

    let jobs = created(&host);
    assert_eq!(jobs.len(), 1);
    let metadata = &jobs[0]["metadata"];
    assert_eq!(metadata["labels"], json!({"app": "nightly"}));
    assert_eq!(metadata["annotations"], json!({"note": "x", "cronjob.kubernetes.io/instantiate": "manual"}));
    let owner =
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "name": "web", "uid": "u", "controller": true});
    assert_eq!(metadata["ownerReferences"], json!([owner]));
    assert!(metadata["name"].as_str().unwrap().starts_with("web-"));
    assert_eq!(jobs[0]["spec"]["backoffLimit"], 1);
    let env = &jobs[0]["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(env[0]["name"], "STAKATER_APP_CONFIGMAP");
    assert_eq!(stored(CRON_JOBS), cron_job());
}

#[test]
fn a_crash_after_the_job_of_a_cron_job_creates_no_second_one_and_each_change_has_its_own() {
    let (host, mut reloader) = (host(), reloader(json!({})));
    host.store(CRON_JOBS, cron_job());
    reloader.reconcile(NIGHTLY).unwrap();
    let workload = NIGHTLY.parse().unwrap();
    let mut names = std::collections::BTreeSet::new();
    for value in ["2", "1", "2"] {
        host.store(MAPS, map("app", value));
        let before = Memory::read(&workload).unwrap().unwrap();
        reloader.reconcile(NIGHTLY).unwrap();
        before.write(&workload, None).unwrap();
        reloader.reconcile(NIGHTLY).unwrap();
        let jobs = created(&host);
        let last = &jobs[jobs.len() - 1]["metadata"]["name"];
        assert_eq!(jobs[jobs.len() - 2]["metadata"]["name"], *last, "the second attempt finds the Job");
        names.insert(last.to_string());
    }
    assert_eq!(names.len(), 3, "the data of before is a change too");
}

/// The Job of the first change still exists, and the number of rolls is 0 again.
#[test]
fn a_cron_job_runs_again_for_content_that_comes_back_after_the_state_was_lost() {
    let (host, mut reloader) = (host(), reloader(json!({})));
    host.store(CRON_JOBS, cron_job());
    reloader.reconcile(NIGHTLY).unwrap();
    for value in ["2", "1"] {
        host.store(MAPS, map("app", value));
        reloader.reconcile(NIGHTLY).unwrap();
    }

    Memory::forget(&NIGHTLY.parse().unwrap()).unwrap();
    pass(60);
    for value in ["1", "2"] {
        host.store(MAPS, map("app", value));
        reloader.reconcile(NIGHTLY).unwrap();
    }

    assert_eq!(lister::list_meta(JOBS, &Selector::all()).count(), 3);
}

/// The plugin may create Jobs, and may not read them.
#[test]
fn a_cron_job_whose_job_was_not_created_runs_although_the_plugin_may_not_read_jobs() {
    for code in [ApiCode::NotGranted, ApiCode::Forbidden] {
        let (host, mut reloader) = (host(), reloader(json!({})));
        host.store(CRON_JOBS, cron_job());
        reloader.reconcile(NIGHTLY).unwrap();
        host.store(MAPS, map("app", "2"));
        host.fail_write(ApiCode::Unavailable, "down");
        reloader.reconcile(NIGHTLY).unwrap_err();
        host.fail_request(code, "no");

        assert_eq!(reloader.reconcile(NIGHTLY).unwrap(), Reconciled::Done, "{code:?}");

        let jobs = created(&host);
        assert_eq!((jobs.len(), &jobs[1]["metadata"]["name"]), (2, &jobs[0]["metadata"]["name"]));
    }
}

#[test]
fn a_job_is_deleted_and_created_anew() {
    let (host, mut reloader) = (host(), reloader(json!({})));
    host.store(JOBS, job());
    reconcile_a_change(&host, &mut reloader, IMPORT);

    assert_eq!(of_verb(&host, "delete").len(), 1);
    let jobs = created(&host);
    assert_eq!(jobs.len(), 1);
    let applied = json!({"ConfigMap/app": sha1(b"key=2"), "Secret/app": sha1(b"key=1")}).to_string();
    let metadata = json!({
        "name": "web", "namespace": "shop", "labels": {"app": "import"},
        "annotations": {"reloader.stakater.com/auto": "true", "reloader.informer.dev/applied": applied},
    });
    assert_eq!(jobs[0]["metadata"], metadata);
    assert_eq!(jobs[0]["spec"].get("selector"), None);
    assert_eq!(jobs[0]["spec"]["template"]["metadata"]["labels"], json!({"app": "import"}));
    assert_eq!(jobs[0].get("status"), None);
    assert_eq!(Memory::read(&IMPORT.parse().unwrap()).unwrap().unwrap().recreate, None);
}

/// Each new Job has a UID that the memory does not know.
#[test]
fn a_source_that_is_away_while_jobs_are_replaced_for_another_one_is_compared_when_it_is_back() {
    for (content, expected) in [("MQ==", 2), ("Mg==", 3)] {
        let (host, mut reloader) = (host(), reloader(json!({})));
        host.store(JOBS, job());
        reloader.reconcile(IMPORT).unwrap();
        host.remove(SECRETS, &ObjectKey::new("shop", "app"));
        for content in ["2", "3"] {
            host.store(MAPS, map("app", content));
            reloader.reconcile(IMPORT).unwrap();
        }
        host.store(SECRETS, secret("app", content));
        reloader.reconcile(IMPORT).unwrap();
        assert_eq!(created(&host).len(), expected, "{content}");
    }
}

#[test]
fn the_new_job_is_in_the_state_before_the_old_one_is_deleted() {
    let (host, mut reloader) = (host(), reloader(json!({})));
    host.store(JOBS, job());
    reloader.reconcile(IMPORT).unwrap();
    host.store(MAPS, map("app", "2"));
    host.fail_write(ApiCode::Unavailable, "the deletion fails");
    assert!(reloader.reconcile(IMPORT).is_err());
    let memory = Memory::read(&IMPORT.parse().unwrap()).unwrap().unwrap();
    assert_eq!(memory.recreate.unwrap()["metadata"]["name"], "web");
    assert_eq!(created(&host), [Value::Null; 0]);

    host.fail_write(ApiCode::Conflict, "a person has replaced the Job");
    assert_eq!(reloader.reconcile(IMPORT).unwrap(), Reconciled::Requeue);
    reloader.reconcile(IMPORT).unwrap();
    assert_eq!((of_verb(&host, "delete").len(), created(&host).len()), (3, 1));
}

#[test]
fn a_crash_between_the_deletion_and_the_creation_of_a_job_loses_nothing() {
    let host = host();
    host.store(JOBS, job());
    reloader(json!({})).reconcile(IMPORT).unwrap();
    host.store(MAPS, map("app", "2"));
    let workload: Workload = IMPORT.parse().unwrap();
    let before = Memory::read(&workload).unwrap().unwrap();
    reloader(json!({})).reconcile(IMPORT).unwrap();
    let body = created(&host).remove(0);
    host.remove(JOBS, &workload.key());
    Memory { recreate: Some(body), ..before }.write(&workload, None).unwrap();

    let mut restarted = reloader(json!({}));
    restarted.on_add(host.event(MAPS, map("kube-root-ca.crt", "")), Cause::Initial).unwrap();
    let key = host.take_key().unwrap();
    restarted.reconcile(&key).unwrap();
    restarted.reconcile(&key).unwrap();

    assert_eq!(created(&host).len(), 2);
    assert_eq!(of_verb(&host, "delete").len(), 1);
    assert!(logged(&host, "batch/v1/jobs shop/web was replaced: the Job was deleted before"));
}

#[test]
fn a_crash_before_the_deletion_of_a_job_deletes_it_then() {
    let host = host();
    host.store(JOBS, job());
    reloader(json!({})).reconcile(IMPORT).unwrap();
    host.store(MAPS, map("app", "2"));
    let workload: Workload = IMPORT.parse().unwrap();
    let before = Memory::read(&workload).unwrap().unwrap();
    Memory { recreate: Some(job()), ..before }.write(&workload, None).unwrap();

    let mut restarted = reloader(json!({}));
    restarted.reconcile(IMPORT).unwrap();
    restarted.reconcile(IMPORT).unwrap();
    assert_eq!((of_verb(&host, "delete").len(), created(&host).len()), (1, 1));
}

#[test]
fn a_job_that_waits_for_its_finalizers_is_created_afterwards() {
    let host = host();
    let mut deleting = job();
    deleting["metadata"]["deletionTimestamp"] = json!("2026-05-01T12:30:00Z");
    host.store(JOBS, deleting);
    let workload: Workload = IMPORT.parse().unwrap();
    let mut new = job();
    new["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    let memory = Memory { uid: "u".to_owned(), recreate: Some(new), ..Memory::default() };
    memory.write(&workload, None).unwrap();
    let mut reloader = reloader(json!({}));
    assert_eq!(reloader.reconcile(IMPORT).unwrap(), Reconciled::Requeue);
    host.remove(JOBS, &workload.key());
    reloader.reconcile(IMPORT).unwrap();
    assert_eq!(created(&host).len(), 1);
}

/// A host whose Job `web` is to be replaced for a change of the ConfigMap, and the new Job. One such Job was reported before.
fn being_replaced(reloader: &mut Reloader) -> (TestHost, Value) {
    let host = host();
    host.store(JOBS, job());
    reloader.reconcile(IMPORT).unwrap();
    host.store(MAPS, map("app", "2"));
    let workload: Workload = IMPORT.parse().unwrap();
    let before = Memory::read(&workload).unwrap().unwrap();
    reloader.reconcile(IMPORT).unwrap();
    let new = created(&host).remove(0);
    Memory { recreate: Some(new.clone()), ..before }.write(&workload, None).unwrap();
    (host, new)
}

#[test]
fn a_job_that_is_created_after_the_finalizers_of_the_old_one_is_reported() {
    let mut reloader = reloader(json!({"alert": {"url": "https://chat.example/x"}}));
    let (host, _) = being_replaced(&mut reloader);
    let mut deleting = job();
    deleting["metadata"]["deletionTimestamp"] = json!("2026-05-01T12:30:00Z");
    host.store(JOBS, deleting);
    let events = || of_verb(&host, "event").len();
    assert_eq!(reloader.reconcile(IMPORT).unwrap(), Reconciled::Requeue);
    assert_eq!(events(), 1);

    host.remove(JOBS, &ObjectKey::new("shop", "web"));
    for _ in 0..2 {
        reloader.reconcile(IMPORT).unwrap();
        assert_eq!((events(), created(&host).len(), http::native::sent().len()), (2, 2, 2));
    }
    assert_eq!(of_verb(&host, "event")[1].body, "Reloaded");
    assert!(logged(&host, "and is created now: ConfigMap/app changed"));
}

#[test]
fn a_job_whose_creation_had_no_answer_is_reported_and_not_created_again() {
    let mut reloader = reloader(json!({}));
    let (host, mut new) = being_replaced(&mut reloader);
    new["metadata"]["uid"] = json!("second");
    host.store(JOBS, new);

    for _ in 0..2 {
        reloader.reconcile(IMPORT).unwrap();
        assert_eq!((of_verb(&host, "event").len(), created(&host).len()), (2, 1));
    }
}

#[test]
fn a_job_of_a_person_in_the_place_of_the_new_one_is_not_reported() {
    let mut reloader = reloader(json!({}));
    let (host, _) = being_replaced(&mut reloader);
    let mut other = job();
    other["metadata"]["uid"] = json!("other");
    host.store(JOBS, other);

    reloader.reconcile(IMPORT).unwrap();
    assert_eq!((of_verb(&host, "event").len(), created(&host).len()), (1, 1));
}

#[test]
fn a_job_whose_namespace_is_gone_is_not_created_for_ever() {
    let host = host();
    host.set_synced(JOBS, true);
    let workload: Workload = IMPORT.parse().unwrap();
    let memory = Memory { uid: "u".to_owned(), recreate: Some(job()), ..Memory::default() };
    memory.write(&workload, None).unwrap();
    host.fail_write(ApiCode::NotFound, "namespaces \"shop\" not found");
    assert_eq!(reloader(json!({})).reconcile(IMPORT).unwrap(), Reconciled::Done);
    assert_eq!(Memory::read(&workload).unwrap(), None);
}

#[test]
fn a_job_of_a_cron_job_is_left_alone_and_a_job_of_another_owner_is_replaced() {
    for (owner, expected) in [("CronJob", 0), ("Migration", 1)] {
        let (host, mut reloader) = (host(), reloader(json!({"auto-reload-all": true})));
        let mut owned = job();
        owned["metadata"]["ownerReferences"] = json!([{"kind": owner, "controller": true}]);
        host.store(JOBS, owned);
        reconcile_a_change(&host, &mut reloader, IMPORT);
        assert_eq!((of_verb(&host, "delete").len(), created(&host).len()), (expected, expected), "{owner}");
        assert_eq!(host.requests().is_empty(), expected == 0, "{owner}");
    }
}

/// OpenShift refuses an object that blocks the deletion of an owner whose finalizers the client may not change.
#[test]
fn the_new_job_does_not_block_the_deletion_of_its_owners() {
    let (host, mut reloader) = (host(), reloader(json!({})));
    let owner = json!({"kind": "Migration", "uid": "m", "controller": true});
    let mut blocking = owner.clone();
    blocking["blockOwnerDeletion"] = json!(true);
    let mut owned = job();
    owned["metadata"]["ownerReferences"] = json!([blocking]);
    host.store(JOBS, owned);

    reconcile_a_change(&host, &mut reloader, IMPORT);

    assert_eq!(created(&host)[0]["metadata"]["ownerReferences"], json!([owner]));
}
