//! Metrics of the plugin. The host serves them at `/metrics` of its admin and health endpoints, as `informer_plugin_<name>`.
//!
//! Each combination of labels is a series, and the host keeps a series for ever. A plugin has at most `metric-series` of
//! `[plugin.limits]` series, so never put the name or the UID of an object into a label.
//!
//! ```
//! use informer_sdk::{Result, metrics};
//!
//! # fn example() -> Result {
//! metrics::counter_add("certificates_renewed", &[("issuer", "internal")], 1.0)?;
//! # Ok(())
//! # }
//! ```

use crate::{Error, host};

/// Adds a value to a counter. The name may end in `_total`; the metric is the same without it.
///
/// # Errors
/// Returns `invalid` if the value is negative, if the name or a label is bad, or if the name is already another kind of metric.
/// Returns `limit-exceeded` if the plugin has too many series.
pub fn counter_add(name: &str, labels: &[(&str, &str)], value: f64) -> Result<(), Error> {
    Ok(host::metrics::counter_add(name, labels, value)?)
}

/// Sets a gauge.
///
/// # Errors
/// Returns the same errors as [`counter_add`], except that the value may be negative.
pub fn gauge_set(name: &str, labels: &[(&str, &str)], value: f64) -> Result<(), Error> {
    Ok(host::metrics::gauge_set(name, labels, value)?)
}

/// Adds a value to a histogram, in its base unit: seconds or bytes.
///
/// # Errors
/// Returns the same errors as [`gauge_set`].
pub fn histogram_observe(name: &str, labels: &[(&str, &str)], value: f64) -> Result<(), Error> {
    Ok(host::metrics::histogram_observe(name, labels, value)?)
}
