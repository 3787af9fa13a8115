//! Which workloads and sources count, and which keys notifications add.

use super::*;

/// The keys that the queue has, sorted.
fn keys(host: &TestHost) -> Vec<String> {
    let mut keys: Vec<_> = std::iter::from_fn(|| host.take_key()).collect();
    keys.sort();
    keys
}

fn named(name: &str, annotations: Value) -> Value {
    let mut object = deployment(annotations);
    object["metadata"]["name"] = json!(name);
    object
}

#[test]
fn a_changed_source_adds_the_workloads_that_may_choose_it() {
    let host = empty();
    for (name, annotations) in [
        ("auto", json!({"reloader.stakater.com/auto": "true"})),
        ("typed", json!({"configmap.reloader.stakater.com/auto": "true"})),
        ("secrets", json!({"secret.reloader.stakater.com/auto": "true"})),
        ("named", json!({"configmap.reloader.stakater.com/reload": "other,app"})),
        ("other", json!({"configmap.reloader.stakater.com/reload": "other"})),
        ("search", json!({"reloader.stakater.com/search": "true"})),
        ("off", json!({"reloader.stakater.com/auto": "false"})),
        ("plain", json!({})),
    ] {
        host.store(DEPLOYMENTS, named(name, annotations));
    }
    let mut elsewhere = named("elsewhere", json!({"reloader.stakater.com/auto": "true"}));
    elsewhere["metadata"]["namespace"] = json!("blog");
    host.store(DEPLOYMENTS, elsewhere);

    let mut reloader = reloader(json!({}));
    reloader.on_update(host.update(MAPS, map("app", "1"), map("app", "2")), Cause::Live).unwrap();
    let expected = ["auto", "named", "search", "typed"].map(|name| format!("{DEPLOYMENTS} shop/{name}"));
    assert_eq!(keys(&host), expected);

    reloader.on_delete(host.event(SECRETS, secret("app", "")), true).unwrap();
    let expected = ["auto", "search", "secrets"].map(|name| format!("{DEPLOYMENTS} shop/{name}"));
    assert_eq!(keys(&host), expected);

    let mut labelled = map("app", "1");
    labelled["metadata"]["annotations"] = json!({"control-plane.alpha.kubernetes.io/leader": "x"});
    reloader.on_update(host.update(MAPS, map("app", "1"), labelled), Cause::Live).unwrap();
    reloader.on_add(host.event(MAPS, map("app", "1")), Cause::Initial).unwrap();
    assert_eq!(keys(&host), [""; 0], "neither other annotations nor the first list");
}

#[test]
fn a_workload_adds_its_own_key_in_the_namespaces_and_kinds_that_count() {
    let host = empty();
    let web = || host.event(DEPLOYMENTS, deployment(json!({})));
    for (config, expected) in [
        (json!({}), true),
        (json!({"namespaces": ["shop"]}), true),
        (json!({"namespaces": ["blog"]}), false),
        (json!({"namespaces-to-ignore": ["shop"]}), false),
        (json!({"ignored-workload-types": ["deployments"]}), false),
        (json!({"ignored-workload-types": ["jobs", "CronJobs"]}), true),
    ] {
        let mut reloader = reloader(config.clone());
        reloader.on_add(web(), Cause::Initial).unwrap();
        reloader.on_delete(web(), true).unwrap();
        assert_eq!(host.take_key().as_deref() == Some(WEB), expected, "{config}");
    }
}

/// Reconciles before and after a change of both sources. Returns the number of variables in the patch.
fn rolled_for(config: Value, prepare: impl FnOnce(&TestHost)) -> usize {
    let mut reloader = reloader(config);
    let host = host();
    prepare(&host);
    reloader.reconcile(WEB).unwrap();
    host.store(MAPS, map("app", "2"));
    let mut changed = secret("app", "Mg==");
    changed["metadata"]["labels"] = json!({"team": "a"});
    host.store(SECRETS, changed);
    reloader.reconcile(WEB).unwrap();
    patched(&host).first().and_then(Value::as_array).map_or(0, Vec::len)
}

#[test]
fn the_configuration_limits_what_counts() {
    for (config, expected) in [
        (json!({}), 2),
        (json!({"resources-to-ignore": "configMaps"}), 1),
        (json!({"resources-to-ignore": "secrets"}), 1),
        (json!({"ignored-workload-types": ["deployments"]}), 0),
        (json!({"namespaces-to-ignore": ["shop"]}), 0),
        (json!({"resource-label-selector": "team=a"}), 0),
        (json!({"namespace-selector": "env=prod"}), 0),
    ] {
        let namespaces = |host: &TestHost| host.set_synced("v1/namespaces", true);
        assert_eq!(rolled_for(config.clone(), namespaces), expected, "{config}");
    }
}

