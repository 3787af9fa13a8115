//! Which keys there are, and what is said about one that there is not.

use crate::config::{nearest::nearest, problem::Fault};

/// One kind of table of the file.
pub(crate) struct Section {
    /// As it is written.
    pub(crate) header: &'static str,
    /// What may stand in it.
    pub(crate) keys: &'static [&'static str],
}

pub(crate) static ROOT: Section =
    Section { header: "the top level", keys: &["cluster", "host", "watch", "plugin"] };

pub(crate) static CLUSTER: Section = Section {
    header: "[cluster]",
    keys: &[
        "context",
        "kubeconfig",
        "server",
        "page-size",
        "qps",
        "burst",
        "watch-list",
        "idle-watch-timeout",
    ],
};

pub(crate) static HOST: Section = Section {
    header: "[host]",
    keys: &[
        "admin",
        "log",
        "log-format",
        "shutdown-timeout",
        "cache-dir",
        "state-dir",
        "component-size",
        "compile-timeout",
        "http-deny",
        "http-ca",
        "trace",
    ],
};

pub(crate) static WATCH: Section = Section {
    header: "[[watch]]",
    keys: &[
        "gvr",
        "namespaces",
        "labels",
        "fields",
        "resync",
        "drop",
        "keep",
        "metadata-only",
        "compression",
        "index",
    ],
};

pub(crate) static PLUGIN: Section = Section {
    header: "[[plugin]]",
    keys: &[
        "name",
        "source",
        "instance",
        "max-calls",
        "idle-timeout",
        "on",
        "queue",
        "workqueue",
        "retry",
        "quarantine",
        "reload",
        "on-reload",
        "limits",
        "grant",
        "config",
        "config-files",
        "log-level",
    ],
};

pub(crate) static ON: Section = Section {
    header: "[[plugin.on]]",
    keys: &[
        "watch",
        "events",
        "namespaces",
        "labels",
        "fields",
        "when",
        "changed",
        "resync",
        "relist",
        "initial",
        "enqueue",
    ],
};

pub(crate) static QUEUE: Section =
    Section { header: "[plugin.queue]", keys: &["workers", "delivery", "capacity", "rate", "burst"] };

pub(crate) static WORKQUEUE: Section = Section {
    header: "[plugin.workqueue]",
    keys: &["workers", "capacity", "attempts", "min", "max", "qps", "burst"],
};

pub(crate) static RETRY: Section = Section {
    header: "[plugin.retry]",
    keys: &["min", "max", "factor", "jitter", "attempts", "budget", "on-exhausted"],
};

pub(crate) static QUARANTINE: Section =
    Section { header: "[plugin.quarantine]", keys: &["after", "min", "max"] };
pub(crate) static RELOAD: Section = Section { header: "[plugin.reload]", keys: &["return-after", "trial"] };

pub(crate) static LIMITS: Section = Section {
    header: "[plugin.limits]",
    keys: &[
        "memory",
        "deadline",
        "cpu",
        "host-calls",
        "instances",
        "log",
        "log-lines",
        "response",
        "requests",
        "http-requests",
        "http-body",
        "metric-series",
    ],
};

pub(crate) static GRANT: Section =
    Section { header: "[plugin.grant]", keys: &["read", "write", "secrets", "keyvalue", "http"] };

/// Every section, as they stand in a file.
pub(crate) static ALL: [&Section; 13] = [
    &ROOT,
    &CLUSTER,
    &HOST,
    &WATCH,
    &PLUGIN,
    &ON,
    &QUEUE,
    &WORKQUEUE,
    &RETRY,
    &QUARANTINE,
    &RELOAD,
    &LIMITS,
    &GRANT,
];

// === impl Section ===

impl Section {
    /// What is wrong with this key here; none: it belongs here.
    pub(super) fn fault(&self, key: &str) -> Option<Fault> {
        if self.keys.contains(&key) {
            return None;
        }
        let message = "unknown key";
        let homes: Vec<&str> =
            ALL.iter().filter(|other| other.keys.contains(&key)).map(|other| other.header).collect();
        // The classic of TOML: a key below the header of a sub-table belongs to the sub-table.
        if !homes.is_empty() {
            return Some(Fault::new(message, format!("it belongs to {}", homes.join(" or "))));
        }
        let remedy = match nearest(&key.replace('_', "-"), self.keys.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known are `{}`", self.keys.join("`, `")),
        };
        Some(Fault::new(message, remedy))
    }
}
