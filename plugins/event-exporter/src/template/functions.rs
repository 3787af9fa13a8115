//! The functions of templates: those of Go, and those of sprig that configurations of event exporters use.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::{
    error::TemplateError,
    lists, strings,
    values::{compare, equal, length, print, truth, whole},
};

/// The functions of this file. Each module lists its own. `and` and `or` are evaluated in `run.rs`, because they do not need all of their
/// arguments.
const NAMES: &[&str] = &[
    "and",
    "or",
    "not",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "len",
    "default",
    "empty",
    "coalesce",
    "ternary",
    "toJson",
    "toRawJson",
    "toPrettyJson",
    "fromJson",
    "toString",
    "int",
    "int64",
    "float64",
    "atoi",
    "add",
    "add1",
    "sub",
    "mul",
    "div",
    "mod",
    "max",
    "min",
    "now",
    "unixEpoch",
    "date",
    "kindOf",
    "fail",
];

/// The method of times that has an argument. A call of the method is a call of this function, with the time as the last
/// argument.
pub(super) const FORMAT: &str = "Format";

/// The method of times that is true for a time that an Event does not have.
const IS_ZERO: &str = "IsZero";

/// Checks that a function exists, when the template is parsed.
pub(super) fn known(name: &str) -> Result<(), TemplateError> {
    let lists = [NAMES, strings::NAMES, lists::NAMES];
    if lists.iter().any(|names| names.contains(&name)) {
        return Ok(());
    }
    Err(TemplateError::new(format!("there is no function `{name}`")))
}

pub(super) fn call(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    if strings::NAMES.contains(&name) {
        return strings::call(name, arguments);
    }
    if lists::NAMES.contains(&name) {
        return lists::call(name, arguments);
    }
    match name {
        "add" | "add1" | "sub" | "mul" | "div" | "mod" | "max" | "min" => number(name, arguments),
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" => comparison(name, arguments),
        "toJson" | "toRawJson" | "toPrettyJson" | "fromJson" | "toString" | "int" | "int64" | "float64"
        | "atoi" | "kindOf" => conversion(name, arguments),
        "now" | "unixEpoch" | "date" | FORMAT => time(name, arguments),
        _ => logic(name, arguments),
    }
}

fn logic(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    match (name, arguments) {
        ("coalesce", [_, ..]) => {
            let found = arguments.iter().find(|value| truth(value));
            Ok(found.or(arguments.last()).cloned().unwrap_or_default())
        }
        ("not" | "empty", [value]) => Ok(Value::Bool(!truth(value))),
        ("len", [value]) => Ok(Value::from(length(value)?)),
        ("default", [default]) => Ok(default.clone()),
        ("default", [default, value]) => Ok(if truth(value) { value } else { default }.clone()),
        ("ternary", [yes, no, condition]) => Ok(if truth(condition) { yes } else { no }.clone()),
        ("fail", [why]) => Err(TemplateError::new(print(why))),
        _ => Err(TemplateError::arguments(arguments)),
    }
}

fn comparison(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    let holds = match (name, arguments) {
        ("eq", [one, rest @ ..]) if !rest.is_empty() => rest.iter().any(|other| same(one, other)),
        ("ne", [one, two]) => !same(one, two),
        ("lt", [one, two]) => order(one, two)?.is_lt(),
        ("le", [one, two]) => order(one, two)?.is_le(),
        ("gt", [one, two]) => order(one, two)?.is_gt(),
        ("ge", [one, two]) => order(one, two)?.is_ge(),
        _ => return Err(TemplateError::arguments(arguments)),
    };
    Ok(Value::Bool(holds))
}

/// Returns true if two values are equal. In Go, an absent field of an Event is the empty text, zero or false, as its type requires.
fn same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Null, other) | (other, Value::Null) => !truth(other),
        _ => equal(one, two),
    }
}

/// The order of two values. A value that is absent counts as zero beside a number, and as the empty text beside a text.
fn order(one: &Value, two: &Value) -> Result<Ordering, TemplateError> {
    let absent_beside = |other: &Value| if other.is_number() { Value::from(0) } else { Value::from("") };
    match (one, two) {
        (Value::Null, Value::Null) => Ok(Ordering::Equal),
        (Value::Null, two) => compare(&absent_beside(two), two),
        (one, Value::Null) => compare(one, &absent_beside(one)),
        (one, two) => compare(one, two),
    }
}

