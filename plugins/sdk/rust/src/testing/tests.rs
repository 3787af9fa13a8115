use std::time::Duration;

use serde_json::json;

use super::*;
use crate::client::{self as requests, Patch, WriteOptions};
use crate::lister::Selector;
use crate::{Error, ErrorCode, lister as reads, timer, workqueue};

const PODS: &str = "v1/pods";

fn pod(namespace: &str, name: &str, node: &str) -> Value {
    json!({
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "resourceVersion": "7", "labels": {"app": "web"}},
        "spec": {"nodeName": node},
    })
}

fn code<T: std::fmt::Debug>(refused: Result<T, Error>) -> Option<ErrorCode> {
    refused.unwrap_err().code()
}

#[test]
fn an_object_is_read_by_pointer_and_as_a_whole() {
    let host = TestHost::new();
    let event = host.event(PODS, pod("default", "a", "n1"));

    assert_eq!(event.get::<String>("/spec/nodeName").unwrap().as_deref(), Some("n1"));
    assert_eq!(event.get::<u32>("/spec/missing").unwrap(), None);
    assert_eq!(event.parse::<Value>().unwrap(), pod("default", "a", "n1"));
    assert!(event.json().unwrap().contains("\"kind\":\"Pod\""));
    let [node, missing] = event.get_many(["/spec/nodeName", "/x"]).unwrap();
    assert_eq!((node.json(), missing.json()), (Some("\"n1\""), None));
}

#[test]
fn the_newest_setting_of_a_timer_counts_and_the_next_one_is_taken_first() {
    let host = TestHost::new();
    for (name, seconds) in [("a", 1), ("b", 2), ("a", 3), ("gone", 1)] {
        timer::after(name, Duration::from_secs(seconds)).unwrap();
    }
    timer::cancel("gone");

    assert_eq!(code(timer::after("", Duration::ZERO)), Some(ErrorCode::Invalid));
    assert_eq!(host.take_timer(), Some(("b".to_owned(), Duration::from_secs(2))));
    assert_eq!(host.take_timer(), Some(("a".to_owned(), Duration::from_secs(3))));
    assert_eq!(host.take_timer(), None);
}

#[test]
fn a_version_that_the_plugin_has_written_to_an_earlier_host_is_no_own_write() {
    let host = TestHost::new();
    host.store(PODS, pod("default", "a", "n1"));
    let patch = Patch::merge(json!({"spec": {"nodeName": "n2"}}));
    let key = ObjectKey::new("default", "a");
    let written = requests::patch(PODS, &key, &patch, &WriteOptions::new()).unwrap();
    assert!(requests::is_own_write(written.resource_version()));

    let _next = TestHost::new();

    assert!(!requests::is_own_write(written.resource_version()), "the next host makes this version again");
}

#[test]
fn a_pointer_without_a_slash_is_invalid() {
    let event = TestHost::new().event(PODS, pod("default", "a", "n1"));

    assert_eq!(code(event.get::<String>("spec")), Some(ErrorCode::Invalid));
    assert_eq!(code(event.object().differs(event.object(), &["/spec", "kind"])), Some(ErrorCode::Invalid));
}

#[test]
fn an_update_shows_what_changed() {
    let host = TestHost::new();
    let update = host.update(PODS, pod("default", "a", "n1"), pod("default", "a", "n2"));

    assert!(update.changed(&["/metadata", "/spec/nodeName"]).unwrap());
    assert!(!update.changed(&["/metadata", "/status"]).unwrap());
    assert_eq!(update.old.get::<String>("/spec/nodeName").unwrap().as_deref(), Some("n1"));
    assert_eq!(update.old.meta().unwrap().label("app"), Some("web"));
}

#[test]
fn an_object_kept_beyond_its_call_is_stale_and_never_names_another_object() {
    let host = TestHost::new();
    let kept = *host.event(PODS, pod("default", "a", "n1")).object();
    host.end_call();
    let _next = host.event(PODS, pod("default", "b", "n2"));

    assert_eq!(code(kept.json()), Some(ErrorCode::StaleToken));
}

