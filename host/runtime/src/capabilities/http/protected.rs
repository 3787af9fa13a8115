//! The places that no plugin reaches: the API server and the host's own endpoints.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use parking_lot::RwLock;
use tokio::sync::Mutex;

use super::{
    address::{Reach, forms, reach},
    machine::Machine,
    problem::Denied,
    resolver::{Resolver, Ticket},
    target::Host,
};

/// How long the addresses of a protected place are used before the next lookup.
const KNOWN_FOR: Duration = Duration::from_secs(30);

/// The pause after a failed lookup.
const FAILED_FOR: Duration = Duration::from_secs(2);

/// The longest lookup of a [`Directory`].
const LISTED_WITHIN: Duration = Duration::from_secs(2);

/// The age up to which a request continues the lookup that a dropped request began. Between the two requests the lookup makes no
/// progress, so an older lookup may have too little of [`LISTED_WITHIN`] left, and fail.
const USED_WITHIN: Duration = Duration::from_millis(100);

/// The most addresses remembered of a protected place, whose answers may rotate.
const ADDRESSES: usize = 64;

/// A place that no plugin may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// The place, with its article: "the API server".
    pub what: &'static str,
    /// A name or an address, as in a URL.
    pub host: String,
    /// The port. If the place is on this machine, the port is protected on every address of this machine. On loopback other
    /// ports are open; elsewhere the whole address is protected.
    pub port: u16,
}

/// Lists places that no key of the configuration names, such as the endpoints of the API server.
pub trait Directory: Send + Sync + 'static {
    /// The places known now. It may make requests. If it takes longer than two seconds, it has failed.
    ///
    /// # Errors
    /// Any error. The places of the last answer stay protected, and requests to other addresses are made all the same.
    fn places(&self) -> BoxFuture<'_, io::Result<Vec<SocketAddr>>>;
}

/// All places that no plugin reaches.
pub(super) struct Places {
    configured: Vec<Place>,
    listed: Option<Listed>,
    /// The ports of this machine that are closed on each of its addresses, and the names of the servers there.
    closed: RwLock<BTreeMap<u16, &'static str>>,
}

struct Place {
    what: &'static str,
    host: Host,
    port: u16,
    /// Locked during a lookup, so that there is one at a time.
    known: Mutex<Known<IpAddr>>,
}

struct Listed {
    what: &'static str,
    directory: Arc<dyn Directory>,
    /// Locked during a lookup, so that there is one at a time.
    listing: Mutex<Listing>,
}

/// The time at which a lookup of a [`Directory`] began, and the future that ends it.
type Lookup = (Instant, BoxFuture<'static, io::Result<Vec<SocketAddr>>>);

#[derive(Default)]
struct Listing {
    known: Known<SocketAddr>,
    /// The lookup that has not ended. A dropped request leaves its lookup to the next request, so that a guest that drops its requests
    /// does not begin a lookup with each request.
    lookup: Option<Lookup>,
}

struct Known<T> {
    found: BTreeSet<T>,
    until: Option<Instant>,
}

/// The destination of a request.
#[derive(Clone, Copy)]
pub(super) struct Destination<'a> {
    pub(super) address: IpAddr,
    pub(super) port: u16,
    pub(super) machine: &'a Machine,
}

// === impl Places ===

impl Places {
    /// # Errors
    /// The first place whose host is neither a name nor an address.
    pub(super) fn new(
        protected: Vec<Protected>,
        directory: Option<(&'static str, Arc<dyn Directory>)>,
    ) -> Result<Self, Protected> {
        let place = |place: Protected| {
            let bracketed = place.host.contains(':') && !place.host.starts_with('[');
            let text = if bracketed { format!("[{}]", place.host) } else { place.host.clone() };
            let Ok(host) = Host::parse(&text) else { return Err(place) };
            Ok(Place { what: place.what, host, port: place.port, known: Mutex::default() })
        };
        let configured: Result<_, Protected> = protected.into_iter().map(place).collect();
        let listed = directory.map(|(what, directory)| Listed { what, directory, listing: Mutex::default() });
        Ok(Self { configured: configured?, listed, closed: RwLock::default() })
    }

    /// Closes a port of this machine.
    pub(super) fn close_port(&self, what: &'static str, port: u16) {
        self.closed.write().insert(port, what);
    }

    /// Refuses a destination that is one of the places. The ticket counts a lookup as a request of the plugin until it returns.
    pub(super) async fn refuse(
        &self,
        to: Destination<'_>,
        resolver: &dyn Resolver,
        ticket: &Ticket,
    ) -> Result<(), Denied> {
        let address = to.address;
        let closed = self.closed.read().get(&to.port).copied();
        if let Some(what) = closed.filter(|_| to.is_at(&[Ipv4Addr::LOCALHOST.into()], to.port)) {
            return Err(Denied::Protected { address, what });
        }
        for place in &self.configured {
            // No lookup can make this a match: on loopback only the port of a place is protected.
            if reach(address.to_canonical()) == Reach::Loopback && to.port != place.port {
                continue;
            }
            if to.is_at(&place.addresses(resolver, ticket).await?, place.port) {
                return Err(Denied::Protected { address, what: place.what });
            }
        }
        let Some(listed) = &self.listed else { return Ok(()) };
        if listed.places().await.iter().any(|place| to.is_at(&[place.ip()], place.port())) {
            return Err(Denied::Protected { address, what: listed.what });
        }
        Ok(())
    }
}

// === impl Destination ===

impl Destination<'_> {
    /// Returns true if this is a place with these addresses and this port. [`Protected::port`] states the rule.
    fn is_at(self, addresses: &[IpAddr], port: u16) -> bool {
        forms(self.address).any(|form| {
            let shared = self.port == port && self.machine.has(form);
            addresses.iter().any(|address| {
                (*address == form && reach(form) != Reach::Loopback) || (shared && self.machine.has(*address))
            })
        })
    }
}

