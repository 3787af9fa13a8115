use informer_sdk::testing::{Request, TestHost};

use super::*;

const MAPS: &str = "v1/configmaps";

const VOLUMES: &str = "v1/persistentvolumes";

const ROLES: &str = "rbac.authorization.k8s.io/v1/roles";

/// The clock of the tests: an hour after the creation of every object.
fn now() -> Timestamp {
    "2026-05-01T13:00:00Z".parse().unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
fn janitor(config: Value) -> Janitor {
    Janitor { now, ..Janitor::start(Config::from_json(config.to_string())).unwrap() }
}

/// A ConfigMap that was created an hour ago.
#[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
fn map(annotations: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "namespace": "shop", "name": "web", "uid": "u", "resourceVersion": "7",
            "creationTimestamp": "2026-05-01T12:00:00Z", "annotations": annotations,
        },
        "data": {"team": "a"},
    })
}

fn host(object: Value) -> TestHost {
    let host = TestHost::new();
    host.store(MAPS, object);
    host
}

fn reconcile(janitor: &mut Janitor) -> Reconciled {
    janitor.reconcile("v1/configmaps shop/web").unwrap()
}

fn verbs(host: &TestHost) -> Vec<&'static str> {
    host.requests().iter().map(|request| request.verb).collect()
}

fn event(host: &TestHost) -> Request {
    host.requests().into_iter().find(|request| request.verb == "create").unwrap()
}

#[test]
fn an_object_whose_time_to_live_is_over_is_deleted_with_an_event() {
    let host = host(map(json!({"janitor/ttl": "59m"})));

    assert_eq!(reconcile(&mut janitor(json!({}))), Reconciled::Done);

    assert_eq!(verbs(&host), ["delete", "create"]);
    let event = event(&host);
    assert_eq!((event.gvr.as_str(), &event.body["reason"]), (EVENTS, &json!("TimeToLiveExpired")));
    let regarding =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "web", "uid": "u"});
    assert_eq!(event.body["regarding"], regarding);
    assert!(
        host.log()[0]
            .message
            .starts_with("v1/configmaps shop/web was deleted: annotation janitor/ttl is set")
    );
}

/// The API server refuses an Event whose name is no DNS subdomain, or whose note has more than 1024 bytes. The name of an RBAC object may
/// have other characters.
#[test]
fn the_events_of_an_object_with_any_name_have_valid_names_and_notes() {
    const UID: &str = "0b5ac4d2-2b5f-4b3a-9d0d-9d1d3f0c6a11";
    let longest = "ä".repeat(1500);
    for name in ["web.v1", "system:node:A", ":", longest.as_str()] {
        // The first object is deleted, and the deletion of the second object is announced.
        for (ttl, what, at) in
            [("59m", "deleted", now()), ("65m", "announced", "2026-05-01T13:05:00Z".parse().unwrap())]
        {
            let mut role = map(json!({"janitor/ttl": ttl}));
            role["metadata"]["name"] = json!(name);
            role["metadata"]["uid"] = json!(UID);
            let host = TestHost::new();
            host.store(ROLES, role);

            janitor(json!({"delete-notification": "10m"}))
                .reconcile(&format!("{ROLES} shop/{name}"))
                .unwrap();

            let event = event(&host);
            assert_eq!(event.key.name, format!("janitor.{UID}.{what}.{:x}", at.as_nanosecond()));
            assert_eq!(event.body["regarding"]["name"], name, "the Event names the object itself");
            let note = event.body["note"].as_str().unwrap();
            assert!(note.starts_with(ROLES) && note.len() <= 1024, "{note}");
        }
    }
}

