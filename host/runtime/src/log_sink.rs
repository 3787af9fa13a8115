//! The log lines of plugins, and their sink.

use std::{borrow::Cow, sync::Arc};

use informer_types::{KeyedVersion, Object, Source};

/// The level of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Each step.
    Trace,
    /// Decisions.
    Debug,
    /// Events of interest to an operator.
    Info,
    /// A problem that needs no action now.
    Warn,
    /// A failure.
    Error,
}

/// The source of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogStream {
    /// The guest logged it with `log.write` or with `wasi:logging`.
    Log,
    /// The guest printed it to stdout.
    Stdout,
    /// The guest printed it to stderr.
    Stderr,
    /// The host logged it about the plugin, for example that lines were dropped.
    Host,
}

/// The subject of a call.
#[derive(Clone, Debug)]
pub enum Subject {
    /// The newest object of a notification, with the informer that it comes from.
    Object {
        /// The informer.
        source: Source,
        /// The object.
        object: Arc<Object>,
    },
    /// The key of a reconciler, or the name of a signal.
    Key {
        /// The key.
        key: Arc<str>,
        /// The newest version of the key's object that added the key. `None` if the plugin added the key itself, if the key is that of
        /// an owner, and for a signal.
        version: Option<Arc<KeyedVersion>>,
    },
}

/// One log line of a plugin.
#[derive(Clone, Debug)]
pub struct LogLine<'a> {
    /// The plugin's name in the configuration.
    pub plugin: &'a str,
    /// The source of the line.
    pub stream: LogStream,
    /// The level of the line.
    pub level: LogLevel,
    /// The message, with invalid UTF-8 replaced. Printed text is one line. A message of `log.write` may hold line breaks: a
    /// text log must escape them, or a guest could forge lines.
    pub message: &'a str,
    /// The fields of `log.write`; empty for other sources.
    pub fields: &'a [(String, String)],
    /// The subject of the call in flight. `None` for calls that are neither for an object nor for a key, such as `start`.
    pub subject: Option<&'a Subject>,
}

/// Receives the log lines of all plugins.
pub trait LogSink: Send + Sync + 'static {
    /// Returns true if lines of this level are kept. The result may change at any time. It is called before each line, so it
    /// must be quick.
    fn enabled(&self, plugin: &str, level: LogLevel) -> bool;

    /// Receives one line whose level is [`enabled`](Self::enabled). Must not block. Lines of one instance arrive in order.
    fn line(&self, line: &LogLine<'_>);
}

// === impl Subject ===

impl Subject {
    /// The resource of the object.
    pub fn resource(&self) -> Option<&Source> {
        match self {
            Self::Object { source, .. } => Some(source),
            Self::Key { version, .. } => version.as_ref().map(|version| &version.source),
        }
    }

    /// The key, as `namespace/name` for an object with a namespace.
    pub fn key(&self) -> Cow<'_, str> {
        match self {
            Self::Object { object, .. } => Cow::Owned(object.key().to_string()),
            Self::Key { key, .. } => Cow::Borrowed(key),
        }
    }

    /// The resource version of the object.
    pub fn resource_version(&self) -> Option<&str> {
        match self {
            Self::Object { object, .. } => Some(object.resource_version()),
            Self::Key { version, .. } => version.as_ref().map(|version| &*version.resource_version),
        }
    }
}
