use std::path::Path;

use super::*;
use crate::story::Story;

const PODS: &str = "v1/pods";

fn pod(version: u32, phase: Option<&str>) -> String {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "shop", "name": "web", "resourceVersion": version.to_string(), "uid": "u"},
        "spec": {"nodeName": "n"},
    });
    if let Some(phase) = phase {
        pod["status"] = json!({"phase": phase});
    }
    pod.to_string()
}

fn call(call: &str, old: Option<String>, new: Option<String>) -> RecordedCall {
    let object =
        RecordedObject { resource: PODS.to_owned(), key: "shop/web".to_owned(), old, new, own: false };
    RecordedCall {
        call: call.to_owned(),
        key: "shop/web".to_owned(),
        objects: vec![object],
        ..RecordedCall::default()
    }
}

/// The story as JSON, which can be played, and the number of calls that it leaves out.
fn story(calls: Vec<RecordedCall>) -> (Value, usize) {
    let recording = Recording { calls, ended: String::new() };
    let (text, left_out) = recorded(&recording, "informer.toml", "echo").unwrap();
    Story::parse(&text, Path::new("recorded.test.yaml")).unwrap();
    (serde_saphyr::from_str(&text).unwrap(), left_out)
}

#[test]
fn the_life_of_an_object_is_a_story() {
    let failing = RecordedCall {
        failure: Some("retry: too early\n  at line 7".to_owned()),
        ..call("on-update", Some(pod(1, None)), Some(pod(2, Some("Running"))))
    };

    let (story, left_out) = story(vec![
        call("on-add", None, Some(pod(1, None))),
        failing,
        call("on-update", Some(pod(2, Some("Running"))), Some(pod(3, None))),
        call("on-delete", None, Some(pod(4, None))),
    ]);

    let name = json!({"namespace": "shop", "name": "web"});
    let update =
        |status: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": name, "status": status});
    let expected = json!({
        "config": "informer.toml",
        "plugin": "echo",
        "steps": [
            {"add": {"apiVersion": "v1", "kind": "Pod", "metadata": name, "spec": {"nodeName": "n"}},
             "expect": {"calls": ["on-add v1/pods shop/web (live)"]}},
            {"update": update(json!({"phase": "Running"})),
             "expect": {"calls": ["on-update v1/pods shop/web (live)"],
                        "failures": ["on-update v1/pods shop/web (live): retry: too early*"]}},
            {"update": update(Value::Null), "expect": {"calls": ["on-update v1/pods shop/web (live)"]}},
            {"delete": "v1/pods shop/web", "expect": {"calls": ["on-delete v1/pods shop/web"]}},
        ],
    });
    assert_eq!((story, left_out), (expected, 0));
}

#[test]
fn earlier_objects_are_recorded_as_objects_and_equal_states_are_left_out() {
    let (story, left_out) = story(vec![
        call("on-update", Some(pod(1, Some("Pending"))), Some(pod(2, Some("Running")))),
        call("on-update", Some(pod(2, Some("Running"))), Some(pod(3, Some("Running")))),
    ]);

    assert_eq!(story["objects"][0]["status"], json!({"phase": "Pending"}));
    assert_eq!((story["steps"].as_array().unwrap().len(), left_out), (1, 1));
}

#[test]
fn a_change_of_the_plugin_itself_belongs_to_the_step_before() {
    let mut own = call("on-update", Some(pod(1, None)), Some(pod(2, Some("Running"))));
    own.objects[0].own = true;

    let (story, left_out) = story(vec![call("on-add", None, Some(pod(1, None))), own]);

    let calls = json!(["on-add v1/pods shop/web (live)", "on-update v1/pods shop/web (live)"]);
    assert_eq!((&story["steps"][0]["expect"]["calls"], left_out), (&calls, 0), "{story}");
}

#[test]
fn a_next_call_that_the_plugin_requests_is_part_of_the_text_of_the_call() {
    let then = |next: &str, call: RecordedCall| RecordedCall { next: Some(next.to_owned()), ..call };

    let (story, left_out) = story(vec![
        then("requeue after 5s", call("reconcile", None, Some(pod(1, None)))),
        then("again after 60s", call("on-update", Some(pod(1, None)), Some(pod(2, Some("Running"))))),
        then("again after 60s", call("on-delete", None, Some(pod(3, Some("Running"))))),
    ]);

    let calls = |step: usize| &story["steps"][step]["expect"]["calls"];
    assert_eq!(left_out, 0, "{story}");
    assert_eq!(calls(0), &json!(["reconcile shop/web (requeue after 5s)"]));
    assert_eq!(calls(1), &json!(["on-update v1/pods shop/web (live, again after 60s)"]));
    assert_eq!(calls(2), &json!(["on-delete v1/pods shop/web (again after 60s)"]));
}

#[test]
fn a_key_comes_from_the_change_of_its_object() {
    let (story, left_out) = story(vec![
        call("reconcile", None, Some(pod(1, None))),
        call("reconcile", None, Some(pod(1, None))),
        call("reconcile", None, None),
    ]);

    let steps = story["steps"].as_array().unwrap();
    assert_eq!((steps.len(), left_out), (2, 1), "{story}");
    assert_eq!(steps[0]["add"]["kind"], "Pod");
    assert_eq!(steps[1]["delete"], "v1/pods shop/web");
    assert_eq!(steps[1]["expect"]["calls"], json!(["reconcile shop/web"]));
}

/// The host shows `***` for a value of a Secret. If a plugin reads only the digest of a value, the host shows the digest.
#[test]
fn masks_and_digests_have_a_form_that_an_api_server_accepts() {
    let added = |kind: &str, data: Value| {
        let metadata = json!({"namespace": "shop", "name": "web"});
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data});
        let (story, _) = story(vec![call("on-add", None, Some(object.to_string()))]);
        story["steps"][0]["add"]["data"].clone()
    };

    assert_eq!(added("Secret", json!({"a": "***", "b": "MQ=="})), json!({"a": "Kioq", "b": "MQ=="}));
    assert_eq!(added("ConfigMap", json!({"sha256:": "9f86"})), json!({"sha256.": "9f86"}));
    assert_eq!(added("ConfigMap", json!({"a": "***"})), json!({"a": "***"}));
}

#[test]
fn an_older_event_is_recorded_as_one_of_the_core_group() {
    let object = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"namespace": "shop", "name": "web"},
        "deprecatedCount": 2, "eventTime": null, "note": "hello", "regarding": {"kind": "Pod", "namespace": "shop"},
    });

    let (story, _) = story(vec![call("on-add", None, Some(object.to_string()))]);

    let expected = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"namespace": "shop", "name": "web"},
        "count": 2, "eventTime": null, "message": "hello", "involvedObject": {"kind": "Pod", "namespace": "shop"},
    });
    assert_eq!(story["steps"][0]["add"], expected);
}
