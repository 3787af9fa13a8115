//! The address of an HTTP server.

use std::{fmt, net::SocketAddr, path::PathBuf};

/// The prefix of a Unix socket in a text.
const UNIX: &str = "unix:";

/// The address that an HTTP server listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpAddress {
    /// An IP address and a port; port 0 is any free port.
    Tcp(SocketAddr),
    /// A Unix socket at this path.
    Unix(PathBuf),
}

// === impl HttpAddress ===

impl HttpAddress {
    /// Reads the path of `unix:/run/informer/admin.sock`. Returns `None` if the text is no Unix socket.
    pub fn unix(text: &str) -> Option<Self> {
        text.strip_prefix(UNIX).filter(|path| !path.is_empty()).map(|path| Self::Unix(path.into()))
    }

    /// The IP address and the port. Returns `None` for a Unix socket.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for HttpAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}
