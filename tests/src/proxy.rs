//! A TCP proxy that fails on demand.
//!
//! The proxy does not interpret the bytes, so TLS passes through it. A fault can strike in the middle of a record, a
//! frame or an object, like a fault of a network.

use std::{io, net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

mod acceptor;
mod connection;
mod counters;
mod mode;

pub use counters::Counts;
pub use mode::Mode;

use crate::cluster::port::ReservedPort;
use acceptor::Acceptor;
use counters::Counters;
use mode::{Generation, Setting};

/// A proxy on its own loopback port in front of one server. Dropping it ends all its connections.
///
/// There is one connection for each client, with a fixed buffer: a slow reader slows its sender.
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

// === impl FaultProxy ===

impl FaultProxy {
    /// Listens on a free loopback port, in [`Mode::Pass`]. The server may start later: the proxy connects to it for
    /// each accepted connection, and resets the connection if that fails.
    ///
    /// # Errors
    /// Fails if no port is free.
    ///
    /// # Panics
    /// Panics outside a tokio runtime.
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

    /// The address for clients. It stays reserved for the life of the proxy, also while connections are refused.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the mode. On return the mode holds for new connections, and open connections follow at once.
    ///
    /// # Errors
    /// Fails if the proxy cannot listen again after [`Mode::Refuse`]. The proxy is unusable then.
    ///
    /// # Cancel safety
    /// The mode changes even if the call is dropped.
    pub async fn set(&self, mode: Mode) -> io::Result<()> {
        let mut number = 0;
        self.setting.send_modify(|setting| {
            number = setting.number + 1;
            *setting = Setting { number, mode };
        });
        let applied = self.applied.clone().wait_for(|applied| *applied >= number).await.is_ok();
        if applied { Ok(()) } else { Err(io::Error::other("the proxy could not listen again")) }
    }

    /// Resets every open connection on both sides (`RST`), in every mode, and waits until they are gone. New
    /// connections may follow. Returns the number of connections.
    ///
    /// # Cancel safety
    /// The connections are reset even if the call is dropped.
    pub async fn cut(&self) -> usize {
        let fresh = Generation::new(&self.stop);
        let old = std::mem::replace(&mut *self.generation.lock(), fresh);
        let count = old.connections.len();
        old.cut.cancel();
        old.connections.close();
        old.connections.wait().await;
        count
    }

    /// The counters so far.
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

#[cfg(test)]
mod tests;
