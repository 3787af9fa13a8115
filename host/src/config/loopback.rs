//! Addresses that no other machine can reach.

use std::net::SocketAddr;

/// A text that is not a loopback address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLoopback {
    /// Not an address and a port.
    #[error("`{0}` is not an address; write an IP address and a port, like 127.0.0.1:8080")]
    NotAnAddress(String),
    /// An address that other machines may reach. The host listens only where no credentials are needed.
    #[error("`{0}` can be reached from outside; write a loopback address, like 127.0.0.1:8080 or [::1]:8080")]
    Outside(SocketAddr),
}

/// Reads an IP address and a port, `127.0.0.1:8080`, `[::1]:0`; port 0 is any free one.
///
/// # Errors
/// [`NotLoopback`] if the text is no address, or an address of another interface.
pub fn loopback(text: &str) -> Result<SocketAddr, NotLoopback> {
    let address: SocketAddr = text.parse().map_err(|_| NotLoopback::NotAnAddress(text.to_owned()))?;
    if address.ip().is_loopback() { Ok(address) } else { Err(NotLoopback::Outside(address)) }
}
