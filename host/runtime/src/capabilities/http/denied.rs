//! Why a request is refused.

use std::net::IpAddr;

use super::target::InvalidTarget;

/// The reason, for the plugin's log. The guest only receives that the request is denied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Denied {
    #[error("{0}")]
    Target(#[from] InvalidTarget),
    #[error("plugins may use neither CONNECT nor TRACE")]
    Tunnel,
    #[error("it is not granted; add it to `http` under [plugin.grant]")]
    NotGranted,
    #[error("its path is not below a granted one")]
    Path,
    #[error("its method is not granted for this address")]
    Method,
    #[error("no plugin may reach {address}, the address of the name: {why}")]
    Address { address: IpAddr, why: &'static str },
    #[error("{address} is {what}")]
    Protected { address: IpAddr, what: &'static str },
    #[error("{address} is denied to all plugins by `http-deny` under [host]")]
    Network { address: IpAddr },
    #[error("the address of {0}, which no plugin may reach, cannot be resolved")]
    Unprotected(&'static str),
}