#[test]
fn an_object_that_lives_on_is_looked_at_again_at_its_time_and_within_an_hour() {
    for (annotations, expected) in [
        (json!({"janitor/ttl": "61m"}), Some(60)),
        (json!({"janitor/ttl": "61m", "janitor/expires": "2026-05-01T13:00:30Z"}), Some(30)),
        (json!({"janitor/ttl": "9w"}), Some(3600)),
        (json!({"janitor/expires": "2026-05-01T13:10"}), Some(600)),
        (json!({"janitor/ttl": "forever"}), None),
        (json!({"janitor/ttl": "0s"}), None),
        (json!({"janitor/ttl": "soon"}), None),
        (json!({}), None),
        (json!(null), None),
    ] {
        let host = host(map(annotations.clone()));
        let expected = expected
            .map_or(Reconciled::Done, |seconds| Reconciled::RequeueAfter(Duration::from_secs(seconds)));

        assert_eq!(reconcile(&mut janitor(json!({}))), expected, "{annotations}");
        assert_eq!(verbs(&host), [""; 0], "{annotations}");
    }
}

#[test]
fn an_annotation_without_a_meaning_is_logged_and_the_other_one_counts() {
    let host = host(map(json!({"janitor/ttl": "1 day", "janitor/expires": "2026-05-01"})));

    reconcile(&mut janitor(json!({})));

    assert!(
        host.log()[0]
            .to_string()
            .starts_with("warn v1/configmaps shop/web: janitor/ttl: `1 day` is not a time to live")
    );
    assert_eq!(event(&host).body["reason"], "ExpiryTimeReached");
}

#[test]
fn the_first_rule_that_matches_applies_to_objects_without_an_annotation_of_their_own() {
    let rules = json!({"rules": [
        {"id": "other-kinds", "resources": ["deployments"], "jmespath": "metadata", "ttl": "1s"},
        {"id": "no-team", "resources": ["configmaps"], "jmespath": "!(data.team)", "ttl": "1s"},
        {"id": "team-a", "resources": ["*"], "jmespath": "data.team == 'a'", "ttl": "30m"},
        {"id": "all", "resources": ["*"], "jmespath": "metadata", "ttl": "forever"},
    ]});
    let deleted = host(map(json!({})));
    reconcile(&mut janitor(rules.clone()));
    assert!(event(&deleted).body["note"].as_str().unwrap().contains("rule team-a matches"));

    let own = host(map(json!({"janitor/ttl": "forever"})));
    assert_eq!(reconcile(&mut janitor(rules.clone())), Reconciled::Done);
    assert_eq!(verbs(&own), [""; 0]);

    let mut object = map(json!({}));
    object["data"]["team"] = json!("b");
    let spared = host(object);
    assert_eq!(reconcile(&mut janitor(rules)), Reconciled::Done);
    assert_eq!(verbs(&spared), [""; 0]);
}

#[test]
fn a_time_to_live_of_zero_lasts_forever_and_no_further_rule_applies() {
    let rules = json!({"rules": [
        {"id": "team-a", "resources": ["*"], "jmespath": "data.team == 'a'", "ttl": "0s"},
        {"id": "all", "resources": ["*"], "jmespath": "metadata", "ttl": "1s"},
    ]});
    for (annotations, team) in [(json!({"janitor/ttl": "0d"}), "b"), (json!({}), "a")] {
        let mut object = map(annotations);
        object["data"]["team"] = json!(team);
        let host = host(object);

        assert_eq!(reconcile(&mut janitor(rules.clone())), Reconciled::Done, "{team}");
        assert_eq!(verbs(&host), [""; 0], "{team}");
    }
}

/// Python, in which kube-janitor is written, takes the number zero as false.
#[test]
fn a_rule_whose_result_is_the_number_zero_does_not_apply() {
    let rules = json!({"rules": [
        {"id": "has-data", "resources": ["*"], "jmespath": "length(data)", "ttl": "1m"},
    ]});
    let mut object = map(json!({}));
    let full = host(object.clone());
    reconcile(&mut janitor(rules.clone()));
    assert_eq!(verbs(&full), ["delete", "create"]);

    object["data"] = json!({});
    let empty = host(object);
    assert_eq!(reconcile(&mut janitor(rules)), Reconciled::Done);
    assert_eq!(verbs(&empty), [""; 0]);
}

