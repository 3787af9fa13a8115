//! The database and its failures: a full disk, a lock, damage.

mod failing_disk;

use std::{
    collections::BTreeSet, convert::Infallible, fs, io::ErrorKind, os::unix::fs::PermissionsExt, sync::mpsc,
};

use redb::TableDefinition;
use tempfile::TempDir;

use super::{open::FILE_NAME, *};
pub(super) use failing_disk::FailingDisk;

const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

impl State {
    /// Writes on this thread.
    pub(super) fn write_blocking<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<Result<T, E>, redb::Error> + Send + 'static,
    ) -> Result<Result<T, E>, StateError> {
        let (mut write, mut result) = write(work);
        let done = self.commit(std::slice::from_mut(&mut write));
        write.end(done);
        result.try_recv().unwrap()
    }
}

fn put(state: &State, key: &str, value: u64) -> Result<(), StateError> {
    let key = key.to_owned();
    let done = state.write_blocking(move |transaction| {
        transaction.open_table(NUMBERS)?.insert(key.as_str(), value)?;
        Ok(Ok::<_, Infallible>(()))
    })?;
    let Ok(()) = done;
    Ok(())
}

fn get(state: &State, key: &str) -> Result<Option<u64>, StateError> {
    state.read_blocking(|transaction| match transaction.open_table(NUMBERS) {
        Ok(table) => Ok(table.get(key)?.map(|value| value.value())),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    })
}

/// Opens as [`State::open`] does, without a pause between attempts.
fn open(directory: &Path) -> State {
    State::with(Opener::File(directory.to_owned()), Duration::ZERO)
}

#[test]
fn values_survive_the_end_of_the_database() {
    let directory = TempDir::new().unwrap();
    let below = directory.path().join("not/there/yet");
    put(&open(&below), "a", 1).unwrap();

    assert_eq!(get(&open(&below), "a").unwrap(), Some(1));

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&below), mode(&below.join(FILE_NAME))), (0o700, 0o600), "only the owner may read it");
}

#[test]
fn a_state_in_memory_needs_no_disk_and_ends_with_the_process() {
    let state = State::open(None);
    put(&state, "a", 1).unwrap();

    assert_eq!(get(&state, "a").unwrap(), Some(1));
    assert_eq!((state.path(), state.problem().map(|why| why.to_string())), (None, None));
    assert_eq!(get(&State::open(None), "a").unwrap(), None);
}

#[tokio::test]
async fn a_state_that_ended_is_unlocked_after_the_reads_in_progress_and_stays_closed() {
    let directory = TempDir::new().unwrap();
    let state = open(directory.path());
    put(&state, "a", 1).unwrap();
    let (begun, begins) = mpsc::channel();
    let (_never, wait) = mpsc::channel::<()>();
    let reader = state.clone();
    let read = tokio::task::spawn_blocking(move || {
        reader.read_blocking(|_| {
            begun.send(()).unwrap();
            wait.recv_timeout(Duration::from_millis(50)).unwrap_err();
            Ok(())
        })
    });
    begins.recv().unwrap();

    state.end().await;

    assert_eq!(get(&open(directory.path()), "a").unwrap(), Some(1), "another one opens the file at once");
    assert!(matches!(get(&state, "a"), Err(StateError::Stopping)));
    assert!(matches!(put(&state, "a", 2), Err(StateError::Stopping)));
    assert!(read.await.unwrap().is_ok(), "the read was complete");
}

#[test]
fn a_transaction_that_the_caller_aborts_changes_nothing() {
    let state = State::open(None);
    let refused = state.write_blocking(|transaction| {
        transaction.open_table(NUMBERS)?.insert("a", 1)?;
        Ok(Err::<(), _>("no"))
    });

    assert_eq!(refused.unwrap(), Err("no"));
    assert_eq!(get(&state, "a").unwrap(), None);
}

#[test]
fn a_new_database_leaves_no_other_file() {
    let directory = TempDir::new().unwrap();

    put(&open(directory.path()), "a", 1).unwrap();

    let entries = fs::read_dir(directory.path()).unwrap();
    let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [FILE_NAME]);
}

#[test]
fn a_database_of_another_process_is_left_alone_until_it_is_free() {
    let directory = TempDir::new().unwrap();
    let first = open(directory.path());
    put(&first, "a", 1).unwrap();
    let second = open(directory.path());

    let refused = put(&second, "a", 2).unwrap_err();
    assert!(matches!(refused, StateError::Locked { .. }), "{refused}");
    let said = refused.to_string();
    // Here the other process is this one.
    let holder = format!("informer.redb is in use by process {} (", std::process::id());
    assert!(said.contains(&holder) && said.contains("): stop that one, or give"), "{said}");
    assert!(second.problem().is_some());

    drop(first);
    assert_eq!(get(&second, "a").unwrap(), Some(1));
    assert!(second.problem().is_none());
}

