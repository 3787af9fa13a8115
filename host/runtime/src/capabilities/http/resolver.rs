//! Names to addresses.

use std::{
    io,
    net::{IpAddr, ToSocketAddrs},
    sync::Arc,
};

use futures::future::BoxFuture;

use super::traffic::InFlight;

/// Finds the addresses of a name. Asked once for each request: what it answers is what is judged and connected to,
/// so a name that means something else a moment later changes nothing (DNS rebinding).
pub trait Resolver: Send + Sync + 'static {
    /// Every address of the name. The ticket is to be kept for as long as the lookup occupies anything, even
    /// where nobody waits for it any more.
    ///
    /// # Errors
    /// What the system says, where there is no such name or nobody to ask.
    fn resolve(&self, name: String, ticket: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The request for which a name is looked up: one of those that the plugin may have at a time.
#[derive(Clone, Debug, Default)]
pub struct Ticket {
    _request: Option<Arc<InFlight>>,
}

/// What this machine's `getaddrinfo` says: `/etc/hosts` and the cluster's DNS, search domains included.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Ticket {
    pub(super) fn of(request: &Arc<InFlight>) -> Self {
        Self { _request: Some(Arc::clone(request)) }
    }
}

impl Resolver for SystemResolver {
    fn resolve(&self, name: String, ticket: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        // The system's lookup cannot be cancelled: it counts as a request until it returns.
        let lookup = tokio::task::spawn_blocking(move || {
            let found = (name.as_str(), 0).to_socket_addrs();
            drop(ticket);
            found.map(|addresses| addresses.map(|address| address.ip()).collect())
        });
        Box::pin(async move { lookup.await.map_err(io::Error::other)? })
    }
}
