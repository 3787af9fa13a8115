//! What a single value of the file may be.

use toml::de::DeValue;

use crate::config::{nearest::nearest, problem::Fault};

/// A type that one TOML value can be read as.
pub(crate) trait Scalar: Sized {
    /// With its article: "a duration".
    const KIND: &'static str;

    /// One that is right, as it is written in the file.
    fn example() -> String;

    /// What a list of them may have in it, as it is written there.
    fn elements() -> String {
        Self::example()
    }

    /// None: the value is of another TOML type altogether.
    fn read(value: &DeValue<'_>) -> Option<Result<Self, Fault>>;
}

/// A type that is written as a TOML string.
pub(crate) trait FromText: Sized {
    /// As [`Scalar::KIND`].
    const KIND: &'static str;

    /// As [`Scalar::example`].
    fn example() -> String;

    /// As [`Scalar::elements`].
    fn elements() -> String {
        Self::example()
    }

    /// Reads it.
    fn parse(text: &str) -> Result<Self, Fault>;
}

/// A type of a few named values.
pub(crate) trait Choice: Copy + 'static {
    /// Each word, and what it means.
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
}

impl Scalar for bool {
    const KIND: &'static str = "true or false";

    fn example() -> String {
        "true".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Option<Result<Self, Fault>> {
        value.as_bool().map(Ok)
    }
}

/// Reads a value; `Err` says what was found and what would be right.
pub(super) fn read<T: Scalar>(value: &DeValue<'_>) -> Result<T, Fault> {
    T::read(value)
        .unwrap_or_else(|| Err(mismatch(T::KIND, value, format!("write for example {}", T::example()))))
}

/// A value of the wrong TOML type.
pub(super) fn mismatch(expected: &str, value: &DeValue<'_>, remedy: impl Into<String>) -> Fault {
    Fault::new(format!("expected {expected}, found {}", describe(value)), remedy)
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
}
