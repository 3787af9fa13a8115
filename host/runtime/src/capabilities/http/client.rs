//! What the requests of all plugins share: the resolver, the trusted authorities, and the protected places.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use ipnet::IpNet;
use tokio::sync::{Mutex, OnceCell};
use tokio_rustls::rustls::{
    self, ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::{
    address::{Reach, forms, reach},
    grant::HttpGrant,
    problem::{Denied, Problem},
    target::{Host, Target},
    traffic::InFlight,
};

/// How long the addresses of a protected name are used before the next lookup.
const PROTECTED_FOR: Duration = Duration::from_secs(30);

/// The pause after a failed lookup of a protected name.
const FAILED_FOR: Duration = Duration::from_secs(2);

/// The most addresses remembered of a protected name, whose answers may rotate.
const PROTECTED_ADDRESSES: usize = 64;

/// Resolves names. It is called once per request: the addresses that it returns are checked and connected to, so a name
/// that resolves to another address a moment later changes nothing (DNS rebinding).
pub trait Resolver: Send + Sync + 'static {
    /// Every address of the name. Keep the ticket for as long as the lookup uses resources, even if the future was dropped.
    ///
    /// # Errors
    /// The system's error if the name does not exist or no server answers.
    fn resolve(&self, name: String, ticket: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// Keeps the request in flight for which a name is looked up: a plugin may have a limited number of them.
#[derive(Clone, Debug, Default)]
pub struct Ticket {
    _request: Option<Arc<InFlight>>,
}

/// The resolver of this machine (`getaddrinfo`): `/etc/hosts` and the cluster's DNS, with search domains.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

/// The settings of outgoing HTTP, which the composition root provides.
pub struct HttpConfig {
    /// Resolves names.
    pub resolver: Arc<dyn Resolver>,
    /// Places that no plugin reaches, whatever name resolves to them: the API server, which plugins reach by `client`
    /// and their grants only, and the host's own endpoint.
    pub protected: Vec<Protected>,
    /// Networks that no plugin reaches.
    pub deny: Vec<IpNet>,
    /// Certificates of authorities trusted in addition to the system's, as PEM.
    pub extra_authorities: Vec<u8>,
}

/// A place that no plugin may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// The place, with its article: "the API server".
    pub what: &'static str,
    /// A name or an address, as in a URL.
    pub host: String,
    /// The port. On the loopback of this machine only this port is protected, elsewhere the whole address.
    pub port: u16,
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HttpConfigError {
    /// The host of a protected place is neither a name nor an address.
    #[error("{what} at {host:?} cannot be protected: this is neither a name nor an address")]
    Protected {
        /// [`Protected::what`].
        what: &'static str,
        /// [`Protected::host`].
        host: String,
    },
    /// The text holds no certificate, or an invalid one.
    #[error("the extra certificate authorities cannot be read: {0}")]
    Authorities(String),
}

/// Makes the requests of all plugins. Cheap to clone.
///
/// Proxies are not used: a proxy would resolve the name again and connect to an address that was never checked.
#[derive(Clone)]
pub struct HttpClient(Arc<Shared>);

struct Shared {
    resolver: Arc<dyn Resolver>,
    protected: Vec<Place>,
    deny: Vec<IpNet>,
    extra_authorities: Vec<CertificateDer<'static>>,
    tls: OnceCell<Arc<ClientConfig>>,
}

struct Place {
    what: &'static str,
    host: Host,
    port: u16,
    /// Locked during a lookup, so that there is one at a time.
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    addresses: BTreeSet<IpAddr>,
    until: Option<Instant>,
}

// === impl Ticket ===

impl Ticket {
    pub(super) fn of(request: &Arc<InFlight>) -> Self {
        Self { _request: Some(Arc::clone(request)) }
    }
}

// === impl SystemResolver ===

impl Resolver for SystemResolver {
    fn resolve(&self, name: String, ticket: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        // A lookup of the system cannot be cancelled, so it counts as a request until it returns.
        let lookup = tokio::task::spawn_blocking(move || {
            let found = (name.as_str(), 0).to_socket_addrs();
            drop(ticket);
            found.map(|addresses| addresses.map(|address| address.ip()).collect())
        });
        Box::pin(async move { lookup.await.map_err(io::Error::other)? })
    }
}

// === impl HttpConfig ===

impl Default for HttpConfig {
    /// The system's resolver and authorities, and no protected place.
    fn default() -> Self {
        Self {
            resolver: Arc::new(SystemResolver),
            protected: Vec::new(),
            deny: Vec::new(),
            extra_authorities: Vec::new(),
        }
    }
}

// === impl HttpClient ===

impl HttpClient {
    /// Opens no connection and resolves no name.
    ///
    /// # Errors
    /// [`HttpConfigError`] if a place cannot be protected or an authority cannot be read.
    pub fn new(config: HttpConfig) -> Result<Self, HttpConfigError> {
        let place = |Protected { what, host, port }| {
            let bracketed = host.contains(':') && !host.starts_with('[');
            let text = if bracketed { format!("[{host}]") } else { host.clone() };
            let host = Host::parse(&text).map_err(|_| HttpConfigError::Protected { what, host })?;
            Ok(Place { what, host, port, known: Mutex::default() })
        };
        let protected: Result<_, _> = config.protected.into_iter().map(place).collect();
        Ok(Self(Arc::new(Shared {
            resolver: config.resolver,
            protected: protected?,
            deny: config.deny,
            extra_authorities: authorities(&config.extra_authorities)?,
            tls: OnceCell::new(),
        })))
    }

    /// Resolves the host of a granted request once and checks every address. A single address that may not be reached
    /// refuses the request: the name is not trusted with its other addresses either.
    pub(super) async fn addresses(
        &self,
        target: &Target,
        grant: &HttpGrant,
        ticket: Ticket,
    ) -> Result<Vec<SocketAddr>, Problem> {
        let addresses = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let found = self.0.resolver.resolve(name.clone(), ticket.clone()).await;
                found.map_err(|error| Problem::unresolved(&error))?
            }
        };
        if addresses.is_empty() {
            let none = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
            return Err(Problem::unresolved(&none));
        }
        for address in &addresses {
            self.check(*address, target.port, grant, &ticket).await?;
        }
        Ok(addresses.iter().map(|address| SocketAddr::new(address.to_canonical(), target.port)).collect())
    }

    async fn check(
        &self,
        address: IpAddr,
        port: u16,
        grant: &HttpGrant,
        ticket: &Ticket,
    ) -> Result<(), Denied> {
        match reach(address) {
            Reach::Never(why) => return Err(Denied::Address { address, why }),
            Reach::Loopback if !grant.names(address.to_canonical()) => {
                return Err(Denied::Address { address, why: "it is this machine" });
            }
            Reach::Open | Reach::Loopback => {}
        }
        for form in forms(address) {
            if self.0.deny.iter().any(|network| network.contains(&form)) {
                return Err(Denied::Network { address });
            }
            for place in &self.0.protected {
                if place.is(form, port, &*self.0.resolver, ticket).await? {
                    return Err(Denied::Protected { address, what: place.what });
                }
            }
        }
        Ok(())
    }

    /// The TLS settings. The system's authorities are read at the first request that needs them.
    pub(super) async fn tls(&self) -> io::Result<Arc<ClientConfig>> {
        let shared = Arc::clone(&self.0);
        let load = || async move {
            let loading = tokio::task::spawn_blocking(move || tls_config(&shared.extra_authorities));
            loading.await.map_err(io::Error::other)?
        };
        self.0.tls.get_or_try_init(load).await.cloned()
    }
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient").field("deny", &self.0.deny).finish_non_exhaustive()
    }
}

