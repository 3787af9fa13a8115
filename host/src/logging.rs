//! The process's own log.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For a person: one readable line.
    #[default]
    Text,
    /// For a collector: one JSON object a line.
    Json,
}

/// A filter that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("`{filter}` is not a log filter: {source}; write for example `info` or `info,informer_cache=debug`")]
pub struct InvalidFilter {
    filter: String,
    source: tracing_subscriber::filter::ParseError,
}

/// Sends the process's log to stderr, from now on. A second call in one process changes nothing.
///
/// # Errors
/// [`InvalidFilter`] where the filter cannot be read.
pub fn init(filter: &str, format: LogFormat) -> Result<(), InvalidFilter> {
    let parsed = EnvFilter::builder()
        .parse(filter)
        .map_err(|source| InvalidFilter { filter: filter.to_owned(), source })?;
    let registry = tracing_subscriber::registry().with(parsed);
    let stderr = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let set = match format {
        LogFormat::Text => registry.with(stderr.with_ansi(std::io::stderr().is_terminal())).try_init(),
        LogFormat::Json => registry.with(stderr.json().flatten_event(true)).try_init(),
    };
    // Only a test that starts two hosts in one process gets here twice; the first setting stands.
    drop(set);
    Ok(())
}