#[test]
fn a_deleted_source_of_a_kind_that_is_ignored_now_rolls_nothing() {
    let deletions = json!({"reload-on-delete": true});
    let ignoring = json!({"reload-on-delete": true, "resources-to-ignore": "secrets"});
    for (config, expected) in [(&deletions, 1), (&ignoring, 0)] {
        let host = seen(&mut reloader(deletions.clone()));
        host.remove(SECRETS, &ObjectKey::new("shop", "app"));
        reloader(config.clone()).reconcile(WEB).unwrap();
        assert_eq!(patched(&host).len(), expected, "{config}");
    }
}

/// The sources existed before, and the workload has read them.
#[test]
fn a_source_that_the_settings_no_longer_exclude_was_not_created() {
    let mut labelled = secret("app", "MQ==");
    labelled["metadata"]["labels"] = json!({"team": "a"});
    labelled["metadata"]["annotations"] = json!({"example.com/ignore": "true"});
    for excluding in [
        json!({"resources-to-ignore": "configMaps", "reload-on-create": true}),
        json!({"resources-to-ignore": "secrets", "reload-on-create": true}),
        json!({"resource-label-selector": "team=a", "reload-on-create": true}),
        json!({"annotations": {"ignore": "example.com/ignore"}, "reload-on-create": true}),
    ] {
        let host = host();
        host.store(SECRETS, labelled.clone());
        for config in [excluding, json!({"reload-on-create": true})] {
            reloader(config).reconcile(WEB).unwrap();
        }
        assert_eq!((host.requests(), memory().unwrap().hashes.len()), (Vec::new(), 2));
    }
}

/// Changes the ConfigMap twice while the annotations `during` keep it from the Deployment. The next step sets the annotations `after` and
/// the value `last` at the same time. `during` and `after` are pairs: annotations of the Deployment, and annotations of the ConfigMap. If
/// `was_rolled` is true, the Deployment is rolled once before the first step. Returns the number of later rolls.
fn patches_after_a_break(was_rolled: bool, [during, after]: &[[Value; 2]; 2], last: &str) -> usize {
    let mut reloader = reloader(json!({"reload-on-create": true}));
    let host = host();
    let set = |[own, of_source]: &[Value; 2], value: &str| {
        // The markers of the Deployment stay.
        let mut web = stored(DEPLOYMENTS);
        web["metadata"]["annotations"] = own.clone();
        host.store(DEPLOYMENTS, web);
        let mut source = map("app", value);
        source["metadata"]["annotations"] = of_source.clone();
        host.store(MAPS, source);
    };
    let mut steps = vec![(after, "1"), (during, "2"), (during, "3"), (after, last)];
    if was_rolled {
        steps.insert(1, (after, "2"));
    }
    for (annotations, value) in steps {
        set(annotations, value);
        reloader.reconcile(WEB).unwrap();
        reloader.reconcile(WEB).unwrap();
    }
    patched(&host).len() - usize::from(was_rolled)
}

/// A change that comes in the same step as the end of the annotation `ignore` counts, as in the original.
#[test]
fn a_source_that_annotations_kept_from_a_workload_rolls_it_only_for_a_change_that_comes_with_their_end() {
    let auto = || json!({"reloader.stakater.com/auto": "true"});
    let search = || json!({"reloader.stakater.com/search": "true"});
    let excluding = json!({
        "reloader.stakater.com/auto": "true", "configmaps.exclude.reloader.stakater.com/reload": "app",
    });
    for steps in [
        [[auto(), json!({"reloader.stakater.com/ignore": "true"})], [auto(), json!({})]],
        [[search(), json!({})], [search(), json!({"reloader.stakater.com/match": "true"})]],
        [[excluding, json!({})], [auto(), json!({})]],
    ] {
        for was_rolled in [false, true] {
            for (last, expected) in [("3", 0), ("4", 1)] {
                let rolls = patches_after_a_break(was_rolled, &steps, last);
                assert_eq!(rolls, expected, "{steps:?}, {last}, rolled before: {was_rolled}");
            }
        }
    }
}

