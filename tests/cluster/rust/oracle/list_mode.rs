//! How the informers of both sides fetch the first state, and the state after a gap.

use std::fmt;

use informer_cache::{Counters, FactoryConfig, WatchListMode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListMode {
    /// With streaming lists, the default of both sides.
    Streaming,
    /// With streaming lists, each of which our side compares with a plain list.
    Checked,
    /// With lists in pages.
    Plain,
}

// === impl ListMode ===

impl ListMode {
    pub(super) fn of(seed: u64) -> Self {
        match seed % 3 {
            0 => Self::Checked,
            1 => Self::Plain,
            _ => Self::Streaming,
        }
    }

    /// The environment variable for client-go's feature gate, and its value.
    pub(super) fn environment(self) -> (&'static str, &'static str) {
        ("KUBE_FEATURE_WatchListClient", if self == Self::Plain { "false" } else { "true" })
    }

    pub(super) fn configure(self, config: &mut FactoryConfig) {
        config.check_consistency = self == Self::Checked;
        config.watch_list = if self == Self::Plain { WatchListMode::Off } else { WatchListMode::On };
    }

    /// Checks that our informer used this mode.
    ///
    /// # Panics
    /// Our informer listed in another way.
    pub(super) fn check(self, counters: &Counters) {
        let (streaming, checked) = (counters.streaming_lists > 0, counters.consistent_lists > 0);
        assert_eq!(streaming, self != Self::Plain, "{self}: {counters:?}");
        assert_eq!(checked, self == Self::Checked, "{self}: {counters:?}");
    }
}

impl fmt::Display for ListMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Streaming => "streaming lists",
            Self::Checked => "streaming lists, checked",
            Self::Plain => "plain lists",
        })
    }
}
