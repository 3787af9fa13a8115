//! A TCP proxy that fails on demand.
//!
//! It knows nothing of what it carries, so TLS passes through it, and a fault strikes where a network's would: in the
//! middle of a record, a frame, an object.

use std::{io, net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};

mod acceptor;
mod connection;
mod counters;

pub use counters::Counts;

use crate::cluster::port::ReservedPort;
use acceptor::Acceptor;
use counters::Counters;

/// What the proxy does to connections until it is told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Forwards everything.
    Pass,
    /// Accepts, keeps everything open, and forwards nothing in either direction; the kernels' buffers hold what comes.
    /// A later mode goes on where this one stopped. What was read just before may still arrive.
    Stall,
    /// Refuses new connections (`ECONNREFUSED`); the open ones pass.
    Refuse,
    /// Forwards; resets each connection that has brought its client this many bytes, counted from when this mode was
    /// set. What the client's kernel had no room for is lost with the connection.
    CutAfter(u64),
}

/// A proxy on a loopback port of its own, in front of one server. It ends, with all its connections, when dropped.
///
/// Connections are as many as there are clients and have a fixed buffer each: a slow reader slows its sender.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    setting: watch::Sender<Setting>,
    applied: watch::Receiver<u64>,
    generation: Arc<Mutex<Generation>>,
    counters: Arc<Counters>,
    stop: CancellationToken,
    _acceptor: AbortOnDropHandle<()>,
}

/// A mode, numbered so that setting an equal one again counts as new.
#[derive(Clone, Copy, Debug)]
struct Setting {
    number: u64,
    mode: Mode,
}

/// The connections that one [`FaultProxy::cut`] ends.
#[derive(Clone, Debug)]
struct Generation {
    cut: CancellationToken,
    connections: TaskTracker,
}

// === impl FaultProxy ===

impl FaultProxy {
    /// Listens on a free loopback port, in [`Mode::Pass`]. The server need not be there yet: a connection to it is
    /// made for each one accepted, which is reset if that fails.
    ///
    /// # Errors
    /// No port can be had.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(server: SocketAddr) -> io::Result<Self> {
        let port = ReservedPort::reserve()?;
        let address = port.address();
        let listener = port.listen()?;
        let (setting, settings) = watch::channel(Setting { number: 0, mode: Mode::Pass });
        let (applying, applied) = watch::channel(0);
        let stop = CancellationToken::new();
        let generation = Arc::new(Mutex::new(Generation::new(&stop)));
        let counters = Arc::new(Counters::default());
        let acceptor = Acceptor {
            server,
            port,
            settings,
            applying,
            generation: generation.clone(),
            counters: counters.clone(),
        };
        let acceptor = AbortOnDropHandle::new(tokio::spawn(acceptor.run(listener)));
        Ok(Self { address, setting, applied, generation, counters, stop, _acceptor: acceptor })
    }

    /// Where clients connect to. It is nobody else's for the proxy's life, also while connections are refused.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the mode; on return it holds for new connections, and open ones follow at once.
    ///
    /// # Errors
    /// Listening again, after [`Mode::Refuse`], failed; the proxy is of no more use then.
    ///
    /// # Cancel safety
    /// The mode changes nevertheless.
    pub async fn set(&self, mode: Mode) -> io::Result<()> {
        let mut number = 0;
        self.setting.send_modify(|setting| {
            number = setting.number + 1;
            *setting = Setting { number, mode };
        });
        let applied = self.applied.clone().wait_for(|applied| *applied >= number).await.is_ok();
        if applied { Ok(()) } else { Err(io::Error::other("the proxy could not listen again")) }
    }

    /// Resets every open connection, on both sides and without a word (`RST`), whatever the mode, and waits until they
    /// are gone. New ones may follow. Answers how many it were.
    ///
    /// # Cancel safety
    /// The connections are reset nevertheless.
    pub async fn cut(&self) -> usize {
        let fresh = Generation::new(&self.stop);
        let old = std::mem::replace(&mut *self.generation.lock(), fresh);
        let count = old.connections.len();
        old.cut.cancel();
        old.connections.close();
        old.connections.wait().await;
        count
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

// === impl Generation ===

impl Generation {
    fn new(stop: &CancellationToken) -> Self {
        Self { cut: stop.child_token(), connections: TaskTracker::new() }
    }
}

#[cfg(test)]
mod tests;