// === impl Place ===

impl Place {
    async fn is(
        &self,
        address: IpAddr,
        port: u16,
        resolver: &dyn Resolver,
        ticket: &Ticket,
    ) -> Result<bool, Denied> {
        if reach(address) == Reach::Loopback && port != self.port {
            return Ok(false);
        }
        match &self.host {
            Host::Address(own) => Ok(*own == address),
            Host::Name(name) => self.is_named(name, address, resolver, ticket).await,
        }
    }

    /// Returns true if the name has the address. If a lookup fails, the known addresses stay. If none is known, every
    /// request is denied, because no address can be ruled out. The lookup counts as a request of the plugin until it
    /// returns, even if the request was dropped meanwhile.
    async fn is_named(
        &self,
        name: &str,
        address: IpAddr,
        resolver: &dyn Resolver,
        ticket: &Ticket,
    ) -> Result<bool, Denied> {
        let mut known = self.known.lock().await;
        if known.until.is_none_or(|until| Instant::now() >= until) {
            let found = resolver.resolve(name.to_owned(), ticket.clone()).await;
            known.learn(&found.unwrap_or_default());
        }
        if known.addresses.is_empty() {
            return Err(Denied::Unprotected(self.what));
        }
        Ok(known.addresses.contains(&address))
    }
}

// === impl Known ===

