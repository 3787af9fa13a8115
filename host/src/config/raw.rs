//! The file as it is written: every key of every table, read but not yet judged together.
//!
//! One pass over the parsed text reads what is there and notes what cannot be read; what is missing, double or
//! out of range is [`validate`](super::validate)'s business. serde would stop at the first problem.

mod address;
mod duration;
mod grant;
mod http;
mod json;
mod name;
mod number;
mod plugin;
mod scalar;
pub(super) mod schema;
mod share;
mod size;
mod table;
mod text;
mod word;

use std::time::Duration;

use informer_types::{FieldSelector, Gvr, LabelSelector, Pointer};
use ipnet::IpNet;
use toml::de::DeTable;

pub(super) use address::{Admin, ServerUrl};
pub(super) use duration::shown;
pub(super) use name::Name;
pub(super) use number::{Count, Number};
pub(super) use plugin::{
    RawGrant, RawInstance, RawLimits, RawOn, RawPlugin, RawQuarantine, RawQueue, RawReload, RawRetry,
    RawWorkqueue,
};
pub(super) use share::Share;
pub(super) use size::Size;
pub(super) use table::Located;
pub(super) use text::{LogFilter, PathText, Text};
pub(super) use word::{DeliveryKind, EventKind, InstanceKind};

use super::problem::{Fault, Problems};
use crate::{
    config::{cluster::WatchList, watch::Compression},
    logging::LogFormat,
};
use table::Table;

/// The parser allows 80 brackets within one another with 80 parts of a dotted key in each, and drops what it
/// read by recursion: at worst 6,400 levels, which took between 2 and 4 MiB in a build without optimisation.
const STACK_BYTES: usize = 32 << 20;

/// The whole file.
#[derive(Debug)]
pub(super) struct RawConfig {
    pub(super) cluster: RawCluster,
    pub(super) host: RawHost,
    /// None: `watch` is something else, which is noted. So with every array of tables.
    pub(super) watches: Option<Vec<RawWatch>>,
    pub(super) plugins: Option<Vec<RawPlugin>>,
}

/// `[cluster]`
#[derive(Debug, Default)]
pub(super) struct RawCluster {
    pub(super) context: Option<Located<Text>>,
    pub(super) kubeconfig: Option<Located<PathText>>,
    pub(super) server: Option<Located<ServerUrl>>,
    pub(super) page_size: Option<Located<Count>>,
    pub(super) qps: Option<Located<Count>>,
    pub(super) burst: Option<Located<Count>>,
    pub(super) watch_list: Option<Located<WatchList>>,
    pub(super) idle_watch_timeout: Option<Located<Duration>>,
}

/// `[host]`
#[derive(Debug, Default)]
pub(super) struct RawHost {
    pub(super) admin: Option<Located<Admin>>,
    pub(super) log: Option<Located<LogFilter>>,
    pub(super) log_format: Option<Located<LogFormat>>,
    pub(super) shutdown_timeout: Option<Located<Duration>>,
    pub(super) cache_dir: Option<Located<PathText>>,
    pub(super) state_dir: Option<Located<PathText>>,
    pub(super) component_size: Option<Located<Size>>,
    pub(super) compile_timeout: Option<Located<Duration>>,
    pub(super) http_deny: Option<Located<Vec<Located<IpNet>>>>,
    pub(super) http_ca: Option<Located<PathText>>,
    pub(super) trace: Option<Located<Count>>,
}

/// `[[watch]]`
#[derive(Debug)]
pub(super) struct RawWatch {
    pub(super) gvr: Option<Located<Gvr>>,
    pub(super) namespaces: Option<Located<Vec<Located<Name>>>>,
    pub(super) labels: Option<Located<LabelSelector>>,
    pub(super) fields: Option<Located<FieldSelector>>,
    pub(super) resync: Option<Located<Duration>>,
    pub(super) drop: Option<Located<Vec<Located<Pointer>>>>,
    pub(super) keep: Option<Located<Vec<Located<Pointer>>>>,
    pub(super) metadata_only: Option<Located<bool>>,
    pub(super) compression: Option<Located<Compression>>,
    pub(super) index: Vec<(Name, Located<Pointer>)>,
}

/// Reads a text. None: it is not TOML, and the first error in it is noted; those after it are often no more
/// than its echo.
pub(super) fn read(text: &str, problems: &mut Problems<'_>) -> Option<RawConfig> {
    let read = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("config".to_owned()).stack_size(STACK_BYTES);
        builder.spawn_scoped(scope, || read_document(text, problems)).map(std::thread::ScopedJoinHandle::join)
    });
    match read {
        Ok(Ok(config)) => config,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => {
            let message = format!("the system has no thread to read it with: {error}");
            problems.add(0, "", Fault::new(message, "try again"));
            None
        }
    }
}

fn read_document(text: &str, problems: &mut Problems<'_>) -> Option<RawConfig> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let place = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    if let Some(first) = errors.iter().min_by_key(|error| place(error)) {
        problems.add(place(first), "", not_toml(first.message()));
        return None;
    }
    Some(RawConfig::read(Table::new(document.get_ref(), &schema::ROOT, (String::new(), 0), problems)))
}

/// In the parser's words, which say what it expected; of a double it does not.
fn not_toml(found: &str) -> Fault {
    let message = format!("not TOML: {found}");
    match found {
        "duplicate key" => Fault::new(message, "remove one of the two"),
        _ => Fault::without_remedy(message),
    }
}

// === impl RawConfig ===

impl RawConfig {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self {
            cluster: table.table("cluster", &schema::CLUSTER, RawCluster::read).unwrap_or_default(),
            host: table.table("host", &schema::HOST, RawHost::read).unwrap_or_default(),
            watches: table.tables("watch", &schema::WATCH, RawWatch::read),
            plugins: table.tables("plugin", &schema::PLUGIN, RawPlugin::read),
        }
    }
}

// === impl RawCluster ===

impl RawCluster {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self {
            context: table.get("context"),
            kubeconfig: table.get("kubeconfig"),
            server: table.get("server"),
            page_size: table.get("page-size"),
            qps: table.get("qps"),
            burst: table.get("burst"),
            watch_list: table.get("watch-list"),
            idle_watch_timeout: table.get("idle-watch-timeout"),
        }
    }
}

// === impl RawHost ===

impl RawHost {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self {
            admin: table.get("admin"),
            log: table.get("log"),
            log_format: table.get("log-format"),
            shutdown_timeout: table.get("shutdown-timeout"),
            cache_dir: table.get("cache-dir"),
            state_dir: table.get("state-dir"),
            component_size: table.get("component-size"),
            compile_timeout: table.get("compile-timeout"),
            trace: table.get("trace"),
            http_deny: table.list("http-deny"),
            http_ca: table.get("http-ca"),
        }
    }
}

// === impl RawWatch ===

impl RawWatch {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self {
            gvr: table.required("gvr"),
            namespaces: table.list("namespaces"),
            labels: table.get("labels"),
            fields: table.get("fields"),
            resync: table.get("resync"),
            drop: table.list("drop"),
            keep: table.list("keep"),
            metadata_only: table.get("metadata-only"),
            compression: table.get("compression"),
            index: table.map("index"),
        }
    }
}
