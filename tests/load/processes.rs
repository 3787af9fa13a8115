//! What processes use of the machine.

use std::fs;

use anyhow::{Context, Result};

/// Ticks of processor time in a second, on Linux.
const TICKS: f64 = 100.0;

/// The use of some processes together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Resident memory now.
    pub(crate) resident_mib: f64,
    /// The sum of the largest resident memory of each process.
    pub(crate) peak_mib: f64,
    pub(crate) cpu_seconds: f64,
}

// === impl Usage ===

impl Usage {
    /// # Errors
    /// A process has ended.
    pub(crate) fn of(processes: &[u32]) -> Result<Self> {
        let mut sum = Self::default();
        for process in processes {
            let status =
                fs::read_to_string(format!("/proc/{process}/status")).context("a process has ended")?;
            let kib = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or_default()
            };
            sum.resident_mib += kib("VmRSS:") / 1024.0;
            sum.peak_mib += kib("VmHWM:") / 1024.0;
            let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
            // The name in parentheses may contain spaces.
            let fields = stat.rsplit_once(") ").context("/proc/PID/stat has another form")?.1;
            let fields: Vec<&str> = fields.split(' ').collect();
            let ticks = |index: usize| {
                fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default()
            };
            sum.cpu_seconds += (ticks(11) + ticks(12)) / TICKS;
        }
        Ok(sum)
    }
}
