//! What a subject reports.

use serde::{Deserialize, Serialize};

/// One line of a subject's report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "kebab-case")]
pub enum Sample {
    /// After the first list.
    Synced(Synced),
    /// After the events.
    Events(Events),
}

/// From the start of the list until the handler had seen every object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Synced {
    /// In the cache.
    pub objects: u64,
    /// Wall time, in milliseconds.
    pub synced_ms: f64,
    /// User and system time of the process, in seconds.
    pub cpu_seconds: f64,
    /// Resident before the list, in bytes.
    pub start_bytes: u64,
    /// Resident once memory had settled, in bytes.
    pub settled_bytes: u64,
    /// The most that was ever resident, in bytes.
    pub peak_bytes: u64,
}

/// From the first event until the handler had seen the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Events {
    /// How many the handler saw.
    pub handled: u64,
    /// Wall time, in milliseconds.
    pub elapsed_ms: f64,
    /// User and system time of the process, in seconds.
    pub cpu_seconds: f64,
    /// Resident once memory had settled, in bytes.
    pub settled_bytes: u64,
    /// The most that was ever resident, in bytes.
    pub peak_bytes: u64,
}
