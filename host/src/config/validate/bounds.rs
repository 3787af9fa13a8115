//! From the least to the most that a value may be.

use std::time::Duration;

use super::Context;
use crate::config::{
    problem::Fault,
    raw::{self, Count, Located, Number, Share, Size},
};

/// A value that has a least and a most.
pub(super) trait Quantity: Copy + PartialOrd {
    /// As it is written in the file.
    fn shown(self) -> String;
}

impl Context<'_, '_> {
    /// The value, or the default where there is none or a bad one; a bad one is noted.
    pub(super) fn within<T: Quantity>(
        &mut self,
        value: Option<&Located<T>>,
        default: T,
        (least, most): (T, T),
    ) -> T {
        let Some(value) = value else { return default };
        let (how, limit, bound) = match value.value {
            found if found < least => ("small", "at least", least),
            found if found > most => ("large", "at most", most),
            found => return found,
        };
        let message = format!("{} is too {how}", value.value.shown());
        self.refuse(value, Fault::new(message, format!("write {limit} {}", bound.shown())));
        default
    }
}

// === impl Quantity ===

impl Quantity for Duration {
    fn shown(self) -> String {
        format!("\"{}\"", raw::shown(self))
    }
}

impl Quantity for Size {
    fn shown(self) -> String {
        format!("\"{self}\"")
    }
}

impl Quantity for Share {
    fn shown(self) -> String {
        format!("\"{self}\"")
    }
}

impl Quantity for Count {
    fn shown(self) -> String {
        self.0.to_string()
    }
}

impl Quantity for Number {
    fn shown(self) -> String {
        self.0.to_string()
    }
}
