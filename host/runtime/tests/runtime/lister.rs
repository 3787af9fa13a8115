//! Reads of the cache, within the grants.

use std::{sync::Arc, sync::atomic::Ordering};

use informer_types::{DigestForm, Object, Outcome};

use crate::host::{Running, Setup, kept, object};

fn pods() -> Vec<Arc<Object>> {
    let pod = |namespace: &str, name: &str| {
        let json = format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"of":"{namespace}"}}}}"#);
        object(namespace, name, "1", &json)
    };
    vec![pod("a", "one"), pod("a", "two"), pod("b", "one"), pod("b", "three"), pod("c", "one")]
}

fn reader(config: &str) -> Setup {
    Setup::new(&format!(r#"{{"gvr": "v1/pods", {config}}}"#)).read(&["v1/pods"]).cache("v1/pods", pods())
}

async fn answers(running: &Running) -> Vec<String> {
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
    running.log.messages()
}

async fn ask(config: &str) -> Vec<String> {
    answers(&reader(config).load("reader").await).await
}

#[tokio::test]
async fn get_returns_the_json_of_an_object_or_none() {
    let there = ask(r#""what": "get", "namespace": "c", "name": "one""#).await;
    assert_eq!(there, [r#"Some("{\"metadata\":{\"name\":\"one\"},\"spec\":{\"of\":\"c\"}}")"#]);

    assert_eq!(ask(r#""what": "get", "namespace": "c", "name": "two""#).await, ["None"]);
}

#[tokio::test]
async fn fields_of_one_object_are_found_by_pointer() {
    let there = ask(r#""what": "get-fields", "namespace": "b", "name": "one", "pointer": "/spec/of""#).await;
    assert_eq!(there, [r#"Some(Some("\"b\""))"#]);

    let absent = ask(r#""what": "get-fields", "namespace": "b", "name": "one", "pointer": "/x""#).await;
    assert_eq!(absent, ["Some(None)"]);
    let missing = ask(r#""what": "get-fields", "namespace": "b", "name": "two", "pointer": "/x""#).await;
    assert_eq!(missing, ["None"]);
}

/// A reader of `/spec/of`, `/spec` and the digest of `/spec` that declares these parts.
async fn declared(parts: &[&str], some_whole: bool, pods: Vec<Arc<Object>>) -> Vec<String> {
    let mut answers_of = Vec::new();
    for pointer in ["/spec/of", "/spec", "sha256:/spec", "/metadata/name"] {
        let config =
            format!(r#""what": "get-fields", "namespace": "b", "name": "one", "pointer": "{pointer}""#);
        let setup = Setup::new(&format!(r#"{{"gvr": "v1/pods", {config}}}"#)).read(&["v1/pods"]);
        let setup = setup.cache("v1/pods", pods.clone()).declares("v1/pods", parts, some_whole);
        answers_of.extend(answers(&setup.load("reader").await).await);
    }
    answers_of
}

#[tokio::test]
async fn a_part_that_a_plugin_does_not_declare_is_refused_with_the_line_to_add() {
    let refused = |part: &str| {
        format!(
            "error: invalid: \"{part}\" of v1/pods is not kept for this plugin: add it to `reads` of its [[plugin.on]] with \
             watch = \"v1/pods\""
        )
    };
    let (of, spec) = (r#"Some(Some("\"b\""))"#, r#"Some(Some("{\"of\":\"b\"}"))"#);
    // printf '{"of":"b"}' | sha256sum
    let digest = r#"Some(Some("\"6ee4343209bdfd18ee9095f3ed18166f00c4ebc350c9f46daceb223237e14e7a\""))"#;
    let name = r#"Some(Some("\"one\""))"#;

    let one = declared(&["/spec/of"], false, pods()).await;
    assert_eq!(one, [of, &refused("/spec"), &refused("sha256:/spec"), name]);
    let digests = declared(&["sha256:/spec"], false, pods()).await;
    assert_eq!(digests, [&refused("/spec/of"), &refused("/spec"), digest, name]);
    // The objects of the cache are whole.
    assert_eq!(declared(&[], true, pods()).await, [of, spec, digest, name]);
}

#[tokio::test]
async fn an_object_that_is_not_kept_whole_has_the_declared_parts_only() {
    let partial = informer_types::stand_in(DigestForm::Sha256, r#"{"of":"b"}"#);
    let json = format!(r#"{{"metadata":{{"name":"one"}},"spec":{partial}}}"#);
    let pods = vec![kept("b", "one", "1", &json, true)];

    let answers = declared(&["sha256:/spec"], true, pods).await;

    assert!(answers[0].starts_with("error: invalid: \"/spec/of\" of v1/pods is not kept"), "{answers:?}");
    assert!(answers[1].starts_with("error: invalid: \"/spec\" of v1/pods is not kept"), "{answers:?}");
    assert_eq!(
        answers[2],
        declared(&["sha256:/spec"], false, self::pods()).await[2],
        "as of the whole object"
    );
}

#[tokio::test]
async fn a_list_has_the_objects_that_match_its_selector() {
    assert_eq!(ask(r#""what": "list-meta""#).await, ["a/one", "a/two", "b/one", "b/three", "c/one"]);
    assert_eq!(ask(r#""what": "list-meta", "namespace": "b""#).await, ["b/one", "b/three"]);
    assert_eq!(ask(r#""what": "list-meta", "labels": "app!=one""#).await, ["a/two", "b/three"]);
    let fields = ask(r#""what": "list-fields", "namespace": "c", "pointer": "/spec/of""#).await;
    assert_eq!(fields, [r#"c/one Some("\"c\"")"#]);
    let texts = ask(r#""what": "list-json", "namespace": "c""#).await;
    assert_eq!(texts, [r#"{"metadata":{"name":"one"},"spec":{"of":"c"}}"#]);
}

#[tokio::test]
async fn all_pages_of_a_list_come_from_one_snapshot() {
    let running = reader(r#""what": "list-meta", "page-size": 2"#).load("reader").await;

    assert_eq!(answers(&running).await, ["a/one", "a/two", "b/one", "b/three", "c/one"]);

    assert_eq!(running.cache.lists.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_page_ends_before_the_object_that_would_exceed_the_limit() {
    let one = r#"{"metadata":{"name":"one"},"spec":{"of":"a"}}"#.len();
    let limits = move |limits: &mut informer_runtime::Limits| limits.response_bytes = 2 * one + 5;
    let running = reader(r#""what": "list-json""#).limits(limits).load("reader").await;
    let before = running.plugin.stats().received_bytes;

    let answers = answers(&running).await;

    assert_eq!(answers.len(), 5, "no object is lost");
    assert_eq!(running.cache.lists.load(Ordering::Relaxed), 1);
    let received = running.plugin.stats().received_bytes - before;
    let texts = answers.iter().map(String::len).sum::<usize>() as u64;
    // The metadata of the notification comes with the texts.
    assert!((texts..texts + 60).contains(&received), "each object counts once: {received} of {texts}");
}

#[tokio::test]
async fn an_object_that_alone_exceeds_the_limit_is_too_large() {
    let limits = |limits: &mut informer_runtime::Limits| limits.response_bytes = 10;
    for what in ["list-json", "get"] {
        let config = format!(r#""what": "{what}", "namespace": "a", "name": "one""#);
        let running = reader(&config).limits(limits).load("reader").await;

        let answers = answers(&running).await;

        assert_eq!(answers.len(), 1);
        assert!(answers[0].starts_with("error: too-large: "), "{answers:?}");
    }
}

#[tokio::test]
async fn has_synced_reports_the_state_of_the_cache() {
    assert_eq!(ask(r#""what": "has-synced""#).await, ["true"]);

    let running = reader(r#""what": "has-synced""#).load("reader").await;
    running.cache.unsynced.store(true, Ordering::Relaxed);
    assert_eq!(answers(&running).await, ["false"]);
}

#[tokio::test]
async fn a_plugin_learns_how_old_the_cache_may_be() {
    let state = r#"CacheState { synced: true, resource_version: "10", age: Some(1.5s) }"#;
    assert_eq!(ask(r#""what": "state""#).await, [state]);
}

#[tokio::test]
async fn the_values_of_an_index_are_listed_with_their_number_of_objects() {
    let all = ask(r#""what": "index-values", "labels": "namespace""#).await;
    assert_eq!(all, ["a 2", "b 2", "c 1"]);
    let one = ask(r#""what": "index-values", "labels": "namespace", "namespace": "b""#).await;
    assert_eq!(one, ["b 2"]);
    let none = ask(r#""what": "index-values", "labels": "by-node""#).await;
    assert_eq!(none, ["error: invalid: no index by-node"]);

    // Each page has one value only.
    let small = |limits: &mut informer_runtime::Limits| limits.response_bytes = 60;
    let running =
        reader(r#""what": "index-values", "labels": "namespace""#).limits(small).load("reader").await;
    assert_eq!(answers(&running).await, all);
}

/// A value may be part of a Secret, and a plugin that sees only masked Secrets could read it there.
#[tokio::test]
async fn the_values_of_an_index_over_masked_secrets_are_refused() {
    let setup = Setup::new(r#"{"gvr": "v1/secrets", "what": "index-values", "labels": "namespace"}"#);
    let setup = setup.read(&["v1/secrets"]).cache("v1/secrets", pods());
    let refused = answers(&setup.load("reader").await).await;
    assert!(
        refused[0].starts_with("error: not-granted: listing Secrets by an index needs all Secrets"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_resource_without_a_grant_cannot_be_read_in_any_way() {
    for what in
        ["get", "get-fields", "list-meta", "list-fields", "list-json", "has-synced", "state", "index-values"]
    {
        let config = format!(r#"{{"gvr": "v1/secrets", "what": "{what}", "name": "x"}}"#);
        let setup = Setup::new(&config).read(&["v1/pods"]).cache("v1/secrets", pods());

        let answers = answers(&setup.load("reader").await).await;

        let refused = "error: not-granted: reading v1/secrets is not granted: \
                       add it to `read` under [plugin.grant]";
        assert_eq!(answers, [refused], "{what}");
    }
}

#[tokio::test]
async fn lists_show_only_granted_namespaces() {
    let within = |config: &str, grant: &str| {
        let setup = Setup::new(&format!(r#"{{"gvr": "v1/pods", {config}}}"#));
        setup.read(&[grant]).cache("v1/pods", pods())
    };
    for (what, answers_of_b) in [
        (r#""what": "list-meta""#, vec!["b/one", "b/three"]),
        (
            r#""what": "list-fields", "pointer": "/spec/of""#,
            vec![r#"b/one Some("\"b\"")"#, r#"b/three Some("\"b\"")"#],
        ),
        (r#""what": "list-meta", "namespace": "b""#, vec!["b/one", "b/three"]),
        (r#""what": "list-meta", "labels": "app=one""#, vec!["b/one"]),
        (r#""what": "index-values", "labels": "namespace""#, vec!["b 2"]),
    ] {
        assert_eq!(answers(&within(what, "v1/pods @b").load("reader").await).await, answers_of_b, "{what}");
    }
    let several = within(r#""what": "list-meta", "page-size": 1"#, "v1/pods @a,c").load("reader").await;
    assert_eq!(answers(&several).await, ["a/one", "a/two", "c/one"]);
    assert_eq!(several.cache.lists.load(Ordering::Relaxed), 1, "the list comes from one snapshot");
}

#[tokio::test]
async fn a_namespace_without_a_grant_cannot_be_read_in_any_way() {
    for what in ["get", "get-fields", "list-meta", "list-fields", "list-json", "index-values"] {
        let config = format!(r#"{{"gvr": "v1/pods", "what": "{what}", "namespace": "c", "name": "one"}}"#);
        let setup = Setup::new(&config).read(&["v1/pods @a,b"]).cache("v1/pods", pods());

        let refused = "error: not-granted: reading v1/pods is not granted in namespace c: \
                       add it after the `@` in `read` under [plugin.grant]";
        assert_eq!(answers(&setup.load("reader").await).await, [refused], "{what}");
    }
    let scoped = Setup::new(r#"{"gvr": "v1/nodes", "what": "get", "name": "one"}"#);
    let scoped = scoped.read(&["v1/nodes @a"]).cache("v1/nodes", vec![object("", "one", "1", "{}")]);
    let refused = answers(&scoped.load("reader").await).await;
    assert!(refused[0].starts_with("error: not-granted: "), "{refused:?}");
}

#[tokio::test]
async fn a_query_that_the_cache_cannot_answer_is_an_error() {
    let unknown = Setup::new(r#"{"gvr": "v1/pods", "what": "list-meta"}"#).read(&["v1/pods"]);
    let refused = answers(&unknown.load("reader").await).await;
    assert_eq!(
        refused,
        ["error: unknown-resource: this host does not watch v1/pods: add a [[watch]] for it"]
    );

    let index = ask(r#""what": "list-meta", "index": ["by-node", "n1"]"#).await;
    assert_eq!(index, ["error: invalid: no index by-node for n1"]);

    let selector = ask(r#""what": "list-meta", "labels": "app in""#).await;
    assert!(selector[0].starts_with("error: invalid: `app in` is not a label selector"), "{selector:?}");

    let gvr = Setup::new(r#"{"gvr": "pods", "what": "list-meta"}"#).read(&["v1/pods"]);
    let refused = answers(&gvr.load("reader").await).await;
    assert!(refused[0].starts_with("error: invalid: `pods` is not a resource"), "{refused:?}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_long_list_yields_to_other_tasks() {
    let large = object("a", "large", "1", &format!(r#"{{"spec":[{}0]}}"#, "1,".repeat(50_000)));
    let running = reader(r#""what": "list-fields", "pointer": "/none""#).cache("v1/pods", vec![large; 300]);
    let running = running.load("reader").await;
    let call = running.spawn_add("web");

    let mut turns = 0;
    while !call.is_finished() {
        tokio::task::yield_now().await;
        turns += 1;
    }

    assert_eq!(call.await.unwrap(), Outcome::Acknowledged);
    assert_eq!(running.log.messages().len(), 300);
    assert!(turns > 1, "{turns}");
}

#[tokio::test]
async fn a_label_selector_has_a_limit() {
    let labels = |labels: &str| format!(r#""what": "list-meta", "labels": "{labels}""#);
    let empty: Vec<String> = vec![];
    assert_eq!(ask(&labels(&vec!["x"; 64].join(","))).await, empty);

    let many = ask(&labels(&vec!["x"; 65].join(","))).await;
    let long = ask(&labels(&"x".repeat(16385))).await;

    let said = "a label selector has at most 64 requirements, and this one has 65";
    assert!(many[0].starts_with("error: invalid") && many[0].contains(said), "{many:?}");
    let said = "a label selector has at most 16 KiB, and this one has 16385 bytes";
    assert!(long[0].starts_with("error: invalid") && long[0].contains(said), "{long:?}");
}