#[test]
fn lists_are_sorted_and_the_page_size_does_not_change_them() {
    let host = TestHost::new();
    for (namespace, name) in [("default", "b"), ("default", "a"), ("other", "a")] {
        host.store(PODS, pod(namespace, name, "n1"));
    }
    let list = |selector: &Selector| -> Vec<String> {
        reads::list_meta(PODS, selector).map(|meta| meta.unwrap().key().to_string()).collect()
    };

    assert_eq!(list(&Selector::all()), ["default/a", "default/b", "other/a"]);
    assert_eq!(list(&Selector::all().page_size(1)), ["default/a", "default/b", "other/a"]);
    assert_eq!(list(&Selector::all().namespace("default").page_size(2)), ["default/a", "default/b"]);
    assert_eq!(list(&Selector::all().namespace("none")), Vec::<String>::new());
}

#[test]
fn all_kinds_of_read_return_the_same_objects() {
    let host = TestHost::new();
    host.store(PODS, pod("default", "a", "n1"));
    let key = ObjectKey::new("default", "a");

    let fields: Vec<_> = reads::list_fields(PODS, &Selector::all(), ["/spec/nodeName"]).collect();
    let fields = fields.into_iter().next().unwrap().unwrap();
    assert_eq!((fields.key, fields.values[0].json()), (key.clone(), Some("\"n1\"")));
    let texts: Result<Vec<String>, Error> = reads::list_json(PODS, &Selector::all()).collect();
    assert_eq!(texts.unwrap(), [pod("default", "a", "n1").to_string()]);
    assert_eq!(reads::get::<Value>(PODS, &key).unwrap(), Some(pod("default", "a", "n1")));
    let [kind] = reads::get_fields(PODS, &key, ["/kind"]).unwrap().unwrap();
    assert_eq!(kind.parse::<String>().unwrap().as_deref(), Some("Pod"));

    host.remove(PODS, &key);
    assert_eq!(reads::get_json(PODS, &key).unwrap(), None);
}

#[test]
fn reads_of_unwatched_resources_are_refused() {
    let host = TestHost::new();

    assert_eq!(code(reads::has_synced(PODS)), Some(ErrorCode::UnknownResource));
    host.set_synced(PODS, true);
    assert!(reads::has_synced(PODS).unwrap());
}

#[test]
fn the_log_keeps_lines_with_their_fields() {
    let host = TestHost::new();

    crate::log::warn!(name = "web", replicas = 3; "too {}", "few");
    crate::log::debug!("plain");

    let lines: Vec<String> = host.log().iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["warn too few name=web replicas=3", "debug plain"]);
    assert!(TestHost::new().log().is_empty());
}

#[test]
fn the_controller_is_the_owner_with_the_controller_flag() {
    let mut object = pod("default", "a", "n1");
    object["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "1"},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "2", "controller": true},
    ]);

    let event = TestHost::new().event(PODS, object);

    let controller = event.meta().controller.as_ref().unwrap();
    assert_eq!((controller.api_version.as_str(), controller.name.as_str()), ("apps/v1", "rs"));
}

#[test]
fn each_call_is_a_first_attempt() {
    let delivery = crate::delivery::current();

    assert_eq!((delivery.attempt, delivery.queued.as_millis()), (1, 0));
}

#[test]
fn a_delay_of_another_call_is_rounded_up_and_recorded() {
    let host = TestHost::new();

    crate::delivery::call_again(Duration::from_micros(1)).unwrap();
    crate::delivery::call_again(Duration::from_secs(3600)).unwrap();

    assert_eq!(host.called_again(), [Duration::from_millis(1), Duration::from_secs(3600)]);
}

#[test]
fn a_write_is_recorded_and_changes_the_cache() {
    let host = TestHost::new();
    host.store(PODS, pod("default", "a", "n1"));
    let key = ObjectKey::new("default", "a");

    let patch = Patch::merge(json!({"spec": {"nodeName": "n2"}}));
    let written = requests::patch(PODS, &key, &patch, &WriteOptions::new()).unwrap();

    assert_eq!(written.parse::<Value>().unwrap()["spec"]["nodeName"], "n2");
    assert_eq!(reads::get::<Value>(PODS, &key).unwrap().unwrap()["spec"]["nodeName"], "n2");
    let [request] = &host.requests()[..] else { panic!("{:?}", host.requests()) };
    assert_eq!((request.verb, &request.key, request.dry_run), ("patch", &key, false));
    assert!(reads::wait_until(PODS, None, written.resource_version(), Duration::ZERO).unwrap());
}

