//! Requests without a grant are not sent.

use informer_types::{Namespaces, ReadGrant};
use serde_json::{Value, json};

use super::{answers, writer};
use crate::host::object;

/// The line for a step under these grants, and the number of requests sent.
async fn ask(step: &Value, read: &[&str], write: &[&str], secrets: &[&str]) -> (String, usize) {
    let running = writer(&json!([step])).read(read).write(write).secrets(secrets).load("writer").await;
    let answers = answers(&running).await;
    let (sent, refused) = (running.api.asked().len(), running.plugin.stats().client.refused);
    assert_eq!(u64::try_from(1 - sent).unwrap(), refused);
    (answers.concat(), sent)
}

#[tokio::test]
async fn a_write_needs_its_verb_its_resource_its_subresource_and_its_namespace() {
    let patch = json!({"do": "merge", "body": {}});
    assert_eq!(ask(&patch, &[], &["patch v1/pods @default"], &[]).await.1, 1);

    for write in [
        "create,update,apply,delete v1/pods @default",
        "patch v1/pods @shop",
        "patch v1/pods/status @default",
        "patch v1/services @default",
        "patch apps/v1/pods @default",
    ] {
        let (answer, sent) = ask(&patch, &["v1/pods"], &[write], &[]).await;
        let expected = "merge error not-granted: patch of v1/pods default/web is not granted: \
                        add it to `write` under [plugin.grant]";
        assert_eq!((answer.as_str(), sent), (expected, 0), "{write}");
    }
}

#[tokio::test]
async fn apply_is_a_verb_of_its_own_because_it_creates_objects() {
    let apply = json!({"do": "apply", "body": {}});

    assert_eq!(ask(&apply, &[], &["create,patch v1/pods"], &[]).await.1, 0);
    assert_eq!(ask(&apply, &[], &["apply v1/pods"], &[]).await.1, 1);
}

/// A PUT creates a missing Lease, RoleBinding and others, whatever its `resourceVersion`. A `uid` prevents that.
#[tokio::test]
async fn an_update_that_may_create_the_object_needs_create_too() {
    let of = |metadata: Value| json!({"do": "update", "body": {"metadata": metadata}});
    for metadata in [json!({}), json!({"resourceVersion": "7"}), json!({"uid": ""}), json!({"uid": null})] {
        let (answer, sent) = ask(&of(metadata.clone()), &[], &["update,patch,apply v1/pods"], &[]).await;
        assert_eq!(sent, 0, "{metadata}");
        assert!(answer.contains("not-granted: update of v1/pods default/web without"), "{answer}");
        assert_eq!(ask(&of(metadata), &[], &["create,update v1/pods"], &[]).await.1, 1);
    }
    assert_eq!(ask(&of(json!({"uid": "u"})), &[], &["update v1/pods"], &[]).await.1, 1);
    let status = json!({"do": "update", "subresource": "status", "body": {}});
    assert_eq!(
        ask(&status, &[], &["update v1/pods/status"], &[]).await.1,
        1,
        "an update of a subresource creates no object"
    );
}

#[tokio::test]
async fn a_live_read_needs_read_for_the_resource_and_namespace() {
    let get = json!({"do": "get"});
    assert_eq!(ask(&get, &["v1/pods @default"], &[], &[]).await.1, 1);
    let (answer, sent) = ask(&get, &["v1/pods @shop"], &["* v1/pods"], &[]).await;
    assert_eq!(sent, 0);
    assert!(answer.ends_with("not granted: add it to `read` under [plugin.grant]"), "{answer}");
    let scale = json!({"do": "get", "subresource": "scale"});
    assert_eq!(ask(&scale, &["v1/pods"], &[], &[]).await.1, 0);
    assert_eq!(ask(&scale, &["v1/pods/scale"], &[], &[]).await.1, 1);
    assert_eq!(ask(&get, &["v1/pods/scale"], &[], &[]).await.1, 0);
}

#[tokio::test]
async fn a_list_of_all_namespaces_needs_a_grant_for_all_namespaces() {
    let everywhere = json!({"do": "list"});
    let (answer, sent) = ask(&everywhere, &["v1/pods @default,shop"], &[], &[]).await;
    assert_eq!((answer.starts_with("list error not-granted: "), sent), (true, 0), "{answer}");

    assert_eq!(ask(&everywhere, &["v1/pods"], &[], &[]).await.1, 1);
    let shop = json!({"do": "list", "namespace": "shop"});
    assert_eq!(ask(&shop, &["v1/pods @default,shop"], &[], &[]).await.1, 1);
    assert_eq!(ask(&shop, &["v1/pods @default"], &[], &[]).await.1, 0);
}

#[tokio::test]
async fn reading_or_writing_a_secret_also_needs_secrets() {
    let gvr = "v1/secrets";
    for (step, grant) in [
        (json!({"do": "get", "gvr": gvr, "name": "db"}), "default/db"),
        (json!({"do": "merge", "gvr": gvr, "name": "db", "body": {}}), "default/db"),
        (json!({"do": "create", "gvr": gvr, "body": {"metadata": {"name": "db"}}}), "default/db"),
        (json!({"do": "create", "gvr": gvr, "body": {"metadata": {"generateName": "db-"}}}), "default/*"),
        (json!({"do": "delete", "gvr": gvr, "name": "db"}), "default/*"),
        (json!({"do": "list", "gvr": gvr, "namespace": "default"}), "default/*"),
        (json!({"do": "list", "gvr": gvr}), "*"),
    ] {
        for (secrets, expected) in [(&[][..], 0), (&["shop/*", "default/other"], 0), (&[grant], 1)] {
            let (answer, sent) = ask(&step, &[gvr], &["* v1/secrets"], secrets).await;
            assert_eq!(sent, expected, "{step} {secrets:?} {answer}");
            assert!(sent == 1 || answer.contains("not granted: add it to `secrets`"), "{answer}");
        }
    }
    let list = json!({"do": "list", "gvr": gvr, "namespace": "default"});
    assert_eq!(
        ask(&list, &[gvr], &[], &["default/db"]).await.1,
        0,
        "a grant for one Secret does not allow a list"
    );
}

