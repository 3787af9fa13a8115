//! Deployments: what rolls them, once and with which patch.

use super::*;
use crate::source::sha1;

fn variable(kind: &str, data: &str) -> Value {
    json!({"name": format!("STAKATER_APP_{kind}"), "value": sha1(data.as_bytes())})
}

#[test]
fn a_first_start_without_markers_rolls_nothing() {
    let mut reloader = reloader(json!({"reload-on-create": true, "reload-on-delete": true}));
    let host = seen(&mut reloader);
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);
    assert_eq!(host.requests(), []);
    assert_eq!(memory().unwrap().hashes.len(), 2);
}

#[test]
fn a_change_is_one_patch_of_the_version_that_was_judged() {
    let mut reloader = reloader(json!({}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    for _ in 0..3 {
        assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);
    }

    assert_eq!(patched(&host), [json!([variable("CONFIGMAP", "key=2")])]);
    let body = &of_verb(&host, "patch")[0].body;
    assert_eq!(body["metadata"], json!({"uid": "u", "resourceVersion": "7"}));
    assert_eq!(
        body["spec"]["template"]["spec"]["containers"][0].as_object().unwrap().len(),
        2,
        "a name and a mark"
    );
    let container = &stored(DEPLOYMENTS)["spec"]["template"]["spec"]["containers"][0];
    assert!(container["envFrom"].is_array(), "the rest stays");
    assert!(logged(&host, "info apps/v1/deployments shop/web was rolled: ConfigMap/app changed"));
}

#[test]
fn a_config_map_and_a_secret_that_change_together_are_one_patch() {
    let mut reloader = reloader(json!({"settle": "2s"}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::RequeueAfter(Duration::from_secs(2)));
    pass(1);
    host.store(SECRETS, secret("app", "Mg=="));
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::RequeueAfter(Duration::from_secs(1)));
    assert_eq!(patched(&host), [Value::Null; 0]);
    pass(1);
    reloader.reconcile(WEB).unwrap();
    assert_eq!(patched(&host), [json!([variable("CONFIGMAP", "key=2"), variable("SECRET", "key=2")])]);
}

#[test]
fn a_change_that_is_taken_back_while_it_settles_rolls_nothing() {
    let mut reloader = reloader(json!({"settle": "2s"}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    reloader.reconcile(WEB).unwrap();
    host.store(MAPS, map("app", "1"));
    pass(2);
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);
    assert_eq!(host.requests(), []);
}

#[test]
fn a_config_map_with_binary_data_has_one_hash_for_all_values() {
    let mut reloader = reloader(json!({}));
    let host = seen(&mut reloader);
    let mut both = map("app", "2");
    both["binaryData"] = json!({"image": "AQI="});
    host.store(MAPS, both.clone());
    reloader.reconcile(WEB).unwrap();
    both["data"] = json!(null);
    host.store(MAPS, both);
    reloader.reconcile(WEB).unwrap();

    let hashes = ["image=AQI=;key=2", "image=AQI="].map(|values| json!([variable("CONFIGMAP", values)]));
    assert_eq!(patched(&host), hashes);
}

#[test]
fn a_workload_with_the_markers_of_the_original_is_not_rolled() {
    let host = host();
    let mut marked = deployment(json!({"reloader.stakater.com/auto": "true"}));
    marked["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([variable("CONFIGMAP", "key=1"), variable("SECRET", "key=1")]);
    host.store(DEPLOYMENTS, marked);
    reloader(json!({})).reconcile(WEB).unwrap();
    assert_eq!(host.requests(), []);

    Memory::forget(&WEB.parse().unwrap()).unwrap();
    host.store(MAPS, map("app", "2"));
    reloader(json!({})).reconcile(WEB).unwrap();
    let [changed, unchanged] = [variable("CONFIGMAP", "key=2"), variable("SECRET", "key=1")];
    let why = "the source changed after the roll that the marker is from";
    assert_eq!(patched(&host), [json!([changed])], "{why}");
    let env = &stored(DEPLOYMENTS)["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(*env, json!([changed, unchanged]));
}

#[test]
fn a_crash_before_the_roll_rolls_once_and_a_crash_after_it_never_again() {
    let host = seen(&mut reloader(json!({})));
    host.store(MAPS, map("app", "2"));
    let before = memory().unwrap();
    // A new instance: only the objects and the key-value state are left.
    reloader(json!({})).reconcile(WEB).unwrap();
    before.write(&WEB.parse().unwrap(), None).unwrap();
    reloader(json!({})).reconcile(WEB).unwrap();
    assert_eq!(patched(&host).len(), 1);
    assert_eq!(memory().unwrap().hashes[&SourceId::new(SourceKind::ConfigMap, "app")], sha1(b"key=2"));
}

#[test]
fn a_conflict_is_judged_again_a_missing_object_is_done_and_another_failure_is_an_event() {
    let mut reloader = reloader(json!({}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    for _ in ["in the state of the cache", "in the state of the API server"] {
        host.fail_write(ApiCode::Conflict, "another client was faster");
    }
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Requeue);
    assert_eq!(of_verb(&host, "event"), []);

    host.fail_write(ApiCode::Forbidden, "no permission");
    assert!(reloader.reconcile(WEB).is_err());
    assert_eq!(of_verb(&host, "event")[0].body, "ReloadFail");

    for _ in 0..2 {
        assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);
    }
    assert_eq!(patched(&host).len(), 4);
    assert_eq!(of_verb(&host, "event")[1].body, "Reloaded");
}

#[test]
fn a_roll_begins_with_its_write_and_a_state_that_the_cache_lacks_is_read_and_rolled() {
    let mut reloader = reloader(json!({"settle": "2s"}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    assert!(matches!(reloader.reconcile(WEB).unwrap(), Reconciled::RequeueAfter(_)));
    pass(3);

    host.fail_request(ApiCode::Conflict, "the cache is behind");
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);

    let patches = patched(&host);
    assert_eq!(patches.len(), 2, "the first request was the write that failed");
    assert_eq!(patches[0], patches[1]);
    assert_eq!(of_verb(&host, "event")[0].body, "Reloaded");
}

/// Sets the status of a Deployment to that of a complete rollout of its generation.
fn complete(host: &TestHost, name: &str) {
    let key = ObjectKey::new("shop", name);
    let mut object: Value = lister::get(DEPLOYMENTS, &key).unwrap().unwrap();
    object["status"] = json!({
        "observedGeneration": object["metadata"]["generation"],
        "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
    });
    host.store(DEPLOYMENTS, object);
}

#[test]
fn at_most_this_number_of_rollouts_is_under_way_also_after_a_restart() {
    const API: &str = "apps/v1/deployments shop/api";
    let config = json!({"rolls-at-a-time": 1});
    let mut first = reloader(config.clone());
    let host = host();
    for name in ["web", "api"] {
        let mut object = deployment(json!({"reloader.stakater.com/auto": "true"}));
        object["metadata"]["name"] = json!(name);
        object["metadata"]["generation"] = json!(1);
        host.store(DEPLOYMENTS, object);
    }
    for workload in [WEB, API] {
        assert_eq!(first.reconcile(workload).unwrap(), Reconciled::Done);
    }
    host.store(MAPS, map("app", "2"));

    assert_eq!(first.reconcile(WEB).unwrap(), Reconciled::Done);
    assert_eq!(patched(&host).len(), 1);
    let waits =
        |reloader: &mut Reloader| matches!(reloader.reconcile(API).unwrap(), Reconciled::RequeueAfter(_));
    assert!(waits(&mut first));
    let mut second = reloader(config);
    assert!(waits(&mut second), "the memory of the workload says that it was rolled");

    complete(&host, "web");
    assert_eq!(second.reconcile(API).unwrap(), Reconciled::Done);
    assert_eq!(patched(&host).len(), 2);
    host.store(MAPS, map("app", "3"));
    assert_eq!(second.reconcile(API).unwrap(), Reconciled::Done, "a rollout does not wait for itself");
    pass(600);
    assert_eq!(
        second.reconcile(WEB).unwrap(),
        Reconciled::Done,
        "a rollout without progress counts for a time"
    );
    assert_eq!(patched(&host).len(), 4);
}

/// The host runs several instances of the plugin, and each call for a key may reach another instance.
#[test]
fn instances_of_the_plugin_share_the_limits_of_rolls_and_the_settle_time() {
    let names = ["web", "api", "db"];
    let keys = names.map(|name| format!("{DEPLOYMENTS} shop/{name}"));
    let start = |config: &Value| {
        let host = host();
        for name in names {
            let mut object = deployment(json!({"reloader.stakater.com/auto": "true"}));
            object["metadata"]["name"] = json!(name);
            host.store(DEPLOYMENTS, object);
        }
        let (mut one, other) = (reloader(config.clone()), reloader(config.clone()));
        for key in &keys {
            assert_eq!(one.reconcile(key).unwrap(), Reconciled::Done);
        }
        host.store(MAPS, map("app", "2"));
        (host, one, other)
    };
    let waits = |reloader: &mut Reloader, key: &str| {
        matches!(reloader.reconcile(key).unwrap(), Reconciled::RequeueAfter(_))
    };

    let (host, mut one, mut other) = start(&json!({"rolls-at-a-time": 1}));
    assert!(!waits(&mut one, &keys[0]) && waits(&mut other, &keys[1]));
    complete(&host, "web");
    assert!(!waits(&mut other, &keys[1]));
    assert!(waits(&mut one, &keys[2]), "the other instance has rolled another workload");
    assert_eq!(patched(&host).len(), 2);

    let (host, mut one, mut other) = start(&json!({"rolls-per-minute": 1}));
    assert!(!waits(&mut one, &keys[0]) && waits(&mut other, &keys[1]));
    pass(60);
    assert!(!waits(&mut other, &keys[1]));
    assert_eq!(patched(&host).len(), 2);

    let (host, mut one, mut other) = start(&json!({"settle": "2s"}));
    assert!(waits(&mut one, &keys[0]));
    pass(2);
    assert!(!waits(&mut other, &keys[0]), "the changes have settled");
    host.store(MAPS, map("app", "3"));
    assert!(waits(&mut one, &keys[0]), "these changes are new");
    assert_eq!(patched(&host).len(), 1);
}

#[test]
fn the_strategy_annotations_names_the_last_source_and_remembers_all() {
    let mut reloader = reloader(json!({"reload-strategy": "annotations"}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    host.store(SECRETS, secret("app", "Mg=="));
    let before = memory().unwrap();
    reloader.reconcile(WEB).unwrap();

    let web = stored(DEPLOYMENTS);
    let last =
        &web["spec"]["template"]["metadata"]["annotations"]["reloader.stakater.com/last-reloaded-from"];
    let last: Value = serde_json::from_str(last.as_str().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["hash"]), (&json!("SECRET"), &json!(sha1(b"key=2"))));
    let applied = web["metadata"]["annotations"]["reloader.informer.dev/applied"].as_str().unwrap();
    let expected = json!({"ConfigMap/app": sha1(b"key=2"), "Secret/app": sha1(b"key=2")});
    assert_eq!(serde_json::from_str::<Value>(applied).unwrap(), expected);
    assert_eq!(web["spec"]["template"]["spec"], template()["spec"], "no variable is set");

    before.write(&WEB.parse().unwrap(), None).unwrap();
    reloader.reconcile(WEB).unwrap();
    super::reloader(json!({})).reconcile(WEB).unwrap();
    assert_eq!(of_verb(&host, "patch").len(), 1, "not even with the other strategy, or without the memory");
}

#[test]
fn creations_and_deletions_roll_if_they_are_wanted() {
    for (wanted, expected) in [(false, 0), (true, 1)] {
        let mut reloader = reloader(json!({"reload-on-create": wanted, "reload-on-delete": wanted}));
        let host = host();
        let app = ObjectKey::new("shop", "app");
        host.remove(MAPS, &app);
        reloader.reconcile(WEB).unwrap();
        host.store(MAPS, map("app", "1"));
        reloader.reconcile(WEB).unwrap();
        assert_eq!(patched(&host).len(), expected, "created, {wanted}");

        host.remove(MAPS, &app);
        reloader.reconcile(WEB).unwrap();
        reloader.reconcile(WEB).unwrap();
        assert_eq!(patched(&host).len(), expected * 2, "deleted, {wanted}");

        host.store(MAPS, map("app", "2"));
        reloader.reconcile(WEB).unwrap();
        assert_eq!(patched(&host).len(), 1 + expected * 2, "it is back with other data");
    }
}

#[test]
fn a_new_workload_of_the_same_name_is_seen_for_the_first_time() {
    let mut reloader = reloader(json!({"reload-on-create": true}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    let mut other = deployment(json!({"reloader.stakater.com/auto": "true"}));
    other["metadata"]["uid"] = json!("other");
    host.store(DEPLOYMENTS, other);
    reloader.reconcile(WEB).unwrap();
    assert_eq!(host.requests(), [], "its pods have started with the data of now");
}

#[test]
fn stateful_sets_daemon_sets_and_rollouts_are_patched_in_the_same_way() {
    for (kind, gvr) in [
        ("StatefulSet", "apps/v1/statefulsets"),
        ("DaemonSet", "apps/v1/daemonsets"),
        ("Rollout", "argoproj.io/v1alpha1/rollouts"),
    ] {
        let (host, mut reloader) = (host(), reloader(json!({})));
        let mut object = deployment(json!({"secret.reloader.stakater.com/reload": "a.*"}));
        object["kind"] = json!(kind);
        host.store(gvr, object);
        let key = format!("{gvr} shop/web");
        reloader.reconcile(&key).unwrap();
        host.store(MAPS, map("app", "2"));
        reloader.reconcile(&key).unwrap();
        host.store(SECRETS, secret("app", "Mg=="));
        reloader.reconcile(&key).unwrap();
        assert_eq!(patched(&host), [json!([variable("SECRET", "key=2")])], "{kind}");
    }
}

/// The template keeps the marker of the earlier roll, and the second start has no memory.
#[test]
fn a_rollout_that_was_rolled_in_another_way_before_restarts_once() {
    let host = host();
    let rollouts = "argoproj.io/v1alpha1/rollouts";
    let key = format!("{rollouts} shop/web");
    let annotations =
        json!({"reloader.stakater.com/auto": "true", "reloader.stakater.com/rollout-strategy": "restart"});
    let mut object = deployment(annotations);
    object["spec"]["template"]["spec"]["containers"][0]["env"] = json!([variable("CONFIGMAP", "key=1")]);
    host.store(rollouts, object);
    reloader(json!({})).reconcile(&key).unwrap();
    host.store(MAPS, map("app", "2"));
    reloader(json!({})).reconcile(&key).unwrap();
    assert_eq!(of_verb(&host, "patch").len(), 1);

    Memory::forget(&key.parse().unwrap()).unwrap();
    reloader(json!({})).reconcile(&key).unwrap();
    assert_eq!(of_verb(&host, "patch").len(), 1, "nothing has changed");
}

#[test]
fn a_rollout_restarts_if_its_annotation_says_so() {
    let (host, mut reloader) = (host(), reloader(json!({})));
    let rollouts = "argoproj.io/v1alpha1/rollouts";
    let key = format!("{rollouts} shop/web");
    let annotations =
        json!({"reloader.stakater.com/auto": "true", "reloader.stakater.com/rollout-strategy": "restart"});
    host.store(rollouts, deployment(annotations));
    reloader.reconcile(&key).unwrap();
    host.store(MAPS, map("app", "2"));
    let before = Memory::read(&key.parse().unwrap()).unwrap().unwrap();
    reloader.reconcile(&key).unwrap();
    before.write(&key.parse().unwrap(), None).unwrap();
    reloader.reconcile(&key).unwrap();
    assert_eq!(of_verb(&host, "patch").len(), 1);
    assert_eq!(stored(rollouts)["spec"]["restartAt"], now().to_string());
    assert_eq!(stored(rollouts)["spec"]["template"], template());
}
