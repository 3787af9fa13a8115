//! `[host]`

use std::{path::PathBuf, time::Duration};

use ipnet::IpNet;

use super::Context;
use crate::config::{
    host::{ADMIN, COMPILE_TIMEOUT, COMPONENT_BYTES, Host, LOG, SHUTDOWN_TIMEOUT, StateDir, TRACE},
    raw::{Count, Located, PathText, RawHost, Size},
};

/// Less would cut off calls that are all but done.
const LEAST_SHUTDOWN: Duration = Duration::from_millis(100);
/// The smallest component that does something, and what a machine compiles before it runs out of memory.
const COMPONENT: (Size, Size) = (Size(4 << 10), Size(1 << 30));
/// Less is too short for any component on a busy machine; and somebody waits for it.
const LEAST_COMPILE: Duration = Duration::from_secs(1);
const MOST_COMPILE: Duration = Duration::from_secs(60 * 60);
/// Somebody waits for the process to end.
const MOST_SHUTDOWN: Duration = Duration::from_secs(60 * 60);

/// None; and 200 MiB of them.
const STEPS: (Count, Count) = (Count(0), Count(1 << 20));

pub(super) fn host(raw: RawHost, context: &mut Context<'_, '_>) -> Host {
    let http_deny = raw.http_deny.map(|networks| context.distinct(networks.value, IpNet::to_string));
    Host {
        admin: raw.admin.map_or(Some(ADMIN), |admin| admin.value.0),
        log: raw.log.map_or_else(|| LOG.to_owned(), |log| log.value.0),
        log_format: raw.log_format.map(|format| format.value).unwrap_or_default(),
        shutdown_timeout: context.within(
            raw.shutdown_timeout.as_ref(),
            SHUTDOWN_TIMEOUT,
            (LEAST_SHUTDOWN, MOST_SHUTDOWN),
        ),
        cache_dir: directory(raw.cache_dir.as_ref(), context.environment.cache_dir.clone(), context),
        component_bytes: component_bytes(raw.component_size.as_ref(), context),
        compile_timeout: context.within(
            raw.compile_timeout.as_ref(),
            COMPILE_TIMEOUT,
            (LEAST_COMPILE, MOST_COMPILE),
        ),
        state_dir: state_dir(raw.state_dir.as_ref(), context),
        http_deny: http_deny.unwrap_or_default(),
        trace: context.within(raw.trace.as_ref(), Count(TRACE), STEPS).0,
        http_ca: raw.http_ca.as_ref().and_then(|text| context.path(text)),
    }
}

fn component_bytes(raw: Option<&Located<Size>>, context: &mut Context<'_, '_>) -> usize {
    context.within(raw, Size(COMPONENT_BYTES), COMPONENT).0
}

fn state_dir(raw: Option<&Located<PathText>>, context: &mut Context<'_, '_>) -> StateDir {
    let found = directory(raw, context.environment.state_dir.clone(), context);
    match (found, raw) {
        (Some(path), _) => StateDir::At(path),
        (None, Some(_)) => StateDir::Off,
        (None, None) => StateDir::Nowhere,
    }
}

/// None where it is switched off, or where nobody says where it is.
fn directory(
    raw: Option<&Located<PathText>>,
    default: Option<PathBuf>,
    context: &mut Context<'_, '_>,
) -> Option<PathBuf> {
    match raw {
        None => default,
        Some(text) if text.value.0 == "off" => None,
        Some(text) => context.path(text),
    }
}
