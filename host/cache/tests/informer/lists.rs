//! The request for the first list and its answers.

use serde_json::json;

use crate::{
    server::{Answer, Script},
    world::{World, config, pod, pods},
};

/// Scenario 2: the first list is at "0" and paged.
#[tokio::test(start_paused = true)]
async fn the_first_list_requests_any_state_in_pages_and_the_watch_starts_at_its_version() {
    let world = World::listing("10", &[pod("a", "3"), pod("b", "7")]);

    world.caches(&["shop/a@3", "shop/b@7"]).await;
    world.watches(1).await;

    let list = &world.script.lists()[0];
    assert_eq!(
        (list.path.as_str(), list.get("resourceVersion"), list.get("limit")),
        ("/api/v1/pods", "0", "500")
    );
    let watch = &world.script.watches()[0];
    assert_eq!((watch.get("resourceVersion"), watch.get("allowWatchBookmarks")), ("10", "true"));
    assert!((300..=600).contains(&watch.get("timeoutSeconds").parse::<u64>().unwrap()));
    assert_eq!(watch.get("limit"), "");
    assert_eq!(world.received(), ["add shop/a@3 initial", "add shop/b@7 initial"]);
}

/// A list of several pages has the resource version of the first page.
#[tokio::test(start_paused = true)]
async fn pages_are_joined_in_order_with_the_version_of_the_first_page() {
    let script = Script::new();
    script.list(Answer::page("10", "t1", &[pod("a", "1")]));
    script.list(Answer::page("11", "t2", &[pod("b", "2")]));
    script.list(Answer::page("12", "", &[pod("c", "3")]));
    let world = World::start(script);

    world.caches(&["shop/a@1", "shop/b@2", "shop/c@3"]).await;
    world.watches(1).await;

    let lists = world.script.lists();
    let sent: Vec<_> = lists.iter().map(|list| (list.get("resourceVersion"), list.get("continue"))).collect();
    assert_eq!(sent, [("0", ""), ("", "t1"), ("", "t2")]);
    assert_eq!(world.watch_versions(), ["10"]);
}

/// A list is applied as a whole.
#[tokio::test(start_paused = true)]
async fn no_page_is_visible_before_the_last_one_has_arrived() {
    let script = Script::new();
    let (second, answer) = Answer::live(200);
    script.list(Answer::page("10", "t1", &[pod("a", "1")]));
    script.list(answer);
    let world = World::start(script);

    world.lists(2).await;
    assert!(world.cached().is_empty() && !world.informer.has_synced());

    second.bytes(json!({"metadata": {}, "items": [pod("b", "2")]}).to_string());
    second.end();
    world.caches(&["shop/a@1", "shop/b@2"]).await;
}

/// Scenario 113: if the continue token has expired, the list is repeated without pages.
#[tokio::test(start_paused = true)]
async fn an_expired_continue_token_leads_to_a_whole_list_at_the_same_version() {
    let script = Script::new();
    script.list(Answer::page("10", "t1", &[pod("a", "1")]));
    script.list(Answer::error(410, "Expired", "the token is too old"));
    script.list(Answer::list("12", &[pod("a", "1"), pod("b", "2")]));
    let world = World::start(script);

    world.caches(&["shop/a@1", "shop/b@2"]).await;
    world.watches(1).await;

    let lists = world.script.lists();
    let last = lists.last().unwrap();
    assert_eq!((last.get("resourceVersion"), last.get("limit"), last.get("continue")), ("0", "", ""));
    assert_eq!(world.watch_versions(), ["12"]);
}

/// Scenario 113: only an expired token leads to a list without pages.
#[tokio::test(start_paused = true)]
async fn another_failure_on_a_later_page_fails_the_list() {
    let script = Script::new();
    script.list(Answer::page("10", "t1", &[pod("a", "1")]));
    script.list(Answer::error(500, "InternalError", "etcd is away"));
    script.list(Answer::list("12", &[pod("b", "2")]));
    let world = World::start(script);

    world.caches(&["shop/b@2"]).await;

    assert_eq!(world.received(), ["add shop/b@2 initial"]);
}

