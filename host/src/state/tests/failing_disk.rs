//! A disk that fails on demand.

use std::{
    io::{self, ErrorKind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use redb::{StorageBackend, backends::InMemoryBackend};

use crate::state::{
    State,
    open::{Opener, builder},
};

/// Cheap to clone; all clones are one disk. The bytes stay when it is closed and opened again.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailingDisk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    memory: InMemoryBackend,
    failure: Mutex<Option<ErrorKind>>,
    /// Bytes that may still be written; `None` means no limit.
    room: Mutex<Option<usize>>,
    written: AtomicUsize,
    syncs: AtomicUsize,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            memory: InMemoryBackend::new(),
            failure: Mutex::default(),
            room: Mutex::default(),
            written: AtomicUsize::new(0),
            syncs: AtomicUsize::new(0),
        }
    }
}

impl FailingDisk {
    /// A state on this disk, without a pause between attempts.
    pub(crate) fn state(&self) -> State {
        let disk = self.clone();
        let open = move || builder().create_with_backend(disk.clone());
        State::with(Opener::Test(Box::new(open)), Duration::ZERO)
    }

    /// Lets writes fail from now on. `None` lets them succeed again.
    pub(crate) fn fail(&self, with: Option<ErrorKind>) {
        *self.0.failure.lock() = with;
    }

    /// Lets this number of bytes be written from now on; then the disk is full, possibly in the middle of a write. `None` makes room
    /// again.
    pub(crate) fn room(&self, bytes: Option<usize>) {
        *self.0.room.lock() = bytes;
    }

    /// Number of bytes written so far.
    pub(crate) fn written(&self) -> usize {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Number of times that the disk was told to keep what was written.
    pub(crate) fn syncs(&self) -> usize {
        self.0.syncs.load(Ordering::Relaxed)
    }

    /// Returns how many bytes of a write fit.
    fn take(&self, bytes: usize) -> usize {
        let mut room = self.0.room.lock();
        let fits = room.map_or(bytes, |room| room.min(bytes));
        *room = room.map(|room| room - fits);
        self.0.written.fetch_add(fits, Ordering::Relaxed);
        fits
    }

    fn check(&self) -> io::Result<()> {
        self.0.failure.lock().map_or(Ok(()), |kind| Err(kind.into()))
    }
}

impl StorageBackend for FailingDisk {
    fn len(&self) -> io::Result<u64> {
        self.0.memory.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.memory.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.0.memory.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        self.0.syncs.fetch_add(1, Ordering::Relaxed);
        self.0.memory.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        let fits = self.take(data.len());
        self.0.memory.write(offset, &data[..fits])?;
        if fits < data.len() { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}
