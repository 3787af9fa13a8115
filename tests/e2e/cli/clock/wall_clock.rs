//! The wall clock of one process, in the hand of a test.

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

/// What a busy machine may take between a look at this clock and one at that of the process.
const SKEW: i64 = 60 * 60;

/// A library that is loaded before the process's own, and the file by which it moves the clock.
pub(super) struct WallClock {
    directory: TempDir,
    shift: AtomicI64,
}

// === impl WallClock ===

impl WallClock {
    /// Shows the time as it is. Blocks: the C compiler that Rust links with makes the library.
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

    /// What a process needs that is to live by this clock.
    pub(super) fn environment(&self) -> [(&'static str, OsString); 2] {
        [("LD_PRELOAD", self.library().into()), ("WALL_CLOCK_SHIFT", self.file().into())]
    }

    /// Jumps to so many seconds after the real time; negative: before it.
    pub(super) fn set(&self, seconds: i64) {
        let file = fs::File::options().write(true).create(true).truncate(false).open(self.file()).unwrap();
        file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
        self.shift.store(seconds, SeqCst);
    }

    /// Jumps to the day on which a clock without a battery begins.
    pub(super) fn set_to_1970(&self) {
        self.set(2 * SKEW - real_time());
    }

    /// That this text is about what the clock shows now.
    pub(super) fn assert_shows(&self, text: &str) {
        let told: Timestamp = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let shown = real_time() + self.shift.load(SeqCst);
        assert!((told.as_second() - shown).abs() < SKEW, "{text} is not {shown}");
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
