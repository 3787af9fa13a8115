//! Only plugins with a grant see the values of a Secret.

use std::sync::Arc;

use informer_types::{Cause, Change, Gvr, Object, Outcome};

use crate::host::{Running, Setup, delivery_of, object};

const VALUE: &str = "aHVudGVyMg==";

fn gvr() -> Gvr {
    Gvr::new("", "v1", "secrets")
}

fn secret(namespace: &str, name: &str, value: &str) -> Arc<Object> {
    let json = format!(r#"{{"kind":"Secret","data":{{"password":"{value}"}},"type":"Opaque"}}"#);
    object(namespace, name, "1", &json)
}

fn reader(config: &str) -> Setup {
    let secrets = vec![secret("shop", "one", VALUE), secret("shop", "two", VALUE)];
    Setup::new(&format!(r#"{{"gvr": "v1/secrets", {config}}}"#))
        .read(&["v1/secrets"])
        .cache("v1/secrets", secrets)
}

/// The lines of the plugin when it is notified of `shop/one`.
async fn hears(running: &Running) -> Vec<String> {
    let added = Change::Added { object: secret("shop", "one", VALUE) };
    let outcome = running.deliver(delivery_of(gvr(), added, Cause::Live)).await;
    assert_eq!(outcome, Outcome::Acknowledged);
    running.log.messages()
}

const WAYS: [&str; 8] = [
    r#""what": "get", "namespace": "shop", "name": "one""#,
    r#""what": "get-fields", "namespace": "shop", "name": "one", "pointer": "/data/password""#,
    r#""what": "get-fields", "namespace": "shop", "name": "one", "pointer": """#,
    r#""what": "list-json""#,
    r#""what": "list-fields", "pointer": "/data""#,
    r#""what": "field", "pointer": "/data/password""#,
    r#""what": "field", "pointer": """#,
    r#""what": "json""#,
];

#[tokio::test]
async fn no_way_of_reading_shows_a_value_without_a_grant() {
    for way in WAYS {
        for grants in [&[][..], &["other/*"], &["other/one"], &["digest *"]] {
            let said = hears(&reader(way).secrets(grants).load("reader").await).await;

            assert!(!said.is_empty() && said.iter().all(|line| line.contains("***")), "{way}: {said:?}");
            assert!(!said.concat().contains(VALUE), "{way}: {said:?}");
        }
    }
}

#[tokio::test]
async fn only_granted_values_are_shown() {
    for way in WAYS {
        let said = hears(&reader(way).secrets(&["shop/one"]).load("reader").await).await;

        assert!(said[0].contains(VALUE), "{way}: {said:?}");
        assert!(
            said.iter().skip(1).all(|two| !two.contains(VALUE) && two.contains("***")),
            "{way}: {said:?}"
        );
    }
    for grant in ["shop/*", "*"] {
        let said = hears(&reader(r#""what": "list-json""#).secrets(&[grant]).load("reader").await).await;
        assert!(said.len() == 2 && said.iter().all(|line| line.contains(VALUE)), "{grant}: {said:?}");
    }
}

#[tokio::test]
async fn a_plugin_without_a_grant_sees_no_difference_if_a_value_changes() {
    for (grants, differs) in [(&[][..], "false"), (&["shop/one"], "true")] {
        let setup = reader(r#""what": "json", "pointer": "/data""#).secrets(grants);
        let running = setup.load("reader").await;
        let updated =
            Change::Updated { old: secret("shop", "one", VALUE), new: secret("shop", "one", "bmV3") };

        running.deliver(delivery_of(gvr(), updated, Cause::Live)).await;

        assert_eq!(running.log.messages(), [format!("shop/one 1 {differs}")]);
    }
}

/// The digest of the whole data, of a value, and of a field without values.
#[tokio::test]
async fn a_digest_of_values_needs_a_grant_of_digests() {
    // `printf '{"password":"aHVudGVyMg=="}' | sha256sum`, `printf 'password=hunter2' | sha1sum`, `printf '"Opaque"' | sha256sum`
    let sha256 = "ba3b27ff42274af9b5c4178c3c8c41309639ca29a17a82be6d3e9f40057673de";
    let sha1 = "ef1c496a196ff5903e51873eea66100d635fdfd2";
    let kind = "b7f7e6dd45056dade06dc7d99eaaef5fbb386c3dd8cbd7f4a3669a1ef87545d0";
    for (pointer, grants, expected) in [
        ("sha256:/data", &[][..], "***"),
        ("sha256:/data", &["digest other/*"], "***"),
        ("sha256:/data", &["digest shop/*"], sha256),
        ("sha256:/data", &["shop/one"], sha256),
        ("sha1-base64-pairs:/data", &[], "***"),
        ("sha1-base64-pairs:/data", &["digest shop/one"], sha1),
        ("sha256:/data/password", &["digest *"], "***"),
        ("sha256:/type", &[], kind),
    ] {
        for way in [r#""what": "get-fields", "namespace": "shop", "name": "one""#, r#""what": "field""#] {
            let setup = reader(&format!(r#"{way}, "pointer": "{pointer}""#)).secrets(grants);
            let said = hears(&setup.load("reader").await).await;
            assert!(said[0].contains(expected), "{way} {pointer} {grants:?}: {said:?}");
        }
    }
}

#[tokio::test]
async fn a_plugin_with_digests_sees_that_the_data_changes() {
    for (pointer, differs) in
        [("sha256:/data", "true"), ("/data", "false"), ("sha256:/data/password", "false")]
    {
        let setup = reader(&format!(r#""what": "json", "pointer": "{pointer}""#)).secrets(&["digest *"]);
        let running = setup.load("reader").await;
        let updated =
            Change::Updated { old: secret("shop", "one", VALUE), new: secret("shop", "one", "bmV3") };

        running.deliver(delivery_of(gvr(), updated, Cause::Live)).await;

        assert_eq!(running.log.messages(), [format!("shop/one 1 {differs}")], "{pointer}");
    }
}

#[tokio::test]
async fn values_cannot_be_guessed_through_an_index() {
    let asked = r#""what": "list-meta", "namespace": "shop", "index": ["by-password", "aHVudGVyMg=="]"#;

    let said = hears(&reader(asked).secrets(&["shop/one"]).load("reader").await).await;
    assert!(said[0].starts_with("error: not-granted: listing Secrets by an index needs "), "{said:?}");

    let said = hears(&reader(asked).secrets(&["shop/*"]).load("reader").await).await;
    assert_eq!(said, ["error: invalid: no index by-password for aHVudGVyMg=="]);
}

#[tokio::test]
async fn other_resources_are_never_masked() {
    let pods = vec![object("shop", "one", "1", r#"{"data":{"a":"b"}}"#)];
    let setup = Setup::new(r#"{"gvr": "v1/configmaps", "what": "list-json"}"#);
    let running = setup.read(&["v1/configmaps"]).cache("v1/configmaps", pods).load("reader").await;

    assert_eq!(hears(&running).await, [r#"{"data":{"a":"b"}}"#]);
}
