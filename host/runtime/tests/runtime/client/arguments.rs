//! Invalid arguments, and arguments that could mean another request. No request is sent for them.

use serde_json::{Value, json};

use super::{ALL, answers, writer};

/// The line for one step, for which no request was sent.
async fn refused(step: Value) -> String {
    let running = writer(&json!([step])).read(&["v1/pods"]).write(ALL).load("writer").await;
    let [answer] = &answers(&running).await[..] else { panic!("{:?}", running.log.messages()) };
    assert_eq!(running.api.asked(), Vec::<String>::new(), "{answer}");
    answer.clone()
}

#[tokio::test]
async fn a_name_cannot_change_the_path() {
    for name in ["", ".", "..", "a/b", "../../secrets/x", "a%2fb", "a\nb", &"x".repeat(254)] {
        for verb in ["get", "merge", "delete"] {
            let answer = refused(json!({"do": verb, "name": name, "body": {}})).await;
            assert!(answer.starts_with(&format!("{verb} error bad-argument: ")), "{answer}");
            assert!(answer.ends_with("is not the name of an object"), "{answer}");
        }
    }
}

#[tokio::test]
async fn special_characters_of_a_name_are_encoded() {
    let steps = json!([{"do": "get", "name": "a?b#c d&\u{e9}"}]);
    let running = writer(&steps).read(&["v1/pods"]).write(&[]).load("writer").await;

    answers(&running).await;

    assert_eq!(running.api.asked(), ["GET /api/v1/namespaces/default/pods/a%3Fb%23c%20d%26%C3%A9"]);
}

#[tokio::test]
async fn an_invalid_namespace_or_subresource_is_refused() {
    for namespace in ["A", "a/b", "..", "a b", &"x".repeat(64)] {
        let answer = refused(json!({"do": "merge", "namespace": namespace, "body": {}})).await;
        assert!(answer.ends_with("is not a namespace"), "{answer}");
    }
    for subresource in ["Status", "status/x", "../x", "status?x"] {
        let answer = refused(json!({"do": "merge", "subresource": subresource, "body": {}})).await;
        assert!(answer.ends_with("is not a subresource of v1/pods"), "{answer}");
    }
    let answer = refused(json!({"do": "merge", "gvr": "pods", "body": {}})).await;
    assert!(answer.contains("bad-argument: `pods` is not a resource"), "{answer}");
}

#[tokio::test]
async fn an_object_that_differs_from_the_arguments_is_refused() {
    for (body, what) in [
        (json!({"metadata": {"name": "other"}}), "/metadata/name of the object is \"other\""),
        (json!({"metadata": {"namespace": "other"}}), "/metadata/namespace of the object is \"other\""),
        (json!({"apiVersion": "apps/v1"}), "/apiVersion of the object is \"apps/v1\""),
        (json!({"metadata": {"name": 3}}), "/metadata/name of the object is 3"),
    ] {
        for verb in ["update", "merge", "strategic", "apply"] {
            let answer = refused(json!({"do": verb, "body": body})).await;
            assert!(answer.contains("bad-argument: ") && answer.contains(what), "{answer}");
        }
    }
    let body = json!({"metadata": {"name": "any", "namespace": "other"}});
    let answer = refused(json!({"do": "create", "body": body})).await;
    assert!(answer.contains("/metadata/namespace"), "{answer}");
}

/// The audit record would hold the name in full.
#[tokio::test]
async fn an_object_with_an_invalid_name_is_refused() {
    for name in ["a/b", "..", "a\nb", &"x".repeat(1 << 20)] {
        let answer = refused(json!({"do": "create", "body": {"metadata": {"name": name}}})).await;
        assert!(answer.ends_with("is not the name of an object") && answer.len() < 1000, "{answer}");
    }
}

#[tokio::test]
async fn a_selector_that_is_too_long_is_refused() {
    let long = "x".repeat((16 << 10) + 1);
    let answer = refused(json!({"do": "list", "labels": long})).await;
    let said = "list error bad-argument: a label selector has at most 16 KiB, and this one has 16385 bytes";
    assert_eq!(answer, said);
    let answer = refused(json!({"do": "list", "fields": long})).await;
    assert!(answer.contains("bad-argument: a field selector has at most 16 KiB"), "{answer}");
}

/// The `http` crate refuses a longer URI. Such a request must not count as sent and failed.
#[tokio::test]
async fn a_url_that_is_too_long_is_a_bad_argument_and_is_not_sent() {
    let commas = ",".repeat(12 << 10);
    let steps = json!([{"do": "list", "labels": commas, "fields": commas}]);
    let running = writer(&steps).read(&["v1/pods"]).write(ALL).load("writer").await;

    let answers = answers(&running).await;

    assert!(answers[0].starts_with("list error bad-argument: the URL of the request has "), "{answers:?}");
    assert_eq!((running.api.asked().len(), running.plugin.stats().client.requests), (0, 0));
}

#[tokio::test]
async fn a_body_that_is_not_an_object_or_too_long_is_refused() {
    for body in [json!([]), json!("x"), json!(3), json!(null)] {
        let answer = refused(json!({"do": "merge", "body": body})).await;
        assert!(answer.ends_with("the body is not a JSON object"), "{answer}");
    }
    let answer = refused(json!({"do": "json", "body": {"op": "remove"}})).await;
    assert!(answer.ends_with("a JSON patch is an array of operations"), "{answer}");
    let answer = refused(json!({"do": "merge", "body": {"data": "x".repeat(3 << 20)}})).await;
    assert!(answer.contains("the API server accepts at most 3145728"), "{answer}");
    let answer = refused(json!({"do": "merge", "body": {}, "force": true})).await;
    assert!(answer.ends_with("`force` is allowed for server-side apply only"), "{answer}");
}