/// An earlier version of the plugin did not remember the sources that a workload does not choose. Its memory has no `unchosen`.
#[test]
fn a_memory_of_an_earlier_version_is_read_and_its_ignored_source_was_not_created() {
    let mut reloader = reloader(json!({"reload-on-create": true}));
    let host = host();
    let ignored = |value: &str| {
        let mut source = map("app", value);
        source["metadata"]["annotations"] = json!({"reloader.stakater.com/ignore": "true"});
        source
    };
    host.store(MAPS, ignored("1"));
    reloader.reconcile(WEB).unwrap();
    let earlier = Memory { unchosen: std::collections::BTreeMap::new(), ..memory().unwrap() };
    earlier.write(&WEB.parse().unwrap(), None).unwrap();

    for source in [ignored("2"), map("app", "2")] {
        host.store(MAPS, source);
        reloader.reconcile(WEB).unwrap();
    }

    assert_eq!((host.requests(), memory().unwrap().hashes.len()), (Vec::new(), 2));
}

/// The plugin does not follow the sources of such a workload. Its pods may have read newer content than the plugin has seen, and newer
/// content than the marker of an earlier roll names.
#[test]
fn a_workload_that_no_source_could_roll_for_a_while_is_seen_for_the_first_time() {
    let auto = || json!({"reloader.stakater.com/auto": "true"});
    for (config, annotations) in [
        (json!({"namespaces-to-ignore": ["shop"]}), auto()),
        (json!({"ignored-workload-types": ["deployments"]}), auto()),
        (json!({}), json!({"reloader.stakater.com/auto": "false"})),
    ] {
        for rolls in [0, 1] {
            let mut first = reloader(json!({}));
            let host = seen(&mut first);
            if rolls == 1 {
                host.store(MAPS, map("app", "2"));
                first.reconcile(WEB).unwrap();
            }
            let set = |annotations: Value| {
                let mut web = stored(DEPLOYMENTS);
                web["metadata"]["annotations"] = annotations;
                host.store(DEPLOYMENTS, web);
            };
            set(annotations.clone());
            let mut second = reloader(config.clone());
            second.on_add(host.event(DEPLOYMENTS, stored(DEPLOYMENTS)), Cause::Replay).unwrap();
            assert_eq!(host.take_key().as_deref(), Some(WEB), "{config}");
            second.reconcile(WEB).unwrap();
            host.store(MAPS, map("app", "3"));

            set(auto());
            let mut third = reloader(json!({}));
            third.reconcile(WEB).unwrap();
            assert_eq!(patched(&host).len(), rolls, "{config} {annotations}");
            host.store(MAPS, map("app", "4"));
            third.reconcile(WEB).unwrap();
            assert_eq!(patched(&host).len(), rolls + 1, "{config} {annotations}");
        }
    }
}

#[test]
fn a_deletion_that_the_plugin_may_not_confirm_rolls_nothing_and_delays_no_other_source() {
    for code in [ApiCode::NotGranted, ApiCode::Forbidden] {
        let mut reloader = reloader(json!({"reload-on-delete": true}));
        let host = seen(&mut reloader);
        host.remove(SECRETS, &ObjectKey::new("shop", "app"));
        host.store(MAPS, map("app", "2"));
        // The sources are compared for the state of the cache, and once more before the write.
        for _ in 0..2 {
            host.fail_request(code, "`secrets` does not allow it");
        }

        assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);

        let patched = patched(&host);
        assert_eq!((patched.len(), patched[0].as_array().unwrap().len()), (1, 1), "{patched:?}");
        assert_eq!(patched[0][0]["name"], "STAKATER_APP_CONFIGMAP");
        assert!(logged(&host, "Secret/app of shop is not in the cache, and counts as not deleted"));
    }
}

/// A host whose Deployment has read 250 ConfigMaps, which are deleted now.
fn without_many_maps(reloader: &mut Reloader) -> TestHost {
    let names: Vec<String> = (0..250).map(|number| format!("map-{number}")).collect();
    let host = empty();
    host.store(DEPLOYMENTS, deployment(json!({"configmap.reloader.stakater.com/reload": "map-.*"})));
    names.iter().for_each(|name| host.store(MAPS, map(name, "1")));
    reloader.reconcile(WEB).unwrap();
    names.iter().for_each(|name| host.remove(MAPS, &ObjectKey::new("shop", name)));
    host
}

