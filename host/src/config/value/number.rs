//! Numbers.

use std::{
    cmp::Ordering,
    num::{NonZeroU32, NonZeroUsize},
};

use serde_json::{Value, json};
use toml::de::DeValue;

use super::scalar::{Scalar, describe};
use crate::config::problem::Fault;

/// A whole number of things, not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Count(pub(crate) u32);

/// A number with or without a decimal point; never NaN, never infinite.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Number(pub(crate) f64);

// === impl Count ===

impl Count {
    /// Returns `None` for zero.
    pub(crate) fn non_zero(self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.0)
    }

    pub(crate) fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// Returns `None` for zero.
    pub(crate) fn non_zero_size(self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.size())
    }
}

impl Scalar for Count {
    const KIND: &'static str = "a whole number";

    fn example() -> String {
        "10".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Option<Result<Self, Fault>> {
        let number = value.as_integer()?;
        let fault = || {
            let remedy = format!("write a whole number from 0 to {}", u32::MAX);
            Fault::new(format!("{number} is out of range"), remedy)
        };
        Some(u32::from_str_radix(number.as_str(), number.radix()).map(Self).map_err(|_| fault()))
    }

    fn shown(&self) -> String {
        self.0.to_string()
    }

    fn order(&self, other: &Self) -> Option<Ordering> {
        self.partial_cmp(other)
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

    fn read(value: &DeValue<'_>) -> Option<Result<Self, Fault>> {
        let number = match value {
            DeValue::Integer(number) => integer(number.as_str(), number.radix()),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => return None,
        };
        let fault = || Fault::new(format!("{} cannot be used", describe(value)), "write for example 2.0");
        Some(number.filter(|number: &f64| number.is_finite()).map(Self).ok_or_else(fault))
    }

    fn shown(&self) -> String {
        self.0.to_string()
    }

    fn order(&self, other: &Self) -> Option<Ordering> {
        self.partial_cmp(other)
    }

    fn schema(bounds: Option<&(Self, Self)>) -> Value {
        match bounds {
            Some((Self(least), Self(most))) => json!({"type": "number", "minimum": least, "maximum": most}),
            None => json!({"type": "number"}),
        }
    }
}

fn integer(digits: &str, radix: u32) -> Option<f64> {
    i32::from_str_radix(digits, radix).ok().map(f64::from)
}
