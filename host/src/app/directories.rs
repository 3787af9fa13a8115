//! Notices changes of files.
//!
//! Directories are watched instead of files: an editor, `cp`, a rename and the symlink swap of a mounted ConfigMap all change
//! the directory.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use notify::{
    EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{ModifyKind, RenameMode},
};
use parking_lot::Mutex;
use tokio::{
    select,
    sync::{Notify, futures::Notified},
    task::spawn_blocking,
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
    replaced: Arc<Replaced>,
    watched: Mutex<Watched>,
}

/// The watched files that a rename put into their place. Such a file is complete, because its writer has closed it before.
#[derive(Default)]
struct Replaced {
    /// The state after the last rename of each watched file; `None` before the first one.
    files: Mutex<Files>,
    /// Notified of each rename of a watched file.
    happened: Notify,
}

struct Watched {
    /// `None` if the system provides no watcher.
    watcher: Option<RecommendedWatcher>,
    directories: BTreeSet<PathBuf>,
    /// The files, as the last look of all found them.
    files: Files,
}

/// `None` stands for a file that does not exist.
type Files = BTreeMap<PathBuf, Option<Seen>>;

/// The state of a file, compared without reading it. The time is the last change of the inode: the modification time is
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
        let replaced = Arc::new(Replaced::default());
        let (notify, renamed) = (Arc::clone(&changed), Arc::clone(&replaced));
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Ok(event) = &event
                && event.kind == EventKind::Modify(ModifyKind::Name(RenameMode::To))
            {
                event.paths.iter().for_each(|file| renamed.note(file));
            }
            // Every event except an access counts as a change, and so does a lost event.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                notify.notify_waiters();
            }
        });
        let watcher = watcher
            .inspect_err(|error| {
                tracing::warn!(%error, "changes of files are noticed only within {POLL:?}");
            })
            .ok();
        let watched = Watched { watcher, directories: BTreeSet::new(), files: Files::new() };
        Self { changed, replaced, watched: Mutex::new(watched) }
    }

    /// Watches the directories of these files and no others. A missing directory does not affect the others.
    pub(super) fn watch(&self, files: impl IntoIterator<Item = PathBuf>) {
        let files = seen_now(files.into_iter().collect());
        let wanted = files.keys().filter_map(|file| file.parent().map(Path::to_owned)).collect();
        self.replaced.watch(&files);
        let mut watched = self.watched.lock();
        watched.files = files;
        watched.watch(wanted);
        drop(watched);
        // Something may have changed before the directories were watched.
        self.changed.notify_waiters();
    }

    /// Looks at all files now and then, and notifies of changes that the system does not report: one look for all plugins,
    /// however many use a file. Never returns.
    pub(super) async fn poll(&self) {
        loop {
            sleep(POLL).await;
            let known = self.watched.lock().files.clone();
            let paths = known.keys().cloned().collect();
            // The look does not panic.
            let Ok(found) = spawn_blocking(move || seen_now(paths)).await else { continue };
            if found == known {
                continue;
            }
            self.watched.lock().found(found);
            self.changed.notify_waiters();
        }
    }

    /// Completes once some file may have changed. Call it before you look at a file, so that no change after the look is
    /// missed.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Returns once a changed file is written: at once if a rename has put it into its place since the look `before`, and otherwise
    /// once it has not changed for a while.
    pub(super) async fn written(&self, file: &Path, before: Option<Seen>) {
        let mut settled = pin!(settle(file));
        loop {
            let replaced = self.replaced.happened.notified();
            let now = look(file);
            if now != before && self.replaced.is_as_renamed(file, now) {
                return;
            }
            select! {
                biased;
                () = replaced => {}
                () = &mut settled => return,
            }
        }
    }

    /// Waits for a change, or until it is time to look anyway; after a change, also until the file is written. It also serves a
    /// file that is not watched.
    pub(super) async fn settled(changed: Notified<'_>, file: &Path) {
        if timeout(POLL, changed).await.is_ok() {
            settle(file).await;
        }
    }
}

// === impl Replaced ===

impl Replaced {
    /// Notes the renames of these files and of no others.
    fn watch(&self, wanted: &Files) {
        let mut files = self.files.lock();
        files.retain(|file, _| wanted.contains_key(file));
        for file in wanted.keys() {
            files.entry(file.clone()).or_default();
        }
    }

    fn note(&self, file: &Path) {
        let mut files = self.files.lock();
        let Some(renamed) = files.get_mut(file) else { return };
        *renamed = look(file);
        self.happened.notify_waiters();
    }

