//! A disk that fails when it is told to.

use std::{
    io::{self, ErrorKind},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use redb::{StorageBackend, backends::InMemoryBackend};

use crate::state::{
    State,
    open::{Opener, builder},
};

/// Cheap to clone; all clones are one disk. What was written stays while it is closed and opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailingDisk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    memory: InMemoryBackend,
    failure: Mutex<Option<ErrorKind>>,
}

impl Default for Inner {
    fn default() -> Self {
        Self { memory: InMemoryBackend::new(), failure: Mutex::default() }
    }
}

impl FailingDisk {
    /// A state on this disk, which tries again without a pause.
    pub(crate) fn state(&self) -> State {
        let disk = self.clone();
        let open = move || builder().create_with_backend(disk.clone());
        State::with(Opener::Test(Box::new(open)), Duration::ZERO)
    }

    /// From now on, writes fail like this; none: they succeed again.
    pub(crate) fn fail(&self, with: Option<ErrorKind>) {
        *self.0.failure.lock() = with;
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
        self.0.memory.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        self.0.memory.write(offset, data)
    }
}
