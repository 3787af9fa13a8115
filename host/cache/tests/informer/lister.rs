//! Reading the cache: L-1 to L-5, I-7, I-13, I-16.

use informer_cache::{ListQuery, Lister, UnknownIndex, WatchConfig};
use serde_json::{Value, json};

use crate::{
    server::{Answer, Script},
    world::{World, config, pods},
};

fn pod(namespace: &str, name: &str, app: &str, node: Value) -> Value {
    json!({"metadata": {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1",
        "labels": {"app": app}}, "spec": {"nodeName": node, "ports": [80, 443]}})
}

async fn world() -> World {
    let script = Script::new();
    script.list(Answer::list(
        "10",
        &[
            pod("shop", "b", "web", json!("n1")),
            pod("shop", "a", "db", json!("n2")),
            pod("bank", "c", "web", json!("n1")),
            pod("bank", "d", "web", Value::Null),
        ],
    ));
    let indexes = [
        ("by-node".to_owned(), "/spec/nodeName".parse().unwrap()),
        ("by-port".to_owned(), "/spec/ports".parse().unwrap()),
    ];
    let world = World::start_with(script, config(), WatchConfig { indexes: indexes.into(), ..pods() });
    assert!(world.informer.lister().is_empty() && !world.informer.lister().has_synced());
    assert!(world.informer.wait_synced().await);
    world
}

fn list(
    lister: &Lister,
    namespace: Option<&str>,
    labels: &str,
    index: Option<(&str, &str)>,
) -> Result<Vec<String>, UnknownIndex> {
    let labels = labels.parse().unwrap();
    let objects = lister.list(&ListQuery { namespace, labels: &labels, index })?;
    Ok(objects.iter().map(|object| object.key().to_string()).collect())
}

/// Scenarios 77, 101 and 104: the empty label selector selects everything (L-3), the empty namespace means all (L-4),
/// and an index is looked up by value (I-7).
/// client-go lists in no order (I-14).
#[tokio::test(start_paused = true)]
async fn a_query_combines_namespace_labels_and_index_and_is_sorted() {
    let lister = world().await.informer.lister();

    for (namespace, labels, index, expected) in [
        (None, "", None, &["bank/c", "bank/d", "shop/a", "shop/b"][..]),
        (Some(""), "", None, &["bank/c", "bank/d", "shop/a", "shop/b"]),
        (Some("shop"), "", None, &["shop/a", "shop/b"]),
        (Some("none"), "", None, &[]),
        (None, "app=web", None, &["bank/c", "bank/d", "shop/b"]),
        (Some("shop"), "app in (web,x)", None, &["shop/b"]),
        (None, "", Some(("by-node", "n1")), &["bank/c", "shop/b"]),
        (Some("bank"), "app=web", Some(("by-node", "n1")), &["bank/c"]),
        (None, "app=db", Some(("by-node", "n1")), &[]),
        (None, "", Some(("by-node", "")), &[]),
        (Some("shop"), "", Some(("by-port", "443")), &["shop/a", "shop/b"]),
        // The namespace index always exists (F-8, I-13).
        (None, "app=web", Some(("namespace", "bank")), &["bank/c", "bank/d"]),
        (Some("shop"), "", Some(("namespace", "bank")), &[]),
        (None, "", Some(("namespace", "")), &[]),
    ] {
        assert_eq!(
            list(&lister, namespace, labels, index).unwrap(),
            expected,
            "{namespace:?} {labels} {index:?}"
        );
    }
    assert_eq!((lister.len(), lister.has_synced()), (4, true));
}

/// Scenario 105: an object that is not cached is `None` (L-2).
#[tokio::test(start_paused = true)]
async fn an_object_is_found_by_its_whole_key() {
    let lister = world().await.informer.lister();

    assert_eq!(lister.get(&"shop/a".parse().unwrap()).unwrap().label("app"), Some("db"));
    assert!(lister.get(&"a".parse().unwrap()).is_none());
    assert!(lister.get(&"bank/a".parse().unwrap()).is_none());
}

/// A lookup in an index that does not exist is an error (I-7).
#[tokio::test(start_paused = true)]
async fn the_error_about_an_unknown_index_names_the_existing_ones() {
    let error = list(&world().await.informer.lister(), None, "", Some(("by-zone", "x"))).unwrap_err();

    assert_eq!(error.to_string(), "there is no index `by-zone`; the watch configures by-node, by-port");
}

/// Scenario 77: an index can be added while the informer runs (I-8).
#[tokio::test(start_paused = true)]
async fn an_index_added_by_a_later_request_is_filled_at_once() {
    let world = world().await;
    let indexes = [("by-app".to_owned(), "/metadata/labels/app".parse().unwrap())];

    world.factory.informer(WatchConfig { indexes: indexes.into(), ..pods() });

    let lister = world.informer.lister();
    assert_eq!(list(&lister, None, "", Some(("by-app", "db"))).unwrap(), ["shop/a"]);
    assert_eq!(list(&lister, None, "", Some(("by-node", "n2"))).unwrap(), ["shop/a"]);
}
