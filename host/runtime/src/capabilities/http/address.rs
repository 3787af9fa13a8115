//! Which addresses a request may connect to, whatever name resolved to them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The rule for connections to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Any granted name may lead there. This includes private ranges, because cluster services have such addresses.
    Open,
    /// The loopback of this machine. As for every address of this machine, only a grant that names the address leads there.
    Loopback,
    /// No plugin may connect, for this reason.
    Never(&'static str),
}

/// Classifies an address, or the IPv4 address inside it if there is one.
pub(super) fn reach(address: IpAddr) -> Reach {
    match address.to_canonical() {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            // Loopback inside a tunnel may be the loopback of any machine.
            Some(inner) => match reach_v4(inner) {
                Reach::Open => Reach::Open,
                _ => Reach::Never("it contains an address that no plugin may reach"),
            },
            None => reach_v6(address),
        },
    }
}

/// The address and the IPv4 address inside it, to be compared with a list.
pub(super) fn forms(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let canonical = address.to_canonical();
    let inner = match canonical {
        IpAddr::V6(address) => embedded(address).map(IpAddr::V4),
        IpAddr::V4(_) => None,
    };
    std::iter::once(canonical).chain(inner)
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        [127, ..] => Reach::Loopback,
        [0, ..] => Reach::Never("it is unspecified"),
        [169, 254, ..] => Reach::Never("it is link-local"),
        // Clouds serve metadata and agents from these addresses and from link-local ones.
        [168, 63, 129, 16] | [100, 100, 100, 200] | [192, 0, 0, 192] => {
            Reach::Never("it is a cloud's metadata service")
        }
        [224..=239, ..] => Reach::Never("it is multicast"),
        [240..=255, ..] => Reach::Never("it is reserved or broadcast"),
        _ => Reach::Open,
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Reach::Never("it is unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Reach::Loopback,
        [0xfe80..=0xfebf, ..] => Reach::Never("it is link-local"),
        [0xfec0..=0xfeff, ..] => Reach::Never("it is site-local, which is deprecated"),
        [0xff00..=0xffff, ..] => Reach::Never("it is multicast"),
        // AWS and Google.
        [0xfd00, 0x0ec2, ..] | [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254] => {
            Reach::Never("it is a cloud's metadata service")
        }
        [0x2001, 0, ..] | [0x0064, 0xff9b, 1, ..] => {
            Reach::Never("it belongs to a tunnel that may lead anywhere")
        }
        _ => Reach::Open,
    }
}

/// The IPv4 address inside an IPv6 one: IPv4-compatible, IPv4-translated (RFC 2765), NAT64 (RFC 6052) and 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0 | 0xffff, 0, high, low] | [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(of(high, low))
        }
        [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Reach {
        reach(text.parse().unwrap())
    }

    #[test]
    fn public_and_private_addresses_are_open() {
        for text in
            ["1.1.1.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "2606:4700::1", "fd12:3456::1"]
        {
            assert_eq!(of(text), Reach::Open, "{text}");
        }
        assert_eq!(of("64:ff9b::101:101"), Reach::Open, "the DNS64 form of 1.1.1.1");
    }

    #[test]
    fn loopback_addresses_in_every_form_are_loopback() {
        for text in ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(of(text), Reach::Loopback, "{text}");
        }
    }

    #[test]
    fn metadata_link_local_and_multicast_addresses_are_closed_in_every_form() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.1.1",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "::ffff:169.254.169.254",
            "::a9fe:a9fe",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "::ffff:0:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:a9fe:a9fe::1",
            "2002:7f00:1::",
            "2001:0:1::1",
        ] {
            assert!(matches!(of(text), Reach::Never(_)), "{text}");
        }
    }
}