#[tokio::test]
async fn recording_an_event_needs_the_grant_to_create_events() {
    let event = json!({"do": "event"});
    let (answer, sent) = ask(&event, &["v1/pods"], &["create v1/events", "* v1/pods"], &[]).await;

    assert_eq!(sent, 0);
    assert!(answer.contains("create of events.k8s.io/v1/events"), "{answer}");
}

/// The answer would reveal whether the object exists, and its UID.
#[tokio::test]
async fn an_event_about_an_object_needs_the_grant_to_read_it() {
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"}}"#;
    let about = |gvr: &str, name: &str| json!({"do": "event", "gvr": gvr, "name": name});
    for (step, read, expected) in [
        (about("v1/secrets", "db"), &[][..], 0),
        (about("v1/secrets", "absent"), &[], 0),
        (about("v1/secrets", "db"), &["v1/secrets @shop"], 0),
        (about("v1/secrets", "db"), &["v1/secrets @default"], 1),
        (about("v1/pods", "db"), &[], 0),
        // The object that the call is about.
        (about("v1/pods", "web"), &[], 1),
    ] {
        let running = writer(&json!([step]))
            .cache("v1/secrets", vec![object("default", "db", "1", secret)])
            .cache("v1/pods", vec![object("default", "web", "1", r#"{"kind":"Pod"}"#)])
            .read(read)
            .write(&["create events.k8s.io/v1/events"])
            .load("writer")
            .await;

        let answers = answers(&running).await;

        assert_eq!(running.api.asked().len(), expected, "{step} {read:?}: {answers:?}");
        let told = "for an Event about it, is not granted: add it to `read` under [plugin.grant]";
        assert_eq!(answers[0].ends_with(told), expected == 0, "{step} {read:?}: {answers:?}");
    }
}

#[tokio::test]
async fn without_write_a_component_that_imports_the_client_is_refused() {
    let running = writer(&json!([])).read(&["v1/pods"]).idle();

    let error = running.load("writer").await.unwrap_err().to_string();

    assert!(error.contains("informer:plugin/client") && error.contains("write = ["), "{error}");
}

/// The server answers with what it likes: the grant names the Secrets that the plugin may see.
#[tokio::test]
async fn a_secret_in_any_answer_is_masked_unless_it_is_granted() {
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"default","name":"db"},"data":{"a":"aHVudGVyMg=="}}"#;
    let list = format!(r#"{{"apiVersion":"v1","kind":"SecretList","metadata":{{}},"items":[{secret}]}}"#);
    for (step, body) in [
        (json!({"do": "get", "gvr": "v1/configmaps", "name": "db", "pointer": "/data"}), secret),
        (
            json!({"do": "list", "gvr": "v1/configmaps", "namespace": "default", "pointer": "/data"}),
            list.as_str(),
        ),
        (
            json!({"do": "merge", "gvr": "v1/configmaps", "name": "db", "body": {}, "dry-run": true, "pointer": "/data"}),
            secret,
        ),
    ] {
        for (secrets, shown) in [(&[][..], false), (&["default/other"], false), (&["default/db"], true)] {
            let running = writer(&json!([step]))
                .read(&["v1/configmaps"])
                .write(&["* v1/configmaps"])
                .secrets(secrets)
                .load("writer")
                .await;
            running.api.answer(200, body);

            let answer = answers(&running).await.concat();

            assert_eq!(answer.contains("aHVudGVyMg=="), shown, "{step} {secrets:?}: {answer}");
            assert_eq!(answer.contains("***"), !shown, "{step} {secrets:?}: {answer}");
        }
    }
}

/// `/api/v1/namespaces/shop/secrets` is the path of all Secrets of the namespace.
#[tokio::test]
async fn a_namespace_has_no_subresource_that_is_a_collection() {
    for subresource in ["secrets", "pods"] {
        let step = json!({"do": "get", "gvr": "v1/namespaces", "namespace": "", "name": "shop", "subresource": subresource});
        let (answer, sent) = sent_anyway(&step).await;
        assert_eq!(sent, 0);
        assert!(answer.contains("is not a subresource of v1/namespaces"), "{answer}");
    }
    let status = json!({"do": "get", "gvr": "v1/namespaces", "namespace": "", "name": "shop", "subresource": "status"});
    assert_eq!(sent_anyway(&status).await.1, 1);
}

/// The answer and the number of requests under a grant that no configuration can have.
async fn sent_anyway(step: &Value) -> (String, usize) {
    let mut setup = writer(&json!([step])).write(&[]);
    let grants = ["secrets", "pods", "status"].map(|subresource| ReadGrant {
        gvr: "v1/namespaces".parse().unwrap(),
        subresource: Some(subresource.to_owned()),
        namespaces: Namespaces::All,
    });
    setup.config.grants.read = Some(grants.into_iter().collect());
    let running = setup.load("writer").await;
    let answers = answers(&running).await;
    (answers.concat(), running.api.asked().len())
}
