//! Lists: selectors, pages, and the state that a version selects.

use std::time::Duration;

use informer_devserver::Config;
use serde_json::json;

use crate::{
    client::{Cluster, MERGE},
    fixtures::{CONFIG_MAPS, NAMESPACES, PODS, config_map, labelled, namespace, pod},
};

async fn with_config_maps(names: &[&str]) -> Cluster {
    let cluster = Cluster::start().await;
    for name in names {
        cluster.create(CONFIG_MAPS, &config_map(name)).await;
    }
    cluster
}

#[tokio::test]
async fn a_list_has_the_version_of_the_last_write_to_any_resource() {
    let cluster = with_config_maps(&["b", "a"]).await;
    cluster.create(NAMESPACES, &namespace("other")).await;

    let list = cluster.get(CONFIG_MAPS).await;

    assert_eq!(list.body["kind"], "ConfigMapList");
    assert_eq!(list.names(), ["a", "b"]);
    assert_eq!(list.version(), cluster.server.resource_version());
    assert_eq!(list.body["items"][0].get("kind"), None, "items of built-in lists do not name their type");
}

#[tokio::test]
async fn namespaces_and_selectors_filter_a_list() {
    let cluster = Cluster::start().await;
    cluster.create(NAMESPACES, &namespace("other")).await;
    cluster.create(CONFIG_MAPS, &labelled("a", &json!({"app": "web", "tier": "front"}))).await;
    cluster.create(CONFIG_MAPS, &labelled("b", &json!({"app": "db"}))).await;
    cluster.create("/api/v1/namespaces/other/configmaps", &labelled("c", &json!({"app": "web"}))).await;
    cluster.create(PODS, &pod("p", "n1")).await;
    cluster.create(PODS, &pod("q", "n2")).await;

    for (path, names) in [
        ("/api/v1/configmaps", vec!["a", "b", "c"]),
        ("/api/v1/namespaces/other/configmaps", vec!["c"]),
        ("/api/v1/configmaps?labelSelector=app%3Dweb", vec!["a", "c"]),
        ("/api/v1/configmaps?labelSelector=app+in+(web,db),!tier", vec!["b", "c"]),
        ("/api/v1/configmaps?fieldSelector=metadata.name%3Db", vec!["b"]),
        ("/api/v1/configmaps?fieldSelector=metadata.namespace!%3Ddefault", vec!["c"]),
        ("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", vec!["p"]),
        ("/api/v1/pods?fieldSelector=status.phase%3DPending,spec.nodeName!%3Dn1", vec!["q"]),
    ] {
        assert_eq!(cluster.get(path).await.names(), names, "{path}");
    }
}

#[tokio::test]
async fn all_pages_show_one_state_while_the_collection_changes() {
    let cluster = with_config_maps(&["a", "b", "c", "d", "e"]).await;

    let first = cluster.get(&format!("{CONFIG_MAPS}?limit=2")).await;
    assert_eq!(first.names(), ["a", "b"]);
    assert_eq!(first.body["metadata"]["remainingItemCount"], 3);
    cluster.delete(&format!("{CONFIG_MAPS}/c")).await;
    cluster.create(CONFIG_MAPS, &config_map("bb")).await;
    cluster.patch(&format!("{CONFIG_MAPS}/e"), MERGE, &json!({"data": {"a": "new"}})).await;

    let token = first.body["metadata"]["continue"].as_str().unwrap();
    let second = cluster.get(&format!("{CONFIG_MAPS}?limit=2&continue={token}")).await;
    let token = second.body["metadata"]["continue"].as_str().unwrap();
    let third = cluster.get(&format!("{CONFIG_MAPS}?limit=2&continue={token}")).await;

    assert_eq!(second.names(), ["c", "d"]);
    assert_eq!(third.names(), ["e"]);
    assert_eq!(third.body["items"][0]["data"]["a"], "1", "as it was when the first page was read");
    assert_eq!((second.version(), third.version()), (first.version(), first.version()));
    assert_eq!(third.body["metadata"].get("continue"), None);
}

/// The watch cache of kube-apiserver ignores the limit of such a list. An informer that receives pages concludes that the
/// server has no watch cache.
#[tokio::test]
async fn a_list_of_any_state_is_not_paged() {
    let cluster = with_config_maps(&["a", "b", "c"]).await;

    let list = cluster.get(&format!("{CONFIG_MAPS}?limit=2&resourceVersion=0")).await;

    assert_eq!(list.names(), ["a", "b", "c"]);
    assert_eq!(list.body["metadata"].get("continue"), None);
}

#[tokio::test]
async fn a_page_of_a_forgotten_version_is_410_with_a_token_for_the_rest() {
    let cluster = with_config_maps(&["a", "b", "c"]).await;
    let first = cluster.get(&format!("{CONFIG_MAPS}?limit=1")).await;
    let token = first.body["metadata"]["continue"].as_str().unwrap();
    cluster.create(CONFIG_MAPS, &config_map("d")).await;
    cluster.server.compact(cluster.server.resource_version());

    let answer = cluster.get(&format!("{CONFIG_MAPS}?limit=1&continue={token}")).await;

    answer.failure(410, "Expired");
    let inconsistent = answer.body["metadata"]["continue"].as_str().unwrap();
    let rest = cluster.get(&format!("{CONFIG_MAPS}?continue={inconsistent}")).await;
    assert_eq!(rest.names(), ["b", "c", "d"]);
}

