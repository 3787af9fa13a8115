//! The proxy between this host and the API server.
//!
//! kube's own choice of a proxy compares `NO_PROXY` with the address of the proxy, knows no credentials for SOCKS, and shows the
//! client certificate to a proxy. The parts below it, those of `hyper-util`, do none of this.

use std::net::IpAddr;

use http::{HeaderValue, Uri, uri::Scheme};
use hyper_util::client::{
    legacy::connect::{
        HttpConnector,
        proxy::{SocksV5, Tunnel},
    },
    proxy::matcher::{Intercept, Matcher},
};
use kube::{Config, client::ConfigExt};
use tower::{BoxError, ServiceExt};

use super::sender::{Sender, sender};

/// A proxy, without a text that shows its credentials.
#[derive(Clone)]
pub(super) struct Proxy {
    uri: Uri,
    protocol: Protocol,
}

#[derive(Clone)]
enum Protocol {
    /// CONNECT, with this value of `Proxy-Authorization`.
    Http(Option<HeaderValue>),
    /// With this user and password.
    Socks(Option<(String, String)>),
}

/// The text names no proxy. It may hold a password, so the error does not repeat it.
#[derive(Debug, thiserror::Error)]
#[error(
    "{place} is not the URL of a proxy; write http://, https:// or socks5:// and a host, such as \
     http://proxy.example.com:3128, with credentials percent-encoded before an @"
)]
pub struct ProxyError {
    /// The origin of the text.
    place: &'static str,
}

/// A connection through the proxy failed. The text has all causes.
#[derive(Debug, thiserror::Error)]
#[error("the proxy {proxy} does not connect to the API server: {cause}")]
struct Failed {
    proxy: Uri,
    cause: String,
}

// === impl Proxy ===

impl Proxy {
    /// Returns the proxy to the server. `proxy-url` of a kubeconfig holds for every server. The variables `HTTPS_PROXY`,
    /// `HTTP_PROXY` and `NO_PROXY`, also in lower case, hold for servers on other machines.
    ///
    /// # Errors
    /// The text names no proxy.
    pub(super) fn choose(
        named: Option<&str>,
        server: &Uri,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, ProxyError> {
        if let Some(named) = named.filter(|named| !named.is_empty()) {
            let matcher = Matcher::builder().all(named).build();
            return Self::of(&matcher, server, "proxy-url in the kubeconfig").map(Some);
        }
        let either = |upper: &str| {
            let set = |name: &str| variable(name).filter(|value| !value.is_empty());
            set(upper).or_else(|| set(&upper.to_lowercase()))
        };
        let plain = server.scheme() == Some(&Scheme::HTTP);
        let place = if plain { "HTTP_PROXY" } else { "HTTPS_PROXY" };
        let Some(named) = either(place) else { return Ok(None) };
        let no = exceptions(&either("NO_PROXY").unwrap_or_default(), port(server));
        let direct = Matcher::builder().all("http://proxy").no(no).build().intercept(server).is_none();
        if direct || is_this_machine(server) {
            return Ok(None);
        }
        Self::of(&Matcher::builder().all(named).build(), server, place).map(Some)
    }

    fn of(matcher: &Matcher, server: &Uri, place: &'static str) -> Result<Self, ProxyError> {
        let Some(found) = matcher.intercept(server) else { return Err(ProxyError { place }) };
        let protocol = match found.uri().scheme_str() {
            Some("http" | "https") => Protocol::Http(found.basic_auth().cloned()),
            Some("socks5" | "socks5h") => Protocol::Socks(credentials(&found)),
            _ => return Err(ProxyError { place }),
        };
        Ok(Self { uri: found.uri().clone(), protocol })
    }

    /// Scheme, host and port.
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Makes a service that sends requests through the proxy. TLS with an https proxy trusts the same authorities as TLS with the
    /// API server, and shows no client certificate.
    ///
    /// # Errors
    /// The certificates cannot be used.
    pub(super) fn sender(&self, tcp: HttpConnector, config: &Config) -> Result<Sender, kube::Error> {
        match &self.protocol {
            Protocol::Socks(credentials) => {
                let mut socks = SocksV5::new(self.uri.clone(), tcp);
                if let Some((user, password)) = credentials {
                    socks = socks.with_auth(user.clone(), password.clone());
                }
                sender(socks.map_err(Failed::of(self.uri.clone())), config)
            }
            Protocol::Http(credentials) if self.uri.scheme() == Some(&Scheme::HTTPS) => {
                let mut trust = Config::new(self.uri.clone());
                trust.root_cert.clone_from(&config.root_cert);
                trust.root_cert_file.clone_from(&config.root_cert_file);
                let tls = trust.rustls_https_connector_with_connector(tcp)?;
                sender(
                    tunnel(&self.uri, tls, credentials.as_ref()).map_err(Failed::of(self.uri.clone())),
                    config,
                )
            }
            Protocol::Http(credentials) => sender(
                tunnel(&self.uri, tcp, credentials.as_ref()).map_err(Failed::of(self.uri.clone())),
                config,
            ),
        }
    }
}

// === impl Failed ===

impl Failed {
    fn of<E: Into<BoxError>>(proxy: Uri) -> impl Fn(E) -> BoxError + Clone + Send + Sync + 'static {
        move |error| {
            let error = error.into();
            let mut cause = error.to_string();
            for deeper in anyhow::Chain::new(&*error).skip(1) {
                cause = format!("{cause}: {deeper}");
            }
            BoxError::from(Self { proxy: proxy.clone(), cause })
        }
    }
}