/// Arithmetic of whole numbers, as in sprig. A number that is absent counts as zero.
fn number(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    let present = |value| if is_absent(value) { Ok(0) } else { whole(value) };
    let numbers = arguments.iter().map(present).collect::<Result<Vec<i64>, _>>()?;
    let overflow = || TemplateError::new("the result is not a number of 64 bits");
    let fold = |with: fn(i64, i64) -> Option<i64>| {
        let mut numbers = numbers.iter().copied();
        let first = numbers.next().ok_or_else(|| TemplateError::arguments(arguments))?;
        numbers.try_fold(first, with).ok_or_else(overflow)
    };
    let result = match (name, numbers.as_slice()) {
        ("add1", [one]) => one.checked_add(1).ok_or_else(overflow)?,
        ("add", _) => fold(i64::checked_add)?,
        ("mul", _) => fold(i64::checked_mul)?,
        ("max", _) => fold(|one, two| Some(one.max(two)))?,
        ("min", _) => fold(|one, two| Some(one.min(two)))?,
        ("sub", [one, two]) => one.checked_sub(*two).ok_or_else(overflow)?,
        ("div", [one, two]) => one.checked_div(*two).ok_or_else(overflow)?,
        ("mod", [one, two]) => one.checked_rem(*two).ok_or_else(overflow)?,
        _ => return Err(TemplateError::arguments(arguments)),
    };
    Ok(Value::from(result))
}

fn conversion(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    let [value] = arguments else { return Err(TemplateError::arguments(arguments)) };
    match name {
        "toRawJson" => Ok(Value::from(map_of(value).to_string())),
        "toJson" => Ok(Value::from(safe_in_html(&map_of(value).to_string()))),
        "toPrettyJson" => Ok(Value::from(safe_in_html(&format!("{:#}", map_of(value))))),
        // If the Event does not have the field, there is no JSON to parse.
        "fromJson" if is_absent(value) => Ok(Value::Null),
        "fromJson" => serde_json::from_str(&print(value))
            .map_err(|error| TemplateError::new(format!("the text is not JSON: {error}"))),
        "toString" => Ok(Value::from(print(value))),
        "float64" if is_absent(value) => Ok(Value::from(0.0)),
        "float64" => {
            let number = value.as_f64().or_else(|| print(value).trim().parse().ok());
            Ok(number.map(Value::from).ok_or_else(|| TemplateError::new("this is not a number"))?)
        }
        "kindOf" => Ok(Value::from(match value {
            Value::Null => "invalid",
            Value::Bool(_) => "bool",
            Value::Number(number) if number.is_f64() => "float64",
            Value::Number(_) => "int64",
            Value::String(_) => "string",
            Value::Array(_) => "slice",
            Value::Object(_) => "map",
        })),
        _ => Ok(Value::from(whole(value).unwrap_or_default())),
    }
}

/// Returns true for a field that an Event does not have. A function such as `get` returns the empty text for such a field.
fn is_absent(value: &Value) -> bool {
    value.is_null() || value == ""
}

/// An absent map, such as the labels of an object without labels, is written `{}`: a reader of JSON expects a map.
fn map_of(value: &Value) -> Value {
    match value {
        Value::Null => Value::Object(Map::new()),
        other => other.clone(),
    }
}

/// Escapes the characters of JSON that have a meaning in HTML, as Go does. So `<pre>{{ toPrettyJson . }}</pre>` shows a message that
/// contains a tag. In JSON these characters occur in texts only.
fn safe_in_html(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn time(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    let parsed = |value: &Value| {
        print(value)
            .parse::<jiff::Timestamp>()
            .map_err(|_| TemplateError::new(format!("`{}` is not a time", print(value))))
    };
    match (name, arguments) {
        ("now", []) => Ok(Value::from(jiff::Timestamp::now().to_string())),
        // The result is the empty text if the Event does not have this time. Most Events have no `eventTime`.
        ("unixEpoch", [at]) | ("date" | FORMAT, [_, at]) if is_absent(at) => Ok(Value::Null),
        ("unixEpoch", [at]) => Ok(Value::from(parsed(at)?.as_second().to_string())),
        ("date" | FORMAT, [layout, at]) => {
            Ok(Value::from(crate::go_time::format(&print(layout), parsed(at)?)))
        }
        _ => Err(TemplateError::arguments(arguments)),
    }
}

/// The methods of times that have no argument. All times are in UTC. Returns `None` if the text is no time or has no such
/// method.
pub(super) fn method_of_time(text: &str, name: &str) -> Option<Value> {
    let at = text.parse::<jiff::Timestamp>().ok()?;
    match name {
        "Unix" => Some(Value::from(at.as_second())),
        "UnixMilli" => Some(Value::from(at.as_millisecond())),
        "UnixNano" => i64::try_from(at.as_nanosecond()).ok().map(Value::from),
        "UTC" | "Time" => Some(Value::from(text)),
        IS_ZERO => Some(Value::Bool(false)),
        _ => None,
    }
}

/// A field of an absent value. `IsZero` is true, and each other field is absent as well.
pub(super) fn method_of_nothing(name: &str) -> Value {
    if name == IS_ZERO { Value::Bool(true) } else { Value::Null }
}
