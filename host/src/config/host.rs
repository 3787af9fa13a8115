//! `[host]`: the process itself.

use std::{
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::{Path, PathBuf},
    time::Duration,
};

use ipnet::IpNet;

use crate::logging::LogFormat;

/// Loopback only: what listens there asks for no credentials.
pub const ADMIN: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8080));

/// The life cycle and what needs an operator; nothing per event.
pub const LOG: &str = "info";

/// Kubernetes kills after 30 s (`terminationGracePeriodSeconds`); five are left to say what did not stop.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(25);

/// A Python component has some 20 MiB; compiling takes several times as much memory as the file has bytes.
pub const COMPONENT_BYTES: usize = 64 << 20;

/// `compile-timeout`
pub const COMPILE_TIMEOUT: Duration = Duration::from_secs(120);

/// Some two thousand notifications with one plugin, in 4 MiB.
pub const TRACE: u32 = 16_384;

/// Where what must outlive the process is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateDir {
    /// In this directory, absolute.
    At(PathBuf),
    /// In memory, as somebody said: it ends with the process.
    Off,
    /// In memory, because nobody says where: not the file, and neither `$XDG_STATE_HOME` nor `$HOME`.
    Nowhere,
}

/// The process itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Where the admin endpoint listens, always on loopback; none: it does not.
    pub admin: Option<SocketAddr>,
    /// A filter that `tracing-subscriber` accepts.
    pub log: String,
    /// How a log line looks.
    pub log_format: LogFormat,
    /// How long calls in hand may take to finish after the first signal. Never zero.
    pub shutdown_timeout: Duration,
    /// Where compiled components are kept, absolute; none: nowhere, they are compiled at each start.
    pub cache_dir: Option<PathBuf>,
    /// Where the state of plugins and of their queues is kept.
    pub state_dir: StateDir,
    /// The largest component that is loaded, in bytes. Never zero.
    pub component_bytes: usize,
    /// How long one component may take to compile. Never zero.
    pub compile_timeout: Duration,
    /// Networks that no plugin's HTTP requests reach, whatever is granted.
    pub http_deny: Vec<IpNet>,
    /// PEM of certificate authorities that these requests trust besides the system's, absolute.
    pub http_ca: Option<PathBuf>,
    /// How many steps of objects are remembered for `informer explain`; zero: none.
    pub trace: u32,
}

// === impl StateDir ===

impl StateDir {
    /// None: in memory.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::At(path) => Some(path),
            Self::Off | Self::Nowhere => None,
        }
    }
}
