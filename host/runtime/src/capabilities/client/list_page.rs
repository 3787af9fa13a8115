//! A page of a list, as the API server sends it. The host builds no tree of it: a tree would take a hundred times the memory of the
//! text.

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::{Value, value::RawValue};

use super::source::ApiAnswer;
use crate::bindings::informer::plugin::client::{ApiCode, ApiError, ObjectPage};

/// The end of the kind of a list. The rest is the kind of its objects.
const LIST: &str = "List";

/// The limit on the objects of a page, as a multiple of the plugin's limit on answers. A page repeats the type of the list in each object,
/// so it may be larger than the answer, and a server may send a type of any length.
const TIMES: usize = 4;

/// The bytes that count for each object of a page in addition to its text and its type.
const OBJECT_BYTES: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a list")]
struct List<'a> {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<ListMetadata>,
    /// `None` if the field is missing. Go writes `null` for no objects.
    #[serde(borrow, default, deserialize_with = "or_empty")]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "the metadata of a list")]
struct ListMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
    resource_version: Option<String>,
}

/// The fields for the type that an object has itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnType {
    #[serde(default, deserialize_with = "present")]
    api_version: bool,
    #[serde(default, deserialize_with = "present")]
    kind: bool,
}

/// Reads a page. The server leaves `apiVersion` and `kind` out of the objects of built-in types; the page adds them to each. `limit` is
/// the plugin's limit on answers.
///
/// # Errors
/// The answer is not a list, or its objects take more than [`TIMES`] the limit. The error has the status of the answer.
pub(super) fn list_page(answer: &ApiAnswer, limit: usize) -> Result<ObjectPage, ApiError> {
    let failed = |code: ApiCode, message: String| ApiError {
        status: answer.status.into(),
        ..ApiError::host(code, message)
    };
    let broken =
        |why: String| failed(ApiCode::Unavailable, format!("the server's list cannot be read: {why}"));
    let list: List<'_> = serde_json::from_slice(&answer.body).map_err(|error| broken(error.to_string()))?;
    let Some(items) = list.items else { return Err(broken("it has no items".to_owned())) };
    let (api_version, kind) = (list.api_version.unwrap_or_default(), list.kind.unwrap_or_default());
    let kind = kind.strip_suffix(LIST).unwrap_or(&kind);
    let (api_version, kind) = (Value::from(api_version).to_string(), Value::from(kind).to_string());
    let (most, each) = (limit.saturating_mul(TIMES), OBJECT_BYTES + api_version.len() + kind.len());
    let (mut objects, mut bytes) = (Vec::new(), 0_usize);
    for item in items {
        bytes = bytes.saturating_add(each).saturating_add(item.get().len());
        if bytes > most {
            let message = format!(
                "the objects of the list take more than {most} bytes with their types: request less, or raise `response` \
                 under [plugin.limits]"
            );
            return Err(failed(ApiCode::TooLarge, message));
        }
        objects.push(typed(item.get(), &api_version, &kind).map_err(|error| broken(error.to_string()))?);
    }
    let ListMetadata { next, resource_version } = list.metadata.unwrap_or_default();
    Ok(ObjectPage {
        items: objects,
        next: next.filter(|token| !token.is_empty()),
        resource_version: resource_version.unwrap_or_default(),
    })
}

/// The text of an object, with the type of its list in front if it has none itself. `api_version` and `kind` are JSON texts.
fn typed(object: &str, api_version: &str, kind: &str) -> serde_json::Result<String> {
    let Some(fields) = object.strip_prefix('{') else { return Ok(object.to_owned()) };
    let own: OwnType = serde_json::from_str(object)?;
    let mut text = "{".to_owned();
    for (field, value, has_own) in [("apiVersion", api_version, own.api_version), ("kind", kind, own.kind)] {
        if !has_own {
            text.push_str(&format!("\"{field}\":{value},"));
        }
    }
    if fields.trim_start().starts_with('}') && text.ends_with(',') {
        text.pop();
    }
    text.push_str(fields);
    Ok(text)
}

