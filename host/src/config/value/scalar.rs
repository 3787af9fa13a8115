//! The types of a single value of the file.

use serde_json::{Value, json};
use toml::de::DeValue;

use crate::config::{nearest::nearest, problem::Fault};

/// A type that one TOML value can be read as. Most are written as a TOML string.
pub(in crate::config) trait Scalar: Sized + Send + Sync + 'static {
    /// The name of the type, with its article: "a duration".
    const KIND: &'static str;

    /// A list of one such value may be written without brackets.
    const ALONE: bool = false;

    /// A valid value, as it is written in the file.
    fn example() -> String;

    /// Valid elements of a list, as they are written in the file.
    fn elements() -> String {
        Self::example()
    }

    /// Reads the text of a TOML string.
    fn parse(text: &str) -> Result<Self, Fault> {
        Err(wrong_type::<Self>(&DeValue::String(text.into())))
    }

    /// Reads a value. The fault names what was found and what would be right.
    fn read(value: &DeValue<'_>) -> Result<Self, Fault> {
        value.as_str().map_or_else(|| Err(wrong_type::<Self>(value)), Self::parse)
    }

    /// This value without the quotes of a TOML string.
    fn plain(&self) -> String;

    /// This value, as it is written in the file.
    fn shown(&self) -> String {
        format!("\"{}\"", self.plain())
    }

    /// The JSON Schema of a value.
    fn schema(_bounds: Option<&(Self, Self)>) -> Value {
        json!({"type": "string"})
    }
}

/// A type of a few named values.
pub(in crate::config) trait Choice: Copy + PartialEq + Send + Sync + 'static {
    /// Each word, and its meaning.
    const WORDS: &'static [(&'static str, Self)];
}

// === impl Scalar ===

impl Scalar for bool {
    const KIND: &'static str = "true or false";

    fn example() -> String {
        "true".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, Fault> {
        value.as_bool().ok_or_else(|| wrong_type::<Self>(value))
    }

    fn plain(&self) -> String {
        self.to_string()
    }

    fn shown(&self) -> String {
        self.plain()
    }

    fn schema(_: Option<&(Self, Self)>) -> Value {
        json!({"type": "boolean"})
    }
}

impl<T: Choice> Scalar for T {
    const KIND: &'static str = "a word";

    fn example() -> String {
        quoted::<T>().join(" or ")
    }

    fn elements() -> String {
        quoted::<T>().join(", ")
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if let Some((_, meant)) = T::WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(*meant);
        }
        let remedy = match nearest(text, words::<T>()) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("write {}", Self::example()),
        };
        Err(Fault::new(format!("unknown value `{text}`"), remedy))
    }

    fn plain(&self) -> String {
        let word = T::WORDS.iter().find(|(_, value)| value == self).map(|(word, _)| *word);
        word.unwrap_or_default().to_owned()
    }

    fn schema(_: Option<&(Self, Self)>) -> Value {
        json!({"enum": words::<T>().collect::<Vec<_>>()})
    }
}

fn words<T: Choice>() -> impl Iterator<Item = &'static str> {
    T::WORDS.iter().map(|(word, _)| *word)
}

fn quoted<T: Choice>() -> Vec<String> {
    words::<T>().map(|word| format!("\"{word}\"")).collect()
}

pub(super) fn wrong_type<T: Scalar>(value: &DeValue<'_>) -> Fault {
    mismatch(T::KIND, value, format!("write for example {}", T::example()))
}

/// The fault of a value of the wrong TOML type.
pub(in crate::config) fn mismatch(expected: &str, value: &DeValue<'_>, remedy: impl Into<String>) -> Fault {
    Fault::new(format!("expected {expected}, found {}", describe(value)), remedy)
}

/// The fault of a value that is not within its bounds; `None` if it is.
pub(in crate::config) fn outside<T: Scalar + PartialOrd>(value: &T, (least, most): &(T, T)) -> Option<Fault> {
    let (how, limit, bound) = if value < least {
        ("small", "at least", least)
    } else if value > most {
        ("large", "at most", most)
    } else {
        return None;
    };
    Some(Fault::new(format!("{} is too {how}", value.shown()), format!("write {limit} {}", bound.shown())))
}

/// Bounds in words: `1s to 1h`.
pub(in crate::config) fn inside<T: Scalar>((least, most): &(T, T)) -> String {
    let (least, most) = (least.plain(), most.plain());
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