#[test]
fn a_strategic_merge_merges_arrays_by_name_and_replaces_others() {
    let host = TestHost::new();
    let mut object = pod("default", "a", "n1");
    object["spec"]["containers"] = json!([{"name": "x", "image": "i", "env": [{"name": "A", "value": "1"}]}]);
    object["spec"]["args"] = json!(["a", "b"]);
    host.store(PODS, object);
    let containers = json!([
        {"name": "x", "env": [{"name": "A", "valueFrom": null}, {"name": "B", "value": "2"}]},
        {"name": "y", "image": "j"},
    ]);
    let patch = Patch::strategic_merge(json!({"spec": {"containers": containers, "args": ["c"]}}));

    let key = ObjectKey::new("default", "a");
    requests::patch(PODS, &key, &patch, &WriteOptions::new()).unwrap();

    let spec = &reads::get::<Value>(PODS, &key).unwrap().unwrap()["spec"];
    let env = json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]);
    let merged = json!([{"name": "x", "image": "i", "env": env}, {"name": "y", "image": "j"}]);
    assert_eq!((&spec["containers"], &spec["args"]), (&merged, &json!(["c"])));
    assert_eq!(spec["nodeName"], "n1");
}

#[test]
fn a_dry_run_changes_nothing_and_a_prepared_failure_is_returned() {
    let host = TestHost::new();
    host.store(PODS, pod("default", "a", "n1"));
    let key = ObjectKey::new("default", "a");
    let patch = Patch::merge(json!({"spec": null}));

    requests::patch(PODS, &key, &patch, &WriteOptions::new().dry_run()).unwrap();
    assert_eq!(reads::get::<Value>(PODS, &key).unwrap().unwrap(), pod("default", "a", "n1"));

    host.fail_request(ApiCode::Conflict, "modified");
    let refused = requests::patch(PODS, &key, &patch, &WriteOptions::new()).unwrap_err();
    assert_eq!((refused.api_code(), refused.code()), (Some(ApiCode::Conflict), None));
    assert_eq!(refused.to_string(), "conflict: modified");
    host.fail_write(ApiCode::Forbidden, "no");
    assert!(requests::get::<Value>(PODS, &key).is_ok(), "a read is no write");
    let refused = requests::patch(PODS, &key, &patch, &WriteOptions::new()).unwrap_err();
    assert_eq!(refused.api_code(), Some(ApiCode::Forbidden));
    let stale =
        requests::update(PODS, &key, &json!({"metadata": {"resourceVersion": "1"}}), &WriteOptions::new());
    assert_eq!(stale.unwrap_err().api_code(), Some(ApiCode::Conflict));
    requests::delete(PODS, &key, &requests::DeleteOptions::new().resource_version("7")).unwrap();
    let gone = requests::get::<Value>(PODS, &key).unwrap_err();
    assert_eq!(gone.api_code(), Some(ApiCode::NotFound));
}

#[test]
fn a_write_may_name_the_version_and_the_uid_that_it_is_about() {
    let host = TestHost::new();
    let mut object = pod("default", "a", "n1");
    object["metadata"]["uid"] = json!("u");
    host.store(PODS, object);
    let key = ObjectKey::new("default", "a");
    let patch = |metadata: Value| {
        let patch = Patch::merge(json!({"metadata": metadata, "spec": {"nodeName": "n2"}}));
        requests::patch(PODS, &key, &patch, &WriteOptions::new()).map_err(|error| error.api_code())
    };

    assert_eq!(patch(json!({"resourceVersion": "6"})).unwrap_err(), Some(ApiCode::Conflict));
    assert_eq!(patch(json!({"uid": "v"})).unwrap_err(), Some(ApiCode::Invalid));
    let other = json!({"metadata": {"uid": "v"}});
    let update = requests::update(PODS, &key, &other, &WriteOptions::new());
    assert_eq!(update.unwrap_err().api_code(), Some(ApiCode::Conflict));
    patch(json!({"uid": "u", "resourceVersion": "7"})).unwrap();
}

