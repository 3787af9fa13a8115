use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use super::{Collection, Kind, LISTED_AT, Recipe};

const ALL: [Kind; 4] = [Kind::Pods, Kind::SmallPods, Kind::ConfigMaps, Kind::Workflows];

fn recipe(kind: Kind, objects: usize) -> Recipe {
    Recipe { kind, objects, page_size: 50, seed: 1, churn: false }
}

fn pods(count: usize) -> Collection {
    Collection::generate(recipe(Kind::Pods, count)).unwrap()
}

fn items<T: serde::de::DeserializeOwned>(pods: &Collection) -> Vec<T> {
    let pages = pods.pages().iter().map(|page| std::str::from_utf8(page).unwrap());
    pages.flat_map(|page| serde_json::from_str::<Vec<T>>(&format!("[{page}]")).unwrap()).collect()
}

#[test]
fn every_page_except_the_last_is_full() {
    let pods = pods(120);

    let lengths: Vec<usize> = pods
        .pages()
        .iter()
        .map(|page| {
            serde_json::from_str::<Vec<Value>>(&format!("[{}]", std::str::from_utf8(page).unwrap()))
                .unwrap()
                .len()
        })
        .collect();

    assert_eq!(lengths, [50, 50, 20]);
}

#[test]
fn a_generated_pod_has_both_fields_that_the_handlers_read() {
    for pod in items::<Pod>(&pods(100)) {
        assert!(!pod.status.unwrap().phase.unwrap().is_empty());
        assert!(pod.spec.unwrap().node_name.unwrap().starts_with("ip-10-"));
        assert!(!pod.metadata.managed_fields.unwrap().is_empty());
    }
}

#[test]
fn items_have_no_kind_and_api_version() {
    for pod in items::<Value>(&pods(30)) {
        assert!(pod.get("kind").is_none() && pod.get("apiVersion").is_none());
    }
}

#[test]
fn no_two_pods_share_a_unique_value() {
    let pods: Vec<Pod> = items(&pods(5_000));

    let mut seen = BTreeSet::new();
    for pod in &pods {
        let status = pod.status.as_ref().unwrap();
        seen.insert(format!("name {}", pod.metadata.name.as_ref().unwrap()));
        seen.insert(format!("uid {}", pod.metadata.uid.as_ref().unwrap()));
        seen.insert(format!("owner {}", pod.metadata.owner_references.as_ref().unwrap()[0].uid));
        seen.insert(format!("ip {}", status.pod_ip.as_ref().unwrap()));
        let container = &status.container_statuses.as_ref().unwrap()[0];
        seen.insert(format!("container {}", container.container_id.as_ref().unwrap()));
        seen.insert(format!("image {}", container.image_id));
    }

    assert_eq!(seen.len(), 6 * pods.len());
}