/// Two threads find the database closed, and one opens it before the other tries.
#[test]
fn a_thread_that_comes_too_late_to_open_uses_the_open_database() {
    let directory = TempDir::new().unwrap();
    let state = open(directory.path());

    let again = state.reopen().unwrap();

    assert!(Arc::ptr_eq(&again, &state.database().unwrap()));
    assert!(state.problem().is_none());
    put(&state, "a", 1).unwrap();
}

#[test]
fn a_damaged_file_is_reported_and_not_replaced() {
    for damage in [&b"no database at all"[..], &[0; 1 << 16], &[0xff; 1 << 20], &[]] {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join(FILE_NAME);
        fs::write(&path, damage).unwrap();
        let state = open(directory.path());

        for refused in [put(&state, "a", 1).unwrap_err(), get(&state, "a").unwrap_err()] {
            assert!(matches!(refused, StateError::Damaged { .. }), "{refused}");
            assert!(refused.to_string().contains("or move it away to begin with an empty one"), "{refused}");
        }
        assert_eq!(fs::read(&path).unwrap(), damage, "the file is as it was");

        fs::remove_file(&path).unwrap();
        put(&state, "a", 1).unwrap();
    }
}

#[test]
fn one_changed_byte_anywhere_is_noticed_or_harmless() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join(FILE_NAME);
    let state = open(directory.path());
    for number in 0..200 {
        put(&state, &format!("key-{number:03}"), number).unwrap();
    }
    drop(state);
    let good = fs::read(&path).unwrap();

    let mut noticed = 0;
    for at in (0..good.len()).step_by(good.len() / 150) {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        fs::write(&path, &bad).unwrap();
        let state = open(directory.path());
        let numbers: Result<Vec<_>, _> =
            (0..200).map(|number| get(&state, &format!("key-{number:03}"))).collect();
        match numbers {
            Ok(numbers) => assert!(numbers.iter().flatten().copied().eq(0..200), "byte {at}"),
            Err(error) => {
                assert!(!matches!(error, StateError::Locked { .. } | StateError::Full { .. }), "{error}");
                noticed += 1;
            }
        }
    }
    assert!(noticed > 0);
}

#[test]
fn a_full_disk_fails_the_write_and_loses_no_earlier_value() {
    let disk = FailingDisk::default();
    let state = disk.state();
    put(&state, "a", 1).unwrap();

    disk.fail(Some(ErrorKind::StorageFull));
    let refused = put(&state, "a", 2).unwrap_err();
    assert!(matches!(refused, StateError::Full { .. }), "{refused}");
    assert!(refused.to_string().contains("make room there"), "{refused}");
    assert!(state.problem().is_some());

    disk.fail(None);
    assert_eq!(get(&state, "a").unwrap(), Some(1));
    put(&state, "a", 3).unwrap();
    assert_eq!(get(&state, "a").unwrap(), Some(3));
    assert!(state.problem().is_none());
}

/// A database on a full disk can be opened again, so each scrape may find it open. Only the counter shows the failures then.
#[test]
fn each_failure_is_counted_also_while_the_database_can_be_opened_again() {
    let disk = FailingDisk::default();
    let state = disk.state();
    put(&state, "a", 1).unwrap();
    assert_eq!(state.stats(), StateStats::default());

    disk.room(Some(0));
    for failures in 1..=2 {
        put(&state, "a", 2).unwrap_err();
        assert_eq!(state.stats(), StateStats { is_failing: true, failures });
        disk.room(None);
        assert_eq!(get(&state, "a").unwrap(), Some(1));
        assert_eq!(state.stats(), StateStats { is_failing: false, failures });
        disk.room(Some(0));
    }

    let refused = open(Path::new("/dev/null/state"));
    assert_eq!(refused.stats(), StateStats { is_failing: true, failures: 1 });
}

#[test]
fn acknowledged_values_survive_a_disk_that_fills_in_the_middle_of_any_write() {
    /// Writes values until one is refused. Returns the number of accepted values.
    fn fill(state: &State) -> u64 {
        let refused = (0..20).find(|number| put(state, &format!("key-{number:02}"), *number).is_err());
        refused.unwrap_or(20)
    }
    let disk = FailingDisk::default();
    let state = disk.state();
    let before = disk.written();
    assert_eq!(fill(&state), 20);
    let bytes = disk.written() - before;

    let mut taken_so_far = BTreeSet::new();
    for room in (0..bytes).step_by(bytes / 150) {
        let disk = FailingDisk::default();
        let state = disk.state();
        disk.room(Some(room));
        let taken = fill(&state);
        let problem = state.problem().unwrap();
        assert!(matches!(problem, StateError::Full { .. }), "{room}: {problem}");

        disk.room(None);
        for number in 0..taken {
            assert_eq!(get(&state, &format!("key-{number:02}")).unwrap(), Some(number), "{room}");
        }
        assert!(taken < 20, "{room}");
        assert_eq!(fill(&state), 20, "{room}");
        assert!(state.problem().is_none());
        taken_so_far.insert(taken);
    }
    assert!(taken_so_far.len() > 10, "at many places: {taken_so_far:?}");
}

