//! The log lines of plugins, and their sink.

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
    /// The guest logged it with `log.write`.
    Log,
    /// The guest printed it to stdout.
    Stdout,
    /// The guest printed it to stderr.
    Stderr,
    /// The host logged it about the plugin, for example that lines were dropped.
    Host,
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
}

/// Receives the log lines of all plugins.
pub trait LogSink: Send + Sync + 'static {
    /// Returns true if lines of this level are kept. The result may change at any time. It is called before each line, so it
    /// must be quick.
    fn enabled(&self, plugin: &str, level: LogLevel) -> bool;

    /// Receives one line whose level is [`enabled`](Self::enabled). Must not block. Lines of one instance arrive in order.
    fn line(&self, line: &LogLine<'_>);
}