/// A webhook changes no workload, so no notification follows.
#[test]
fn the_call_for_the_first_of_many_deleted_sources_leads_to_the_call_for_the_next_ones() {
    let config = json!({"reload-on-delete": true, "webhook-url": "https://hooks.example/x"});
    let mut reloader = reloader(config);
    let _host = without_many_maps(&mut reloader);
    for (sent, expected) in [(1, Reconciled::Requeue), (2, Reconciled::Requeue), (3, Reconciled::Done)] {
        assert_eq!((reloader.reconcile(WEB).unwrap(), http::native::sent().len()), (expected, sent));
    }
    assert_eq!(memory().unwrap().hashes.len(), 0);
}

/// More requests would not fit into one call.
#[test]
fn many_sources_that_are_deleted_together_roll_the_workload_a_few_times() {
    let mut reloader = reloader(json!({"reload-on-delete": true}));
    let host = without_many_maps(&mut reloader);

    for _ in 0..5 {
        reloader.reconcile(WEB).unwrap();
    }

    let patched = patched(&host);
    let counts: Vec<usize> = patched.iter().map(|env| env.as_array().unwrap().len()).collect();
    assert_eq!((counts, memory().unwrap().hashes.len()), (vec![100, 100, 50], 0));
}

/// The plugin may not request the other sources.
#[test]
fn a_deleted_source_rolls_the_workload_also_behind_many_sources_that_count_as_not_deleted() {
    let mut reloader = reloader(json!({"reload-on-delete": true}));
    let host = without_many_maps(&mut reloader);
    // The sources are compared for the state of the cache, and once more before the write.
    for _ in 0..2 {
        (0..249).for_each(|_| host.fail_request(ApiCode::Forbidden, "no permission"));
        host.fail_request(ApiCode::NotFound, "not found");
    }

    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);

    let patched = patched(&host);
    assert_eq!((patched.len(), patched[0].as_array().unwrap().len()), (1, 1));
}

#[test]
fn a_marker_of_a_deleted_source_counts_only_if_the_workload_does_not_exclude_the_source() {
    for (exclude, expected) in [("other", 1), ("app", 0)] {
        let host = host();
        host.remove(SECRETS, &ObjectKey::new("shop", "app"));
        host.store(
            DEPLOYMENTS,
            deployment(json!({
                "reloader.stakater.com/auto": "true", "secrets.exclude.reloader.stakater.com/reload": exclude,
                "reloader.informer.dev/applied": json!({"Secret/app": "0"}).to_string(),
            })),
        );
        reloader(json!({"reload-on-delete": true})).reconcile(WEB).unwrap();
        assert_eq!(patched(&host).len(), expected, "excludes {exclude}");
    }
}

#[test]
fn a_label_of_the_namespace_selects_its_workloads_and_a_changed_label_adds_them() {
    let labelled = json!({"metadata": {"name": "shop", "labels": {"env": "prod"}}});
    for selector in ["env=prod", "env=*"] {
        let config = json!({"namespace-selector": selector});
        let rolled = rolled_for(config, |host| host.store("v1/namespaces", labelled.clone()));
        assert_eq!(rolled, 2, "{selector}");
    }

    let config = json!({"namespace-selector": "env=prod"});
    let host = host();
    let old = json!({"metadata": {"name": "shop"}});
    reloader(config).on_update(host.update("v1/namespaces", old, labelled), Cause::Live).unwrap();
    assert_eq!(keys(&host), [WEB]);
}

#[test]
fn sources_that_are_not_watched_count_as_ignored() {
    let host = empty();
    host.store(MAPS, map("app", "1"));
    host.store(DEPLOYMENTS, deployment(json!({"reloader.stakater.com/auto": "true"})));
    let mut reloader = reloader(json!({"reload-on-delete": true}));
    reloader.reconcile(WEB).unwrap();
    host.store(MAPS, map("app", "2"));
    reloader.reconcile(WEB).unwrap();
    assert_eq!(patched(&host)[0].as_array().unwrap().len(), 1);
}

#[test]
fn a_workload_that_is_gone_is_forgotten_and_one_that_no_source_may_roll_keeps_no_sources() {
    let mut deleted = deployment(json!({"reloader.stakater.com/auto": "true"}));
    deleted["metadata"]["deletionTimestamp"] = json!("2026-05-01T12:30:00Z");
    for (left, sources) in [(None, None), (Some(deployment(json!({}))), Some(0)), (Some(deleted), Some(0))] {
        let mut reloader = reloader(json!({}));
        let host = seen(&mut reloader);
        match left {
            None => host.remove(DEPLOYMENTS, &ObjectKey::new("shop", "web")),
            Some(object) => host.store(DEPLOYMENTS, object),
        }
        host.store(MAPS, map("app", "2"));
        assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);
        assert_eq!((memory().map(|memory| memory.hashes.len()), host.requests()), (sources, Vec::new()));
    }
}

