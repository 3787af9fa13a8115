//! What a single value of the file may be.

use std::cmp::Ordering;

use serde_json::{Value, json};
use toml::de::DeValue;

use crate::config::{nearest::nearest, problem::Fault};

/// A type that one TOML value can be read as.
pub(in crate::config) trait Scalar: Sized + 'static {
    /// With its article: "a duration".
    const KIND: &'static str;

    /// A valid value, as it is written in the file.
    fn example() -> String;

    /// Valid elements of a list, as they are written in the file.
    fn elements() -> String {
        Self::example()
    }

    /// Reads a value. Returns `None` if it is of another TOML type.
    fn read(value: &DeValue<'_>) -> Option<Result<Self, Fault>>;

    /// This value, as it is written in the file.
    fn shown(&self) -> String {
        Self::example()
    }

    /// Returns `None` if values of the type have no order.
    fn order(&self, _: &Self) -> Option<Ordering> {
        None
    }

    /// The JSON Schema of a value.
    fn schema(bounds: Option<&(Self, Self)>) -> Value;
}

/// A type that is written as a TOML string.
pub(in crate::config) trait FromText: Sized + 'static {
    /// See [`Scalar::KIND`].
    const KIND: &'static str;

    /// See [`Scalar::example`].
    fn example() -> String;

    /// See [`Scalar::elements`].
    fn elements() -> String {
        Self::example()
    }

    /// Reads it.
    fn parse(text: &str) -> Result<Self, Fault>;

    /// See [`Scalar::shown`].
    fn shown(&self) -> String {
        Self::example()
    }

    /// See [`Scalar::order`].
    fn order(&self, _: &Self) -> Option<Ordering> {
        None
    }

    /// See [`Scalar::schema`].
    fn schema() -> Value {
        json!({"type": "string"})
    }
}

/// A type of a few named values.
pub(in crate::config) trait Choice: Copy + PartialEq + 'static {
    /// Each word, and its meaning.
    const WORDS: &'static [(&'static str, Self)];
}

// === impl Scalar ===

impl<T: FromText> Scalar for T {
    const KIND: &'static str = <T as FromText>::KIND;

    fn example() -> String {
        <T as FromText>::example()
    }

    fn elements() -> String {
        <T as FromText>::elements()
    }

    fn read(value: &DeValue<'_>) -> Option<Result<Self, Fault>> {
        value.as_str().map(T::parse)
    }

    fn shown(&self) -> String {
        <T as FromText>::shown(self)
    }

    fn order(&self, other: &Self) -> Option<Ordering> {
        <T as FromText>::order(self, other)
    }

    fn schema(_: Option<&(Self, Self)>) -> Value {
        <T as FromText>::schema()
    }
}

impl Scalar for bool {
    const KIND: &'static str = "true or false";

    fn example() -> String {
        "true".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Option<Result<Self, Fault>> {
        value.as_bool().map(Ok)
    }

    fn shown(&self) -> String {
        self.to_string()
    }

    fn schema(_: Option<&(Self, Self)>) -> Value {
        json!({"type": "boolean"})
    }
}

/// Reads a value. The fault names what was found and what would be right.
pub(in crate::config) fn read<T: Scalar>(value: &DeValue<'_>) -> Result<T, Fault> {
    T::read(value)
        .unwrap_or_else(|| Err(mismatch(T::KIND, value, format!("write for example {}", T::example()))))
}

/// The fault of a value of the wrong TOML type.
pub(in crate::config) fn mismatch(expected: &str, value: &DeValue<'_>, remedy: impl Into<String>) -> Fault {
    Fault::new(format!("expected {expected}, found {}", describe(value)), remedy)
}

/// The fault of a value that is not within its bounds; `None` if it is.
pub(in crate::config) fn outside<T: Scalar>(value: &T, (least, most): &(T, T)) -> Option<Fault> {
    let (how, limit, bound) = if value.order(least) == Some(Ordering::Less) {
        ("small", "at least", least)
    } else if value.order(most) == Some(Ordering::Greater) {
        ("large", "at most", most)
    } else {
        return None;
    };
    Some(Fault::new(format!("{} is too {how}", value.shown()), format!("write {limit} {}", bound.shown())))
}

/// Bounds in words: `1s to 1h`.
pub(in crate::config) fn inside<T: Scalar>((least, most): &(T, T)) -> String {
    let (least, most) = (least.shown().replace('"', ""), most.shown().replace('"', ""));
    if most == u32::MAX.to_string() { format!("at least {least}") } else { format!("{least} to {most}") }
}

/// A value in a few words.
pub(super) fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text \"{text}\""),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(truth) => format!("{truth}"),
        DeValue::Datetime(date) => format!("the date {date}"),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn words<T: Choice>() -> Vec<String> {
    T::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect()
}

// === impl FromText ===

impl<T: Choice> FromText for T {
    const KIND: &'static str = "a word";

    fn example() -> String {
        words::<T>().join(" or ")
    }

    fn elements() -> String {
        words::<T>().join(", ")
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if let Some((_, meant)) = T::WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(*meant);
        }
        let remedy = match nearest(text, T::WORDS.iter().map(|(word, _)| *word)) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("write {}", <Self as FromText>::example()),
        };
        Err(Fault::new(format!("unknown value `{text}`"), remedy))
    }

    fn shown(&self) -> String {
        let word = T::WORDS.iter().find(|(_, value)| value == self).map(|(word, _)| *word);
        format!("\"{}\"", word.unwrap_or_default())
    }

    fn schema() -> Value {
        let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        json!({"enum": words})
    }
}
