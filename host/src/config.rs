//! `informer.toml`: read, judged as a whole, and turned into types that cannot be wrong.
//!
//! 1. `raw` is the file as written: values with their places, unknown keys and wrong types noted.
//! 2. `validate` is the file as meant: defaults, ranges, doubles, references, paths.
//! 3. [`Config`] is what the rest of the host sees. It compares equal where nothing changed, so that a reload can
//!    tell what did.
//!
//! Everything that is wrong is reported at once, each with line, column and what would be right. Reading opens
//! no connection and no other file.
//!
//! Not supported yet, and refused by name: the keys that `raw/schema.rs` lists as `later`.

mod cluster;
mod environment;
mod host;
mod loopback;
mod nearest;
pub mod plugin;
mod problem;
mod raw;
mod validate;
mod watch;

use std::{
    io,
    path::{Path, PathBuf},
};

pub use cluster::{Access, BURST, Cluster, IDLE_WATCH_TIMEOUT, QPS, WatchList};
pub use environment::Environment;
pub use host::{ADMIN, COMPILE_TIMEOUT, COMPONENT_BYTES, Host, LOG, SHUTDOWN_TIMEOUT, StateDir, TRACE};
pub use loopback::{NotLoopback, loopback};
pub use plugin::{
    Delivery, Enqueue, Events, Grants, Initial, Instance, Limits, OnExhausted, OnReload, Plugin, Quarantine,
    Queue, Rate, Relist, Reload, Retry, Subscription, Workqueue,
};
pub use problem::{ConfigError, Problem};
pub use watch::{Compression, DROP, LEAST_RESYNC, Watch};

pub(crate) use nearest::nearest;
use problem::{Fault, Problems};

/// Where the file is looked for unless somebody says where.
pub const FILE_NAME: &str = "informer.toml";

/// The smallest file that does something.
pub const SMALLEST: &str = r#"[[watch]]
gvr = "apps/v1/deployments"

[[plugin]]
name = "hello"
source = "hello.wasm"

  [[plugin.on]]
  watch = "apps/v1/deployments"
"#;

/// A whole configuration. Every reference in it leads somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Which API server.
    pub cluster: Cluster,
    /// The process itself.
    pub host: Host,
    /// In the order of the file; at least one.
    pub watches: Vec<Watch>,
    /// In the order of the file; maybe none.
    pub plugins: Vec<Plugin>,
}

/// Whether the plugins' files must be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Components {
    /// They are not looked at: whoever loads them finds out.
    #[default]
    Unseen,
    /// One that is not there is a problem of the file.
    Present,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such file.
    #[error(
        "there is no configuration at {}; name another with --config, try without a cluster by `informer dev`, or start with\n\n{SMALLEST}",
        path.display()
    )]
    Absent {
        /// Where it was looked for, absolute.
        path: PathBuf,
    },
    /// The system does not let us read it.
    #[error("the configuration {} cannot be read", path.display())]
    Unreadable {
        /// As it was named.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It was read, and something in it is wrong.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
}

/// Reads the file at `path`.
///
/// # Errors
/// [`LoadError`]; where the file itself is wrong, with every problem of it.
pub fn load(path: &Path, components: Components) -> Result<Config, LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
    let absolute = std::path::absolute(path).map_err(unreadable)?;
    let bytes = match std::fs::read(&absolute) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(LoadError::Absent { path: absolute });
        }
        Err(error) => return Err(unreadable(error)),
    };
    let text = String::from_utf8(bytes).map_err(|error| not_text(&error, path))?;
    let base = absolute.parent().unwrap_or(&absolute);
    let place = Place { file: path, base, environment: &Environment::of_process() };
    Ok(parse(&text, &place, components)?)
}

/// Where a text comes from.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// What problems name the file.
    pub file: &'a Path,
    /// What paths in the file are relative to; absolute.
    pub base: &'a Path,
    /// What else they depend on.
    pub environment: &'a Environment,
}

/// Reads a text. Never panics, whatever the text.
///
/// # Errors
/// [`ConfigError`] with every problem of the text.
pub fn parse(text: &str, place: &Place<'_>, components: Components) -> Result<Config, ConfigError> {
    let Place { file, base, environment } = *place;
    let mut context = validate::Context { problems: Problems::new(text), base, environment, components };
    let raw = raw::read(text, &mut context.problems);
    let config = raw.map(|raw| validate::config(raw, &mut context));
    match config {
        Some(config) if context.problems.is_empty() => Ok(config),
        _ => Err(context.problems.into_error(file.to_owned())),
    }
}

fn not_text(error: &std::string::FromUtf8Error, path: &Path) -> ConfigError {
    let good = error.utf8_error().valid_up_to();
    let text = String::from_utf8_lossy(error.as_bytes());
    let mut problems = Problems::new(&text);
    problems.add(good, "", Fault::new("not UTF-8, which TOML is written in", "save the file as UTF-8"));
    problems.into_error(path.to_owned())
}

#[cfg(test)]
mod tests;
