//! Notices changes of files.
//!
//! Directories are watched instead of files: an editor, `cp`, a rename and the symlink swap of a mounted ConfigMap all change
//! the directory.

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

/// Time without a change after which a file counts as written.
const QUIET: Duration = Duration::from_millis(100);

/// Time between two looks at a file if the system does not report changes: on a network file system, or if the directory does
/// not exist yet.
const POLL: Duration = Duration::from_secs(10);

/// Notifies the tasks that follow files when something changes in a directory.
pub(super) struct Directories {
    changed: Arc<Notify>,
    watched: Mutex<Watched>,
}

struct Watched {
    /// `None` if the system provides no watcher.
    watcher: Option<RecommendedWatcher>,
    directories: BTreeSet<PathBuf>,
}

/// The state of a file, compared without reading it. The time is that of the last change of the inode: the modification time is
/// kept by `cp -p`, and tools for reproducible builds set it to a constant.
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
        let notify = Arc::clone(&changed);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Only an access is no change. A lost event counts as a change.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                notify.notify_waiters();
            }
        });
        let watcher = watcher
            .inspect_err(|error| {
                tracing::warn!(%error, "changes of files are noticed only within {POLL:?}");
            })
            .ok();
        Self { changed, watched: Mutex::new(Watched { watcher, directories: BTreeSet::new() }) }
    }

    /// Watches the directories of these files and no others. A missing directory does not affect the others.
    pub(super) fn watch(&self, files: impl IntoIterator<Item = PathBuf>) {
        let wanted: BTreeSet<PathBuf> =
            files.into_iter().filter_map(|file| file.parent().map(Path::to_owned)).collect();
        let mut watched = self.watched.lock();
        let Watched { watcher: Some(watcher), directories } = &mut *watched else { return };
        for gone in directories.extract_if(.., |directory| !wanted.contains(directory)) {
            // It fails for a directory that was removed, which is not watched any more.
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
                    tracing::warn!(directory = %directory.display(), %error, "changes of files in this directory are noticed only within {POLL:?}");
                }
            }
        }
        drop(watched);
        // Something may have changed before the directories were watched.
        self.changed.notify_waiters();
    }

    /// Completes once some file may have changed. Call it before you look at a file, so that no change after the look is
    /// missed.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Waits for a change, or until it is time to look anyway; after a change, also until the file is written.
    pub(super) async fn settled(changed: Notified<'_>, file: &Path) {
        if timeout(POLL, changed).await.is_ok() {
            settle(file).await;
        }
    }
}

/// Returns once the file has not changed for a while. Other files of the directory do not matter: they may change for ever.
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

/// Returns `None` if there is no file.
pub(super) fn look(path: &Path) -> Option<Seen> {
    let metadata = fs::metadata(path).ok()?;
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    Some(Seen { inode: metadata.ino(), bytes: metadata.len(), changed })
}
