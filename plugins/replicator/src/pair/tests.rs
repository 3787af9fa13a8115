//! A cache that differs from the API server. The test host is the server, and each test says what the cache has.

use informer_sdk::{lister, testing::TestHost};
use serde_json::{Value, json};

use super::*;
use crate::annotations::{
    REPLICATE_FROM, REPLICATED_AT, REPLICATED_FROM_VERSION, REPLICATED_KEYS, REPLICATION_ALLOWED,
    REPLICATION_ALLOWED_NAMESPACES,
};

const MAPS: &str = "v1/configmaps";

fn object(key: &str, annotations: &Value, data: &Value) -> Value {
    let key: ObjectKey = key.parse().unwrap();
    json!({"metadata": {"namespace": key.namespace, "name": key.name, "uid": format!("uid of {key}"),
        "resourceVersion": "7", "annotations": annotations}, "data": data})
}

/// The source without annotations.
fn source(data: &Value) -> Value {
    object("shop/web", &json!({}), data)
}

/// The source in a cache that keeps only parts of it, with this value in place of the data.
fn parts(data: &Value) -> Found {
    Found { object: source(data), extent: Extent::Parts }
}

fn cached(object: Value) -> Found {
    Found { object, extent: Extent::Cached }
}

/// A target that pulled the keys `a` and `b`, and has a key of its own.
fn target() -> Value {
    let annotations = json!({REPLICATE_FROM: "shop/web", REPLICATED_KEYS: "a,b",
        REPLICATED_AT: "2025-01-01T00:00:00Z", REPLICATED_FROM_VERSION: "6"});
    object("blog/mine", &annotations, &json!({"a": "1", "b": "1", "own": "x"}))
}

/// An API server with the target, and with this source.
fn server(source: Option<Value>) -> TestHost {
    let host = TestHost::new();
    host.store(MAPS, target());
    if let Some(source) = source {
        host.store(MAPS, source);
    }
    host
}

/// Decides about the pair with these cached states of both objects.
fn decide(allow_all: bool, source: Found, target: Found) -> ReconcileResult {
    let settings: Settings = serde_json::from_value(json!({"allow-all": allow_all})).unwrap();
    let pair = Pair {
        gvr: MAPS.to_owned(),
        source: ObjectKey::new("shop", "web"),
        target: ObjectKey::new("blog", "mine"),
    };
    let writer = Writer { settings: &settings, kind: Kind::of(MAPS).unwrap(), target: &pair.target };
    let namespace = Namespace { name: "blog".to_owned(), labels: Vec::new() };
    let now = "2026-05-01T13:00:00Z".parse().unwrap();
    let contested = &mut Contested::default();
    State { pair: &pair, writer, contested, namespace, source, target, now }.reconcile()
}

/// The data of the target on the API server.
fn data() -> Value {
    lister::get::<Value>(MAPS, &ObjectKey::new("blog", "mine")).unwrap().unwrap()["data"].clone()
}

#[test]
fn a_source_that_the_cache_has_in_parts_is_copied_as_the_api_server_has_it() {
    // The second one is a digest, which the host keeps for another plugin.
    for instead in [Value::Null, json!({"sha1-pairs:": "0f"})] {
        let _host = server(Some(source(&json!({"a": "2", "b": "2"}))));

        assert_eq!(decide(true, parts(&instead), cached(target())), Ok(Reconciled::Done));

        assert_eq!(data(), json!({"a": "2", "b": "2", "own": "x"}));
    }
}

#[test]
fn a_cached_source_without_data_empties_no_target_if_the_api_server_has_the_data() {
    let host = server(Some(source(&json!({"a": "1", "b": "1"}))));

    assert_eq!(decide(true, cached(source(&Value::Null)), cached(target())), Ok(Reconciled::Done));

    assert_eq!(host.requests(), []);
}

#[test]
fn a_source_that_has_no_data_on_the_api_server_either_empties_its_target() {
    let _host = server(Some(source(&json!({}))));

    assert_eq!(decide(true, parts(&Value::Null), cached(target())), Ok(Reconciled::Done));

    assert_eq!(data(), json!({"own": "x"}));
}

#[test]
fn a_source_that_cannot_be_read_changes_no_target() {
    for (code, expected) in [
        (ApiCode::Unavailable, Err(ReconcileError::retry("unavailable: why"))),
        (ApiCode::NotGranted, Ok(Reconciled::Done)),
    ] {
        for found in [parts(&Value::Null), cached(source(&json!({"a": "1"})))] {
            let host = server(Some(source(&json!({}))));
            host.fail_request(code, "why");

            assert_eq!(decide(true, found, cached(target())), expected);

            assert_eq!(host.requests(), []);
        }
    }
}

/// The API server answers 422 each time the plugin sends the same invalid object.
#[test]
fn a_write_that_is_not_valid_is_a_terminal_failure_and_a_busy_server_is_asked_again() {
    let values = json!({"a": "2", "b": "2"});
    for (code, expected) in [
        (
            ApiCode::Invalid,
            ReconcileError::terminal(
                "v1/configmaps blog/mine cannot be changed (copy of shop/web): invalid: why",
            ),
        ),
        (ApiCode::Unavailable, ReconcileError::retry("unavailable: why")),
    ] {
        let host = server(Some(source(&values)));
        host.fail_write(code, "why");

        assert_eq!(decide(true, cached(source(&values)), cached(target())), Err(expected));
    }
}

#[test]
fn a_source_that_the_api_server_lost_already_takes_its_keys_with_it() {
    let _host = server(None);

    assert_eq!(decide(true, parts(&Value::Null), cached(target())), Ok(Reconciled::Done));

    assert_eq!(data(), json!({"own": "x"}));
}

#[test]
fn a_permission_is_withdrawn_only_if_the_api_server_confirms_it() {
    let values = json!({"a": "1", "b": "1"});
    let permission = json!({REPLICATION_ALLOWED: "true", REPLICATION_ALLOWED_NAMESPACES: "blog"});
    let host = server(Some(object("shop/web", &permission, &values)));
    assert_eq!(decide(false, cached(source(&values)), cached(target())), Ok(Reconciled::Done));
    assert_eq!(host.requests(), []);

    let _host = server(Some(source(&values)));
    assert_eq!(decide(false, cached(source(&values)), cached(target())), Ok(Reconciled::Done));
    assert_eq!(data(), json!({"own": "x"}));
}

#[test]
fn a_target_that_the_cache_has_in_parts_is_compared_as_the_api_server_has_it() {
    let values = json!({"a": "1", "b": "1"});
    let host = server(Some(source(&values)));
    let mut incomplete = target();
    incomplete["data"] = Value::Null;

    let found = Found { object: incomplete, extent: Extent::Parts };
    assert_eq!(decide(true, cached(source(&values)), found), Ok(Reconciled::Done));

    assert_eq!(host.requests(), []);
}
