//! The log level of one plugin.

use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use informer_runtime::{LogLevel, LogLine, LogSink};

/// The levels with their words, the least serious first.
pub(crate) const LEVELS: [(&str, LogLevel); 5] = [
    ("trace", LogLevel::Trace),
    ("debug", LogLevel::Debug),
    ("info", LogLevel::Info),
    ("warn", LogLevel::Warn),
    ("error", LogLevel::Error),
];

/// The word for a plugin without a level of its own.
const DEFAULT: &str = "default";

/// The lowest level of the lines that are kept. All clones share one level; reading it takes no lock.
#[derive(Clone, Debug)]
pub(crate) struct PluginLevel(Arc<AtomicU8>);

/// A level as a person writes it. `default` means no level of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenLevel(pub(crate) Option<LogLevel>);

/// There is no such level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no log level of a plugin; write trace, debug, info, warn or error, or default for that of the host"
)]
pub(crate) struct UnknownLevel(String);

/// Keeps the lines from the level of the plugin upwards. If the plugin has no level, the next sink decides.
pub(crate) struct LeveledLog {
    level: PluginLevel,
    sink: Arc<dyn LogSink>,
}

// === impl PluginLevel ===

impl PluginLevel {
    /// `None` means that the filter of the host decides.
    pub(crate) fn new(level: Option<LogLevel>) -> Self {
        Self(Arc::new(AtomicU8::new(stored(level))))
    }

    /// Sets the level from now on. Calls in flight use it from their next line.
    pub(crate) fn set(&self, level: Option<LogLevel>) {
        self.0.store(stored(level), Ordering::Relaxed);
    }

    /// Returns `None` if the filter of the host decides.
    pub(crate) fn get(&self) -> Option<LogLevel> {
        let index = usize::from(self.0.load(Ordering::Relaxed)).checked_sub(1)?;
        LEVELS.get(index).map(|(_, level)| *level)
    }
}

/// 0 for `None`, otherwise the index in [`LEVELS`] and 1.
fn stored(level: Option<LogLevel>) -> u8 {
    let index = LEVELS.iter().position(|(_, known)| Some(*known) == level);
    index.and_then(|index| u8::try_from(index + 1).ok()).unwrap_or(0)
}

// === impl WrittenLevel ===

impl WrittenLevel {
    pub(crate) fn as_str(self) -> &'static str {
        LEVELS.iter().find(|(_, level)| Some(*level) == self.0).map_or(DEFAULT, |(word, _)| *word)
    }
}

impl FromStr for WrittenLevel {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        if text == DEFAULT {
            return Ok(Self(None));
        }
        let found = LEVELS.iter().find(|(word, _)| *word == text);
        found.map(|(_, level)| Self(Some(*level))).ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}

// === impl LeveledLog ===

impl LeveledLog {
    pub(crate) fn new(level: PluginLevel, sink: Arc<dyn LogSink>) -> Self {
        Self { level, sink }
    }
}

impl LogSink for LeveledLog {
    fn enabled(&self, plugin: &str, level: LogLevel) -> bool {
        match self.level.get() {
            Some(least) => level >= least,
            None => self.sink.enabled(plugin, level),
        }
    }

    fn line(&self, line: &LogLine<'_>) {
        self.sink.line(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sink that keeps warnings and errors.
    struct Warnings;

    impl LogSink for Warnings {
        fn enabled(&self, _: &str, level: LogLevel) -> bool {
            level >= LogLevel::Warn
        }

        fn line(&self, _: &LogLine<'_>) {}
    }

    fn kept(log: &LeveledLog) -> Vec<&'static str> {
        LEVELS.iter().filter(|(_, level)| log.enabled("p", *level)).map(|(word, _)| *word).collect()
    }

    #[test]
    fn the_level_of_a_plugin_overrides_the_filter_of_the_host() {
        let level = PluginLevel::new(None);
        let log = LeveledLog::new(level.clone(), Arc::new(Warnings));
        assert_eq!(kept(&log), ["warn", "error"]);

        level.set(Some(LogLevel::Debug));
        assert_eq!(kept(&log), ["debug", "info", "warn", "error"]);

        level.set(Some(LogLevel::Error));
        assert_eq!(kept(&log), ["error"]);

        level.set(None);
        assert_eq!(kept(&log), ["warn", "error"]);
    }

    #[test]
    fn every_level_is_read_as_it_is_written() {
        for (word, level) in LEVELS {
            assert_eq!(word.parse(), Ok(WrittenLevel(Some(level))));
            assert_eq!(WrittenLevel(Some(level)).as_str(), word);
            assert_eq!(PluginLevel::new(Some(level)).get(), Some(level));
        }
        assert_eq!("default".parse(), Ok(WrittenLevel(None)));
        assert_eq!(PluginLevel::new(None).get(), None);
    }

    #[test]
    fn an_unknown_level_is_refused_with_the_known_ones() {
        for text in ["loud", "", "Info", "info,plugin=debug"] {
            let refused = text.parse::<WrittenLevel>().unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("`{text}` is no log level of a plugin; write trace, ")),
                "{refused}"
            );
        }
    }
}