fn tunnel<C>(proxy: &Uri, connector: C, credentials: Option<&HeaderValue>) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    match credentials {
        Some(credentials) => tunnel.with_auth(credentials.clone()),
        None => tunnel,
    }
}

fn credentials(found: &Intercept) -> Option<(String, String)> {
    found.raw_auth().map(|(user, password)| (user.to_owned(), password.to_owned()))
}

fn port(server: &Uri) -> u16 {
    let default = if server.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
    server.port_u16().unwrap_or(default)
}

/// The entries of `NO_PROXY` that hold for this port, without their port. `*.` before a name means the same as a dot.
fn exceptions(list: &str, port: u16) -> String {
    let entry = |entry: &str| {
        let (name, only) = match entry.rsplit_once(':') {
            // An IPv6 address without brackets has more colons, and no port.
            Some((name, only)) if !name.contains(':') || name.ends_with(']') => (name, only.parse().ok()),
            _ => (entry, None),
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let name = if name.starts_with("*.") { name.trim_start_matches('*') } else { name };
        only.is_none_or(|only: u16| only == port).then(|| name.to_owned())
    };
    list.split(',').map(str::trim).filter_map(entry).collect::<Vec<_>>().join(",")
}

/// The variables never lead to a proxy for `localhost` and loopback addresses, as with other clients.
fn is_this_machine(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(
        named: Option<&str>,
        server: &str,
        variables: &[(&str, &str)],
    ) -> Result<Option<String>, String> {
        let variable =
            |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        let proxy = Proxy::choose(named, &server.parse().unwrap(), variable);
        proxy.map(|proxy| proxy.map(|proxy| proxy.uri.to_string())).map_err(|error| error.to_string())
    }

    #[test]
    fn the_kubeconfig_comes_before_the_variables_and_each_scheme_has_its_own() {
        let both = [("HTTPS_PROXY", "http://s:1"), ("http_proxy", "http://p:2")];
        for (named, server, expected) in [
            (None, "https://api:6443", Some("http://s:1/")),
            (None, "http://api:6443", Some("http://p:2/")),
            (Some("socks5://k:3"), "https://api:6443", Some("socks5://k:3/")),
            (Some(""), "https://api", Some("http://s:1/")),
            (None, "https://127.0.0.1:6443", None),
            (None, "https://[::1]:6443", None),
            (None, "http://localhost", None),
            (Some("https://k"), "https://127.0.0.1", Some("https://k/")),
        ] {
            assert_eq!(chosen(named, server, &both), Ok(expected.map(str::to_owned)), "{named:?} {server}");
        }
        assert_eq!(chosen(None, "https://api", &[]), Ok(None));
        assert_eq!(chosen(None, "https://api", &[("HTTPS_PROXY", "")]), Ok(None));
    }

    #[test]
    fn no_proxy_has_names_suffixes_networks_and_ports() {
        for (list, server, direct) in [
            ("example.com", "https://example.com:6443", true),
            ("example.com", "https://api.example.com:6443", true),
            (".example.com", "https://api.example.com", true),
            ("*.example.com", "https://api.example.com", true),
            ("example.com", "https://notexample.com", false),
            ("example.com:6443", "https://example.com:6443", true),
            ("example.com:443", "https://example.com", true),
            ("example.com:443", "https://example.com:6443", false),
            ("a, 10.0.0.0/8 ,b", "https://10.1.2.3:6443", true),
            ("10.0.0.0/8", "https://11.1.2.3", false),
            ("10.1.2.3:6443", "https://10.1.2.3:6443", true),
            ("10.1.2.3:1", "https://10.1.2.3:6443", false),
            ("fd00::/8", "https://[fd00::1]:6443", true),
            ("[fd00::1]:6443", "https://[fd00::1]:6443", true),
            ("fd00::1", "https://[fd00::1]:6443", true),
            ("*", "https://anything", true),
            ("", "https://anything", false),
            (",,", "https://anything", false),
        ] {
            for name in ["NO_PROXY", "no_proxy"] {
                let chosen = chosen(None, server, &[("https_proxy", "proxy:3128"), (name, list)]).unwrap();
                assert_eq!(chosen.is_none(), direct, "{list} {server} {chosen:?}");
            }
        }
    }

    #[test]
    fn a_text_that_names_no_proxy_is_refused_without_its_password() {
        for text in ["ftp://me:secret@proxy", "socks4://me:secret@proxy", "http://me:secret@", "://secret"] {
            let refused = chosen(Some(text), "https://api", &[]).unwrap_err();
            assert!(
                refused.starts_with("proxy-url in the kubeconfig is not the URL of a proxy"),
                "{refused}"
            );
            assert!(!refused.contains("secret"), "{refused}");
        }
        let refused = chosen(None, "https://api", &[("HTTPS_PROXY", "ftp://me:secret@p")]).unwrap_err();
        assert!(refused.starts_with("HTTPS_PROXY is not") && !refused.contains("secret"), "{refused}");
        let shown = chosen(Some("http://me:secret@proxy:1"), "https://api", &[]).unwrap();
        assert_eq!(shown.as_deref(), Some("http://proxy:1/"));
    }
}
