use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// The JSON text of the value at a pointer.
fn lookup<'a>(json: &'a str, pointer: &Pointer) -> Result<Option<&'a str>, InvalidJson> {
    let found = locate(json, std::slice::from_ref(pointer))?;
    Ok(found.into_iter().next().flatten().and_then(|range| json.get(range)))
}

fn pointer(text: &str) -> Pointer {
    text.parse().unwrap()
}

#[test]
fn a_pointer_finds_the_text_of_its_value() {
    let json = r#"{"spec":{"replicas":3,"a/b":{"~":[10,{"x":null}]},"größe":"\u00e4"},"s":"x"}"#;

    for (path, expected) in [
        ("/spec/replicas", Some("3")),
        ("/spec/a~1b/~0/1", Some(r#"{"x":null}"#)),
        ("/spec/a~1b/~0/1/x", Some("null")),
        ("/spec/größe", Some(r#""\u00e4""#)),
        ("", Some(json)),
        ("/spec/none", None),
        ("/spec/replicas/deeper", None),
        ("/s/0", None),
        ("/spec/a~1b/~0/2", None),
    ] {
        assert_eq!(lookup(json, &pointer(path)).unwrap(), expected, "{path}");
    }
}

#[test]
fn a_pointer_and_one_below_it_are_both_found() {
    let json = r#"{"a":{"b":{"c":1}}}"#;
    let pointers = ["/a", "/a/b/c", "/a/b"].map(pointer);

    let found: Vec<&str> =
        locate(json, &pointers).unwrap().into_iter().map(|range| &json[range.unwrap()]).collect();

    assert_eq!(found, [r#"{"b":{"c":1}}"#, "1", r#"{"c":1}"#]);
}

#[test]
fn the_last_of_two_equal_keys_wins() {
    assert_eq!(lookup(r#"{"a":{"b":1},"a":{"b":2}}"#, &pointer("/a/b")).unwrap(), Some("2"));
    assert_eq!(lookup(r#"{"a":{"b":1},"a":{}}"#, &pointer("/a/b")).unwrap(), None);
}

#[test]
fn a_pointer_deeper_than_any_object_finds_nothing() {
    let deep = |levels: usize| {
        let text = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        lookup(&text, &pointer(&"/a".repeat(levels))).unwrap().map(str::to_owned)
    };

    assert_eq!(deep(256).as_deref(), Some("1"));
    assert_eq!(deep(257), None);
    assert_eq!(deep(50_000), None);
}

#[test]
fn equal_pointers_and_prefixes_of_names_are_distinguished() {
    let json = r#"{"a":1,"ab":{"c":2},"a/b":3,"0":[4,5,6,7,8,9,10,11,12,13,14]}"#;
    let pointers = ["/ab/c", "/a", "/0/10", "/a", "/a~1b", "/0/01", "/0/1", "/ab", "/0/+1"].map(pointer);

    let found = locate(json, &pointers).unwrap();

    let texts: Vec<Option<&str>> = found.into_iter().map(|range| range.map(|range| &json[range])).collect();
    let expected =
        [Some("2"), Some("1"), Some("14"), Some("1"), Some("3"), None, Some("5"), Some(r#"{"c":2}"#), None];
    assert_eq!(texts, expected);
}

#[test]
fn an_escaped_key_is_found() {
    assert_eq!(lookup(r#"{"\u0061":1}"#, &pointer("/a")).unwrap(), Some("1"));
}

#[test]
fn a_syntax_error_is_reported_even_after_the_wanted_value() {
    for text in ["", "{", r#"{"a":1"#, r#"{"a":1}}"#, "<html>", r#"{"a":1,"b":tru}"#, r#"{"a":1,"b":{}"#] {
        assert!(lookup(text, &pointer("/a")).is_err(), "{text}");
    }
}

#[test]
fn values_are_compared_by_meaning_not_by_spelling() {
    let all = [pointer("/spec"), pointer("/labels")];

    for (old, new, expected) in [
        (r#"{"spec":{"a":1,"b":2}}"#, r#"{"spec":{ "b":2,"a":1 }}"#, false),
        (r#"{"spec":{"a":1}}"#, r#"{"spec":{"a":2}}"#, true),
        (r#"{"spec":1,"other":1}"#, r#"{"spec":1,"other":2}"#, false),
        (r#"{"spec":1}"#, r#"{"spec":1,"labels":null}"#, true),
        (r#"{"labels":"ä"}"#, r#"{"labels":"\u00e4"}"#, false),
        ("{}", "{}", false),
    ] {
        assert_eq!(differs(old, new, &all).unwrap(), expected, "{old} {new}");
    }
}

/// A cache keeps an object whole while a condition holds. While the condition does not hold, the cache keeps digests of the object.
#[test]
fn a_value_of_a_whole_object_does_not_differ_from_a_digest_that_stands_for_it() {
    let (one, other) = (r#"{"a":"MQ=="}"#, r#"{"a":"Mg=="}"#);
    let data = |value: &str| format!(r#"{{"data":{value}}}"#);
    for form in DigestForm::ALL {
        let digest = |value: &str| data(&stand_in(form, value));
        for (left, right, expected) in [
            (data(one), digest(one), false),
            (digest(one), data(one), false),
            (data(one), digest(other), true),
            (digest(one), data(other), true),
            (digest(one), digest(other), true),
        ] {
            let data = [pointer("/data")];
            assert_eq!(differs_from_digests(&left, &right, &data).unwrap(), expected, "{left} {right}");
            assert!(differs(&left, &right, &data).unwrap(), "an author may have written it: {left} {right}");
            // A reader of the value cannot use the digest.
            assert!(Part::differ(&data.map(Part::from), &left, &right).unwrap(), "{left} {right}");
        }
    }
}

#[test]
fn a_text_that_is_not_a_pointer_is_refused_with_a_remedy() {
    assert!("spec".parse::<Pointer>().unwrap_err().to_string().contains("must start with `/`"));
    assert!("/a~2".parse::<Pointer>().unwrap_err().to_string().contains("`~0`"));
    assert!("/a~".parse::<Pointer>().is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-c~/\"\\\\ä😀\n]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c~/\"ä]{0,2}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

fn every_pointer(value: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    let mut descend = |token: &str, value: &Value| {
        every_pointer(value, &format!("{at}/{}", token.replace('~', "~0").replace('/', "~1")), into);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| descend(key, value)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| descend(&index.to_string(), value));
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn every_value_is_found_where_serde_json_finds_it(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.unwrap();
        let mut paths = Vec::new();
        every_pointer(&value, "", &mut paths);
        paths.push("/no/such".to_owned());
        let pointers: Vec<Pointer> = paths.iter().map(|path| pointer(path)).collect();

        let found = locate(&text, &pointers).unwrap();

        for ((path, pointer), range) in paths.iter().zip(&pointers).zip(found) {
            prop_assert_eq!(&pointer.to_string(), path);
            let ours = range.map(|range| serde_json::from_str::<Value>(&text[range]).unwrap());
            prop_assert_eq!(ours.as_ref(), value.pointer(path));
        }
    }
    /// Parts that lie in another part are not compared by themselves.
    #[test]
    fn parts_differ_together_if_one_of_them_differs(
        old in any_json(),
        chosen in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..8),
        changed in prop::option::of((any::<prop::sample::Index>(), any::<i64>())),
        pretty in any::<bool>(),
    ) {
        let (mut new, mut paths) = (old.clone(), Vec::new());
        every_pointer(&old, "", &mut paths);
        if let Some((at, value)) = changed {
            *new.pointer_mut(at.get::<String>(&paths)).unwrap() = value.into();
        }
        let parts = chosen.iter().map(|(at, digest)| {
            let path = pointer(at.get::<String>(&paths));
            if *digest { Part::of_digest(DigestForm::Sha256, path) } else { Part::from(path) }
        });
        let parts: Vec<Part> = parts.collect();
        let spelled = if pretty { serde_json::to_string_pretty(&new) } else { serde_json::to_string(&new) };
        let (old, new) = (old.to_string(), spelled.unwrap());

        let one_differs = parts.iter().any(|part| Part::differ(std::slice::from_ref(part), &old, &new).unwrap());

        prop_assert_eq!(Part::differ(&parts, &old, &new).unwrap(), one_differs);
    }
}
