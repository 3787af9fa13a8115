//! Hot reload: a changed component file becomes the version in service.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::unit::Unit;

/// A file that is being written is left alone until it was quiet for so long.
const QUIET: Duration = Duration::from_millis(100);

/// Where the system cannot tell of changes (network file systems, a directory that is not there yet), the files are
/// looked at this often.
const POLL: Duration = Duration::from_secs(10);

/// Loads every plugin once, and again whenever its file changes.
///
/// Directories are watched, not files: an editor, `cp`, a rename and the symlink swap of a mounted ConfigMap all show
/// there.
pub(super) struct Reloader {
    units: Arc<[Unit]>,
    changed: Arc<Notify>,
    /// Watches for as long as it lives.
    _watcher: Option<RecommendedWatcher>,
}

/// What tells one state of a file from another without reading it. The time is that of the change of the inode: the
/// other one is kept by `cp -p` and set to a constant by tools for reproducible builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

// === impl Reloader ===

impl Reloader {
    pub(super) fn new(units: Arc<[Unit]>) -> Self {
        let changed = Arc::new(Notify::new());
        let directories: BTreeSet<PathBuf> =
            units.iter().filter_map(|unit| unit.source().parent().map(Path::to_owned)).collect();
        let watcher = watch(&directories, Arc::clone(&changed))
            .inspect_err(|error| {
                tracing::warn!(%error, "changes of component files are noticed late, within {POLL:?}");
            })
            .ok();
        Self { units, changed, _watcher: watcher }
    }

    /// Runs until it is dropped. A slow compilation of one plugin keeps no other from being loaded.
    pub(super) async fn run(self) {
        join_all(self.units.iter().map(|unit| self.follow(unit))).await;
    }

    async fn follow(&self, unit: &Unit) {
        let mut last = None;
        loop {
            // Asked for before the look, so that a change after it is not missed.
            let changed = self.changed.notified();
            let seen = look(unit.source());
            if last != Some(seen) {
                unit.load().await;
                last = Some(seen);
            }
            if timeout(POLL, changed).await.is_ok() {
                settle(unit.source()).await;
            }
        }
    }
}

/// Returns once the file was left alone for a while. What else happens in its directory is not waited for: it may
/// never end.
async fn settle(path: &Path) {
    let mut seen = look(path);
    loop {
        sleep(QUIET).await;
        let now = look(path);
        if now == seen {
            return;
        }
        seen = now;
    }
}

fn watch(directories: &BTreeSet<PathBuf>, changed: Arc<Notify>) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading a file is no change; anything else, a lost event included, is worth a look.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            changed.notify_waiters();
        }
    })?;
    for directory in directories {
        // One that is not there keeps no other from being watched.
        if let Err(error) = watcher.watch(directory, RecursiveMode::NonRecursive) {
            tracing::warn!(directory = %directory.display(), %error, "changes of component files in it are noticed late, within {POLL:?}");
        }
    }
    Ok(watcher)
}

/// None where there is no file.
fn look(path: &Path) -> Option<Seen> {
    let metadata = fs::metadata(path).ok()?;
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    Some(Seen { inode: metadata.ino(), bytes: metadata.len(), changed })
}
