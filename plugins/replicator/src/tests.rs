mod emberstack;
mod mittwald;
mod world;

use informer_sdk::{Controller, ReconcileError, client::ApiCode};
use serde_json::json;

use world::{MAPS, SECRETS, World, map, namespace};

const TO: &str = "replicator.v1.mittwald.de/replicate-to";
const FROM: &str = "replicator.v1.mittwald.de/replicate-from";

#[test]
fn a_target_that_is_right_needs_no_request_however_often_it_is_looked_at() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));
    let before = world.requests();

    world.restart();
    world.restart();

    assert_eq!(world.requests(), before, "a restart writes nothing");
    assert_eq!(before, ["create blog/web"]);
}

#[test]
fn a_source_that_disappeared_during_a_pause_takes_its_copies_with_it() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));
    world.lose(MAPS, "shop/web");

    world.restart();

    assert_eq!(world.get(MAPS, "blog/web"), None);
    assert_eq!(world.requests(), ["create blog/web", "delete blog/web"]);
}

#[test]
fn a_target_that_a_person_edits_or_deletes_is_put_right_again() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));

    let mut edited = world.get(MAPS, "blog/web").unwrap();
    edited["data"]["a"] = json!("edited");
    edited["metadata"]["resourceVersion"] = json!("1000");
    world.put(MAPS, edited);
    assert_eq!(world.get(MAPS, "blog/web").unwrap()["data"], json!({"a": "1"}));

    world.delete(MAPS, "blog/web");
    assert_eq!(world.get(MAPS, "blog/web").unwrap()["data"], json!({"a": "1"}));
    assert_eq!(world.requests(), ["create blog/web", "patch blog/web", "create blog/web"]);
}

#[test]
fn a_target_that_is_changed_back_each_time_is_not_written_without_end() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));
    for version in 1000..1010 {
        let mut changed_back = world.get(MAPS, "blog/web").unwrap();
        changed_back["data"]["a"] = json!("0");
        changed_back["metadata"]["resourceVersion"] = json!(version.to_string());
        world.put(MAPS, changed_back);
    }
    let patches = world.requests().iter().filter(|request| request.as_str() == "patch blog/web").count();
    assert_eq!(patches, 5);
    assert!(world.logged("v1/configmaps blog/web stays as it is: another client or a webhook changes it"));

    let mut new = world.get(MAPS, "blog/web").unwrap();
    new["metadata"]["uid"] = json!("new");
    world.put(MAPS, new);
    assert_eq!(
        world.get(MAPS, "blog/web").unwrap()["data"],
        json!({"a": "1"}),
        "another object of this name"
    );
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "2"})));
    assert_eq!(world.get(MAPS, "blog/web").unwrap()["data"], json!({"a": "2"}), "a new version is copied");
}

/// A dry run writes nothing, so no other client changes a write back.
#[test]
fn a_target_that_changes_often_during_a_dry_run_is_not_reported_as_changed_back() {
    let mut world = World::new(json!({"dry-run": true, "allow-all": true}), ["shop", "team"]);
    world.put(MAPS, map("shop/web", json!({}), json!({"a": "1"})));
    for number in 0..10 {
        let own = json!({"own": number.to_string()});
        world.put(MAPS, map("team/mine", json!({FROM: "shop/web"}), own));
    }
    assert!(world.logged("dry run: v1/configmaps team/mine would be changed"));
    assert!(!world.logged("v1/configmaps team/mine stays as it is"));
}

#[test]
fn bookkeeping_that_a_person_removes_is_written_again() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));
    let mut edited = world.get(MAPS, "blog/web").unwrap();
    let annotations = edited["metadata"]["annotations"].as_object_mut().unwrap();
    annotations.remove("replicator.v1.mittwald.de/replicated-from").unwrap();

    world.put(MAPS, edited);

    let annotations = &world.get(MAPS, "blog/web").unwrap()["metadata"]["annotations"];
    assert_eq!(annotations["replicator.v1.mittwald.de/replicated-from"], "shop/web");
}

#[test]
fn a_request_that_fails_concerns_one_target_and_is_made_again() {
    let mut world = World::new(json!({}), ["shop", "blog", "team"]);
    world.host.fail_request(ApiCode::Unavailable, "down");

    world.put(MAPS, map("shop/web", json!({TO: ".*"}), json!({"a": "1"})));

    assert_eq!(world.failures, ["unavailable: down"]);
    assert_eq!(world.requests(), ["create blog/web", "create team/web", "create blog/web"]);
}

