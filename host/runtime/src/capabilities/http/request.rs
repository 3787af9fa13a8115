//! What a guest may write into a request it has not sent: the host keeps it behind a handle, so it has limits here.

use wasmtime::{
    StoreContextMut,
    component::{Linker, Resource},
};
use wasmtime_wasi_http::{
    WasiHttpView,
    p2::bindings::http::types::{HostOutgoingRequest, Method, OutgoingRequest},
};

use crate::guest::Guest;

/// As `wasmtime-wasi-http` links it; guests of other patch releases are served by it too.
const TYPES: &str = "wasi:http/types@0.2.12";

/// The longest registered one has 17 letters.
const METHOD_BYTES: usize = 32;

/// A name of DNS and a port.
const AUTHORITY_BYTES: usize = 512;

/// Most servers take half of it.
const PATH_BYTES: usize = 16 << 10;

/// What a setter of `wasi:http` answers; an error says that it does not take the value.
type Taken = (Result<(), ()>,);

/// Puts limits before the setters of `outgoing-request`, which were linked before. Of the scheme there is one already.
pub(crate) fn limit(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
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
