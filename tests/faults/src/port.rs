//! A port that stays reserved while nothing listens on it.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use tokio::net::{TcpListener, TcpSocket};

/// The number of connections that may wait to be accepted.
const BACKLOG: u32 = 128;

/// A loopback port, reserved by a bound socket that never listens.
///
/// Servers that bind with `SO_REUSEPORT` (as etcd and kube-apiserver can) may start and stop on the port. No other
/// process gets the port meanwhile, and while no server listens, the kernel refuses connections. So there is no race
/// between finding and using a free port, or between two runs of a server.
#[derive(Debug)]
pub struct ReservedPort {
    address: SocketAddr,
    _reservation: TcpSocket,
}

// === impl ReservedPort ===

impl ReservedPort {
    /// Reserves a free port.
    ///
    /// # Errors
    /// The kernel has no free port.
    pub fn reserve() -> io::Result<Self> {
        // Do not set `SO_REUSEADDR`: it alone would let other processes bind a port on which nothing listens.
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseport(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self { address: socket.local_addr()?, _reservation: socket })
    }

    /// The loopback address with the port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Listens on the port in this process.
    ///
    /// # Errors
    /// The kernel refuses.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn listen(&self) -> io::Result<TcpListener> {
        let socket = TcpSocket::new_v4()?;
        // Connections of an earlier listener may still be in the process of closing.
        socket.set_reuseaddr(true)?;
        socket.set_reuseport(true)?;
        socket.bind(self.address)?;
        socket.listen(BACKLOG)
    }
}
