//! `log`: lines of the plugin.

use crate::{LogLevel, bindings::informer::plugin::log, guest::Guest};

impl log::Host for Guest {
    fn enabled(&mut self, level: log::Level) -> bool {
        self.output.enabled(level.into())
    }

    fn write(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) {
        self.output.line(level.into(), &message, &fields);
    }
}

impl From<log::Level> for LogLevel {
    fn from(level: log::Level) -> Self {
        match level {
            log::Level::Trace => Self::Trace,
            log::Level::Debug => Self::Debug,
            log::Level::Info => Self::Info,
            log::Level::Warn => Self::Warn,
            log::Level::Error => Self::Error,
        }
    }
}
