//! Resolves the names of requests and of protected places.

use std::{
    io,
    net::{IpAddr, ToSocketAddrs},
    sync::Arc,
};

use futures::future::BoxFuture;

use super::traffic::InFlight;

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
