//! Numbers.

use std::num::{NonZeroU32, NonZeroUsize};

use serde_json::{Value, json};
use toml::de::DeValue;

use super::scalar::{Scalar, describe, wrong_type};
use crate::config::problem::Fault;

/// A whole number of things, not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(in crate::config) struct Count(pub(in crate::config) u32);

/// A number with or without a decimal point; never NaN, never infinite.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(in crate::config) struct Number(pub(in crate::config) f64);

// === impl Count ===

impl Count {
    /// Returns `None` for zero.
    pub(super) fn non_zero(self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.0)
    }

    pub(super) fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// Returns `None` for zero.
    pub(super) fn non_zero_size(self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.size())
    }

    /// Returns `None` for a number that the file cannot have.
    pub(super) fn of(size: usize) -> Option<Self> {
        u32::try_from(size).map(Self).ok()
    }
}

impl Scalar for Count {
    const KIND: &'static str = "a whole number";

    fn example() -> String {
        "10".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, Fault> {
        let Some(number) = value.as_integer() else { return Err(wrong_type::<Self>(value)) };
        u32::from_str_radix(number.as_str(), number.radix()).map(Self).map_err(|_| {
            let remedy = format!("write a whole number from 0 to {}", u32::MAX);
            Fault::new(format!("{number} is out of range"), remedy)
        })
    }

    fn plain(&self) -> String {
        self.0.to_string()
    }

    fn shown(&self) -> String {
        self.plain()
    }

    fn schema(bounds: Option<&(Self, Self)>) -> Value {
        let (Count(least), Count(most)) = bounds.copied().unwrap_or((Self(0), Self(u32::MAX)));
        json!({"type": "integer", "minimum": least, "maximum": most})
    }
}

// === impl Number ===

impl Scalar for Number {
    const KIND: &'static str = "a number";

    fn example() -> String {
        "2.0".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, Fault> {
        let number = match value {
            DeValue::Integer(number) => {
                i32::from_str_radix(number.as_str(), number.radix()).ok().map(f64::from)
            }
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => return Err(wrong_type::<Self>(value)),
        };
        let fault = || Fault::new(format!("{} cannot be used", describe(value)), "write for example 2.0");
        number.filter(|number: &f64| number.is_finite()).map(Self).ok_or_else(fault)
    }

    fn plain(&self) -> String {
        self.0.to_string()
    }

    fn shown(&self) -> String {
        self.plain()
    }

    fn schema(bounds: Option<&(Self, Self)>) -> Value {
        match bounds {
            Some((Self(least), Self(most))) => json!({"type": "number", "minimum": least, "maximum": most}),
            None => json!({"type": "number"}),
        }
    }
}
