//! Limits on a request that the guest has not sent yet. The host keeps it behind a handle, so its parts need limits.

use wasmtime::{
    StoreContextMut,
    component::{Linker, Resource},
};
use wasmtime_wasi_http::{
    WasiHttpView,
    p2::bindings::http::types::{HostOutgoingRequest, Method, OutgoingRequest},
};

use crate::guest::Guest;

/// The version that `wasmtime-wasi-http` links. It serves guests of other patch releases too.
const TYPES: &str = "wasi:http/types@0.2.12";

/// The longest method. The longest registered one has 17 letters.
const METHOD_BYTES: usize = 32;

/// The longest authority: a DNS name and a port.
const AUTHORITY_BYTES: usize = 512;

/// The longest path with query. Most servers accept half of it.
const PATH_BYTES: usize = 16 << 10;

/// The result of a setter of `wasi:http`: an error means that the value is refused.
type Taken = (Result<(), ()>,);

/// Replaces the setters of `outgoing-request`, which are already linked, by setters with limits. `set-scheme` has one.
pub(super) fn limit(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap("[method]outgoing-request.set-method", set_method)?;
    types.func_wrap("[method]outgoing-request.set-authority", set_authority)?;
    types.func_wrap("[method]outgoing-request.set-path-with-query", set_path_with_query)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn set_method(
    mut guest: StoreContextMut<'_, Guest>,
    (request, method): (Resource<OutgoingRequest>, Method),
) -> wasmtime::Result<Taken> {
    let mut http = guest.data_mut().http();
    if matches!(&method, Method::Other(name) if name.len() > METHOD_BYTES) {
        return Ok((Err(()),));
    }
    Ok((http.set_method(request, method)?,))
}

fn set_authority(
    mut guest: StoreContextMut<'_, Guest>,
    (request, authority): (Resource<OutgoingRequest>, Option<String>),
) -> wasmtime::Result<Taken> {
    let mut http = guest.data_mut().http();
    if is_longer(authority.as_deref(), AUTHORITY_BYTES) {
        return Ok((Err(()),));
    }
    Ok((http.set_authority(request, authority)?,))
}

fn set_path_with_query(
    mut guest: StoreContextMut<'_, Guest>,
    (request, path): (Resource<OutgoingRequest>, Option<String>),
) -> wasmtime::Result<Taken> {
    let mut http = guest.data_mut().http();
    if is_longer(path.as_deref(), PATH_BYTES) {
        return Ok((Err(()),));
    }
    Ok((http.set_path_with_query(request, path)?,))
}

fn is_longer(text: Option<&str>, limit: usize) -> bool {
    text.is_some_and(|text| text.len() > limit)
}
