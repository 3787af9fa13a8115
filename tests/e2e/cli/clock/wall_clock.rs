//! The wall clock of one process, controlled by a test.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::FileExt,
    path::Path,
    process::Command,
    sync::atomic::{AtomicI64, Ordering::SeqCst},
    time::{Duration, SystemTime},
};

use k8s_openapi::jiff::Timestamp;
use tempfile::TempDir;

pub(super) const YEAR: i64 = 365 * 24 * 60 * 60;

/// The time that a busy machine may need between a read of this clock and a read of the clock of the process.
const SKEW: i64 = 60 * 60;

/// A preloaded library that replaces the process's clock, and the file that sets the clock.
pub(super) struct WallClock {
    directory: TempDir,
    shift: AtomicI64,
}

// === impl WallClock ===

impl WallClock {
    /// Makes a clock that shows the real time. It blocks while the C compiler builds the library; Rust links with the
    /// same compiler.
    pub(super) fn new() -> Self {
        let clock = Self { directory: tempfile::tempdir().unwrap(), shift: AtomicI64::new(0) };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/cli/clock/wall_clock.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(clock.library()).arg(source);
        let output = compiler.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        clock.set(0);
        clock
    }

    /// The environment of a process that uses this clock.
    pub(super) fn environment(&self) -> [(&'static str, OsString); 2] {
        [("LD_PRELOAD", self.library().into()), ("WALL_CLOCK_SHIFT", self.file().into())]
    }

    /// Jumps to `seconds` after the real time. A negative value is before the real time.
    pub(super) fn set(&self, seconds: i64) {
        let file = fs::File::options().write(true).create(true).truncate(false).open(self.file()).unwrap();
        file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
        self.shift.store(seconds, SeqCst);
    }

    /// Jumps to 1970, where a clock without a battery starts.
    pub(super) fn set_to_1970(&self) {
        self.set(2 * SKEW - real_time());
    }

    /// Asserts that this text is the current time of the clock.
    pub(super) fn assert_shows(&self, text: &str) {
        let time: Timestamp = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let shown = real_time() + self.shift.load(SeqCst);
        assert!((time.as_second() - shown).abs() < SKEW, "{text} is not {shown}");
    }

    fn library(&self) -> std::path::PathBuf {
        self.directory.path().join("wall_clock.so")
    }

    fn file(&self) -> std::path::PathBuf {
        self.directory.path().join("shift")
    }
}

fn real_time() -> i64 {
    let since: Duration = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(since.as_secs()).unwrap()
}
