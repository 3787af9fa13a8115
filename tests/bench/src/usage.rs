//! CPU time, memory and threads of a process, from `/proc` (Linux only).

use anyhow::{Context, Result};

/// The number of time units in a second in `/proc`. The kernel's interface fixes it.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time, memory and threads of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usage {
    /// User and system time of all threads since the start of the process, in seconds with two decimals.
    pub(crate) cpu_seconds: f64,
    /// The current resident memory in bytes.
    pub(crate) resident_bytes: u64,
    /// The part of the resident memory that belongs to no file, in bytes. The kernel can drop the rest at any time: the program itself.
    pub(crate) anonymous_bytes: u64,
    /// The peak of the resident memory, in bytes.
    pub(crate) peak_bytes: u64,
    /// The current number of threads.
    pub(crate) threads: u64,
}

// === impl Usage ===

impl Usage {
    /// The current usage of this process.
    ///
    /// # Errors
    /// There is no `/proc`, or it does not have the form of Linux.
    pub(crate) fn now() -> Result<Self> {
        Self::in_directory("self")
    }

    /// The current usage of another process.
    ///
    /// # Errors
    /// The process does not exist, or those of [`Usage::now`].
    pub(crate) fn of(process: u32) -> Result<Self> {
        Self::in_directory(&process.to_string())
    }

    fn in_directory(process: &str) -> Result<Self> {
        let read = |file| {
            let path = format!("/proc/{process}/{file}");
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
        };
        Self::parse(&read("stat")?, &read("status")?)
            .with_context(|| format!("/proc/{process}/stat or /proc/{process}/status is not as on Linux"))
    }

    fn parse(stat: &str, status: &str) -> Option<Self> {
        // The second field is the name of the program, which may contain any character. User and system time are the
        // 14th and 15th fields.
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut times = after_name.split_ascii_whitespace().skip(11);
        let ticks = times.next()?.parse::<u32>().ok()?.checked_add(times.next()?.parse().ok()?)?;
        Some(Self {
            cpu_seconds: f64::from(ticks) / TICKS_PER_SECOND,
            resident_bytes: kibibytes(status, "VmRSS:")?,
            anonymous_bytes: kibibytes(status, "RssAnon:")?,
            peak_bytes: kibibytes(status, "VmHWM:")?,
            threads: field(status, "Threads:")?.parse().ok()?,
        })
    }
}

fn kibibytes(status: &str, name: &str) -> Option<u64> {
    field(status, name)?.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str =
        "Name:\tbench\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nRssAnon:\t     512 kB\nThreads:\t3\n";

    #[test]
    fn a_program_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 500 0 0 0 150 25 0 0 20 0 3 0 12 0 0";

        let usage = Usage::parse(stat, STATUS).unwrap();

        let expected = Usage {
            cpu_seconds: 1.75,
            resident_bytes: 1 << 20,
            anonymous_bytes: 1 << 19,
            peak_bytes: 2 << 20,
            threads: 3,
        };
        assert_eq!(usage, expected);
    }

    #[test]
    fn text_in_another_form_is_refused() {
        assert_eq!(Usage::parse("", STATUS), None);
        assert_eq!(Usage::parse("7 (a) S 1 7", STATUS), None);
        assert_eq!(Usage::parse("7 (a) S 1 7 7 0 -1 4 5 0 0 0 150 25 0", "VmRSS: many"), None);
    }

    #[test]
    fn this_process_uses_memory() {
        let usage = Usage::now().unwrap();

        assert!(usage.resident_bytes > usage.anonymous_bytes && usage.anonymous_bytes > 0);
        assert!(usage.peak_bytes >= usage.resident_bytes && usage.threads > 0);
        assert!(Usage::of(std::process::id()).is_ok());
    }
}
