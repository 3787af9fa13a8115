//! Values of `/metrics`.
#![expect(clippy::panic, reason = "a series that does not exist is a failed test")]

/// The value of the first series of the text that begins with `series`, such as `informer_runtime_calls{plugin="hello"`.
///
/// # Panics
/// Panics if there is none, or if its value is not a number.
#[must_use]
pub fn value(metrics: &str, series: &str) -> f64 {
    let line = metrics.lines().find(|line| line.starts_with(series));
    let value = line.and_then(|line| line.rsplit_once(' ')?.1.parse().ok());
    value.unwrap_or_else(|| panic!("no {series} in\n{metrics}"))
}
