//! Which interfaces a component may import, by which grant, and how each is linked: the one table of them.

use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi_http::{WasiHttp, WasiHttpView, p2::bindings as wasi_http};

use super::{
    http::request,
    logging::{UNVERSIONED, link_unversioned},
};
use crate::{
    Grants,
    bindings::{informer::plugin as imports, wasi},
    guest::Guest,
};

/// One thing a plugin may import, whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    /// The values that the others share.
    Types,
    Objects,
    Log,
    Delivery,
    Metrics,
    Lister,
    Client,
    Workqueue,
    KeyValue,
    KeyValueAtomics,
    KeyValueBatch,
    HttpTypes,
    HttpOutgoing,
    Config,
    Logging,
    LoggingUnversioned,
}

/// What a plugin needs for a capability.
pub(crate) enum Need {
    /// Every plugin has it.
    Nothing,
    /// A line under `[plugin.grant]`, given as an example.
    Grant(&'static str),
}

// === impl Capability ===

impl Capability {
    pub(crate) const ALL: [Self; 16] = [
        Self::Types,
        Self::Objects,
        Self::Log,
        Self::Delivery,
        Self::Metrics,
        Self::Lister,
        Self::Client,
        Self::Workqueue,
        Self::KeyValue,
        Self::KeyValueAtomics,
        Self::KeyValueBatch,
        Self::HttpTypes,
        Self::HttpOutgoing,
        Self::Config,
        Self::Logging,
        Self::LoggingUnversioned,
    ];

    /// What a component calls it, without the version.
    pub(crate) fn interface(self) -> &'static str {
        match self {
            Self::Types => "informer:plugin/types",
            Self::Objects => "informer:plugin/objects",
            Self::Log => "informer:plugin/log",
            Self::Delivery => "informer:plugin/delivery",
            Self::Metrics => "informer:plugin/metrics",
            Self::Lister => "informer:plugin/lister",
            Self::Client => "informer:plugin/client",
            Self::Workqueue => "informer:plugin/workqueue",
            Self::KeyValue => "wasi:keyvalue/store",
            Self::KeyValueAtomics => "wasi:keyvalue/atomics",
            Self::KeyValueBatch => "wasi:keyvalue/batch",
            Self::HttpTypes => "wasi:http/types",
            Self::HttpOutgoing => "wasi:http/outgoing-handler",
            Self::Config => "wasi:config/store",
            Self::Logging | Self::LoggingUnversioned => UNVERSIONED,
        }
    }

    /// True where a component that imports this version of it is served. What is no draft serves each patch release.
    pub(crate) fn serves(self, version: &str) -> bool {
        match (self, version.rsplit_once('.')) {
            (Self::HttpTypes | Self::HttpOutgoing, Some((minor, _))) => minor == self.version(),
            _ => version == self.version(),
        }
    }

    /// The only version of it that is served.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::KeyValue | Self::KeyValueAtomics | Self::KeyValueBatch => "0.2.0-draft",
            Self::HttpTypes | Self::HttpOutgoing => "0.2",
            Self::Config => "0.2.0-rc.1",
            Self::Logging => "0.1.0-draft",
            Self::LoggingUnversioned => "",
            _ => "0.1.0",
        }
    }

    pub(crate) fn need(self) -> Need {
        match self {
            Self::Types
            | Self::Objects
            | Self::Log
            | Self::Delivery
            | Self::Metrics
            | Self::Workqueue
            | Self::Config
            | Self::Logging
            | Self::LoggingUnversioned => Need::Nothing,
            Self::Lister => Need::Grant("read = [\"apps/v1/deployments\"]"),
            Self::Client => Need::Grant("write = [\"patch apps/v1/deployments @default\"]"),
            Self::KeyValue | Self::KeyValueAtomics | Self::KeyValueBatch => {
                Need::Grant("keyvalue = \"1MiB\"")
            }
            Self::HttpTypes | Self::HttpOutgoing => {
                Need::Grant("http = [\"https://hooks.example.com/services/\"]")
            }
        }
    }

    pub(crate) fn granted(self, grants: &Grants) -> bool {
        match self {
            Self::Types
            | Self::Objects
            | Self::Log
            | Self::Delivery
            | Self::Metrics
            | Self::Workqueue
            | Self::Config
            | Self::Logging
            | Self::LoggingUnversioned => true,
            Self::Lister => grants.read.is_some(),
            Self::Client => grants.write.is_some(),
            Self::KeyValue | Self::KeyValueAtomics | Self::KeyValueBatch => grants.keyvalue.is_some(),
            Self::HttpTypes | Self::HttpOutgoing => grants.http.is_some(),
        }
    }

    /// Every function counts as a call of the guest to the host, so it gets at the guest by [`Guest::called`] or by what calls that.
    pub(crate) fn link(self, linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
        match self {
            Self::Types => imports::types::add_to_linker::<_, HasSelf<_>>(linker, Guest::called),
            Self::Objects => imports::objects::add_to_linker::<_, HasSelf<_>>(linker, Guest::called),
            Self::Log => imports::log::add_to_linker::<_, HasSelf<_>>(linker, Guest::called),
            Self::Delivery => imports::delivery::add_to_linker::<_, HasSelf<_>>(linker, Guest::called),
            Self::Metrics => imports::metrics::add_to_linker::<_, HasSelf<_>>(linker, Guest::called),
            Self::Lister => imports::lister::add_to_linker::<_, HasSelf<_>>(linker, Guest::called),
            Self::Client => imports::client::add_to_linker::<_, HasSelf<_>>(linker, Guest::called),
            Self::Workqueue => imports::workqueue::add_to_linker::<_, HasSelf<_>>(linker, Guest::called),
            Self::Config => wasi::config::store::add_to_linker::<_, HasSelf<_>>(linker, Guest::called),
            Self::Logging => wasi::logging::logging::add_to_linker::<_, HasSelf<_>>(linker, Guest::called),
            Self::LoggingUnversioned => link_unversioned(linker),
            Self::KeyValue => wasi::keyvalue::store::add_to_linker::<_, HasSelf<_>>(linker, Guest::called),
            Self::KeyValueAtomics => {
                wasi::keyvalue::atomics::add_to_linker::<_, HasSelf<_>>(linker, Guest::called)
            }
            Self::KeyValueBatch => {
                wasi::keyvalue::batch::add_to_linker::<_, HasSelf<_>>(linker, Guest::called)
            }
            Self::HttpTypes => {
                let options = wasi_http::LinkOptions::default();
                wasi_http::http::types::add_to_linker::<_, WasiHttp>(linker, &options.into(), Guest::http)?;
                request::limit(linker)
            }
            Self::HttpOutgoing => {
                wasi_http::http::outgoing_handler::add_to_linker::<_, WasiHttp>(linker, Guest::http)
            }
        }
    }
}
