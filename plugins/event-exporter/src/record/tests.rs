use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The same Event in both versions.
fn versions() -> [Value; 2] {
    let metadata = json!({"namespace": "shop", "name": "web.1", "uid": "u"});
    let involved = json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": "shop"});
    [
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": involved,
            "message": "m", "source": {"component": "kubelet", "host": "n"}, "count": 2,
            "firstTimestamp": "2026-05-01T12:00:00Z", "lastTimestamp": "2026-05-01T12:05:00Z",
            "reportingComponent": "kubelet", "type": "Normal", "reason": "r",
        }),
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": metadata, "regarding": involved,
            "note": "m", "deprecatedSource": {"component": "kubelet", "host": "n"}, "deprecatedCount": 2,
            "deprecatedFirstTimestamp": "2026-05-01T12:00:00Z", "deprecatedLastTimestamp": "2026-05-01T12:05:00Z",
            "reportingController": "kubelet", "type": "Normal", "reason": "r",
        }),
    ]
}

#[test]
fn an_event_of_either_version_is_the_same_record() {
    let [core, events] = versions().map(Record::new);

    assert_eq!(core, events);
    assert_eq!((core.text("/message"), core.uid(), core.namespace()), ("m", "u", "shop"));
    assert_eq!(
        core.occurrence(Timestamp::UNIX_EPOCH),
        Occurrence { count: 2, at: at("2026-05-01T12:05:00Z") }
    );
    assert_eq!(core.document().get("apiVersion"), None);
}

#[test]
fn a_series_counts_and_a_component_of_the_new_version_is_the_source() {
    let record = Record::new(json!({
        "metadata": {}, "regarding": {}, "eventTime": "2026-05-01T12:00:00.123456Z", "deprecatedSource": {},
        "reportingController": "default-scheduler", "deprecatedFirstTimestamp": null,
        "series": {"count": 7, "lastObservedTime": "2026-05-01T12:09:00.5Z"},
    }));

    assert_eq!(record.text("/source/component"), "default-scheduler");
    assert_eq!(record.document()["count"], 7);
    let expected = Occurrence { count: 7, at: at("2026-05-01T12:09:00.5Z") };
    assert_eq!(record.occurrence(Timestamp::UNIX_EPOCH), expected);
}

#[test]
fn a_higher_count_or_a_later_time_is_another_occurrence() {
    let seen = Occurrence { count: 2, at: at("2026-05-01T12:00:00Z") };
    let with = |count, time: &str| Occurrence { count, at: at(time) }.is_after(&seen);

    assert!(with(3, "2026-05-01T12:00:00Z"));
    assert!(with(2, "2026-05-01T12:00:01Z"));
    assert!(!with(2, "2026-05-01T12:00:00Z"));
    assert!(!with(1, "2026-05-01T11:00:00Z"));
}

#[test]
fn a_value_that_is_not_an_event_is_an_empty_record() {
    for odd in [
        json!(null),
        json!([1]),
        json!({"metadata": 1, "source": "x", "count": "many", "involvedObject": []}),
    ] {
        let mut record = Record::new(odd);
        record.set_involved("deleted", json!(true));

        assert_eq!(record.occurrence(Timestamp::UNIX_EPOCH).count, 1);
        assert_eq!((record.uid(), record.involved()), ("", Involved::default()));
        record.without_dots();
    }
}

#[test]
fn dots_in_keys_of_labels_and_annotations_become_underscores() {
    let record = Record::new(json!({
        "metadata": {"labels": {"a.b/c": "1"}},
        "involvedObject": {"labels": {"app.kubernetes.io/name": "web"}, "annotations": {"x.y": "z"}},
    }));

    let document = record.without_dots();

    assert_eq!(document["metadata"]["labels"], json!({"a_b/c": "1"}));
    assert_eq!(document["involvedObject"]["labels"], json!({"app_kubernetes_io/name": "web"}));
    assert_eq!(document["involvedObject"]["annotations"], json!({"x_y": "z"}));
}

#[test]
fn methods_are_those_of_the_original() {
    let [core, _] = versions().map(Record::new);
    let named = |name: &str| method(core.document(), name);

    assert_eq!(named("GetTimestampMs"), Some(json!(1_777_636_800_000_i64)));
    assert_eq!(named("GetTimestampISO8601"), Some(json!("2026-05-01T12:00:00.000Z")));
    assert_eq!(
        (named("Name"), named("UID"), named("Namespace")),
        (Some(json!("web.1")), Some(json!("u")), Some(json!("shop")))
    );
    assert_eq!(named("ReportingController"), Some(json!("kubelet")));
    assert_eq!(named("Unknown"), None);
    assert_eq!(method(&json!({"name": "web"}), "GetTimestampMs"), None);
}