#[test]
fn a_workload_that_was_deleted_while_the_host_was_down_is_forgotten() {
    let host = seen(&mut reloader(json!({})));
    host.remove(DEPLOYMENTS, &ObjectKey::new("shop", "web"));
    let mut reloader = reloader(json!({}));
    reloader.on_add(host.event(MAPS, map("kube-root-ca.crt", "")), Cause::Initial).unwrap();
    assert_eq!(host.take_key().as_deref(), Some(WEB));
    reloader.reconcile(WEB).unwrap();
    assert_eq!(memory(), None);
}

/// A change merges into the pending notification of the first list. Until it is delivered, a workload may be reconciled with the
/// state before.
#[test]
fn a_source_that_changes_while_the_first_list_is_delivered_rolls_its_workloads() {
    let mut reloader = reloader(json!({}));
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    reloader.on_add(host.event(MAPS, map("app", "2")), Cause::Initial).unwrap();
    assert_eq!(host.take_key(), None);
    for (gvr, expected) in [(DEPLOYMENTS, None), (MAPS, Some(WEB))] {
        reloader.on_synced(host.synced(gvr)).unwrap();
        assert_eq!(host.take_key().as_deref(), expected, "{gvr}");
    }
    reloader.reconcile(WEB).unwrap();
    assert_eq!(patched(&host).len(), 1);
}

#[test]
fn an_invalid_value_is_logged_and_the_others_count() {
    let mut reloader = reloader(json!({}));
    let host = host();
    let mut masked = secret("app", "MQ==");
    masked["metadata"]["annotations"] = json!({"reloader.stakater.com/match": "***"});
    host.store(SECRETS, masked);
    host.store(
        DEPLOYMENTS,
        deployment(
            json!({"reloader.stakater.com/auto": "true", "secret.reloader.stakater.com/reload": "(,x"}),
        ),
    );
    reloader.reconcile(WEB).unwrap();
    host.store(MAPS, map("app", "2"));
    reloader.reconcile(WEB).unwrap();
    assert_eq!(patched(&host)[0].as_array().unwrap().len(), 1);
    assert!(logged(
        &host,
        "shop/web: secret.reloader.stakater.com/reload: `(` is neither a name nor a regular expression"
    ));
    assert!(logged(&host, "shop/web: Secret/app: the host masks its data"));

    let mut empty = deployment(json!({"configmap.reloader.stakater.com/reload": "app"}));
    empty["spec"]["template"] = json!({"spec": {}});
    host.store(DEPLOYMENTS, empty);
    host.store(MAPS, map("app", "3"));
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);
    assert_eq!(patched(&host).len(), 1);
    assert!(logged(&host, "warn apps/v1/deployments shop/web: its pod template has no container to mark"));
    assert!(reloader.reconcile("nonsense").is_err());
}

#[test]
fn a_configuration_with_a_mistake_is_refused_with_the_reason() {
    let refused = |config: Value| Reloader::start(Config::from_json(config.to_string())).unwrap_err();
    for (config, expected) in [
        (json!({"auto": true}), "unknown field `auto`"),
        (json!({"reload-strategy": "restart"}), "unknown variant `restart`"),
        (json!({"ignored-workload-types": ["pods"]}), "`pods` is not a type of workload"),
        (json!({"settle": "-1s"}), "`-1s` is not a duration"),
        (json!({"namespace-selector": "a b"}), "is not a condition on a label"),
        (json!({"resource-label-selector": "team=a*"}), "`team=a*` is not a condition on a label"),
        (json!({"windows": [{"from": "25:00", "to": "1:00"}]}), "`25:00` is not a time of day"),
        (
            json!({"windows": [{"days": ["someday"], "from": "22:00", "to": "23:00"}]}),
            "`someday` is not a day",
        ),
        (json!({"webhook-url": "example.com"}), "webhook-url: a URL"),
        (json!({"alert": {"url": "x", "sink": "slack"}}), "alert.url: a URL"),
        (json!({"annotations": {"autos": "x"}}), "unknown field `autos`"),
    ] {
        let shown = refused(config);
        assert!(shown.contains(expected), "{shown}");
    }
}