// === impl Place ===

impl Place {
    /// The addresses of the place. If a lookup fails, the known addresses stay.
    ///
    /// # Errors
    /// [`Denied::Unprotected`] if no address is known: no destination can be ruled out then.
    async fn addresses(&self, resolver: &dyn Resolver, ticket: &Ticket) -> Result<Vec<IpAddr>, Denied> {
        let name = match &self.host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name,
        };
        let mut known = self.known.lock().await;
        if known.is_due() {
            let found = resolver.resolve(name.clone(), ticket.clone()).await.unwrap_or_default();
            let outcome = if found.is_empty() { None } else { Some(found) };
            known.learn(outcome.map(|found| found.into_iter().flat_map(forms).collect()));
        }
        if known.found.is_empty() {
            return Err(Denied::Unprotected(self.what));
        }
        Ok(known.found.iter().copied().collect())
    }
}

// === impl Listed ===

impl Listed {
    async fn places(&self) -> Vec<SocketAddr> {
        let mut listing = self.listing.lock().await;
        let Listing { known, lookup } = &mut *listing;
        if known.is_due() {
            let found = self.look_up(lookup).await;
            if let Err(error) = &found {
                tracing::debug!(%error, place = self.what, "addresses that no plugin may reach cannot be listed");
            }
            let canonical = |place: SocketAddr| SocketAddr::new(place.ip().to_canonical(), place.port());
            known.learn(found.ok().map(|found| found.into_iter().map(canonical).collect()));
        }
        known.found.iter().copied().collect()
    }

    /// Continues the lookup that a dropped request began. Begins a new lookup if there is none, or if the lookup is old.
    async fn look_up(&self, lookup: &mut Option<Lookup>) -> io::Result<Vec<SocketAddr>> {
        drop(lookup.take_if(|(begun, _)| begun.elapsed() >= USED_WITHIN));
        let (_, places) = lookup.get_or_insert_with(|| (Instant::now(), self.begin()));
        let found = places.as_mut().await;
        *lookup = None;
        found
    }

    fn begin(&self) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let directory = Arc::clone(&self.directory);
        Box::pin(async move {
            let listed = tokio::time::timeout(LISTED_WITHIN, directory.places()).await;
            listed.unwrap_or_else(|late| Err(late.into()))
        })
    }
}

// === impl Known ===

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { found: BTreeSet::new(), until: None }
    }
}

impl<T: Ord> Known<T> {
    fn is_due(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    /// Adds the result of a lookup; `None` if it failed.
    fn learn(&mut self, found: Option<Vec<T>>) {
        let known_for = if found.is_some() { KNOWN_FOR } else { FAILED_FOR };
        let found: BTreeSet<T> = found.into_iter().flatten().collect();
        if self.found.len() + found.difference(&self.found).count() > ADDRESSES {
            self.found.clear();
        }
        self.found.extend(found);
        self.until = Some(Instant::now() + known_for);
    }
}

#[cfg(test)]
mod tests {
    use futures::future::ready;

    use super::*;

    /// Lists one place.
    struct One(SocketAddr);

    impl Directory for One {
        fn places(&self) -> BoxFuture<'_, io::Result<Vec<SocketAddr>>> {
            Box::pin(ready(Ok(vec![self.0])))
        }
    }

    /// No request drove the lookup for a while, so its time has passed.
    #[tokio::test]
    async fn an_old_lookup_of_a_dropped_request_is_not_used() {
        let place: SocketAddr = "198.51.100.7:80".parse().unwrap();
        let late: BoxFuture<'static, io::Result<Vec<SocketAddr>>> =
            Box::pin(ready(Err(io::Error::other("the time has passed"))));
        let begun = Instant::now().checked_sub(USED_WITHIN).unwrap();
        let listing = Listing { known: Known::default(), lookup: Some((begun, late)) };
        let directory = Arc::new(One(place));
        let listed = Listed { what: "the API server", directory, listing: Mutex::new(listing) };

        assert_eq!(listed.places().await, [place]);
    }

    #[test]
    fn an_answer_without_new_addresses_forgets_none_of_the_known_ones() {
        let mut known = Known::default();
        known.learn(Some((0..60).collect()));

        known.learn(Some((0..8).collect()));
        known.learn(Some(vec![60; 8]));
        assert_eq!(known.found.len(), 61, "an address counts once");

        known.learn(Some((61..71).collect()));
        assert_eq!(known.found.len(), 10, "they would be more than the host remembers");
    }
}