/// A configured page size replaces the choice between 500 and no limit.
#[tokio::test(start_paused = true)]
async fn a_configured_page_size_applies_to_every_list() {
    let script = Script::new();
    script.list(Answer::page("10", "t1", &[pod("a", "1")]));
    script.list(Answer::page("10", "", &[pod("b", "2")]));
    let world =
        World::start_with(script, informer_cache::FactoryConfig { page_size: Some(1), ..config() }, pods());

    world.caches(&["shop/a@1", "shop/b@2"]).await;

    assert!(world.script.lists().iter().all(|list| list.get("limit") == "1"));
}

/// The first list counts even if it is empty.
#[tokio::test(start_paused = true)]
async fn an_empty_list_makes_the_informer_synced() {
    for items in [json!([]), json!(null)] {
        let script = Script::new();
        script.list(Answer::json(
            &json!({"kind": "PodList", "metadata": {"resourceVersion": "5"}, "items": items}),
        ));
        let world = World::start(script);

        assert!(world.informer.wait_synced().await);
        assert!(world.registration.wait_synced().await);
        assert!(world.cached().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn items_get_the_type_of_the_list_and_lose_their_managed_fields() {
    let script = Script::new();
    let item = json!({"metadata": {"name": "a", "namespace": "shop", "resourceVersion": "1",
        "managedFields": [{"manager": "x"}]}, "spec": {"x": 1}});
    script.list(Answer::list("10", &[item]));
    let world = World::start(script);

    world.caches(&["shop/a@1"]).await;

    let object = world.informer.lister().get(&"shop/a".parse().unwrap()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&object.json().unwrap()).unwrap();
    assert_eq!(
        json,
        json!({"kind": "Pod", "apiVersion": "v1", "spec": {"x": 1},
            "metadata": {"name": "a", "namespace": "shop", "resourceVersion": "1"}})
    );
}

/// Scenario 110: the server applies the selectors to lists and watches (F-6).
#[tokio::test(start_paused = true)]
async fn every_request_has_the_selectors_and_the_namespace() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let watch = informer_cache::WatchConfig {
        namespaces: vec!["shop".to_owned()],
        labels: "app=web".parse().unwrap(),
        fields: "spec.nodeName=n1".to_owned(),
        ..pods()
    };
    let world = World::start_with(script, config(), watch);

    world.watches(1).await;

    for request in world.script.requests() {
        assert_eq!(request.path, "/api/v1/namespaces/shop/pods");
        assert_eq!(request.get("labelSelector"), "app in (web)");
        assert_eq!(request.get("fieldSelector"), "spec.nodeName=n1");
    }
}

/// Scenario 110.
#[tokio::test(start_paused = true)]
async fn several_namespaces_share_a_cache_that_is_synced_after_all_lists() {
    let script = Script::new();
    let other = json!({"kind": "Pod", "metadata": {"name": "x", "namespace": "bank", "uid": "u", "resourceVersion": "2"}});
    let (second, answer) = Answer::live(200);
    script.path("/api/v1/namespaces/bank/pods", Answer::list("10", &[other]));
    script.path("/api/v1/namespaces/shop/pods", answer);
    let watch =
        informer_cache::WatchConfig { namespaces: vec!["shop".to_owned(), "bank".to_owned()], ..pods() };
    let world = World::start_with(script, config(), watch);

    world.caches(&["bank/x@2"]).await;
    assert!(!world.informer.has_synced());

    second.bytes(json!({"metadata": {"resourceVersion": "11"}, "items": [pod("a", "3")]}).to_string());
    second.end();
    assert!(world.informer.wait_synced().await);
    assert_eq!(world.cached(), ["bank/x@2", "shop/a@3"]);
}