impl Known {
    /// Adds the result of a lookup, which is empty if the lookup failed.
    fn learn(&mut self, found: &[IpAddr]) {
        if found.is_empty() {
            self.until = Some(Instant::now() + FAILED_FOR);
            return;
        }
        if self.addresses.len() + found.len() > PROTECTED_ADDRESSES {
            self.addresses.clear();
        }
        self.addresses.extend(found.iter().flat_map(|address| forms(*address)));
        self.until = Some(Instant::now() + PROTECTED_FOR);
    }
}

fn authorities(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, HttpConfigError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| HttpConfigError::Authorities(error.to_string()))?;
    if read.is_empty() && !pem.is_empty() {
        return Err(HttpConfigError::Authorities("the text holds no certificate".to_owned()));
    }
    Ok(read)
}

fn tls_config(extra: &[CertificateDer<'static>]) -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::warn!(%error, "a certificate authority of this machine cannot be read");
    }
    roots.add_parsable_certificates(system.certs);
    for authority in extra {
        roots.add(authority.clone()).map_err(io::Error::other)?;
    }
    if roots.is_empty() {
        return Err(io::Error::other("this machine has no certificate authorities"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::ready;

    use super::{super::traffic::Traffic, *};

    /// Resolves to public addresses at first and to this machine from then on.
    #[derive(Default)]
    struct Rebinding(AtomicUsize);

    impl Resolver for Rebinding {
        fn resolve(&self, _: String, _: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            let answers = [["198.51.100.7", "2001:db8::7"], ["127.0.0.1", "::1"]];
            let lookups = self.0.fetch_add(1, Ordering::Relaxed);
            let answer = answers[lookups.min(1)].iter().map(|text| text.parse().unwrap()).collect();
            Box::pin(ready(Ok(answer)))
        }
    }

    #[tokio::test]
    async fn the_connection_goes_to_an_address_that_was_checked() {
        let client =
            HttpClient::new(HttpConfig { resolver: Arc::new(Rebinding::default()), ..HttpConfig::default() })
                .unwrap();
        let grant: HttpGrant = "http://a.example.com:8080/".parse().unwrap();
        let target = Target::of(&"http://a.example.com:8080/".parse().unwrap()).unwrap();

        let first = client.addresses(&target, &grant, Ticket::default()).await;
        let second = client.addresses(&target, &grant, Ticket::default()).await;

        let checked: Vec<SocketAddr> =
            ["198.51.100.7:8080", "[2001:db8::7]:8080"].iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(first.ok(), Some(checked));
        let denied = second.unwrap_err().to_string();
        assert_eq!(denied, "no plugin may reach 127.0.0.1, the address of the name: it is this machine");
    }

    /// Resolves no name and keeps the ticket of each lookup.
    #[derive(Default)]
    struct Ignorant(parking_lot::Mutex<Vec<Ticket>>);

    impl Resolver for Ignorant {
        fn resolve(&self, _: String, ticket: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            self.0.lock().push(ticket);
            Box::pin(ready(Err(io::Error::other("no such name"))))
        }
    }

    #[tokio::test]
    async fn a_protected_name_without_addresses_denies_every_request_and_is_not_looked_up_each_time() {
        let resolver = Arc::new(Ignorant::default());
        let protected =
            vec![Protected { what: "the API server", host: "api.example.com".to_owned(), port: 443 }];
        let config = HttpConfig { protected, resolver: Arc::clone(&resolver) as _, ..HttpConfig::default() };
        let client = HttpClient::new(config).unwrap();
        let grant: HttpGrant = "http://198.51.100.7/".parse().unwrap();
        let target = Target::of(&"http://198.51.100.7/".parse().unwrap()).unwrap();
        let request = Arc::new(Arc::<Traffic>::default().begin(1).unwrap());

        for _ in 0..3 {
            let denied = client.addresses(&target, &grant, Ticket::of(&request)).await.unwrap_err();
            assert_eq!(denied.to_string(), Denied::Unprotected("the API server").to_string());
        }

        assert_eq!(resolver.0.lock().len(), 1);
        assert_eq!(Arc::strong_count(&request), 2, "the lookup counts as a request of the plugin");
    }

    #[test]
    fn a_place_that_cannot_be_protected_and_an_unreadable_authority_are_errors() {
        let protected = vec![Protected { what: "the API server", host: "a b".to_owned(), port: 1 }];
        let unprotected = HttpClient::new(HttpConfig { protected, ..HttpConfig::default() }).unwrap_err();
        let extra_authorities = b"no certificate".to_vec();
        let untrusted =
            HttpClient::new(HttpConfig { extra_authorities, ..HttpConfig::default() }).unwrap_err();

        assert_eq!(
            unprotected.to_string(),
            "the API server at \"a b\" cannot be protected: this is neither a name nor an address"
        );
        assert!(untrusted.to_string().contains("the text holds no certificate"), "{untrusted}");
    }
}