#[test]
fn no_varying_value_of_the_recording_is_left() {
    let text = String::from_utf8(pods(19).pages().concat()).unwrap();

    for recorded in ["argocd-redis-6c6648f4fd", "75d899c556", "10.1.24.111", "quay.io/argoproj/argocd:latest"]
    {
        assert!(!text.contains(recorded), "{recorded} is still there");
    }
    assert!(!text.contains(r#""namespace":"argocd""#) && !text.contains("2026-11-21T02:"));
}

#[test]
fn the_same_seed_generates_the_same_pods_and_another_seed_others() {
    let make =
        |seed| Collection::generate(Recipe { seed, ..recipe(Kind::Pods, 40) }).unwrap().pages().concat();

    assert_eq!(make(7), make(7));
    assert_ne!(make(7), make(8));
}

#[test]
fn frames_go_round_the_objects_with_growing_versions_and_a_changing_last_field() {
    for kind in ALL {
        let collection = Collection::generate(recipe(kind, 3)).unwrap();
        let frame = |event| serde_json::from_slice::<Value>(&collection.frame(event).unwrap()).unwrap();
        let listed: Vec<Value> = items(&collection);
        let last = kind.two_fields()[0].split('/').nth(1).unwrap();

        for event in 0..9 {
            let (before, now) = (event as usize % 3, frame(event));
            let mut listed = listed[before].clone();
            let previous = if event < 3 { listed.clone() } else { frame(event - 3)["object"].clone() };
            assert_eq!(now["type"], "MODIFIED");
            assert_ne!(now["object"][last], previous[last], "{kind}");
            let version = (LISTED_AT + event + 1).to_string();
            for (field, value) in
                [("kind", kind.name().into()), ("apiVersion", kind.gvr().api_version().into())]
            {
                listed[field] = value;
            }
            listed["metadata"]["resourceVersion"] = version.into();
            listed[last] = now["object"][last].clone();
            assert_eq!(now["object"], listed, "{kind}: nothing else changes");
        }
    }
}

#[test]
fn objects_of_every_kind_have_their_size_and_both_fields() {
    let sizes = [
        (Kind::Pods, 9_000),
        (Kind::SmallPods, 5_600),
        (Kind::ConfigMaps, 1_024),
        (Kind::Workflows, 50 << 10),
    ];
    for (kind, size) in sizes {
        let collection = Collection::generate(recipe(kind, 190)).unwrap();

        assert!(collection.mean_bytes().abs_diff(size) < size / 15, "{kind}: {}", collection.mean_bytes());
        let is_small = kind == Kind::SmallPods;
        assert_eq!(collection.mean_managed_fields_bytes() == 0, is_small, "{kind}");
        for object in items::<Value>(&collection) {
            let fields =
                kind.two_fields().map(|pointer| object.pointer(pointer).unwrap().as_str().unwrap().len());
            assert!(fields.iter().all(|length| *length > 0), "{kind}");
        }
    }
}

#[test]
fn with_churn_every_fifth_pod_is_deleted_and_created_under_another_name() {
    let pods = Collection::generate(Recipe { churn: true, ..recipe(Kind::Pods, 7) }).unwrap();
    let listed: Vec<Value> = items(&pods);
    let mut names: BTreeSet<String> = listed.iter().map(name_of).collect();
    let first = names.clone();

    for event in 0..7 * 20 {
        let frame = serde_json::from_slice::<Value>(&pods.frame(event).unwrap()).unwrap();
        let (name, index) = (name_of(&frame["object"]), event % 7);
        match frame["type"].as_str().unwrap() {
            "MODIFIED" => assert!(names.contains(&name) && index % 5 != 0),
            "DELETED" => assert!(names.remove(&name) && index % 5 == 0),
            "ADDED" => assert!(names.insert(name) && index % 5 == 0),
            other => panic!("{other}"),
        }
    }
    assert_eq!(names.len(), 7);
    assert_eq!(names.intersection(&first).count(), 5, "two pods have other names");
}

fn name_of(pod: &Value) -> String {
    pod["metadata"]["name"].as_str().unwrap().to_owned()
}

#[test]
fn a_frame_is_one_line() {
    let frame = pods(1).frame(0).unwrap();

    assert_eq!(frame.iter().filter(|&&byte| byte == b'\n').count(), 1);
    assert!(frame.ends_with(b"}}\n"));
}

#[test]
fn the_reported_sizes_are_those_of_the_texts() {
    for kind in [Kind::Pods, Kind::ConfigMaps, Kind::Workflows] {
        let collection = Collection::generate(recipe(kind, 60)).unwrap();
        let listed: Vec<Value> = items(&collection);
        let managed: usize =
            listed.iter().map(|object| object["metadata"]["managedFields"].to_string().len()).sum();

        assert_eq!(collection.mean_managed_fields_bytes(), managed / 60, "{kind}");
    }
}

#[test]
fn zero_objects_or_an_empty_page_is_an_error() {
    assert!(Collection::generate(recipe(Kind::Pods, 0)).is_err());
    assert!(Collection::generate(Recipe { page_size: 0, ..recipe(Kind::Pods, 1) }).is_err());
}