/// The README of kube-janitor has such a rule. The specification of JMESPath orders numbers only.
#[test]
fn a_rule_may_compare_times_as_texts() {
    for (jmespath, matches) in [
        ("!(data.foo) && metadata.creationTimestamp > '2026-04-01'", true),
        ("metadata.creationTimestamp > '2026-06-01'", false),
        ("!(metadata.creationTimestamp >= '2026-04-01')", false),
        ("metadata.creationTimestamp <= '2026-05-01T12:00:00Z' && metadata.creationTimestamp < '2027'", true),
        ("[data.team, 'b'][?@ < 'b']", true),
        ("[data.team][?@ > 'b']", false),
        ("`2` > `1` && `2` >= `2`", true),
        ("`3` <= `2` || `3` < `3`", false),
        ("data.team > `1` || data.foo < 'a'", false),
    ] {
        let rules =
            json!({"rules": [{"id": "times", "resources": ["*"], "jmespath": jmespath, "ttl": "1m"}]});
        let host = host(map(json!({})));

        reconcile(&mut janitor(rules));

        assert_eq!(!verbs(&host).is_empty(), matches, "{jmespath}");
    }
}

#[test]
fn an_empty_annotation_has_no_effect_and_rules_apply() {
    let empty = json!({"janitor/ttl": "", "janitor/expires": "", "deployed-at": ""});
    let mut config = json!({"deployment-time-annotation": "deployed-at"});
    let kept = host(map(empty.clone()));
    assert_eq!(reconcile(&mut janitor(config.clone())), Reconciled::Done);
    assert_eq!((verbs(&kept).len(), kept.log().len()), (0, 0));

    config["rules"] = json!([{"id": "all", "resources": ["*"], "jmespath": "metadata", "ttl": "1m"}]);
    let deleted = host(map(empty));
    reconcile(&mut janitor(config));
    assert_eq!(verbs(&deleted), ["delete", "create"]);
}

#[test]
fn a_time_of_deployment_counts_if_it_is_later_than_the_creation() {
    let config = json!({"deployment-time-annotation": "deployed-at"});
    let host = host(map(json!({"janitor/ttl": "30m", "deployed-at": "2026-05-01T12:50:00Z"})));

    assert_eq!(
        reconcile(&mut janitor(config.clone())),
        Reconciled::RequeueAfter(Duration::from_secs(20 * 60))
    );

    host.store(MAPS, map(json!({"janitor/ttl": "90m", "deployed-at": "2026-05-01T11:00:00Z"})));
    assert_eq!(
        reconcile(&mut janitor(config.clone())),
        Reconciled::RequeueAfter(Duration::from_secs(30 * 60)),
        "the creation is later"
    );

    host.store(MAPS, map(json!({"janitor/ttl": "30m", "deployed-at": "today"})));
    assert_eq!(reconcile(&mut janitor(config)), Reconciled::Done);
    assert_eq!(verbs(&host), ["delete", "create"], "the creation counts, and the log says why");
    assert!(host.log()[0].message.contains("deployed-at: `today` is not a time"));
}

#[test]
fn a_deletion_is_announced_once() {
    let config = json!({"delete-notification": "10m"});
    let host = host(map(json!({"janitor/ttl": "75m"})));
    assert_eq!(
        reconcile(&mut janitor(config.clone())),
        Reconciled::RequeueAfter(Duration::from_secs(5 * 60))
    );
    assert_eq!(verbs(&host), [""; 0]);

    host.store(MAPS, map(json!({"janitor/ttl": "65m"})));
    for _ in 0..2 {
        let left = Duration::from_secs(5 * 60);
        assert_eq!(reconcile(&mut janitor(config.clone())), Reconciled::RequeueAfter(left));
    }
    assert_eq!(verbs(&host), ["create", "patch"]);
    assert_eq!(event(&host).body["reason"], "DeleteNotification");
}

