//! `informer.toml`: read, checked as a whole, and turned into types whose values are always valid.
//!
//! 1. The file of a section declares every key: name, type, default, bounds, documentation, and the field it fills.
//! 2. `document` reads a text by these tables, and `include` the files that it includes. Unknown keys, wrong types and values out
//!    of bounds are noted.
//! 3. The file of the section checks keys that depend on one another: repetitions, references, paths.
//! 4. [`Config`] is what the rest of the host sees. Two configurations of the same meaning are equal, so that a reload
//!    finds what changed.
//!
//! The annotated file (`example`) and the JSON Schema (`json_schema`) follow from the tables, too. To add a key, add it to the table of its
//! section, and its field to the struct that the section fills.
//!
//! Every problem is reported at once, each with file, line, column and what would be right. Reading a text opens no
//! connection, and no other file but those that it includes.

mod cluster;
mod context;
mod crd;
mod document;
mod environment;
mod example;
mod host;
mod include;
mod joined_watch;
mod json_schema;
mod key;
mod nearest;
mod objects;
pub mod plugin;
mod problem;
mod registry;
mod source;
mod table;
mod telemetry;
mod tenancy;
mod value;
mod watch;
mod watched;
mod written;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use informer_registry::Settings;
use informer_system::{HttpAddress, read_file};
use informer_types::Gvr;

pub use cluster::{Access, Cluster};
pub use context::Components;
pub use crd::definitions;
pub use environment::Environment;
pub use host::{Host, LOG, MetricsAuth, StateDir};
pub use objects::{CLUSTER_PLUGINS, PLUGINS, PluginObject, Refused, host_name};
pub use plugin::{
    Enqueue, Limits, OnReload, Plugin, Queue, Reading, Relist, Retry, Schedule, Subscription, Timer,
    Workqueue,
};
pub use problem::{ConfigError, Problem};
pub use source::Source;
pub use tenancy::Tenancy;
pub use value::{NotLoopback, local, loopback};
pub use watch::Watch;
pub use written::{Written, WrittenKey};

use context::Context;
use document::FileKeys;
pub(crate) use host::read_authorities;
use include::BYTES;
use key::Draft;
pub(crate) use nearest::nearest;
use problem::{Fault, Problems};
pub(crate) use value::names_resource;

/// The name of the file that commands read by default.
pub const FILE_NAME: &str = "informer.toml";

/// The smallest useful file.
pub const SMALLEST: &str = r#"[[watch]]
gvr = "apps/v1/deployments"

[[plugin]]
name = "hello"
source = "hello.wasm"

  [[plugin.on]]
  watch = "apps/v1/deployments"
"#;

/// A whole configuration. Each watch and each signer that a key names exists in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The files that the file includes, and the directories of such files, absolute.
    pub included: Vec<PathBuf>,
    /// The API server.
    pub cluster: Cluster,
    /// The process itself.
    pub host: Host,
    /// Where traces go; `None` means that there are none.
    pub telemetry: Option<informer_telemetry::Settings>,
    /// How registries are reached, and what is accepted from them.
    pub registries: Settings,
    /// The watches in the order of the file, and the one of namespaces that subscriptions need. The file has at least one. A
    /// running host replaces patterns by the resources that they stand for.
    pub watches: Vec<Watch>,
    /// The plugins in the order of the file; maybe none.
    pub plugins: Vec<Plugin>,
    /// What Plugin objects of the cluster may do; `None` means that there are none for this host.
    pub tenancy: Option<Tenancy>,
    /// The keys as they are written.
    pub written: Written,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such file.
    #[error(
        "there is no configuration at {}; name another with --config, make a project by `informer new NAME --lang LANGUAGE`, or start with\n\n{SMALLEST}",
        path.display()
    )]
    Absent {
        /// The absolute path of the missing file.
        path: PathBuf,
    },
    /// The system does not allow reading it.
    #[error("the configuration {} cannot be read", path.display())]
    Unreadable {
        /// The name that the caller gave.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Something in the file is wrong.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
}

/// The source of a text.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The name of the file in problems.
    pub file: &'a Path,
    /// The directory that paths in the file are relative to; absolute.
    pub base: &'a Path,
    /// The directories of the user.
    pub environment: &'a Environment,
}

/// Reads the file at `path`.
///
/// # Errors
/// [`LoadError`]. If the content of the file is wrong, it has every problem of the file.
pub fn load(path: &Path, components: Components) -> Result<Config, LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
    let absolute = std::path::absolute(path).map_err(unreadable)?;
    let bytes = match read_file(&absolute, BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.is_absent() => return Err(LoadError::Absent { path: absolute }),
        Err(error) => return Err(unreadable(error.into())),
    };
    let text = String::from_utf8(bytes).map_err(|error| not_text(&error, path))?;
    let base = absolute.parent().unwrap_or(&absolute);
    let place = Place { file: path, base, environment: &Environment::of_process() };
    Ok(parse(&text, &place, components)?)
}

