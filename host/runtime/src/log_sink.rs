//! Where a plugin's lines go.

/// How serious a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Every step.
    Trace,
    /// Decisions.
    Debug,
    /// What a person wants to know.
    Info,
    /// Something is odd.
    Warn,
    /// Something failed.
    Error,
}

/// How a line came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogStream {
    /// `log.write`.
    Log,
    /// Printed to stdout.
    Stdout,
    /// Printed to stderr.
    Stderr,
    /// Said by the host about the plugin, for example that lines were dropped.
    Host,
}

/// One line of a plugin.
#[derive(Clone, Debug)]
pub struct LogLine<'a> {
    /// The plugin's name in the configuration.
    pub plugin: &'a str,
    /// How it came about.
    pub stream: LogStream,
    /// How serious it is.
    pub level: LogLevel,
    /// Invalid UTF-8 is replaced. What was printed is one line; what was given to `log.write` may hold line breaks,
    /// so that a text log has to escape them, or a guest could forge lines.
    pub message: &'a str,
    /// Only `log.write` has any.
    pub fields: &'a [(String, String)],
}

/// Takes the lines of all plugins.
pub trait LogSink: Send + Sync + 'static {
    /// Whether a line of this level is kept, which may change at any time. It is asked before each line, so it must be
    /// quick.
    fn enabled(&self, plugin: &str, level: LogLevel) -> bool;

    /// Takes one line, whose level is [`enabled`](Self::enabled); must not block. Lines of one instance come in their
    /// order.
    fn line(&self, line: &LogLine<'_>);
}