/// The cache may be behind the API server: a person may have changed the annotation, or created another object with this name.
#[test]
fn a_deletion_is_announced_only_as_the_api_server_has_the_object() {
    let own = janitor(json!({"delete-notification": "10m"}));
    let facts = json!({"annotations": {"janitor/ttl": "65m"}, "creationTimestamp": "2026-05-01T12:00:00Z"});
    let cached: Facts = serde_json::from_value(facts).unwrap();
    let expiry = judge(&own.settings, "configmaps", &cached, || Ok(None)).unwrap().expiry.unwrap();
    let minutes = |minutes: u64| Reconciled::RequeueAfter(Duration::from_secs(minutes * 60));
    for (annotations, expected) in [
        (json!({}), Reconciled::Done),
        (json!({"janitor/ttl": "forever"}), Reconciled::Done),
        (json!({"janitor/ttl": "2h"}), minutes(50)),
        (json!({"janitor/ttl": "66m", NOTIFIED: "yes"}), minutes(6)),
    ] {
        let host = host(map(annotations.clone()));

        let key = Key::parse("v1/configmaps shop/web").unwrap();
        assert_eq!(own.expire(&key, &expiry, &cached).unwrap(), expected, "{annotations}");

        assert_eq!(verbs(&host), [""; 0], "{annotations}");
    }
}

#[test]
fn an_announcement_that_fails_or_that_a_crash_cuts_off_is_one_event() {
    let config = json!({"delete-notification": "10m"});
    let host = host(map(json!({"janitor/ttl": "65m"})));
    host.fail_write(ApiCode::Unavailable, "down");
    assert!(janitor(config.clone()).reconcile("v1/configmaps shop/web").is_err());
    assert_eq!(verbs(&host), ["create"], "an object without an announcement has no mark");

    for _ in ["the host ends before the mark", "it is there again"] {
        host.store(MAPS, map(json!({"janitor/ttl": "65m"})));
        reconcile(&mut janitor(config.clone()));
    }
    assert_eq!(verbs(&host), ["create", "create", "patch", "create", "patch"]);
    let events: Vec<_> = host.requests().into_iter().filter(|request| request.verb == "create").collect();
    assert!(events.iter().all(|request| request.key == events[0].key), "{events:?}");

    host.store(MAPS, map(json!({"janitor/ttl": "66m"})));
    host.fail_write(ApiCode::Forbidden, "no permission");
    reconcile(&mut janitor(config));
    assert_eq!(verbs(&host)[5..], ["create", "patch"], "the announcement is in the log");
    assert!(host.log().iter().any(|line| line.message.starts_with("no Event about v1/configmaps shop/web")));
}

/// An admission policy may forbid the annotation.
#[test]
fn an_object_that_cannot_be_marked_is_still_deleted_at_its_time() {
    let config = json!({"delete-notification": "10m"});
    for code in [ApiCode::Forbidden, ApiCode::Invalid, ApiCode::NotGranted] {
        let host = host(map(json!({"janitor/ttl": "65m"})));
        host.fail_write(ApiCode::AlreadyExists, "the Event is there");
        host.fail_write(code, "no");

        let left = Duration::from_secs(5 * 60);
        assert_eq!(reconcile(&mut janitor(config.clone())), Reconciled::RequeueAfter(left), "{code:?}");
        let log = host.log();
        assert!(log.iter().any(|line| line.message.contains("is not marked as announced")), "{log:?}");
    }
    let host = host(map(json!({"janitor/ttl": "65m"})));
    host.fail_write(ApiCode::AlreadyExists, "the Event is there");
    host.fail_write(ApiCode::Unavailable, "down");
    assert!(janitor(config).reconcile("v1/configmaps shop/web").is_err());
}

