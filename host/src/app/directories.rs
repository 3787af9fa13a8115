//! The directories in which files are followed.
//!
//! Directories are watched, not files: an editor, `cp`, a rename and the symlink swap of a mounted ConfigMap all show
//! there.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, futures::Notified},
    time::{sleep, timeout},
};

/// A file that is being written is left alone until it was quiet for so long.
const QUIET: Duration = Duration::from_millis(100);

/// Where the system cannot tell of changes (network file systems, a directory that is not there yet), the files are
/// looked at this often.
const POLL: Duration = Duration::from_secs(10);

/// Tells whoever follows a file that something happened in a directory.
pub(super) struct Directories {
    changed: Arc<Notify>,
    watched: Mutex<Watched>,
}

struct Watched {
    /// None: the system has none for us.
    watcher: Option<RecommendedWatcher>,
    directories: BTreeSet<PathBuf>,
}

/// What tells one state of a file from another without reading it. The time is that of the change of the inode: the
/// other one is kept by `cp -p` and set to a constant by tools for reproducible builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

// === impl Directories ===

impl Directories {
    pub(super) fn new() -> Self {
        let changed = Arc::new(Notify::new());
        let tell = Arc::clone(&changed);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading a file is no change; anything else, a lost event included, is worth a look.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                tell.notify_waiters();
            }
        });
        let watcher = watcher
            .inspect_err(|error| {
                tracing::warn!(%error, "changes of files are noticed late, within {POLL:?}");
            })
            .ok();
        Self { changed, watched: Mutex::new(Watched { watcher, directories: BTreeSet::new() }) }
    }

    /// Watches the directories of these files, and no other any more. One that is not there keeps no other from being
    /// watched.
    pub(super) fn watch(&self, files: impl IntoIterator<Item = PathBuf>) {
        let wanted: BTreeSet<PathBuf> =
            files.into_iter().filter_map(|file| file.parent().map(Path::to_owned)).collect();
        let mut watched = self.watched.lock();
        let Watched { watcher: Some(watcher), directories } = &mut *watched else { return };
        for gone in directories.extract_if(.., |directory| !wanted.contains(directory)) {
            // One that was removed is not watched any more.
            watcher.unwatch(&gone).ok();
        }
        for directory in wanted {
            if directories.contains(&directory) {
                continue;
            }
            match watcher.watch(&directory, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    directories.insert(directory);
                }
                Err(error) => {
                    tracing::warn!(directory = %directory.display(), %error, "changes of files in it are noticed late, within {POLL:?}");
                }
            }
        }
        drop(watched);
        // What happened before it was watched is worth a look too.
        self.changed.notify_waiters();
    }

    /// Ready once something may have happened to some file. Ask before you look, so that a change after the look is
    /// not missed.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Waits for that, or until it is time to look anyway; then until the file was left alone for a while.
    pub(super) async fn settled(changed: Notified<'_>, file: &Path) {
        if timeout(POLL, changed).await.is_ok() {
            settle(file).await;
        }
    }
}

/// Returns once the file was left alone for a while. What else happens in its directory is not waited for: it may
/// never end.
pub(super) async fn settle(path: &Path) {
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

/// None where there is no file.
pub(super) fn look(path: &Path) -> Option<Seen> {
    let metadata = fs::metadata(path).ok()?;
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    Some(Seen { inode: metadata.ino(), bytes: metadata.len(), changed })
}
