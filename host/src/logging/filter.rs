//! Log filters, written as `RUST_LOG` is.

use tracing_subscriber::{EnvFilter, filter::Targets};

use super::level::LEVELS;
use crate::config::nearest;

/// A filter in two forms.
pub(super) struct Filter {
    pub(super) host: EnvFilter,
    /// For the lines of plugins.
    pub(super) plugins: Targets,
}

/// A filter that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("`{filter}` is not a log filter: {reason}; write for example `info` or `info,informer_cache=debug`")]
pub struct InvalidFilter {
    filter: String,
    reason: String,
}

// === impl InvalidFilter ===

impl InvalidFilter {
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }
}

// === impl Filter ===

impl Filter {
    pub(super) fn parse(filter: &str) -> Result<Self, InvalidFilter> {
        let invalid = |reason| InvalidFilter { filter: filter.to_owned(), reason };
        if let Some((part, meant)) = filter.split(',').find_map(misspelt) {
            return Err(invalid(format!("`{part}` is no level; did you mean `{meant}`?")));
        }
        let host = EnvFilter::builder().parse(filter).map_err(|error| invalid(error.to_string()))?;
        // A filter with spans or fields applies its most verbose part to plugins.
        let plugins = filter.parse().unwrap_or_else(|_| {
            let most = host.max_level_hint();
            most.map_or_else(Targets::new, |most| Targets::new().with_default(most))
        });
        Ok(Self { host, plugins })
    }
}

/// Returns a part that is almost a level, with the level. Without this check, `debg` would be read as the name of a module, and
/// only the lines of that module would be logged.
fn misspelt(part: &str) -> Option<(&str, &'static str)> {
    let words = || LEVELS.iter().map(|(word, _)| *word).chain(["off"]);
    let part = part.trim();
    if words().any(|word| word.eq_ignore_ascii_case(part)) {
        return None;
    }
    Some((part, nearest(part, words())?))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;
    use crate::logging::PLUGIN_TARGET;

    #[test]
    fn a_filter_applies_to_the_lines_of_plugins_by_their_target() {
        for (filter, keeps_info, keeps_debug) in [
            ("info", true, false),
            ("warn", false, false),
            ("off", false, false),
            ("warn,plugin=debug", true, true),
            ("debug,plugin=warn", false, false),
            ("info,informer_cache=debug", true, false),
        ] {
            let Filter { plugins, .. } = Filter::parse(filter).unwrap();
            let keeps = |level| plugins.would_enable(PLUGIN_TARGET, &level);
            assert_eq!((keeps(Level::INFO), keeps(Level::DEBUG)), (keeps_info, keeps_debug), "{filter}");
        }
    }

    #[test]
    fn a_misspelt_level_is_not_read_as_a_module() {
        let refused = |filter| Filter::parse(filter).map(|_| ()).unwrap_err().to_string();

        assert!(
            refused("debg")
                .starts_with("`debg` is not a log filter: `debg` is no level; did you mean `debug`?; ")
        );
        assert!(refused("warn,inf").contains("did you mean `info`?"));
        assert!(refused("informer_cache=loud").contains("is not a log filter: "));
        for fine in ["", "DEBUG", "info,kube", "kube_client", "off,kube=info"] {
            assert!(Filter::parse(fine).is_ok(), "{fine}");
        }
    }
}
