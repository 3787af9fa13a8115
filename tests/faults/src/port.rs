//! A port that stays ours while nothing listens on it.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use tokio::net::{TcpListener, TcpSocket};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 128;

/// A loopback port, taken by a bound socket that never listens.
///
/// Servers that bind with `SO_REUSEPORT` (etcd and kube-apiserver can) come and go on it; nobody else gets it meanwhile,
/// and while none of them listens, the kernel refuses connections. That leaves no race between finding a free port
/// and using it, nor between two lives of a server.
#[derive(Debug)]
pub struct ReservedPort {
    address: SocketAddr,
    _reservation: TcpSocket,
}

// === impl ReservedPort ===

impl ReservedPort {
    /// Takes a free one.
    ///
    /// # Errors
    /// The kernel has none.
    pub fn reserve() -> io::Result<Self> {
        // Without `SO_REUSEADDR`: that alone would let others bind a port on which nobody listens.
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseport(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self { address: socket.local_addr()?, _reservation: socket })
    }

    /// The port, with the loopback address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Listens on the port from within this process.
    ///
    /// # Errors
    /// The kernel refuses.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn listen(&self) -> io::Result<TcpListener> {
        let socket = TcpSocket::new_v4()?;
        // Connections of an earlier listener may still be closing.
        socket.set_reuseaddr(true)?;
        socket.set_reuseport(true)?;
        socket.bind(self.address)?;
        socket.listen(BACKLOG)
    }
}
