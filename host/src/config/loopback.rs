//! Addresses that nobody outside the machine can reach.

use std::net::SocketAddr;

/// A text that is no such address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLoopback {
    /// Not an address and a port at all.
    #[error("`{0}` is not an address; write an IP address and a port, like 127.0.0.1:8080")]
    NotAnAddress(String),
    /// An address that other machines may reach. What listens there asks for no credentials.
    #[error("`{0}` can be reached from outside; write a loopback address, like 127.0.0.1:8080 or [::1]:8080")]
    Outside(SocketAddr),
}

/// Reads an IP address and a port, `127.0.0.1:8080`, `[::1]:0`; port 0 is any free one.
///
/// # Errors
/// [`NotLoopback`] where it is no address, or none of the loopback interface.
pub fn loopback(text: &str) -> Result<SocketAddr, NotLoopback> {
    let address: SocketAddr = text.parse().map_err(|_| NotLoopback::NotAnAddress(text.to_owned()))?;
    if address.ip().is_loopback() { Ok(address) } else { Err(NotLoopback::Outside(address)) }
}
