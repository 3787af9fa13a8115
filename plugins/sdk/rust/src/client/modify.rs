//! Read, change and write back.

use serde_json::Value;

use super::{ApiCode, WriteOptions, get, update};
use crate::{Error, ObjectKey};

/// The most attempts if other clients write the object at the same time.
const ATTEMPTS: u32 = 5;

/// Calls a function again if it fails with [`ApiCode::Conflict`], at most five times in all. In each call, the function must read
/// the object from the API server, because the cache may still have the old version.
///
/// # Errors
/// Returns the error of the last attempt.
pub fn retry_on_conflict<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(error) if error.api_code() == Some(ApiCode::Conflict) => {}
            done => return done,
        }
    }
    attempt()
}

/// Reads an object from the API server, changes it and replaces it. After a conflict, it does so again with the newer object. If
/// `change` changes nothing, nothing is sent. Returns the resulting object.
///
/// The object is a JSON value and not a type: a type would drop the fields that it does not know. Numbers that `change` leaves alone keep
/// their values, fractions included. The plugin needs the resource in `read`, and its verb `update` in `write` of the grant.
///
/// ```no_run
/// use informer_sdk::client::{self, WriteOptions};
/// use informer_sdk::{ObjectKey, Result};
/// use serde_json::json;
///
/// fn pause(key: &ObjectKey) -> Result {
///     client::modify("apps/v1/deployments", key, &WriteOptions::new(), |deployment| {
///         deployment["spec"]["paused"] = json!(true);
///     })?;
///     Ok(())
/// }
/// ```
///
/// # Errors
/// Returns [`Error::Api`] if a request fails, with [`ApiCode::Conflict`] after five conflicts. Returns [`Error::Decode`] and sends nothing
/// if the value after `change` is no JSON object, for example because `change` took the object with [`Value::take`].
pub fn modify(
    gvr: &str,
    key: &ObjectKey,
    options: &WriteOptions,
    mut change: impl FnMut(&mut Value),
) -> Result<Value, Error> {
    retry_on_conflict(|| {
        let before: Value = get(gvr, key)?;
        let mut object = before.clone();
        change(&mut object);
        if object == before {
            return Ok(object);
        }
        if !object.is_object() {
            let source =
                serde::ser::Error::custom(format!("a JSON object is expected, and this is {object}"));
            return Err(Error::Decode { what: "the value after the change".to_owned(), source });
        }
        update(gvr, key, &object, options)?.parse()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::TestHost;

    const GVR: &str = "v1/configmaps";

    fn host() -> (TestHost, ObjectKey) {
        let host = TestHost::new();
        host.store(GVR, json!({"metadata": {"namespace": "shop", "name": "a", "resourceVersion": "before"}, "data": {"n": "1"}}));
        (host, ObjectKey::new("shop", "a"))
    }

    #[test]
    fn a_change_is_made_again_after_a_conflict() {
        let (host, key) = host();
        host.fail_write(ApiCode::Conflict, "modified");
        let mut calls = 0;

        let object = modify(GVR, &key, &WriteOptions::new(), |object| {
            calls += 1;
            object["data"]["n"] = json!("2");
        });

        let object = object.unwrap();
        assert_eq!((calls, &object["data"]["n"]), (2, &json!("2")));
        assert!(super::super::is_own_write(object["metadata"]["resourceVersion"].as_str().unwrap()));
    }

    #[test]
    fn numbers_that_the_change_leaves_alone_are_written_as_they_were_read() {
        let (host, key) = host();
        // Without its feature `float_roundtrip`, serde_json reads each of the two fractions as another number.
        let weights = "[51.248178375505404,-36.573994842753436,9007199254740993]";
        let object = format!(
            r#"{{"metadata": {{"namespace": "shop", "name": "a", "resourceVersion": "1"}}, "weights": {weights}}}"#
        );
        host.store(GVR, serde_json::from_str(&object).unwrap());

        let object = modify(GVR, &key, &WriteOptions::new(), |object| object["data"] = json!({"n": "2"}));

        assert_eq!(object.unwrap()["weights"].to_string(), weights);
    }

    #[test]
    fn a_change_that_changes_nothing_is_not_sent() {
        let (host, key) = host();
        let object = modify(GVR, &key, &WriteOptions::new(), |object| object["data"]["n"] = json!("1"));
        assert_eq!(object.unwrap()["data"]["n"], "1");
        assert!(host.requests().is_empty());
    }

    #[test]
    fn a_change_that_leaves_no_object_is_refused_and_not_sent() {
        let (host, key) = host();

        let refused = modify(GVR, &key, &WriteOptions::new(), |object| drop(object.take()));

        let Err(Error::Decode { what, source }) = &refused else { panic!("{refused:?}") };
        assert_eq!(
            (what.as_str(), source.to_string().as_str()),
            ("the value after the change", "a JSON object is expected, and this is null")
        );
        assert!(host.requests().is_empty());
    }

    #[test]
    fn other_failures_and_the_fifth_conflict_end_the_attempts() {
        let (host, key) = host();
        host.fail_write(ApiCode::Forbidden, "no");
        let change = |object: &mut Value| object["data"]["n"] = json!("2");
        let refused = modify(GVR, &key, &WriteOptions::new(), change).unwrap_err();
        assert_eq!((refused.api_code(), host.requests().len()), (Some(ApiCode::Forbidden), 1));

        let mut attempts = 0;
        let conflict = retry_on_conflict(|| -> Result<(), Error> {
            attempts += 1;
            host.fail_write(ApiCode::Conflict, "modified");
            update(GVR, &key, &json!({"metadata": {"namespace": "shop", "name": "a"}}), &WriteOptions::new())
                .map(|_| ())
        });
        assert_eq!((conflict.unwrap_err().api_code(), attempts), (Some(ApiCode::Conflict), 5));
    }
}
