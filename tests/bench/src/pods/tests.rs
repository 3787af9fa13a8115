use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use super::{LISTED_AT, Pods, Recipe};

fn pods(count: usize) -> Pods {
    Pods::generate(Recipe { pods: count, page_size: 50, seed: 1, churn: false }).unwrap()
}

fn items<T: serde::de::DeserializeOwned>(pods: &Pods) -> Vec<T> {
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
    let make = |seed| {
        Pods::generate(Recipe { pods: 40, page_size: 50, seed, churn: false }).unwrap().pages().concat()
    };

    assert_eq!(make(7), make(7));
    assert_ne!(make(7), make(8));
}

#[test]
fn frames_go_round_the_pods_with_growing_versions_and_changing_status() {
    let pods = pods(3);
    let frame = |event| serde_json::from_slice::<Value>(&pods.frame(event).unwrap()).unwrap();
    let listed: Vec<Value> = items(&pods);

    for event in 0..9 {
        let (before, now) = (event as usize % 3, frame(event));
        assert_eq!(now["type"], "MODIFIED");
        assert_eq!(now["object"]["kind"], "Pod");
        assert_eq!(now["object"]["metadata"]["uid"], listed[before]["metadata"]["uid"]);
        assert_eq!(now["object"]["spec"], listed[before]["spec"]);
        assert_eq!(
            now["object"]["metadata"]["resourceVersion"],
            Value::String((LISTED_AT + event + 1).to_string())
        );
        let previous = if event < 3 { listed[before].clone() } else { frame(event - 3)["object"].clone() };
        assert_ne!(now["object"]["status"], previous["status"]);
    }
}

#[test]
fn with_churn_every_fifth_pod_is_deleted_and_created_under_another_name() {
    let pods = Pods::generate(Recipe { pods: 7, page_size: 50, seed: 1, churn: true }).unwrap();
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
    let pods = pods(60);
    let listed: Vec<Value> = items(&pods);
    let managed: usize =
        listed.iter().map(|pod| pod["metadata"]["managedFields"].to_string().len()).sum::<usize>() / 60;

    assert_eq!(pods.mean_managed_fields_bytes(), managed);
    assert!(pods.mean_bytes() > 2 * managed, "{} {managed}", pods.mean_bytes());
}

#[test]
fn zero_pods_or_an_empty_page_is_an_error() {
    assert!(Pods::generate(Recipe { pods: 0, page_size: 1, seed: 0, churn: false }).is_err());
    assert!(Pods::generate(Recipe { pods: 1, page_size: 0, seed: 0, churn: false }).is_err());
}
