//! Signals: reasons to call a plugin that are not about one object.

use std::{fmt, future::Future, str::FromStr, sync::Arc, time::Duration};

use crate::{Gvr, Reconciled};

/// The key of `[[plugin]]` whose files [`Signal::Config`] is about.
const CONFIG_FILES: &str = "config-files";

/// A reason to call a plugin, besides notifications and keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// The cache of a subscription is complete, and its initial notifications are settled.
    Synced(Gvr),
    /// The timer of this name fires.
    Timer(Arc<str>),
    /// A file of the configuration changed.
    Config,
}

/// The text is not a signal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no signal")]
pub struct InvalidSignal(String);

/// The number and the version of the objects that a subscription selected when its cache was complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// The number of objects.
    pub objects: usize,
    /// The version that the cache had reached; empty if the cache has no single version.
    pub resource_version: String,
}

/// One call for a signal.
#[derive(Clone, Debug)]
pub struct SignalCall {
    /// The signal.
    pub signal: Signal,
    /// The selected objects, for [`Signal::Synced`].
    pub selected: Selected,
    /// The number of the attempt: 1, and one more for each failed call in a row.
    pub attempt: u32,
    /// Time since the signal was raised.
    pub queued: Duration,
}

/// Receives signals. `runtime` implements it with a plugin.
pub trait SignalHandler: Send + Sync + 'static {
    /// Calls the plugin. Returns `None` if no call was made, because the version in service does not export a handler for the
    /// signal.
    ///
    /// # Cancel safety
    /// A dropped future ends the call: the guest may have done all, some or none of its work.
    fn signal(&self, call: SignalCall) -> impl Future<Output = Option<Reconciled>> + Send;
}

// === impl Signal ===

impl Signal {
    /// The function of the plugin that is called.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Synced(_) => "on-synced",
            Self::Timer(_) => "on-timer",
            Self::Config => "on-config",
        }
    }

    /// The subject of the call: the resource, the name of the timer, or `config-files`.
    pub fn subject(&self) -> String {
        match self {
            Self::Synced(gvr) => gvr.to_string(),
            Self::Timer(name) => name.to_string(),
            Self::Config => CONFIG_FILES.to_owned(),
        }
    }
}

impl fmt::Display for Signal {
    /// `synced v1/pods`, `timer nightly` or `changed config-files`: the key of the signal in its queue.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Synced(gvr) => write!(f, "synced {gvr}"),
            Self::Timer(name) => write!(f, "timer {name}"),
            Self::Config => write!(f, "changed {CONFIG_FILES}"),
        }
    }
}

impl FromStr for Signal {
    type Err = InvalidSignal;

    fn from_str(text: &str) -> Result<Self, InvalidSignal> {
        let invalid = || InvalidSignal(text.to_owned());
        match text.split_once(' ') {
            Some(("synced", gvr)) => gvr.parse().map(Self::Synced).map_err(|_| invalid()),
            Some(("timer", name)) if !name.is_empty() => Ok(Self::Timer(name.into())),
            Some(("changed", CONFIG_FILES)) => Ok(Self::Config),
            _ => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_read_from_the_text_that_shows_it() {
        for (signal, text) in [
            (Signal::Synced("apps/v1/deployments".parse().unwrap()), "synced apps/v1/deployments"),
            (Signal::Config, "changed config-files"),
            (Signal::Timer("a name of two words".into()), "timer a name of two words"),
        ] {
            assert_eq!(signal.to_string(), text);
            assert_eq!(text.parse(), Ok(signal));
        }
        for text in [
            "",
            "synced",
            "synced ",
            "synced pods",
            "timer ",
            "changed",
            "changed v1/pods",
            "delayed v1/pods",
        ] {
            assert_eq!(text.parse::<Signal>().unwrap_err().to_string(), format!("`{text}` is no signal"));
        }
    }
}
