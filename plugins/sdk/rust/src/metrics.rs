//! Metrics of the plugin, at `/metrics` of the host's admin endpoint under `informer_plugin_<name>`.
//!
//! Each combination of labels is a series that is kept for good, and the plugin has as many as `metric-series` of
//! `[plugin.limits]` says: never put the name or the UID of an object into a label.

use crate::{Error, host};

/// Adds to a counter, whose name may end in `_total`.
///
/// # Errors
/// `invalid` for a negative value, a bad name or label, and a name that is another kind of metric already;
/// `limit-exceeded` for a series too many.
pub fn counter_add(name: &str, labels: &[(&str, &str)], value: f64) -> Result<(), Error> {
    Ok(host::metrics::counter_add(name, labels, value)?)
}

/// Sets a gauge.
///
/// # Errors
/// As [`counter_add`], but that it may be negative.
pub fn gauge_set(name: &str, labels: &[(&str, &str)], value: f64) -> Result<(), Error> {
    Ok(host::metrics::gauge_set(name, labels, value)?)
}

/// Observes a value in its base unit, seconds or bytes.
///
/// # Errors
/// As [`gauge_set`].
pub fn histogram_observe(name: &str, labels: &[(&str, &str)], value: f64) -> Result<(), Error> {
    Ok(host::metrics::histogram_observe(name, labels, value)?)
}
