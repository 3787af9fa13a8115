//! The process that holds the lock of a file.

use std::{
    fmt, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::fs::{major, minor};

/// The table of all locks in the system.
const LOCKS: &str = "/proc/locks";

/// A process that holds the lock of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Its number, in the PID namespace of this process.
    pub process: u32,
    /// Its name, which the process may have chosen; empty if it cannot be read.
    pub program: String,
}

// === impl LockHolder ===

impl LockHolder {
    /// Finds the process that holds the lock of the whole file (`flock`). Returns `None` if there is none, or if the system does not
    /// show it: it may be in another PID namespace.
    pub fn of(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        let device = (major(file.dev()), minor(file.dev()));
        let table = fs::read_to_string(LOCKS).ok()?;
        let locks = table.lines().filter_map(lock).filter(|lock| lock.file == file.ino());
        let mut certain = locks.filter(|lock| lock.device == device || has_open(lock.process, path));
        let process = certain.next()?.process;
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        Some(Self { process, program: name.trim().to_owned() })
    }
}

impl fmt::Display for LockHolder {
    /// `process 4711 (informer)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.process)?;
        if self.program.is_empty() { Ok(()) } else { write!(f, " ({})", self.program) }
    }
}

/// One row of the table.
struct Lock {
    process: u32,
    device: (u32, u32),
    file: u64,
}

/// Reads a row such as `1: FLOCK  ADVISORY  WRITE 4711 08:01:131090 0 EOF`. Returns `None` for other locks, and for
/// processes that wait for one.
fn lock(row: &str) -> Option<Lock> {
    let mut fields = row.split_whitespace().skip(1);
    if fields.next()? != "FLOCK" {
        return None;
    }
    let process = fields.nth(2)?.parse().ok()?;
    let mut place = fields.next()?.split(':');
    let mut number = || u32::from_str_radix(place.next()?, 16).ok();
    let device = (number()?, number()?);
    Some(Lock { process, device, file: place.next()?.parse().ok()? })
}

/// Returns true if the process has opened the file. Some file systems show other device numbers in the table.
fn has_open(process: u32, path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let opened =
        |descriptor: fs::DirEntry| fs::read_link(descriptor.path()).is_ok_and(|open: PathBuf| open == path);
    fs::read_dir(format!("/proc/{process}/fd"))
        .is_ok_and(|descriptors| descriptors.filter_map(Result::ok).any(opened))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_and_named() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("state");
        let file = File::create(&path).unwrap();
        assert_eq!(LockHolder::of(&path), None);

        file.lock().unwrap();

        let holder = LockHolder::of(&path).unwrap();
        assert_eq!(holder.process, std::process::id());
        assert!(holder.to_string().starts_with(&format!("process {} (", holder.process)), "{holder}");
        assert_eq!(LockHolder::of(&directory.path().join("other")), None);
        file.unlock().unwrap();
        assert_eq!(LockHolder::of(&path), None);
    }

    #[test]
    fn only_rows_of_held_locks_of_whole_files_are_read() {
        let read = |row| lock(row).map(|lock| (lock.process, lock.device, lock.file));

        assert_eq!(
            read("7: FLOCK  ADVISORY  WRITE 4711 fd:1f:131090 0 EOF"),
            Some((4711, (253, 31), 131_090))
        );
        for row in [
            "7: -> FLOCK  ADVISORY  WRITE 4711 08:01:131090 0 EOF",
            "7: POSIX  ADVISORY  WRITE 4711 08:01:131090 0 EOF",
            "7: FLOCK  ADVISORY  WRITE x 08:01:131090 0 EOF",
            "7: FLOCK  ADVISORY  WRITE 4711",
            "",
        ] {
            assert_eq!(read(row), None, "{row}");
        }
    }
}