#[test]
fn a_dry_run_writes_nothing() {
    let host = host(map(json!({"janitor/ttl": "1m"})));
    let mut dry = janitor(json!({"dry-run": true, "delete-notification": "2h"}));

    assert_eq!(reconcile(&mut dry), Reconciled::Done);
    host.store(MAPS, map(json!({"janitor/ttl": "2h"})));
    reconcile(&mut dry);

    assert_eq!(verbs(&host), [""; 0]);
    assert!(host.log().iter().all(|line| line.message.starts_with("dry run: ")), "{:?}", host.log());
}

#[test]
fn an_object_that_is_being_deleted_or_is_gone_is_left_alone() {
    let mut object = map(json!({"janitor/ttl": "1m"}));
    object["metadata"]["deletionTimestamp"] = json!("2026-05-01T12:30:00Z");
    let host = host(object);

    assert_eq!(reconcile(&mut janitor(json!({}))), Reconciled::Done);
    host.remove(MAPS, &ObjectKey::new("shop", "web"));
    assert_eq!(reconcile(&mut janitor(json!({}))), Reconciled::Done);

    assert_eq!(verbs(&host), [""; 0]);
}

#[test]
fn a_request_that_fails_is_made_again() {
    let host = host(map(json!({"janitor/ttl": "1m"})));
    host.fail_request(ApiCode::Unavailable, "down");
    assert!(janitor(json!({})).reconcile("v1/configmaps shop/web").is_err());

    assert_eq!(reconcile(&mut janitor(json!({}))), Reconciled::Done);
    assert_eq!(verbs(&host), ["delete", "create"]);
}

/// A role or an admission policy may forbid the request. The API server itself never deletes the Namespace `default`.
#[test]
fn a_deletion_that_is_refused_becomes_a_dead_letter_and_is_tried_again_later() {
    for (code, reads) in [
        (ApiCode::Forbidden, false),
        (ApiCode::Invalid, false),
        (ApiCode::NotGranted, false),
        (ApiCode::BadArgument, false),
        (ApiCode::Forbidden, true),
        (ApiCode::TooLarge, true),
    ] {
        let host = host(map(json!({"janitor/ttl": "1m"})));
        if reads {
            host.fail_request(code, "no");
        } else {
            host.fail_write(code, "no");
        }

        let failed = janitor(json!({})).reconcile("v1/configmaps shop/web").unwrap_err();

        let why = format!("v1/configmaps shop/web cannot be deleted: {code}: no");
        assert_eq!(failed, ReconcileError::Terminal(why));
        assert_eq!(host.take_key().as_deref(), Some("v1/configmaps shop/web"), "{code:?}");
        assert_eq!(reconcile(&mut janitor(json!({}))), Reconciled::Done, "{code:?}");
        assert!(verbs(&host).ends_with(&["delete", "create"]), "{code:?}");
    }
}

#[test]
fn a_deletion_whose_answer_is_too_long_is_a_deletion() {
    let host = host(map(json!({"janitor/ttl": "1m"})));
    host.fail_write(ApiCode::TooLarge, "the object is in the answer");

    assert_eq!(reconcile(&mut janitor(json!({}))), Reconciled::Done);

    assert_eq!(verbs(&host), ["delete", "create"]);
    assert_eq!(host.take_key(), None);
}

#[test]
fn only_covered_namespaces_have_keys_and_a_namespace_is_in_itself() {
    let host = TestHost::new();
    let mut spared = janitor(json!({"exclude-namespaces": ["shop", "kube-system"]}));
    let mut chosen = janitor(json!({"include-namespaces": ["team", "kube-system"]}));
    let object = |namespace: &str, name: &str| json!({"metadata": {"namespace": namespace, "name": name}});
    for janitor in [&mut spared, &mut chosen] {
        janitor.on_add(host.event(MAPS, object("shop", "web")), Cause::Live).unwrap();
        janitor.on_add(host.event(NAMESPACES, object("", "shop")), Cause::Live).unwrap();
        janitor.on_add(host.event(NAMESPACES, object("", "kube-system")), Cause::Live).unwrap();
        janitor.on_add(host.event(MAPS, object("team", "web")), Cause::Live).unwrap();
    }

    assert_eq!(host.take_key().as_deref(), Some("v1/configmaps team/web"));
    assert_eq!(host.take_key(), None, "`kube-system` is always excluded unless the list is changed");
}

