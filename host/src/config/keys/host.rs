//! `[host]`

use std::time::Duration;

use ipnet::IpNet;

use crate::{
    config::{
        host::Host,
        key::{
            Key, List, Section,
            Shown::{ByDefault, ByDefaultAnd, Example},
        },
        table::Located,
        value::{Admin, Count, LogFilter, PathText, Scalar, Size},
    },
    logging::LogFormat,
};

/// `[host]` as it is written.
#[derive(Clone, Debug, Default)]
pub(in crate::config) struct HostKeys {
    pub(in crate::config) cache_dir: Option<Located<PathText>>,
    pub(in crate::config) state_dir: Option<Located<PathText>>,
    pub(in crate::config) http_deny: Option<Located<Vec<Located<IpNet>>>>,
    pub(in crate::config) http_ca: Option<Located<PathText>>,
    /// Everything but these.
    pub(in crate::config) host: Host,
}

type K<V> = Key<HostKeys, V>;

/// Less would cut off calls that are almost done; no operator waits longer than an hour.
const SHUTDOWN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60 * 60));
/// The smallest component that does something, and the largest that a machine compiles without running out of memory.
const COMPONENT: (Size, Size) = (Size(4 << 10), Size(1 << 30));
/// A second is the least that a small component needs on a busy machine.
const COMPILE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60 * 60));
/// Up to 200 MiB of steps.
const STEPS: (Count, Count) = (Count(0), Count(1 << 20));

pub(super) static HOST: Section<HostKeys> = Section {
    doc: "The process itself.",
    keys: &[
        &K::<Admin> {
            name: "admin",
            doc: "The address of the admin endpoint: liveness, readiness, status and metrics over HTTP. It must be a \
                  loopback address; port 0 is any free port; \"off\" turns the endpoint off. Requests must name \
                  `localhost` or a loopback address as their host. Requests from a page in a browser are refused.",
            shown: ByDefault(|keys| Scalar::shown(&Admin(keys.host.admin))),
            bounds: None,
            set: |keys, it| keys.host.admin = it.value.0,
        },
        &K::<LogFilter> {
            name: "log",
            doc: "The log lines to keep, in the syntax of `RUST_LOG`.",
            shown: ByDefaultAnd(|keys| format!("\"{}\"", keys.host.log), "\"info,informer_cache=debug\""),
            bounds: None,
            set: |keys, it| keys.host.log = it.value.0,
        },
        &K::<LogFormat> {
            name: "log-format",
            doc: "The form of a log line: \"text\" for people, \"json\" for a log collector.",
            shown: ByDefault(|keys| Scalar::shown(&keys.host.log_format)),
            bounds: None,
            set: |keys, it| keys.host.log_format = it.value,
        },
        &K::<Duration> {
            name: "shutdown-timeout",
            doc: "How long calls in flight may take to finish after SIGTERM. Kubernetes kills the process after 30s, so \
                  leave some seconds.",
            shown: ByDefault(|keys| Scalar::shown(&keys.host.shutdown_timeout)),
            bounds: Some(SHUTDOWN),
            set: |keys, it| keys.host.shutdown_timeout = it.value,
        },
        &K::<PathText> {
            name: "cache-dir",
            doc: "The directory of compiled components. The default is below $XDG_CACHE_HOME if that is set. \"off\" \
                  compiles each component at each start.",
            shown: ByDefault(|_| "\"~/.cache/informer\"".to_owned()),
            bounds: None,
            set: |keys, it| keys.cache_dir = Some(it),
        },
        &K::<PathText> {
            name: "state-dir",
            doc: "The directory of the state that outlives the process: the data of plugins (`keyvalue` of \
                  [plugin.grant]) and dead letters, in one database file. One host at a time may use it. The default \
                  is below $XDG_STATE_HOME if that is set. \"off\" keeps the state in memory, as `informer dev` does.",
            shown: ByDefault(|_| "\"~/.local/state/informer\"".to_owned()),
            bounds: None,
            set: |keys, it| keys.state_dir = Some(it),
        },
        &K::<Size> {
            name: "component-size",
            doc: "The size of the largest component that is accepted. Compiling needs several times this much memory.",
            shown: ByDefault(|keys| Scalar::shown(&Size(keys.host.component_bytes))),
            bounds: Some(COMPONENT),
            set: |keys, it| keys.host.component_bytes = it.value.0,
        },
        &K::<Duration> {
            name: "compile-timeout",
            doc: "How long one component may take to compile. If it takes longer, the new version is refused and the \
                  version in service stays. A Python component takes about 10s.",
            shown: ByDefault(|keys| Scalar::shown(&keys.host.compile_timeout)),
            bounds: Some(COMPILE),
            set: |keys, it| keys.host.compile_timeout = it.value,
        },
        &K::<Count> {
            name: "trace",
            doc: "Steps to remember for `informer explain`: what each stage decided about an object or a key. Steps hold \
                  names and versions, never the content of objects; newer steps replace older ones. A notification \
                  takes three steps and up to three more per plugin, a call for a key takes three; a step takes about \
                  250 bytes of memory. 0 remembers nothing.",
            shown: ByDefault(|keys| keys.host.trace.to_string()),
            bounds: Some(STEPS),
            set: |keys, it| keys.host.trace = it.value.0,
        },
        &List::<HostKeys, IpNet> {
            name: "http-deny",
            doc: "Networks and addresses that no HTTP request of a plugin may reach, whatever `http` of [plugin.grant] \
                  allows. List the machines of the control plane here. The API server, link-local and metadata \
                  addresses are always denied.",
            shown: ByDefaultAnd(|_| "[]".to_owned(), "[\"10.0.0.0/28\", \"fd00:1::5\"]"),
            set: |keys, it| keys.http_deny = Some(it),
        },
        &K::<PathText> {
            name: "http-ca",
            doc: "A PEM file of certificate authorities that these HTTP requests trust besides those of the system. \
                  The default is none.",
            shown: Example("\"ca.pem\""),
            bounds: None,
            set: |keys, it| keys.http_ca = Some(it),
        },
    ],
};