#[test]
fn nothing_is_removed_from_a_target_before_the_api_server_returns_its_source() {
    let mut world = World::new(json!({"allow-all": true}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({}), json!({"a": "1", "b": "1"})));
    world.put(MAPS, map("blog/mine", json!({FROM: "shop/web"}), json!({"own": "x"})));
    world.host.fail_request(ApiCode::Unavailable, "down");

    world.put(MAPS, map("shop/web", json!({}), json!({"a": "1"})));

    assert_eq!(world.failures, ["unavailable: down"]);
    assert_eq!(world.requests(), ["patch blog/mine", "patch blog/mine"], "the request that failed is a read");
    assert_eq!(world.get(MAPS, "blog/mine").unwrap()["data"], json!({"a": "1", "own": "x"}));
}

#[test]
fn a_write_that_comes_too_late_changes_nothing_and_is_decided_anew() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));
    world.host.fail_request(ApiCode::Conflict, "modified");

    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "2"})));

    assert_eq!(world.failures, [""; 0], "a conflict is no failure");
    assert_eq!(world.get(MAPS, "blog/web").unwrap()["data"]["a"], "2");
    let patch = world.host.requests().into_iter().find(|request| request.verb == "patch").unwrap();
    assert!(patch.body["metadata"]["resourceVersion"].is_string(), "{:?}", patch.body);
}

#[test]
fn a_missing_namespace_or_role_is_a_failure_that_is_tried_again() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.host.fail_request(ApiCode::NotFound, "role reader not found");

    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({})));

    assert_eq!(world.failures, ["not-found: role reader not found"]);
    assert!(world.get(MAPS, "blog/web").is_some());
}

#[test]
fn a_masked_secret_is_neither_copied_nor_written() {
    let mut world = World::new(json!({}), ["shop", "blog", "team"]);
    let secret = |key: &str, annotations, value: &str| {
        let mut secret = map(key, annotations, json!({"password": value}));
        secret["kind"] = json!("Secret");
        secret
    };
    world.put(SECRETS, secret("blog/web", json!({}), "***"));

    world.put(SECRETS, secret("shop/web", json!({TO: "blog"}), "cGFzcw=="));
    world.put(SECRETS, secret("shop/hidden", json!({TO: "blog"}), "***"));

    assert_eq!(world.requests(), [""; 0]);
    assert!(world.logged("v1/secrets shop/hidden is left alone: `secrets` of [plugin.grant]"));
    assert!(world.logged("v1/secrets blog/web is left alone: `secrets` of [plugin.grant]"));
}

#[test]
fn a_request_that_the_grant_does_not_allow_is_logged_and_not_repeated() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.host.fail_request(ApiCode::NotGranted, "`write` does not allow it");

    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({})));

    assert_eq!((world.requests().len(), world.failures.len()), (1, 0));
    assert!(world.logged("v1/configmaps blog/web was not created: not-granted: `write` does not allow it"));
}

#[test]
fn a_dry_run_writes_nothing() {
    let mut world = World::new(json!({"dry-run": true}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog,team"}), json!({})));
    world.put(MAPS, map("team/web", json!({}), json!({})));
    world.put(super::NAMESPACES, namespace("team", json!({})));

    assert_eq!(world.requests(), [""; 0]);
    assert!(world.logged("dry run: v1/configmaps blog/web would be created: copy of shop/web"));
}

#[test]
fn a_removal_that_is_not_made_is_not_tried_without_end() {
    let source = |namespaces: &str| map("shop/web", json!({TO: namespaces}), json!({"a": "1"}));
    let created = ["create blog/web", "create team/web"];

    let mut dry = World::new(json!({}), ["shop", "blog", "team"]);
    dry.put(MAPS, source("blog,team"));
    dry.configure(json!({"dry-run": true}));
    dry.put(MAPS, source("blog"));
    assert_eq!(dry.requests(), created);
    assert!(dry.logged("dry run: v1/configmaps team/web would be deleted: its source shop/web does not"));

    let mut refused = World::new(json!({}), ["shop", "blog", "team"]);
    refused.put(MAPS, source("blog,team"));
    refused.host.fail_write(ApiCode::NotGranted, "`write` does not allow it");
    refused.put(MAPS, source("blog"));
    assert_eq!(refused.requests(), [created[0], created[1], "delete team/web"]);
}

#[test]
fn an_excluded_namespace_keeps_what_it_has() {
    let mut world = World::new(json!({}), ["shop", "kube-system"]);
    world.put(MAPS, map("shop/web", json!({TO: ".*"}), json!({})));
    world.configure(json!({"exclude-namespaces": ["kube-.*"]}));

    world.delete(MAPS, "shop/web");

    assert_eq!(world.requests(), ["create kube-system/web"]);
}

#[test]
fn a_key_of_another_plugin_is_given_up() {
    let mut world = World::new(json!({}), []);
    // A Role may have a space in its name.
    for key in [
        "shop/web",
        "pair v1/pods shop/web blog/web",
        "source rbac.authorization.k8s.io/v1/roles shop/for all",
    ] {
        let failed = world.plugin.reconcile(key);
        assert!(matches!(failed, Err(ReconcileError::Terminal(_))), "{key}: {failed:?}");
    }
}
