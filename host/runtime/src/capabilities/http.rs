//! `wasi:http` (0.2), outgoing: requests to the places granted by `http` under `[plugin.grant]`.
//!
//! The host promises, whatever the guest sends and whatever a name resolves to:
//!
//! 1. Scheme, host, port, path and method are those of a grant ([`HttpGrant`]). The path is normalised as in RFC 3986
//!    before it is checked, and the normalised path is sent. A path that servers read differently is refused.
//! 2. A name is resolved once, every address of it is checked, and the connection goes to one of these addresses. No request
//!    reaches a link-local, metadata or multicast address, the API server, or a network of `http-deny`. The loopback of this
//!    machine is reached only if the grant names the address itself. Private ranges are open to granted names: the services
//!    of a cluster are there. An IPv4 address inside an IPv6 address is checked as an IPv4 address.
//! 3. A redirect is an answer: the guest may follow it by a request of its own, which is checked again. Proxies of the
//!    environment are not used. `Host` is the granted host; credentials in the URL are refused.
//! 4. A request, and the body of its answer, ends at the deadline of its call. Limited are: the bodies in each direction, the
//!    number of requests that a plugin has in flight, and the parts of a request before it is sent: 16 KiB of headers,
//!    16 KiB of path and query, 512 bytes of authority, 32 bytes of method.
//! 5. A request that is refused or fails is logged for the plugin, without path, query and headers, and counted.
//!
//! The protocol is HTTP/1.1; each request has a connection of its own.

mod address;
mod body;
mod client;
mod denied;
mod egress;
mod exchange;
mod grant;
mod path;
mod problem;
mod request;
mod resolver;
mod target;
mod traffic;

use wasmtime::component::Linker;
use wasmtime_wasi_http::{WasiHttp, WasiHttpView, p2::bindings as wasi_http};

pub use client::{HttpClient, HttpConfig, HttpConfigError, Protected};
pub(crate) use egress::Egress;
pub use grant::{HttpGrant, InvalidHttpGrant};
pub use resolver::{Resolver, SystemResolver, Ticket};
pub(crate) use traffic::Traffic;
pub use traffic::{HttpOutcome, HttpStats};

use super::interface::{Grant, Interface, Version};
use crate::{Grants, guest::Guest};

/// [`Guest::http`] calls [`Guest::called`].
pub(super) const INTERFACES: &[Interface] = &[
    outgoing("wasi:http/types", |linker| {
        let options = wasi_http::LinkOptions::default();
        wasi_http::http::types::add_to_linker::<_, WasiHttp>(linker, &options.into(), Guest::http)?;
        request::limit(linker)
    }),
    outgoing("wasi:http/outgoing-handler", |linker| {
        wasi_http::http::outgoing_handler::add_to_linker::<_, WasiHttp>(linker, Guest::http)
    }),
];

const fn outgoing(name: &'static str, link: fn(&mut Linker<Guest>) -> wasmtime::Result<()>) -> Interface {
    let grant = Grant {
        example: "http = [\"https://hooks.example.com/services/\"]",
        is_given: |grants: &Grants| grants.http.is_some(),
    };
    Interface { name, version: Version::PatchesOf("0.2"), grant: Some(grant), link }
}