#[test]
fn all_among_the_included_namespaces_means_all() {
    for (include, exclude, deleted) in [
        (json!(["all"]), json!(["kube-system"]), true),
        (json!(["team", "all"]), json!([]), true),
        (json!(["all"]), json!(["shop"]), false),
        (json!(["all"]), json!(["all"]), true),
        (json!(["team"]), json!([]), false),
    ] {
        let host = host(map(json!({"janitor/ttl": "1m"})));
        let config = json!({"include-namespaces": include, "exclude-namespaces": exclude});

        reconcile(&mut janitor(config.clone()));

        assert_eq!(!verbs(&host).is_empty(), deleted, "{config}");
    }
}

#[test]
fn an_object_without_a_namespace_is_deleted_only_with_include_cluster_resources() {
    let rule = json!({"id": "all", "resources": ["*"], "jmespath": "metadata", "ttl": "1s"});
    for annotations in [json!({"janitor/ttl": "1m"}), json!({"janitor/expires": "2026-05-01"}), json!({})] {
        let volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {
                "name": "disk", "uid": "u", "resourceVersion": "7",
                "creationTimestamp": "2026-05-01T12:00:00Z", "annotations": annotations,
            },
        });
        let host = TestHost::new();
        host.store(VOLUMES, volume.clone());
        for included in [false, true] {
            let mut own = janitor(json!({"include-cluster-resources": included, "rules": [rule]}));
            own.on_add(host.event(VOLUMES, volume.clone()), Cause::Live).unwrap();
            assert_eq!(host.take_key().is_some(), included, "{annotations}");

            assert_eq!(own.reconcile("v1/persistentvolumes disk").unwrap(), Reconciled::Done);
            let expected: &[&str] = if included { &["delete", "create"] } else { &[] };
            assert_eq!(verbs(&host), expected, "{annotations}");
        }
    }
}

/// Keys survive a reload, so a key may be older than the configuration.
#[test]
fn a_key_of_a_namespace_that_is_no_longer_covered_deletes_nothing() {
    let host = host(map(json!({"janitor/ttl": "1m"})));

    assert_eq!(reconcile(&mut janitor(json!({"exclude-namespaces": ["shop"]}))), Reconciled::Done);

    assert_eq!(verbs(&host), [""; 0]);
}

/// A kind may disappear from the cluster while its objects wait for their times. A failed key would be tried again without end.
#[test]
fn a_key_of_a_resource_that_is_no_longer_watched_ends() {
    let host = host(map(json!({})));

    let reconciled = janitor(json!({})).reconcile("shop.example.com/v1/orders shop/web");

    assert_eq!(reconciled, Ok(Reconciled::Done));
    assert_eq!(host.take_key(), None);
    let log = host.log();
    assert!(log[0].message.starts_with("shop.example.com/v1/orders shop/web is left alone: "), "{log:?}");
}

#[test]
fn a_configuration_with_a_mistake_is_refused_with_the_reason() {
    let refused = |config: Value| Janitor::start(Config::from_json(config.to_string())).unwrap_err();

    assert!(refused(json!({"dryrun": true})).contains("unknown field `dryrun`"));
    assert!(refused(json!({"delete-notification": "5"})).contains("`5` is not a time to live"));
    let rule = |id: &str, jmespath: &str| json!({"rules": [{"id": id, "resources": ["*"], "jmespath": jmespath, "ttl": "1d"}]});
    assert!(refused(rule("No", "a")).contains("`No` is not the id of a rule"));
    assert!(refused(rule("no", "a.[")).contains("`a.[` is not JMESPath"));
    for context in ["_context.pvc_is_not_mounted", "!(_context.a || b)", "[?length(_context.a) > `1`]"] {
        assert!(refused(rule("no", context)).contains("`_context` of kube-janitor is not supported"));
    }
}