#[test]
fn a_directory_that_cannot_be_created_is_reported_with_the_remedy() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    let state = open(&directory.path().join("file/state"));

    let refused = put(&state, "a", 1).unwrap_err();

    assert!(matches!(refused, StateError::Unwritable { .. }), "{refused}");
    assert!(refused.to_string().contains("under [host] state-dir, or set it to \"off\""), "{refused}");
}

#[test]
fn a_panic_in_the_database_closes_it_and_becomes_an_error() {
    let disk = FailingDisk::default();
    let state = disk.state();
    put(&state, "a", 1).unwrap();

    let refused = state.read_blocking(|_| -> Result<(), _> { panic!("an assertion of redb") }).unwrap_err();

    assert!(matches!(refused, StateError::Damaged { .. }), "{refused}");
    assert_eq!(get(&state, "a").unwrap(), Some(1));
}

#[tokio::test]
async fn a_closed_database_is_opened_again_without_a_use() {
    let directory = TempDir::new().unwrap();
    let first = open(directory.path());
    let second = open(directory.path());
    assert!(second.problem().is_some());
    let stop = CancellationToken::new();
    let (waiting, cancel) = (second.clone(), stop.clone());
    let keeping = tokio::spawn(async move { waiting.keep_open(cancel).await });

    drop(first);
    let opened = async {
        while second.problem().is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), opened).await.unwrap();

    stop.cancel();
    keeping.await.unwrap();
}

/// redb reports the cause to the first call only. A person who reads the error of the second call needs the cause too.
#[test]
fn a_call_that_fails_beside_the_first_one_has_the_error_of_the_first_one() {
    let state = State::open(None);
    let database = state.database().unwrap();
    let (begun, begins) = mpsc::channel();

    let beside = std::thread::scope(|threads| {
        let beside = threads.spawn(|| {
            state.read_blocking(|_| -> Result<(), _> {
                begun.send(()).unwrap();
                Err(redb::Error::PreviousIo)
            })
        });
        begins.recv().unwrap();
        state.close(&database, &StateError::Full(FILE_NAME.into()));
        beside.join().unwrap().unwrap_err()
    });

    assert!(matches!(beside, StateError::Full { .. }), "{beside}");
}

#[test]
fn a_late_failure_of_a_closed_database_does_not_close_the_new_one() {
    let disk = FailingDisk::default();
    let state = disk.state();
    put(&state, "a", 1).unwrap();

    let late = state.read_blocking(|_| -> Result<(), redb::Error> {
        let failed = state.read_blocking(|_| -> Result<(), _> { Err(redb::Error::DatabaseClosed) });
        failed.unwrap_err();
        // The database is opened again.
        assert_eq!(get(&state, "a").unwrap(), Some(1));
        Err(redb::Error::DatabaseClosed)
    });

    late.unwrap_err();
    assert!(state.problem().is_none());
}

/// Returns why the state in this directory is not used.
fn not_private(directory: &Path) -> String {
    let refused = put(&open(directory), "a", 1).unwrap_err();
    assert!(matches!(refused, StateError::NotPrivate { .. }), "{refused}");
    refused.to_string()
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_directory_that_strangers_can_write_is_refused_and_used_once_it_is_private() {
    let directory = TempDir::new().unwrap();
    chmod(directory.path(), 0o777);
    let state = open(directory.path());

    let refused = put(&state, "a", 1).unwrap_err().to_string();

    assert!(refused.contains("has mode 0777, so other users may write to it"), "{refused}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is created there");
    chmod(directory.path(), 0o700);
    put(&state, "a", 1).unwrap();
}

#[test]
fn a_database_that_others_can_write_or_that_is_a_link_is_refused_and_left_as_it_is() {
    let (directory, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    put(&open(directory.path()), "a", 1).unwrap();
    let (path, target) = (directory.path().join(FILE_NAME), elsewhere.path().join("target"));

    chmod(&path, 0o666);
    assert!(not_private(directory.path()).contains("has mode 0666"));
    chmod(&path, 0o600);

    fs::rename(&path, &target).unwrap();
    let content = fs::read(&target).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    assert!(not_private(directory.path()).contains("informer.redb is a link"));
    assert_eq!(fs::read(&target).unwrap(), content);

    fs::rename(&target, &path).unwrap();
    assert_eq!(get(&open(directory.path()), "a").unwrap(), Some(1), "its own file is used again");
}

/// Kubernetes gives an emptyDir this mode if the pod has `fsGroup`, and adds the group's permissions to the files of a
/// volume at each mount.
#[test]
fn the_volume_of_a_pod_keeps_the_state() {
    let directory = TempDir::new().unwrap();
    chmod(directory.path(), 0o2777);
    put(&open(directory.path()), "a", 1).unwrap();
    chmod(&directory.path().join(FILE_NAME), 0o660);

    assert_eq!(get(&open(directory.path()), "a").unwrap(), Some(1));
    let mode = fs::metadata(directory.path().join(FILE_NAME)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it is private again");
}
