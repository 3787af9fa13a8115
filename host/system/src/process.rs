//! What this process uses of the machine.

use std::time::Duration;

use procfs::{ProcResult, boot_time_secs, page_size, process, ticks_per_second};

use crate::descriptors;

/// What this process has used so far and uses now, all its threads together. Other processes that it started, such as the
/// one that compiles components, do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Time on a processor, of the program and of the system on its behalf. Its resolution is 10 ms on most systems.
    pub cpu: Duration,
    /// Memory in RAM, in bytes.
    pub resident_bytes: u64,
    /// Address space, in bytes.
    pub virtual_bytes: u64,
    /// Open files and connections.
    pub open_descriptors: u64,
    /// The most that may be open at once; the greatest number if there is no limit.
    pub max_descriptors: u64,
    /// Threads.
    pub threads: u64,
    /// When the process started, as the time since 1970-01-01 by the clock of the system at its boot.
    pub started: Duration,
}

// === impl Process ===

impl Process {
    /// Measures this process now. Returns `None` if the system does not report it, for example because `/proc` is not mounted.
    pub fn current() -> Option<Self> {
        read().inspect_err(|error| tracing::debug!(%error, "the process cannot be measured")).ok()
    }
}

fn read() -> ProcResult<Process> {
    let process = process::Process::myself()?;
    let stat = process.stat()?;
    let since_boot = ticks(stat.starttime);
    Ok(Process {
        cpu: ticks(stat.utime.saturating_add(stat.stime)),
        resident_bytes: stat.rss.saturating_mul(page_size()),
        virtual_bytes: stat.vsize,
        open_descriptors: process.fd_count()? as u64,
        max_descriptors: descriptors::limit(),
        threads: u64::try_from(stat.num_threads).unwrap_or_default(),
        started: Duration::from_secs(boot_time_secs()?) + since_boot,
    })
}

/// Ticks of the system as a time.
fn ticks(number: u64) -> Duration {
    let each_second = ticks_per_second().max(1);
    let rest = Duration::from_secs(number % each_second) / u32::try_from(each_second).unwrap_or(u32::MAX);
    Duration::from_secs(number / each_second) + rest
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        thread,
        time::{Instant, UNIX_EPOCH},
    };

    use super::*;

    #[test]
    fn a_process_that_works_opens_files_and_starts_threads_uses_more() {
        let before = Process::current().unwrap();
        // Other tests of this process open and close files meanwhile, so only what is open for certain is expected.
        let files: Vec<File> = (0..300).map(|_| File::open("/proc/self/stat").unwrap()).collect();
        let (ended, waits) = std::sync::mpsc::channel::<()>();
        let thread = thread::spawn(move || waits.recv().ok());
        let begun = Instant::now();
        while Process::current().unwrap().cpu < before.cpu + Duration::from_millis(20) {
            assert!(begun.elapsed() < Duration::from_secs(30), "no CPU time was counted");
        }

        let after = Process::current().unwrap();

        assert!(after.open_descriptors >= files.len() as u64, "{after:?}");
        assert!(after.threads >= 2, "{after:?}");
        assert!(after.max_descriptors >= after.open_descriptors);
        assert!(after.resident_bytes > 1 << 20 && after.resident_bytes <= after.virtual_bytes, "{after:?}");
        drop((files, ended));
        thread.join().unwrap();
    }

    #[test]
    fn the_process_started_a_short_time_ago() {
        let started = Process::current().unwrap().started;

        let made = tempfile::tempfile().unwrap().metadata().unwrap().modified().unwrap();
        let now = made.duration_since(UNIX_EPOCH).unwrap();

        // The clock of the system may have been set since the boot, so that the test allows a day.
        let day = Duration::from_secs(24 * 60 * 60);
        assert!(started < now + day && now < started + day, "{started:?} {now:?}");
    }
}
