//! `wasi:http` (0.2), outgoing: requests to the places granted by `http` under `[plugin.grant]`.
//!
//! The host promises, whatever the guest sends and whatever a name resolves to:
//!
//! 1. Scheme, host, port, path and method are those of a grant ([`HttpGrant`]). The path is normalised as in RFC 3986
//!    before it is checked, and the normalised path is sent. A path that servers read differently is refused.
//! 2. A name is resolved once, every address of it is checked, and the connection goes to one of these addresses. No request
//!    reaches a link-local, metadata or multicast address, the API server, or a network of `http-deny`. An address of this
//!    machine, on loopback or on another interface, is reached only if the grant names the address itself; the interfaces are
//!    listed for each request. Private ranges are open to granted names, because cluster services have such addresses. An
//!    IPv4 address inside an IPv6 address is checked as an IPv4 address. The API server is known by the address that the host
//!    uses, by the environment of a Pod, and by what the API server lists of itself; `http-deny` is for what no list names,
//!    such as a load balancer in front of it.
//! 3. A redirect is an answer: the guest may follow it by a request of its own, which is checked again. Proxies of the
//!    environment are not used. `Host` is the granted host; credentials in the URL are refused.
//! 4. A request, and the body of its answer, ends at the deadline of its call. After a grant was revoked, no request is sent once the
//!    deadline for calls in flight has passed. There are limits on the bodies in each direction, on the number of requests that a
//!    plugin has in flight, and on the parts of a request before it is sent: 16 KiB of headers, 16 KiB of path and query, 512 bytes of
//!    authority, 32 bytes of method.
//! 5. A request that is refused or fails is logged for the plugin, without path, query and headers, and counted.
//!
//! The protocol is HTTP/1.1; each request has a connection of its own.

mod address;
mod client;
mod exchange;
mod grant;
mod machine;
mod path;
mod problem;
mod protected;
mod resolver;
mod target;
mod traffic;

use wasmtime::{
    StoreContextMut,
    component::{ComponentNamedList, Lift, Linker, LinkerInstance, Resource},
};
use wasmtime_wasi_http::{
    WasiHttp, WasiHttpCtxView, WasiHttpView,
    p2::bindings::{
        self as wasi_http,
        http::types::{HostOutgoingRequest, Method, OutgoingRequest},
    },
};

pub use client::{Fence, HttpClient, HttpConfig, HttpConfigError, Wire};
pub(crate) use exchange::Egress;
pub use grant::{HttpGrant, InvalidHttpGrant};
pub use machine::{Interfaces, SystemInterfaces};
pub use protected::{Directory, Protected};
pub use resolver::{Resolver, SystemResolver, Ticket};
pub(crate) use traffic::Traffic;
pub use traffic::{HttpOutcome, HttpStats};

use super::interface::{Grant, Interface, Link, Version};
use crate::{Grants, guest::Guest};

/// The version that `wasmtime-wasi-http` links. It serves guests of other patch releases too.
const TYPES: &str = "wasi:http/types@0.2.12";

/// The longest method. The longest registered one has 17 letters.
const METHOD_BYTES: usize = 32;

/// The longest authority: a DNS name and a port.
const AUTHORITY_BYTES: usize = 512;

/// The longest path with query. Most servers accept half of it.
const PATH_BYTES: usize = 16 << 10;

/// [`Guest::http`] calls [`Guest::called`].
pub(super) const INTERFACES: &[Interface] = &[
    outgoing("wasi:http/types", |linker| {
        let options = wasi_http::LinkOptions::default();
        wasi_http::http::types::add_to_linker::<_, WasiHttp>(linker, &options.into(), Guest::http)?;
        limit(linker)
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
    Interface { name, version: Version::PatchesOf("0.2"), grant: Some(grant), link: Link::Named(link) }
}

/// Replaces the setters of `outgoing-request`, which are already linked, by setters with limits: the host keeps a request
/// behind a handle until the guest sends it. `set-scheme` has a limit.
fn limit(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let longer = |text: Option<&String>, limit: usize| text.is_some_and(|text| text.len() > limit);
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    set(&mut types, "method", |http, request, method: Method| match &method {
        Method::Other(name) if name.len() > METHOD_BYTES => Ok(Err(())),
        _ => http.set_method(request, method),
    })?;
    set(&mut types, "authority", move |http, request, authority: Option<String>| {
        if longer(authority.as_ref(), AUTHORITY_BYTES) {
            Ok(Err(()))
        } else {
            http.set_authority(request, authority)
        }
    })?;
    set(&mut types, "path-with-query", move |http, request, path: Option<String>| {
        if longer(path.as_ref(), PATH_BYTES) { Ok(Err(())) } else { http.set_path_with_query(request, path) }
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Links a setter. An error of the setter means that the value is refused.
fn set<V>(
    types: &mut LinkerInstance<'_, Guest>,
    name: &str,
    set: impl Fn(&mut WasiHttpCtxView<'_>, Resource<OutgoingRequest>, V) -> wasmtime::Result<Result<(), ()>>
    + Send
    + Sync
    + 'static,
) -> wasmtime::Result<()>
where
    (Resource<OutgoingRequest>, V): ComponentNamedList + Lift + 'static,
{
    let call = move |mut guest: StoreContextMut<'_, Guest>, (request, value)| {
        Ok((set(&mut guest.data_mut().http(), request, value)?,))
    };
    types.func_wrap(&format!("[method]outgoing-request.set-{name}"), call)
}
