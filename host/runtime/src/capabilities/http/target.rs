//! The URL of a request: scheme, host, port and path, each in its only accepted spelling.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use http::{Uri, uri::Scheme};

use super::path::{InvalidPath, normalise};

/// The longest name and the longest label (RFC 1035).
const NAME_BYTES: usize = 253;
const LABEL_BYTES: usize = 63;

/// A host, in lower case and without a final dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Host {
    Name(String),
    /// An IPv4 address in IPv6 form is stored as the IPv4 address.
    Address(IpAddr),
}

/// The URL of a request, or of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) https: bool,
    pub(super) host: Host,
    pub(super) port: u16,
    /// The normalised path, which starts with `/`.
    pub(super) path: String,
}

/// Why a URL is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidTarget {
    #[error("its scheme is neither https nor http")]
    Scheme,
    #[error("it has no host")]
    NoHost,
    #[error("it holds credentials")]
    Credentials,
    #[error("its port is not a number from 1 to 65535")]
    Port,
    #[error("its host is neither a name of letters, digits, `-`, `_` and dots nor an address")]
    Name,
    #[error("its host is an address in an unusual spelling")]
    Spelling,
    #[error(transparent)]
    Path(#[from] InvalidPath),
}

// === impl Target ===

impl Target {
    pub(super) fn of(uri: &Uri) -> Result<Self, InvalidTarget> {
        let https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(InvalidTarget::Scheme),
        };
        let authority = uri.authority().ok_or(InvalidTarget::NoHost)?;
        if authority.as_str().contains('@') {
            return Err(InvalidTarget::Credentials);
        }
        // The parser overlooks what stands between the bracket of an address and the port.
        let after_host = authority.as_str().strip_prefix(authority.host()).ok_or(InvalidTarget::Port)?;
        let digits = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
        let port = match after_host.strip_prefix(':').filter(digits) {
            Some(port) => port.parse().map_err(|_| InvalidTarget::Port)?,
            None if !after_host.is_empty() => return Err(InvalidTarget::Port),
            None if https => 443,
            None => 80,
        };
        if port == 0 {
            return Err(InvalidTarget::Port);
        }
        Ok(Self { https, host: Host::parse(authority.host())?, port, path: normalise(uri.path())? })
    }
}

/// Displays without the path, which may be a secret: the path of an incoming webhook is.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

// === impl Host ===

impl Host {
    pub(super) fn parse(text: &str) -> Result<Self, InvalidTarget> {
        if let Some(bracketed) = text.strip_prefix('[') {
            let inner = bracketed.strip_suffix(']').ok_or(InvalidTarget::Spelling)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| InvalidTarget::Spelling)?;
            return Ok(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.is_empty() {
            return Err(InvalidTarget::NoHost);
        }
        if let Ok(address) = name.parse::<IpAddr>() {
            return Ok(Self::Address(address.to_canonical()));
        }
        if name.len() > NAME_BYTES || !name.split('.').all(is_label) {
            return Err(InvalidTarget::Name);
        }
        // The system's resolver reads `0x7f.1` and `2130706433` as 127.0.0.1.
        let last = name.rsplit('.').next().unwrap_or(name);
        let digits = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
        if last.bytes().all(|byte| byte.is_ascii_digit())
            || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        {
            return Err(InvalidTarget::Spelling);
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }
}

fn is_label(label: &str) -> bool {
    let fits = (1..=LABEL_BYTES).contains(&label.len());
    fits && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Result<Target, InvalidTarget> {
        Target::of(&text.parse().unwrap())
    }

    #[test]
    fn every_spelling_of_a_place_becomes_the_same() {
        for (text, shown) in [
            ("https://Hooks.Example.COM./a", "https://hooks.example.com:443"),
            ("http://a", "http://a:80"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
            ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]:80"),
            ("http://[::ffff:127.0.0.1]/", "http://127.0.0.1:80"),
            ("http://[::ffff:7f00:1]/", "http://127.0.0.1:80"),
            ("http://127.0.0.1./", "http://127.0.0.1:80"),
            ("http://a_b.svc/", "http://a_b.svc:80"),
        ] {
            assert_eq!(target(text).unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn a_url_that_could_mean_another_place_is_refused() {
        for (text, why) in [
            ("ftp://a/", InvalidTarget::Scheme),
            ("/a", InvalidTarget::Scheme),
            ("http://a@b/", InvalidTarget::Credentials),
            ("http://a:b@c/", InvalidTarget::Credentials),
            ("http://a:0/", InvalidTarget::Port),
            ("http://a:/", InvalidTarget::Port),
            ("http://[::1]b:80/", InvalidTarget::Port),
            ("http://[::1]80/", InvalidTarget::Port),
            ("http://2130706433/", InvalidTarget::Spelling),
            ("http://0x7f000001/", InvalidTarget::Spelling),
            ("http://0X7F.1/", InvalidTarget::Spelling),
            ("http://0177.0.0.1/", InvalidTarget::Spelling),
            ("http://127.1/", InvalidTarget::Spelling),
            ("http://127.0.0.01/", InvalidTarget::Spelling),
            ("http://a.0x/", InvalidTarget::Spelling),
            ("http://a..b/", InvalidTarget::Name),
            ("http://.a/", InvalidTarget::Name),
            ("http://*.a/", InvalidTarget::Name),
            ("http://a/%2e%2e%2fb", InvalidTarget::Path(InvalidPath::Hidden)),
        ] {
            assert_eq!(target(text), Err(why), "{text}");
        }
        for long in [format!("http://{}/", "a".repeat(64)), format!("http://{}b/", "a.".repeat(127))] {
            assert_eq!(target(&long), Err(InvalidTarget::Name));
        }
    }
}
