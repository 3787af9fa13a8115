//! `wasi:logging`: lines of the plugin, as those of our own `log`.

use wasmtime::{StoreContextMut, component::Linker};

use crate::{
    LogLevel,
    bindings::wasi::logging::logging::{Host, Level},
    guest::Guest,
};

/// The same interface from before it had a version.
pub(super) const UNVERSIONED: &str = "wasi:logging/logging";

/// The key under which the context stands among the fields of a line.
const CONTEXT: &str = "context";

impl Host for Guest {
    fn log(&mut self, level: Level, context: String, message: String) {
        let context = (!context.is_empty()).then(|| (CONTEXT.to_owned(), context));
        self.output.line(level.into(), &message, context.as_slice());
    }
}

pub(super) fn link_unversioned(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let log = |mut store: StoreContextMut<'_, Guest>, (level, context, message): (Level, String, String)| {
        store.data_mut().log(level, context, message);
        Ok(())
    };
    linker.instance(UNVERSIONED)?.func_wrap("log", log)
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Trace => Self::Trace,
            Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Warn => Self::Warn,
            Level::Error | Level::Critical => Self::Error,
        }
    }
}
