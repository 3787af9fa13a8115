//! Addresses that the host listens on.

use std::net::SocketAddr;

use informer_system::HttpAddress;

use super::scalar::Scalar;
use crate::config::problem::Fault;

/// The word that turns an endpoint off.
const OFF: &str = "off";

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

/// The address of the admin endpoint; `None` turns it off. The path of a Unix socket is as it is written.
impl Scalar for Option<HttpAddress> {
    const KIND: &'static str = "an address";

    fn example() -> String {
        "\"127.0.0.1:8080\", \"unix:/run/informer/admin.sock\" or \"off\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if text == OFF {
            return Ok(None);
        }
        local(text).map(Some).map_err(|error| Fault::of(&error))
    }

    fn plain(&self) -> String {
        self.as_ref().map_or_else(|| OFF.to_owned(), HttpAddress::to_string)
    }
}

/// The address of the health endpoint, which any machine may reach; `None` turns it off.
impl Scalar for Option<SocketAddr> {
    const KIND: &'static str = "an address";

    fn example() -> String {
        "\"0.0.0.0:8081\", \"[::]:8081\" or \"off\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if text == OFF {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| {
            let remedy = "write an IP address and a port, like 0.0.0.0:8081 or [::]:8081";
            Fault::new(format!("`{text}` is not an address"), remedy)
        })
    }

    fn plain(&self) -> String {
        self.map_or_else(|| OFF.to_owned(), |address| address.to_string())
    }
}

/// Reads the address of an endpoint for this machine only: `127.0.0.1:8080`, or `unix:` and the path of a socket.
///
/// # Errors
/// [`NotLoopback`] if the text is neither a loopback address nor a Unix socket.
pub fn local(text: &str) -> Result<HttpAddress, NotLoopback> {
    HttpAddress::unix(text).map_or_else(|| loopback(text).map(HttpAddress::Tcp), Ok)
}

/// Reads an IP address and a port, `127.0.0.1:8080`, `[::1]:0`; port 0 is any free one.
///
/// # Errors
/// [`NotLoopback`] if the text is no address, or an address of another interface.
pub fn loopback(text: &str) -> Result<SocketAddr, NotLoopback> {
    let address: SocketAddr = text.parse().map_err(|_| NotLoopback::NotAnAddress(text.to_owned()))?;
    if address.ip().is_loopback() { Ok(address) } else { Err(NotLoopback::Outside(address)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_admin_endpoint_listens_for_this_machine_only() {
        for text in ["127.0.0.1:8080", "[::1]:0", "unix:/run/informer/admin.sock", "unix:admin.sock"] {
            let address = Option::<HttpAddress>::parse(text).unwrap();
            assert_eq!(address.unwrap().to_string(), text);
        }
        assert_eq!(Option::<HttpAddress>::parse("off").unwrap(), None);
        for text in ["0.0.0.0:8080", "[::]:8080", "10.0.0.1:8080", "8080", "unix:", "/run/admin.sock", ""] {
            assert!(Option::<HttpAddress>::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_health_endpoint_listens_on_any_address_of_either_family() {
        for text in ["0.0.0.0:8081", "[::]:8081", "10.0.0.1:0", "[fd00::1]:8081", "127.0.0.1:8081", "off"] {
            assert_eq!(Option::<SocketAddr>::parse(text).unwrap().plain(), text);
        }
        for text in ["8081", ":8081", "localhost:8081", "::1:8081:x", "unix:/run/health.sock", ""] {
            let shown = format!("{:?}", Option::<SocketAddr>::parse(text).unwrap_err());
            assert!(shown.contains("like 0.0.0.0:8081 or [::]:8081"), "{shown}");
        }
    }
}