#[test]
fn a_new_object_gets_its_uid_and_its_generated_name_from_the_server() {
    let _host = TestHost::new();
    let made = json!({"metadata": {"generateName": "job-", "uid": "of a copied object"}});
    let create = || -> Value {
        requests::create(PODS, "default", &made, &WriteOptions::new()).unwrap().parse().unwrap()
    };
    let text = |object: &Value, field: &str| object["metadata"][field].as_str().unwrap().to_owned();

    let (first, second) = (create(), create());

    let (name, uid) = (text(&first, "name"), text(&first, "uid"));
    assert!(name.starts_with("job-") && name.len() > 4 && name != text(&second, "name"), "{first} {second}");
    assert!(uid != "of a copied object" && uid != text(&second, "uid"), "{first} {second}");
    let key = ObjectKey::new("default", name.as_str());
    assert_eq!(reads::get::<Value>(PODS, &key).unwrap(), Some(first));
    let without = json!({"metadata": {"namespace": "default", "name": name}});
    let updated: Value =
        requests::update(PODS, &key, &without, &WriteOptions::new()).unwrap().parse().unwrap();
    assert_eq!(text(&updated, "uid"), uid, "a write does not change the UID");
    let applied = requests::patch(
        PODS,
        &ObjectKey::new("default", "new"),
        &Patch::apply(json!({"metadata": {"namespace": "default", "name": "new"}})),
        &WriteOptions::new(),
    );
    assert!(!text(&applied.unwrap().parse().unwrap(), "uid").is_empty());
}

#[test]
fn a_creation_with_a_version_or_without_a_name_is_refused() {
    let _host = TestHost::new();
    let create = |metadata: Value| {
        let object = json!({"metadata": metadata});
        let created = requests::create(PODS, "default", &object, &WriteOptions::new());
        created.map(|_| ()).map_err(|error| error.api_code())
    };

    assert_eq!(create(json!({"name": "a", "resourceVersion": "7"})), Err(Some(ApiCode::Invalid)));
    assert_eq!(create(json!({})), Err(Some(ApiCode::Invalid)));
    assert_eq!(create(json!({"name": "a"})), Ok(()));
    assert_eq!(create(json!({"name": "a"})), Err(Some(ApiCode::AlreadyExists)));
}

#[test]
fn an_object_with_finalizers_stays_until_the_last_one_is_removed() {
    const MINE: &str = "example.com/cleanup";
    let host = TestHost::new();
    let mut stored = pod("default", "a", "n1");
    stored["metadata"]["finalizers"] = json!([MINE]);
    host.store(PODS, stored);
    let key = ObjectKey::new("default", "a");

    requests::delete(PODS, &key, &requests::DeleteOptions::new()).unwrap();
    let deleted: Value = reads::get(PODS, &key).unwrap().unwrap();
    assert!(deleted["metadata"]["deletionTimestamp"].is_string());
    // A write does not end the deletion.
    let restored = json!({"metadata": {"deletionTimestamp": null}});
    requests::patch(PODS, &key, &Patch::merge(restored), &WriteOptions::new()).unwrap();
    let mut cleaned = 0;
    let clean = |_: &Value| {
        cleaned += 1;
        Ok(())
    };
    assert!(!crate::metadata::finalize(PODS, &deleted, MINE, clean).unwrap());

    assert_eq!((cleaned, reads::get::<Value>(PODS, &key).unwrap()), (1, None));
}

/// A key that is both ready and delayed stays delayed when it is taken as a ready key (W-7).
#[test]
fn a_key_that_is_ready_and_delayed_is_taken_twice() {
    let host = TestHost::new();
    workqueue::add("a").unwrap();
    workqueue::add_after("a", Duration::from_secs(2)).unwrap();
    workqueue::add_after("b", Duration::from_secs(1)).unwrap();

    let taken: Vec<String> = std::iter::from_fn(|| host.take_key()).collect();
    assert_eq!(taken, ["a", "b", "a"]);
}
