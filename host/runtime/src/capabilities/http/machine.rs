//! The addresses of this machine.

use std::{io, net::IpAddr};

use super::address::{Reach, forms, reach};

/// Lists the addresses of this machine. It is called once for each request, because interfaces come and go.
pub trait Interfaces: Send + Sync + 'static {
    /// The addresses of all network interfaces.
    ///
    /// # Errors
    /// The error of the system. Every request is refused then, because no address can be ruled out.
    fn addresses(&self) -> io::Result<Vec<IpAddr>>;
}

/// The interfaces of this machine, in the network namespace of the process (`getifaddrs`).
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemInterfaces;

/// The addresses at the time of one request.
#[derive(Debug)]
pub(super) struct Machine(Vec<IpAddr>);

// === impl SystemInterfaces ===

impl Interfaces for SystemInterfaces {
    fn addresses(&self) -> io::Result<Vec<IpAddr>> {
        Ok(if_addrs::get_if_addrs()?.iter().map(if_addrs::Interface::ip).collect())
    }
}

// === impl Machine ===

impl Machine {
    pub(super) fn now(interfaces: &dyn Interfaces) -> io::Result<Self> {
        Ok(Self(interfaces.addresses()?.iter().map(IpAddr::to_canonical).collect()))
    }

    /// Returns true if a connection to this address, in any of its forms, ends at this machine.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        let own = |form| reach(form) == Reach::Loopback || form.is_unspecified() || self.0.contains(&form);
        forms(address).any(own)
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    /// The system binds a socket only to an address of this machine.
    #[test]
    fn every_address_on_which_this_machine_accepts_a_socket_is_its_own() {
        let machine = Machine::now(&SystemInterfaces).unwrap();

        assert!(!machine.0.is_empty(), "every machine has a loopback interface");
        for address in &machine.0 {
            // The socket of a link-local address needs the number of its interface.
            if reach(*address) == Reach::Never("it is link-local") {
                continue;
            }
            assert!(machine.has(*address));
            UdpSocket::bind((*address, 0)).unwrap();
        }
        for other in ["198.51.100.7", "2001:db8::7"] {
            let other: IpAddr = other.parse().unwrap();
            assert_eq!(machine.has(other), UdpSocket::bind((other, 0)).is_ok());
        }
    }

    #[test]
    fn an_address_of_an_interface_is_recognised_in_every_form() {
        struct One;
        impl Interfaces for One {
            fn addresses(&self) -> io::Result<Vec<IpAddr>> {
                Ok(vec!["::ffff:10.1.2.3".parse().unwrap(), "fd12::7".parse().unwrap()])
            }
        }
        let machine = Machine::now(&One).unwrap();
        for own in [
            "10.1.2.3",
            "::ffff:10.1.2.3",
            "::ffff:0:10.1.2.3",
            "::10.1.2.3",
            "64:ff9b::a01:203",
            "2002:a01:203::1",
            "fd12::7",
            "127.0.0.1",
            "127.8.9.1",
            "::1",
            "0.0.0.0",
            "::",
        ] {
            assert!(machine.has(own.parse().unwrap()), "{own}");
        }
        for other in ["10.1.2.4", "fd12::8", "::ffff:10.1.2.4", "1.1.1.1"] {
            assert!(!machine.has(other.parse().unwrap()), "{other}");
        }
    }
}
