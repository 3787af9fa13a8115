//! The state that the requests of all plugins share: the resolver, the trusted authorities, and the protected places.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use ipnet::{IpNet, Ipv4Net};
use tokio::{io::DuplexStream, sync::Mutex};
use tokio_rustls::rustls::{
    self, ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::{
    address::{Reach, forms, reach},
    grant::HttpGrant,
    machine::{Interfaces, Machine, SystemInterfaces},
    problem::{Denied, Problem},
    protected::{Destination, Directory, Places, Protected},
    resolver::{Resolver, SystemResolver, Ticket},
    target::{Host, Target},
};

/// The bits of an IPv6 address before the IPv4 address inside it (`::ffff:0:0/96`).
const MAPPED_BITS: u8 = 96;

/// The settings of outgoing HTTP, which the composition root provides.
pub struct HttpConfig {
    /// Resolves names.
    pub resolver: Arc<dyn Resolver>,
    /// Lists the addresses of this machine.
    pub interfaces: Arc<dyn Interfaces>,
    /// Places that no plugin reaches, whatever name resolves to them: the API server, which plugins reach by `client`
    /// and their grants only, and the host's own endpoint.
    pub protected: Vec<Protected>,
    /// Lists further addresses of the API server. `None` means that there is no such list.
    pub api_server: Option<Arc<dyn Directory>>,
    /// Networks that no plugin reaches. A network of IPv4 addresses may have the IPv6 form `::ffff:10.0.0.0/104`.
    pub deny: Vec<IpNet>,
    /// Certificates of authorities trusted in addition to the system's, as PEM.
    pub extra_authorities: Vec<u8>,
    /// Answers granted requests in place of the network; `None` means the network.
    pub wire: Option<Arc<dyn Wire>>,
    /// Decides before each request whether it is sent; `None` means that it is.
    pub fence: Option<Arc<dyn Fence>>,
}

/// Holds the requests of all plugins back.
pub trait Fence: Send + Sync + 'static {
    /// Returns why no request may be sent now, or `None` if requests may be sent. Must not block.
    fn closed(&self) -> Option<&'static str>;
}

/// Answers requests in place of the network: no name is resolved, and nothing is encrypted.
pub trait Wire: Send + Sync + 'static {
    /// Opens a connection for one request in HTTP/1.1 to an origin such as `https://example.com:443`. Must not block.
    fn open(&self, origin: &str) -> DuplexStream;
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
    interfaces: Arc<dyn Interfaces>,
    protected: Places,
    deny: Vec<IpNet>,
    extra_authorities: Vec<CertificateDer<'static>>,
    tls: OnceLock<Arc<ClientConfig>>,
    /// Locked while the authorities are read, so that one reading runs at a time. If a request is dropped, its reading keeps the lock.
    reading: Arc<Mutex<()>>,
    wire: Option<Arc<dyn Wire>>,
    fence: Option<Arc<dyn Fence>>,
}

// === impl HttpConfig ===

impl Default for HttpConfig {
    /// The system's resolver, interfaces and authorities, and no protected place.
    fn default() -> Self {
        Self {
            resolver: Arc::new(SystemResolver),
            interfaces: Arc::new(SystemInterfaces),
            protected: Vec::new(),
            api_server: None,
            deny: Vec::new(),
            extra_authorities: Vec::new(),
            wire: None,
            fence: None,
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
        let directory = config.api_server.map(|directory| ("the API server", directory));
        let places = Places::new(config.protected, directory)
            .map_err(|Protected { what, host, .. }| HttpConfigError::Protected { what, host })?;
        Ok(Self(Arc::new(Shared {
            resolver: config.resolver,
            interfaces: config.interfaces,
            protected: places,
            deny: config.deny.into_iter().map(canonical).collect(),
            extra_authorities: authorities(&config.extra_authorities)?,
            tls: OnceLock::new(),
            reading: Arc::default(),
            wire: config.wire,
            fence: config.fence,
        })))
    }

    /// Closes a port of this machine to all plugins, on each address of the machine. `what` names the server
    /// there, with its article: "the host's admin endpoint". Requests that are already connected go on.
    pub fn close_port(&self, what: &'static str, port: u16) {
        self.0.protected.close_port(what, port);
    }

    /// Why no request may be sent now; `None` if requests may be sent.
    pub(super) fn closed(&self) -> Option<&'static str> {
        self.0.fence.as_ref()?.closed()
    }

    /// The wire that answers in place of the network.
    pub(super) fn wire(&self) -> Option<&dyn Wire> {
        self.0.wire.as_deref()
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
        let machine = Machine::now(&*self.0.interfaces).map_err(|_| Denied::UnknownMachine)?;
        for address in &addresses {
            let to = Destination { address: *address, port: target.port, machine: &machine };
            self.check(to, grant, &ticket).await?;
        }
        Ok(addresses.iter().map(|address| SocketAddr::new(address.to_canonical(), target.port)).collect())
    }

    async fn check(&self, to: Destination<'_>, grant: &HttpGrant, ticket: &Ticket) -> Result<(), Denied> {
        let address = to.address;
        if let Reach::Never(why) = reach(address) {
            return Err(Denied::Address { address, why });
        }
        if to.machine.has(address) && !grant.names(address.to_canonical()) {
            return Err(Denied::Address { address, why: "it is this machine" });
        }
        if forms(address).any(|form| self.0.deny.iter().any(|network| network.contains(&form))) {
            return Err(Denied::Network { address });
        }
        self.0.protected.refuse(to, &*self.0.resolver, ticket).await
    }

    /// The TLS settings. The first request that needs them reads the authorities of this machine. If this request is dropped, the
    /// reading goes on, other requests wait for it, and its result is kept. The ticket counts the reading as a request of the plugin
    /// until the reading ends.
    pub(super) async fn tls(&self, ticket: Ticket) -> io::Result<Arc<ClientConfig>> {
        if let Some(tls) = self.0.tls.get() {
            return Ok(Arc::clone(tls));
        }
        let one_at_a_time = Arc::clone(&self.0.reading).lock_owned().await;
        let shared = Arc::clone(&self.0);
        let reading = tokio::task::spawn_blocking(move || {
            let _until_read = (ticket, one_at_a_time);
            shared.read_tls()
        });
        reading.await.map_err(io::Error::other)?
    }
}

// === impl Shared ===

impl Shared {
    /// Reads the TLS settings unless they are known. Blocks.
    fn read_tls(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(tls) = self.tls.get() {
            return Ok(Arc::clone(tls));
        }
        let read = tls_config(&self.extra_authorities)?;
        Ok(Arc::clone(self.tls.get_or_init(|| read)))
    }
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient").field("deny", &self.0.deny).finish_non_exhaustive()
    }
}

/// Turns a network of IPv4 addresses in IPv6 form into a network of IPv4 addresses. Destinations in IPv6 form are checked as IPv4
/// addresses, too.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(mapped) = network else { return network };
    let bits = mapped.prefix_len().checked_sub(MAPPED_BITS);
    let inner = mapped.addr().to_ipv4_mapped().zip(bits);
    inner.and_then(|(address, bits)| Ipv4Net::new(address, bits).ok()).map_or(network, IpNet::V4)
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
mod tests;
