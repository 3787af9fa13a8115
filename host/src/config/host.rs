//! `[host]`: the process itself.

use std::{
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::{Path, PathBuf},
    time::Duration,
};

use informer_runtime::EngineConfig;
use ipnet::IpNet;

use crate::logging::LogFormat;

/// Loopback only, because the admin endpoint requires no credentials.
const ADMIN: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8080));

/// Logs the life cycle and what needs an operator, but no single events.
pub const LOG: &str = "info";

/// Kubernetes kills the process after 30 s (`terminationGracePeriodSeconds`). Five are left to log which calls did not
/// finish.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(25);

/// About two thousand notifications with one plugin, in 4 MiB.
const TRACE: u32 = 16_384;

/// The place of the state that outlives the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StateDir {
    /// In this directory, absolute.
    At(PathBuf),
    /// In memory, because the file turns it off. The state ends with the process.
    Off,
    /// In memory, because neither the file nor `$XDG_STATE_HOME` nor `$HOME` names a directory.
    #[default]
    Nowhere,
}

/// The process itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The loopback address of the admin endpoint; `None` means that there is none.
    pub admin: Option<SocketAddr>,
    /// A filter that `tracing-subscriber` accepts.
    pub log: String,
    /// The form of a log line.
    pub log_format: LogFormat,
    /// How long calls in flight may take to finish after the first signal. Never zero.
    pub shutdown_timeout: Duration,
    /// The directory of compiled components, absolute; `None` compiles each component at each start.
    pub cache_dir: Option<PathBuf>,
    /// The place of the state of plugins and of their queues.
    pub state_dir: StateDir,
    /// The size of the largest component that is accepted, in bytes. Never zero.
    pub component_bytes: usize,
    /// How long one component may take to compile. Never zero.
    pub compile_timeout: Duration,
    /// Networks that no HTTP request of a plugin reaches.
    pub http_deny: Vec<IpNet>,
    /// A PEM file of certificate authorities that these requests trust besides those of the system, absolute.
    pub http_ca: Option<PathBuf>,
    /// Steps to remember for `informer explain`; 0 remembers nothing.
    pub trace: u32,
}

// === impl StateDir ===

impl StateDir {
    /// The directory. Returns `None` if the state is kept in memory.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::At(path) => Some(path),
            Self::Off | Self::Nowhere => None,
        }
    }
}

// === impl Host ===

impl Default for Host {
    /// Without the directories, which depend on the environment.
    fn default() -> Self {
        let EngineConfig { component_bytes, compile_timeout, .. } = EngineConfig::default();
        Self {
            admin: Some(ADMIN),
            log: LOG.to_owned(),
            log_format: LogFormat::default(),
            shutdown_timeout: SHUTDOWN_TIMEOUT,
            cache_dir: None,
            state_dir: StateDir::default(),
            component_bytes: usize::try_from(component_bytes).unwrap_or(usize::MAX),
            compile_timeout,
            http_deny: Vec::new(),
            http_ca: None,
            trace: TRACE,
        }
    }
}