/// Reads a text. Never panics, whatever the text.
///
/// # Errors
/// [`ConfigError`] with every problem of the text and of the files that it includes.
pub fn parse(text: &str, place: &Place<'_>, components: Components) -> Result<Config, ConfigError> {
    let Place { file, base, environment } = *place;
    let mut context = Context { problems: Problems::new(file, base, text), environment, components };
    let draft = document::read(text, &mut context.problems).map(|mut draft| {
        let is_whole = include::include(&mut draft, &mut context);
        (draft, is_whole)
    });
    match draft.map(|(draft, is_whole)| judged(draft, is_whole, &mut context)) {
        Some(config) if context.problems.is_empty() => Ok(config),
        _ => Err(context.problems.into_error()),
    }
}

/// The files and directories whose changes a running host applies or reports: the configuration at `path`, the files and
/// directories that it includes, and the file of `http-ca`. If the configuration cannot be read, only `path` is returned. Blocks.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let (text, base) = text_at(path);
    let environment = Environment::of_process();
    let draft = text.and_then(|text| document::read(&text, &mut Problems::new(path, &base, &text)));
    let named = draft.map(|draft| {
        let authorities = draft.value.host.value.http_ca.as_ref();
        let authorities = authorities.and_then(|file| environment.resolve(&file.to_string_lossy(), &base));
        include::paths(&draft, &base, &environment).into_iter().chain(authorities).collect::<Vec<PathBuf>>()
    });
    std::iter::once(path.to_owned()).chain(named.unwrap_or_default()).collect()
}

/// Returns the admin address in the file at `path`, which may have mistakes. Returns the default address if the file has no valid
/// `admin`, or cannot be read. Returns `None` if the file switches the endpoint off. Blocks.
pub(crate) fn admin(path: &Path) -> Option<HttpAddress> {
    let (text, base) = text_at(path);
    match document::admin(&text.unwrap_or_default())? {
        HttpAddress::Unix(socket) => {
            let absolute = Environment::of_process().resolve(&socket.to_string_lossy(), &base);
            Some(HttpAddress::Unix(absolute.unwrap_or(socket)))
        }
        address => Some(address),
    }
}

/// Returns the text of the file at `path`, if it can be read, and the directory that paths in the file are relative to.
fn text_at(path: &Path) -> (Option<String>, PathBuf) {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let text = read_file(&absolute, BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    (text, absolute.parent().unwrap_or(&absolute).to_owned())
}

/// The names of resources that are not written in full, each with its full name and once.
pub(crate) fn abbreviated(config: &Config) -> BTreeMap<String, String> {
    let names_resource = |key: &&WrittenKey| key.key == "gvr" || key.key.ends_with("].watch");
    let keys = config.written.keys().iter().filter(names_resource);
    let names = keys.filter_map(|key| {
        let written = key.value.trim_matches('"');
        Some((written.to_owned(), value::resource(written).ok()?.to_string()))
    });
    names.filter(|(written, full)| written != full).collect()
}

/// The watches whose resource differs a little from a built-in one of the same group and version, each with a question.
pub(crate) fn misspelt(config: &Config) -> Vec<(String, String)> {
    let question = |watch: &Watch| {
        let gvr = &watch.gvr;
        let of_group = |known: &Gvr| known.group == gvr.group && known.version == gvr.version;
        let known: Vec<Gvr> = value::built_in().filter(of_group).collect();
        if gvr.is_pattern() || known.contains(gvr) {
            return None;
        }
        let similar = nearest(&gvr.resource, known.iter().map(|known| known.resource.as_str()))?;
        let meant = Gvr::new(gvr.group.as_str(), gvr.version.as_str(), similar);
        Some((gvr.to_string(), format!("no built-in resource has this name; did you mean `{meant}`?")))
    };
    config.watches.iter().filter_map(question).collect()
}

/// The annotated file: every key with its documentation, bounds and default.
pub fn example() -> String {
    example::text()
}

/// A JSON Schema of the file, indented.
pub fn schema() -> String {
    format!("{:#}\n", json_schema::schema())
}

/// Checks a file. Problems are noted; the result is valid only if there are none. `is_whole` is false if an included file, or a part of
/// it, could not be read.
fn judged(file: Draft<FileKeys>, is_whole: bool, context: &mut Context<'_, '_>) -> Config {
    let has_watches = !file.is_refused("watch");
    let FileKeys {
        include,
        cluster,
        host,
        telemetry,
        registries,
        signers,
        policies,
        defaults,
        watches,
        plugins,
        tenancy,
        written,
    } = file.value;
    let watched = watched::watches(has_watches.then_some(watches), is_whole, &mut context.problems);
    defaults.value.clone().settle(&mut Plugin::default(), &mut context.problems);
    let plugins = plugin::plugins(plugins, &watched, context);
    Config {
        included: include,
        cluster: cluster::cluster(cluster, context),
        host: host::host(host, context),
        telemetry: telemetry::telemetry(telemetry, context),
        registries: registry::settings(registries, signers, policies, context),
        tenancy: tenancy::tenancy(tenancy, defaults.value, &watched, &mut context.problems),
        watches: watched.with_namespaces(plugins.iter().any(Plugin::follows_namespaces)),
        plugins,
        written,
    }
}

fn not_text(error: &std::string::FromUtf8Error, path: &Path) -> ConfigError {
    let good = error.utf8_error().valid_up_to();
    let text = String::from_utf8_lossy(error.as_bytes());
    let mut problems = Problems::new(path, Path::new(""), &text);
    problems.add(good, "", Fault::new("not UTF-8, which TOML is written in", "save the file as UTF-8"));
    problems.into_error()
}

#[cfg(test)]
mod tests;
