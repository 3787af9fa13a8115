//! Selectors: what was parsed is printed in a form that means the same, and matches as a naive model does.

use std::collections::BTreeMap;

use informer_types::{Body, FieldSelector, Header, LabelSelector, Object};
use serde_json::{Value, value::RawValue};

use crate::parts::texts;

type Labels<'a> = BTreeMap<&'a str, &'a str>;

/// Two label selectors, a field selector, labels as `a=b,c=d`, and the body of an object.
pub(crate) fn run(input: &[u8]) {
    let Some([one, two, fields, labels, body]) = texts(input) else { return };
    let labels: Labels<'_> = labels.split(',').filter_map(|label| label.split_once('=')).collect();
    let (one, two) = (label_selector(one, &labels), label_selector(two, &labels));
    if let (Some(one), Some(two)) = (one, two) {
        combined(one, &two, &labels);
    }
    if serde_json::from_str::<Value>(body).is_ok() {
        let header = Header { name: "web".into(), namespace: "shop".into(), ..Header::default() };
        let object = Object::new(&header, Body::Raw(body.into())).unwrap();
        field_selector(fields, &object, body);
    } else {
        let _ = fields.parse::<FieldSelector>();
    }
}

fn label_selector(text: &str, labels: &Labels<'_>) -> Option<LabelSelector> {
    let selector: LabelSelector = text.parse().ok()?;
    let printed = selector.to_string();
    assert_eq!(printed.parse().as_ref(), Ok(&selector), "{text:?} is printed as {printed:?}");
    assert_eq!(matches(&selector, labels), model(&printed, labels), "{text:?}");
    assert_eq!(selector.is_empty(), text.trim().is_empty());
    Some(selector)
}

fn matches(selector: &LabelSelector, labels: &Labels<'_>) -> bool {
    selector.matches(|key| labels.get(key).copied())
}

/// The model reads the printed form, which has four kinds of requirements.
fn model(printed: &str, labels: &Labels<'_>) -> bool {
    let mut rest = printed;
    while !rest.is_empty() {
        let end = match (rest.find(','), rest.find('(')) {
            (Some(comma), Some(open)) if open < comma => rest.find(')').unwrap() + 1,
            (None, Some(_)) => rest.len(),
            (comma, _) => comma.unwrap_or(rest.len()),
        };
        let (requirement, after) = rest.split_at(end);
        rest = after.strip_prefix(',').unwrap_or(after);
        let has = |key: &str, values: &str| {
            labels.get(key).is_some_and(|label| values.split(',').any(|value| value == *label))
        };
        let met = if let Some(key) = requirement.strip_prefix('!') {
            !labels.contains_key(key)
        } else if let Some((key, values)) = requirement.split_once(" in (") {
            has(key, values.strip_suffix(')').unwrap())
        } else if let Some((key, values)) = requirement.split_once(" notin (") {
            !has(key, values.strip_suffix(')').unwrap())
        } else {
            labels.contains_key(requirement)
        };
        if !met {
            return false;
        }
    }
    true
}

fn combined(one: LabelSelector, two: &LabelSelector, labels: &Labels<'_>) {
    let (in_one, in_two) = (matches(&one, labels), matches(two, labels));
    let common = one.common(two);
    assert!(matches(&common, labels) || !(in_one || in_two), "{one} and {two} give {common}");
    assert_eq!(common.to_string().parse().as_ref(), Ok(&common));
    let both = one.and(two);
    assert_eq!(matches(&both, labels), in_one && in_two, "{both}");
}

fn field_selector(text: &str, object: &Object, body: &str) {
    let Ok(selector) = text.parse::<FieldSelector>() else { return };
    let printed = selector.to_string();
    assert_eq!(printed.parse().as_ref(), Ok(&selector), "{text:?} is printed as {printed:?}");
    let expected = terms(&printed).into_iter().all(|(path, equal, wanted)| {
        let found = match path.as_str() {
            "metadata.name" => Some("web".to_owned()),
            "metadata.namespace" => Some("shop".to_owned()),
            path => as_text(at(body, path).as_deref()),
        };
        (found.as_deref() == Some(wanted.as_str())) == equal
    });
    assert_eq!(selector.selects(object).unwrap(), expected, "{printed:?} on {body}");
    let twice = selector.clone().and(&selector);
    assert_eq!(twice.selects(object).unwrap(), expected, "{printed:?} twice");
    assert!(selector.common(&selector).selects(object).unwrap() || !expected, "{printed:?}");
}

/// The terms of a printed selector: path, true for `=`, value.
fn terms(printed: &str) -> Vec<(String, bool, String)> {
    let (mut texts, mut escaped) = (vec![String::new()], false);
    for character in printed.chars() {
        if character == ',' && !escaped {
            texts.push(String::new());
        } else {
            texts.last_mut().unwrap().push(character);
        }
        escaped = character == '\\' && !escaped;
    }
    let terms = texts.iter().filter(|text| !text.is_empty()).map(|text| {
        let (path, rest) = text.split_at(text.find(['=', '!']).unwrap());
        let (equal, value) = rest.strip_prefix("!=").map_or((true, &rest[1..]), |value| (false, value));
        (path.to_owned(), equal, unescaped(value))
    });
    terms.collect()
}

fn unescaped(value: &str) -> String {
    let mut characters = value.chars();
    let mut text = String::new();
    while let Some(character) = characters.next() {
        text.push(if character == '\\' { characters.next().unwrap() } else { character });
    }
    text
}

/// The text of the value at a path, with each level parsed anew.
fn at(body: &str, path: &str) -> Option<Box<RawValue>> {
    path.split('.').try_fold(serde_json::from_str(body).unwrap(), |value: Box<RawValue>, token| {
        if let Ok(mut members) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(value.get()) {
            return members.remove(token);
        }
        let mut elements: Vec<Box<RawValue>> = serde_json::from_str(value.get()).ok()?;
        let index = token.parse().ok().filter(|index: &usize| index.to_string() == token)?;
        (index < elements.len()).then(|| elements.swap_remove(index))
    })
}

/// A scalar as a field selector compares it: a number as it is written. `None` for an object and an array.
fn as_text(value: Option<&RawValue>) -> Option<String> {
    let text = value.map_or("null", RawValue::get);
    match serde_json::from_str(text).unwrap() {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text),
        Value::Bool(_) | Value::Number(_) => Some(text.to_owned()),
        Value::Array(_) | Value::Object(_) => None,
    }
}
