//! Metrics: the test host accepts and drops every value.

use crate::bindings::informer::plugin::types::Error;

#[expect(clippy::unnecessary_wraps, reason = "the real host may refuse a value")]
pub(crate) fn counter_add(_name: &str, _labels: &[(&str, &str)], _value: f64) -> Result<(), Error> {
    Ok(())
}

pub(crate) use counter_add as gauge_set;
pub(crate) use counter_add as histogram_observe;