    /// Returns true if the file is as its last rename left it.
    fn is_as_renamed(&self, file: &Path, seen: Option<Seen>) -> bool {
        seen.is_some() && self.files.lock().get(file) == Some(&seen)
    }
}

// === impl Watched ===

impl Watched {
    fn watch(&mut self, wanted: BTreeSet<PathBuf>) {
        let Self { watcher: Some(watcher), directories, .. } = self else { return };
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
    }

    /// Keeps the result of a look at all files, and watches the directories of changed files again. The directory of a changed file may
    /// be new, or may have replaced the watched directory. For example, a build makes its directory anew after `cargo clean`.
    fn found(&mut self, found: Files) {
        let Self { watcher, directories, files } = self;
        let mut changed = BTreeSet::new();
        for (path, seen) in found {
            if let Some(known) = files.get_mut(&path).filter(|known| **known != seen) {
                *known = seen;
                changed.extend(path.parent().map(Path::to_owned));
            }
        }
        let Some(watcher) = watcher else { return };
        for directory in changed {
            // Both calls fail if the directory does not exist. No change between the calls is missed, because all tasks look at their
            // files afterwards.
            watcher.unwatch(&directory).ok();
            directories.remove(&directory);
            if watcher.watch(&directory, RecursiveMode::NonRecursive).is_ok() {
                directories.insert(directory);
            }
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

fn seen_now(files: BTreeSet<PathBuf>) -> Files {
    let look_at = |file: PathBuf| {
        let seen = look(&file);
        (file, seen)
    };
    files.into_iter().map(look_at).collect()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    /// Time for something that must happen, on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_file_is_complete_at_once_if_a_rename_put_it_into_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (file, next) = (folder.path().join("hello.wasm"), folder.path().join("next"));
        fs::write(&file, "first").unwrap();
        fs::create_dir(&next).unwrap();
        let next = next.join("hello.wasm");
        fs::write(&next, "second").unwrap();
        let directories = Directories::new();
        directories.watch([file.clone()]);
        let before = look(&file);

        let changed = directories.changed();
        fs::rename(&next, &file).unwrap();
        changed.await;

        assert!(directories.written(&file, before).now_or_never().is_some());
        assert!(
            directories.written(&file, look(&file)).now_or_never().is_none(),
            "nothing has changed since"
        );
        fs::write(&file, "third").unwrap();
        assert!(directories.written(&file, before).now_or_never().is_none(), "it may still be written");
    }

    #[tokio::test]
    async fn a_rename_ends_the_wait_for_a_file_that_is_still_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hello.wasm");
        let directories = Directories::new();
        directories.watch([file.clone()]);
        let before = look(&file);
        let mut written = Box::pin(directories.written(&file, before));
        assert!(written.as_mut().now_or_never().is_none());

        let next = folder.path().join("next");
        fs::write(&next, "second").unwrap();
        fs::rename(&next, &file).unwrap();
        while !directories.replaced.is_as_renamed(&file, look(&file)) {
            tokio::task::yield_now().await;
        }

        assert!(written.now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_directory_that_was_made_anew_is_watched_again_after_the_next_look() {
        let folder = tempfile::tempdir().unwrap();
        let (directory, next) = (folder.path().join("target"), folder.path().join("next"));
        let file = directory.join("hello.wasm");
        fs::create_dir(&directory).unwrap();
        let directories = Directories::new();
        directories.watch([file.clone()]);
        let removed = directories.changed();
        fs::remove_dir(&directory).unwrap();
        timeout(PATIENCE, removed).await.unwrap();
        fs::create_dir(&directory).unwrap();
        fs::write(&file, "first").unwrap();

        directories.watched.lock().found(seen_now(BTreeSet::from([file.clone()])));

        fs::write(&next, "second").unwrap();
        fs::rename(&next, &file).unwrap();
        let reported = async {
            while !directories.replaced.is_as_renamed(&file, look(&file)) {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, reported).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_the_system_does_not_report_is_noticed_at_the_next_look_and_only_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hello.wasm");
        let watched = Watched { watcher: None, directories: BTreeSet::new(), files: BTreeMap::new() };
        let (changed, replaced) = (Arc::default(), Arc::default());
        let directories = Directories { changed, replaced, watched: Mutex::new(watched) };
        directories.watch([file.clone()]);
        let notices = async {
            let changed = directories.changed();
            tokio::select! {
                biased;
                () = changed => true,
                () = directories.poll() => false,
                () = sleep(3 * POLL) => false,
            }
        };

        fs::write(&file, "first").unwrap();
        assert!(notices.await);

        let changed = directories.changed();
        assert!(timeout(3 * POLL, async { tokio::join!(changed, directories.poll()) }).await.is_err());
    }
}
