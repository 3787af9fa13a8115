//! The lookup of a resource before the first list, and the reports about failures.

use informer_cache::{ErrorClass, WatchConfig};
use serde_json::json;

use crate::{
    server::{Answer, Script},
    world::{World, config, core_v1, pod, pods},
};

fn gvr(text: &str) -> WatchConfig {
    WatchConfig::new(text.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_error_about_an_unknown_resource_suggests_a_name() {
    for (wanted, expected) in [
        ("apps/v1/deployment", "apps/v1 has no resource `deployment`; did you mean `deployments`?"),
        ("v1/pod", "v1 has no resource `pod`; did you mean `pods`?"),
        ("v1/secrets", "v1 has no resource `secrets`"),
    ] {
        let world = World::start_with(Script::new(), config(), gvr(wanted));

        let text = world.fails(ErrorClass::UnknownResource).await;

        assert_eq!(text, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_about_an_unknown_group_suggests_a_name() {
    for (wanted, expected) in [
        ("apps/v2/replicas", "http://scripted has no API apps/v2; did you mean `apps/v1`?"),
        ("apps/v2/deployments", "apps/v2/deployments is not served, but apps/v1/deployments is"),
    ] {
        let script = Script::new();
        script.path("/apis", Answer::json(&json!({"groups": [{"versions": [{"groupVersion": "apps/v1"}]}]})));
        let world = World::start_with(script, config(), gvr(wanted));

        let text = world.fails(ErrorClass::UnknownResource).await;

        assert_eq!(text, expected);
    }
}

/// The text of the server becomes part of a path.
#[tokio::test(start_paused = true)]
async fn an_invalid_version_of_the_group_is_left_out() {
    let script = Script::new();
    let long = format!("apps/v{}", "1".repeat(1 << 20));
    let versions = ["apps", "apps/../v1", "apps/v1/..", "apps/v1?x", "batch/v1", long.as_str()];
    let versions: Vec<_> = versions.iter().map(|version| json!({"groupVersion": version})).collect();
    script.always("/apis", Some(json!({"groups": [{"versions": versions}]})));
    let world = World::start_with(script, config(), gvr("apps/v2/deployments"));

    let text = world.fails(ErrorClass::UnknownResource).await;

    assert!(
        text.starts_with("http://scripted has no API apps/v2") && text.len() < 2 << 10,
        "{} bytes",
        text.len()
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_without_api_groups_is_reported_as_no_api_server() {
    let script = Script::new();
    script.always("/api/v1", None);
    script.path("/apis", Answer::status(404, "default backend - 404"));
    let world = World::start(script);

    let text = world.fails(ErrorClass::Malformed).await;

    assert_eq!(
        text,
        "cannot look up v1/pods: the API server at http://scripted answered with no list of its API groups: is it \
         an API server? (GET /apis)"
    );
}

/// The role of an identity may hide the groups.
#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_to_list_its_groups_is_an_api_server() {
    let script = Script::new();
    script.path("/apis", Answer::error(403, "Forbidden", "User \"jane\" cannot get path \"/apis\""));
    let world = World::start_with(script, config(), gvr("apps/v2/deployments"));

    let text = world.fails(ErrorClass::UnknownResource).await;

    assert_eq!(text, "http://scripted has no API apps/v2");
    assert_eq!(world.informer.status().counters.failures, 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_resources_is_reported_as_json_of_another_form() {
    let script = Script::new();
    script.path("/api/v1", Answer::json(&json!({"status": "ok"})));
    script.list(Answer::list("10", &[pod("a", "1")]));
    let world = World::start(script);

    let text = world.fails(ErrorClass::Malformed).await;

    assert!(text.contains("answered with JSON of another form: missing field `resources`"), "{text}");
    world.caches(&["shop/a@1"]).await;
}

#[tokio::test(start_paused = true)]
async fn unwatchable_and_cluster_scoped_resources_are_reported() {
    let world = World::start_with(Script::new(), config(), gvr("v1/bindings"));
    let text = world.fails(ErrorClass::UnknownResource).await;
    assert_eq!(text, "v1/bindings cannot be watched: the server allows only create on it");

    let nodes = WatchConfig { namespaces: vec!["shop".to_owned()], ..gvr("v1/nodes") };
    let world = World::start_with(Script::new(), config(), nodes);
    let text = world.fails(ErrorClass::UnknownResource).await;
    assert_eq!(text, "v1/nodes is cluster-scoped: leave out `namespaces`");
}

#[tokio::test(start_paused = true)]
async fn the_error_about_a_resource_does_not_grow_with_what_the_server_sends() {
    let long = "x".repeat(1 << 20);
    for resource in [
        json!({"name": "pods", "kind": "Pod", "namespaced": true, "verbs": [long]}),
        json!({"name": long, "singularName": "podz", "kind": "Pod", "namespaced": true}),
    ] {
        let script = Script::new();
        script.always("/api/v1", Some(json!({"resources": [resource]})));
        let world = World::start(script);

        let text = world.fails(ErrorClass::UnknownResource).await;

        assert!(text.contains("xxx") && text.len() < 2 << 10, "{} bytes", text.len());
    }
}

/// Go writes `null` for an empty list.
#[tokio::test(start_paused = true)]
async fn a_resource_is_found_beside_others_whose_lists_are_null() {
    let script = Script::new();
    let with_null =
        json!({"name": "pods/log", "kind": "Pod", "namespaced": true, "verbs": null, "shortNames": null});
    let pods_too = core_v1()["resources"][0].clone();
    script.always("/api/v1", Some(json!({"resources": [with_null, pods_too]})));
    script.list(Answer::list("10", &[pod("a", "1")]));
    let world = World::start(script);

    world.caches(&["shop/a@1"]).await;

    assert_eq!(world.informer.status().counters.failures, 0);
}

#[tokio::test(start_paused = true)]
async fn the_lookup_is_retried_until_the_server_is_up() {
    let script = Script::new();
    script.path("/api/v1", Answer::ok("<html>"));
    script.path("/api/v1", Answer::Refused);
    script.list(Answer::list("10", &[pod("a", "1")]));
    let world = World::start(script);

    assert!(world.fails(ErrorClass::Refused).await.contains("cannot look up v1/pods"));
    assert!(world.fails(ErrorClass::Malformed).await.contains("HTML"));
    world.caches(&["shop/a@1"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_appears_later_is_found() {
    let script = Script::new();
    script.path("/api/v1", Answer::json(&json!({"resources": []})));
    script.list(Answer::list("10", &[pod("a", "1")]));
    let world = World::start_with(script, config(), pods());

    world.fails(ErrorClass::UnknownResource).await;
    world.caches(&["shop/a@1"]).await;
}
