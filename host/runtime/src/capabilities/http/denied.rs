//! Why a request is not made.

use std::net::IpAddr;

use super::target::InvalidTarget;

/// What the plugin's log says; the guest itself only hears that the request is denied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Denied {
    #[error("{0}")]
    Target(#[from] InvalidTarget),
    #[error("neither CONNECT nor TRACE is for plugins")]
    Tunnel,
    #[error("it is not granted; add it to `http` under [plugin.grant]")]
    NotGranted,
    #[error("its path is not below a granted one")]
    Path,
    #[error("its method is not granted for this address")]
    Method,
    #[error("{address}, which the name stands for, may not be reached: {why}")]
    Address { address: IpAddr, why: &'static str },
    #[error("{address} is {what}")]
    Protected { address: IpAddr, what: &'static str },
    #[error("{address} is denied to all plugins by `http-deny` under [host]")]
    Network { address: IpAddr },
    #[error("the address of {0} cannot be found, so nothing can be kept away from it")]
    Unprotected(&'static str),
}
