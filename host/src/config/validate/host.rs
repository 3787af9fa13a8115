//! `[host]`

use std::path::PathBuf;

use ipnet::IpNet;

use crate::config::{
    context::Context,
    host::{Host, StateDir},
    keys::HostKeys,
    table::Located,
    value::PathText,
};

pub(super) fn host(keys: HostKeys, context: &mut Context<'_, '_>) -> Host {
    let http_deny = keys.http_deny.map(|networks| context.distinct(networks.value, IpNet::to_string));
    Host {
        cache_dir: directory(keys.cache_dir.as_ref(), context.environment.cache_dir.clone(), context),
        state_dir: state_dir(keys.state_dir.as_ref(), context),
        http_deny: http_deny.unwrap_or_default(),
        http_ca: keys.http_ca.as_ref().and_then(|text| context.path(text)),
        ..keys.host
    }
}

fn state_dir(written: Option<&Located<PathText>>, context: &mut Context<'_, '_>) -> StateDir {
    let found = directory(written, context.environment.state_dir.clone(), context);
    match (found, written) {
        (Some(path), _) => StateDir::At(path),
        (None, Some(_)) => StateDir::Off,
        (None, None) => StateDir::Nowhere,
    }
}

/// Returns `None` if the directory is turned off, or if there is no default for it.
fn directory(
    written: Option<&Located<PathText>>,
    default: Option<PathBuf>,
    context: &mut Context<'_, '_>,
) -> Option<PathBuf> {
    match written {
        None => default,
        Some(text) if text.value.0 == "off" => None,
        Some(text) => context.path(text),
    }
}
