//! The report of a subject.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "kebab-case")]
pub enum Sample {
    /// The results after the first list.
    Synced(Synced),
    /// The results after the events.
    Events(Events),
    /// The results after the events at a fixed rate.
    Paced(Paced),
}

/// The phase from the start of the list until the handler has seen every object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Synced {
    /// The number of objects in the cache.
    pub objects: u64,
    /// Wall time in milliseconds.
    pub synced_ms: f64,
    /// User and system time of the process in seconds.
    pub cpu_seconds: f64,
    /// Resident memory before the list, in bytes.
    pub start_bytes: u64,
    /// Resident memory after it settled, in bytes.
    pub settled_bytes: u64,
    /// The peak of the resident memory, in bytes.
    pub peak_bytes: u64,
}

/// The phase from the first event until the handler has seen the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Events {
    /// The number of handled events.
    pub handled: u64,
    /// Wall time in milliseconds.
    pub elapsed_ms: f64,
    /// User and system time of the process in seconds.
    pub cpu_seconds: f64,
    /// Resident memory after it settled, in bytes.
    pub settled_bytes: u64,
    /// The peak of the resident memory, in bytes.
    pub peak_bytes: u64,
}

/// The phase with events at a fixed rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paced {
    /// The time at which the handler had seen each event, in order, in nanoseconds since 1970. Servers and subjects run on
    /// one machine, so they share the clock.
    pub arrivals: Vec<u64>,
}

/// The time now, in nanoseconds since 1970.
#[must_use]
pub fn nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
