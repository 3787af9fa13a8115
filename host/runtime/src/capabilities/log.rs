//! `log`, and `wasi:logging`: lines that the plugin logs.

use wasmtime::{
    StoreContextMut,
    component::{HasSelf, Linker},
};

use super::interface::{Interface, Link, Version};
use crate::{
    LogLevel,
    bindings::{
        informer::plugin::log::{self, Host},
        wasi::logging::logging,
    },
    guest::Guest,
};

/// `wasi:logging` from before it had a version.
const LOGGING: &str = "wasi:logging/logging";

/// The name of the field that carries the context of a line of `wasi:logging`.
const CONTEXT: &str = "context";

pub(super) const INTERFACES: &[Interface] = &[
    Interface::ours("informer:plugin/log", |instance| {
        log::add_to_linker_instance::<_, HasSelf<Guest>>(instance, Guest::called)
    }),
    Interface {
        name: LOGGING,
        version: Version::Exactly("0.1.0-draft"),
        grant: None,
        link: Link::Named(|linker| logging::add_to_linker::<_, HasSelf<Guest>>(linker, Guest::called)),
    },
    Interface {
        name: LOGGING,
        version: Version::Unversioned,
        grant: None,
        link: Link::Named(link_unversioned),
    },
];

fn link_unversioned(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    use logging::{Host, Level};
    let log = |mut store: StoreContextMut<'_, Guest>, (level, context, message): (Level, String, String)| {
        store.data_mut().called().log(level, context, message);
        Ok(())
    };
    linker.instance(LOGGING)?.func_wrap("log", log)
}

impl Host for Guest {
    fn enabled(&mut self, level: log::Level) -> bool {
        self.output.enabled(level.into())
    }

    fn write(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) {
        self.output.line(level.into(), &message, &fields);
    }
}

impl logging::Host for Guest {
    fn log(&mut self, level: logging::Level, context: String, message: String) {
        let context = (!context.is_empty()).then(|| (CONTEXT.to_owned(), context));
        self.output.line(level.into(), &message, context.as_slice());
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

impl From<logging::Level> for LogLevel {
    fn from(level: logging::Level) -> Self {
        match level {
            logging::Level::Trace => Self::Trace,
            logging::Level::Debug => Self::Debug,
            logging::Level::Info => Self::Info,
            logging::Level::Warn => Self::Warn,
            logging::Level::Error | logging::Level::Critical => Self::Error,
        }
    }
}
