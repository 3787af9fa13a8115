//! From which level on the lines of a plugin are kept.

use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use informer_runtime::{LogLevel, LogLine, LogSink};

/// The levels as they are written, the least serious first.
pub(crate) const LEVELS: [(&str, LogLevel); 5] = [
    ("trace", LogLevel::Trace),
    ("debug", LogLevel::Debug),
    ("info", LogLevel::Info),
    ("warn", LogLevel::Warn),
    ("error", LogLevel::Error),
];

/// What is written where a plugin has no level of its own.
const DEFAULT: &str = "default";

/// The least serious lines of one plugin that are kept. All clones see the same; asking takes no lock.
#[derive(Clone, Debug)]
pub(crate) struct PluginLevel(Arc<AtomicU8>);

/// A level as a person writes it: a word, or `default` for none of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenLevel(pub(crate) Option<LogLevel>);

/// No such level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no log level of a plugin; write trace, debug, info, warn or error, or default for that of the host"
)]
pub(crate) struct UnknownLevel(String);

/// Keeps what a plugin has its own level for, and asks the sink behind it where there is none.
pub(crate) struct LeveledLog {
    level: PluginLevel,
    sink: Arc<dyn LogSink>,
}

// === impl PluginLevel ===

impl PluginLevel {
    /// None: the host decides.
    pub(crate) fn new(level: Option<LogLevel>) -> Self {
        Self(Arc::new(AtomicU8::new(stored(level))))
    }

    /// From now on; calls in hand notice at their next line.
    pub(crate) fn set(&self, level: Option<LogLevel>) {
        self.0.store(stored(level), Ordering::Relaxed);
    }

    /// None: the host decides.
    pub(crate) fn get(&self) -> Option<LogLevel> {
        let index = usize::from(self.0.load(Ordering::Relaxed)).checked_sub(1)?;
        LEVELS.get(index).map(|(_, level)| *level)
    }
}

/// Zero for none.
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

    /// Would keep warnings.
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
    fn a_plugin_has_its_own_level_or_that_of_the_host() {
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
    fn every_level_is_written_as_it_is_read() {
        for (word, level) in LEVELS {
            assert_eq!(word.parse(), Ok(WrittenLevel(Some(level))));
            assert_eq!(WrittenLevel(Some(level)).as_str(), word);
            assert_eq!(PluginLevel::new(Some(level)).get(), Some(level));
        }
        assert_eq!("default".parse(), Ok(WrittenLevel(None)));
        assert_eq!(PluginLevel::new(None).get(), None);
    }

    #[test]
    fn a_level_that_there_is_not_is_told_what_there_is() {
        for text in ["loud", "", "Info", "info,plugin=debug"] {
            let refused = text.parse::<WrittenLevel>().unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("`{text}` is no log level of a plugin; write trace, ")),
                "{refused}"
            );
        }
    }
}