/// The value of a field that is there. `null` is an empty value.
fn or_empty<'de, D: Deserializer<'de>, T>(json: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de> + Default,
{
    Ok(Some(Option::<T>::deserialize(json)?.unwrap_or_default()))
}

/// Returns true for a field that is there, whatever its value is.
fn present<'de, D: Deserializer<'de>>(json: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(json).map(|IgnoredAny| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page of this answer, for a plugin whose limit on answers is 1 MiB.
    fn list(answer: &str) -> Result<ObjectPage, ApiError> {
        let body = answer.as_bytes().to_vec().into();
        list_page(&ApiAnswer { status: 200, retry_after: None, body }, 1 << 20)
    }

    fn page(answer: &str) -> Result<ObjectPage, String> {
        list(answer).map_err(|error| error.message)
    }

    #[test]
    fn an_object_is_the_text_of_the_server_with_the_type_of_its_list_in_front() {
        let answer = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"c","resourceVersion":"9"},"items":[
            {"metadata": {"name":"a"}, "n":12345678901234567890123, "kinds":1}, { }, {},
            {"kind":"Other","\u0061piVersion":"x/v1"}, {"kind":null,"b":1.0}, 7]}"#;

        let ObjectPage { items, next, resource_version } = page(answer).unwrap();

        assert_eq!((next.as_deref(), resource_version.as_str()), (Some("c"), "9"));
        assert_eq!(
            items,
            [
                r#"{"apiVersion":"v1","kind":"Pod","metadata": {"name":"a"}, "n":12345678901234567890123, "kinds":1}"#,
                r#"{"apiVersion":"v1","kind":"Pod" }"#,
                r#"{"apiVersion":"v1","kind":"Pod"}"#,
                r#"{"kind":"Other","\u0061piVersion":"x/v1"}"#,
                r#"{"apiVersion":"v1","kind":null,"b":1.0}"#,
                "7",
            ]
        );
        for item in items {
            assert!(serde_json::from_str::<Value>(&item).is_ok(), "{item}");
        }
    }

    #[test]
    fn only_the_last_list_of_a_kind_is_its_end() {
        let lists = page(r#"{"kind":"WatchListList","apiVersion":"a.io/v1","items":[{}]}"#).unwrap();

        assert_eq!(lists.items, [r#"{"apiVersion":"a.io/v1","kind":"WatchList"}"#]);
    }

    #[test]
    fn a_server_written_in_go_sends_null_for_no_objects() {
        for (answer, next) in [
            (r#"{"kind":"PodList","metadata":{"resourceVersion":"9","continue":""},"items":null}"#, None),
            (r#"{"kind":"PodList","metadata":null,"items":[]}"#, None),
            (r#"{"kind":"PodList","metadata":{"continue":"c"},"items":[]}"#, Some("c")),
        ] {
            let page = page(answer).unwrap();

            assert_eq!((page.items.is_empty(), page.next.as_deref()), (true, next), "{answer}");
        }
    }

    /// A server may send a type of megabytes and a million empty objects, and each object would repeat the type.
    #[test]
    fn objects_that_would_take_many_times_the_limit_with_their_types_are_refused() {
        let of = |type_bytes: usize, object: &str, objects: usize| {
            let (version, objects) = ("v".repeat(type_bytes), vec![object; objects].join(","));
            format!(r#"{{"apiVersion":"{version}","kind":"PodList","items":[{objects}]}}"#)
        };
        let limit = 1 << 20;
        for answer in [of(10_000, "{}", 500), of(2, "{}", 100_000), of(2, "7", 100_000)] {
            assert!(answer.len() < limit, "the answer itself is within the limit");

            let error = list(&answer).unwrap_err();

            assert_eq!((error.code, error.status), (ApiCode::TooLarge, 200));
            let told = "the objects of the list take more than 4194304 bytes with their types: request less";
            assert!(error.message.starts_with(told), "{}", error.message);
        }

        let answer = of(2, &format!(r#"{{"a":"{}"}}"#, "x".repeat(200)), 5_000);
        assert!(answer.len() < limit && answer.len() > limit / 10 * 9, "it nearly reaches the limit");
        assert_eq!(list(&answer).unwrap().items.len(), 5_000);
    }

    #[test]
    fn an_answer_that_is_no_list_is_an_error() {
        for (answer, why) in [
            (r#"{"kind":"Status"}"#, "it has no items"),
            (r#"{"items":{}}"#, "invalid type: map, expected a sequence"),
            (r#"{"items":["#, "EOF while parsing"),
            ("<html>", "expected value"),
        ] {
            let error = page(answer).unwrap_err();

            let beginning = "the server's list cannot be read: ";
            assert!(error.starts_with(beginning) && error.contains(why), "{error}");
        }
    }
}