#[tokio::test]
async fn a_list_at_an_exact_version_shows_that_version() {
    let cluster = with_config_maps(&["a", "b"]).await;
    let then = cluster.server.resource_version();
    cluster.delete(&format!("{CONFIG_MAPS}/a")).await;
    cluster.patch(&format!("{CONFIG_MAPS}/b"), MERGE, &json!({"data": {"a": "new"}})).await;
    cluster.create(CONFIG_MAPS, &config_map("c")).await;

    let exact = format!("{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=Exact");
    let list = cluster.get(&exact).await;
    assert_eq!(list.names(), ["a", "b"]);
    assert_eq!(list.body["items"][1]["data"]["a"], "1");
    assert_eq!(list.version(), then);

    let at_least = format!("{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=NotOlderThan");
    assert_eq!(cluster.get(&at_least).await.names(), ["b", "c"]);
    assert_eq!(cluster.get(&format!("{CONFIG_MAPS}?resourceVersion={then}")).await.names(), ["b", "c"]);
    assert_eq!(
        cluster.get(&format!("{CONFIG_MAPS}?resourceVersion={then}&limit=9")).await.names(),
        ["a", "b"]
    );

    cluster.server.compact(cluster.server.resource_version());
    cluster.get(&exact).await.failure(410, "Expired");
}

#[tokio::test]
async fn a_list_waits_for_a_future_version_and_is_refused_after_the_patience() {
    let config = Config { future_version_patience: Duration::from_millis(50), ..Config::default() };
    let cluster = Cluster::with(config).await;

    let answer = cluster.get(&format!("{CONFIG_MAPS}?resourceVersion=100000")).await;

    let message = answer.failure(504, "Timeout");
    assert!(message.starts_with("Too large resource version: 100000, current: "), "{message}");
    assert_eq!(answer.body["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    assert!(answer.head.contains("retry-after: 1"), "{}", answer.head);

    let cluster = Cluster::start().await;
    let next = cluster.server.resource_version() + 1;
    let path = format!("{CONFIG_MAPS}?resourceVersion={next}");
    let late = config_map("late");
    let (list, _) = tokio::join!(cluster.get(&path), cluster.create(CONFIG_MAPS, &late));
    assert_eq!(list.names(), ["late"]);
}

#[tokio::test]
async fn contradictory_parameters_of_a_list_are_refused() {
    let cluster = with_config_maps(&["a", "b"]).await;
    for query in [
        "resourceVersionMatch=Exact",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "resourceVersion=1&resourceVersionMatch=Sometimes",
        "sendInitialEvents=true",
        "continue=1.61&resourceVersion=1&resourceVersionMatch=NotOlderThan",
    ] {
        cluster.get(&format!("{CONFIG_MAPS}?{query}")).await.failure(422, "Invalid");
    }
    for query in [
        "resourceVersion=abc",
        "limit=-1",
        "limit=x",
        "continue=nonsense",
        "labelSelector=a+b",
        "watch=maybe",
    ] {
        cluster.get(&format!("{CONFIG_MAPS}?{query}")).await.failure(400, "BadRequest");
    }
}

/// `ToSelectableFields` of kube-apiserver computes these values. An absent boolean is false, an absent number is 0, and two fields have
/// other names in the object.
#[tokio::test]
async fn selectable_fields_have_the_values_of_kube_apiserver() {
    let cluster = Cluster::start().await;
    let (nodes, jobs) = ("/api/v1/nodes", "/apis/batch/v1/namespaces/default/jobs");
    let events = "/api/v1/namespaces/default/events";
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
    let pods = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": pods}});
    let old = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "old"}, "source": {"component": "kubelet"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
    });
    let new = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "new"}, "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.000000Z", "reason": "Seen", "action": "Look",
        "reportingController": "example.com/eye", "reportingInstance": "eye-1",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
    });
    cluster.create(nodes, &node).await;
    cluster.create(PODS, &pod("p", "n")).await;
    cluster.create(jobs, &job).await;
    cluster.create(events, &old).await;
    cluster.create("/apis/events.k8s.io/v1/namespaces/default/events", &new).await;
    let selected = async |path: &str, selector: &str| {
        let selector = selector.replace('=', "%3D");
        cluster.get(&format!("{path}?fieldSelector={selector}")).await.names()
    };

    assert_eq!(selected(nodes, "spec.unschedulable=false").await, ["n"]);
    assert_eq!(selected(PODS, "spec.hostNetwork=false").await, ["p"]);
    assert_eq!(selected(jobs, "status.successful=0").await, ["j"]);
    assert_eq!(selected(events, "source=kubelet").await, ["old"]);
    assert_eq!(selected(events, "source=example.com/eye").await, ["new"]);

    cluster.patch(&format!("{nodes}/n"), MERGE, &json!({"spec": {"unschedulable": true}})).await;
    cluster.patch(&format!("{jobs}/j/status"), MERGE, &json!({"status": {"succeeded": 1}})).await;
    assert_eq!(selected(nodes, "spec.unschedulable=false").await, [""; 0]);
    assert_eq!(selected(nodes, "spec.unschedulable=true").await, ["n"]);
    assert_eq!(selected(jobs, "status.successful=1").await, ["j"]);
}
