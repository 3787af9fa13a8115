//! `informer check`: what is wrong with a configuration, its components and, on request, its cluster.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use clap::Args;
use informer_author::{Inspection, Kind};
use informer_registry::{Interfaces, Puller, Wish};
use informer_runtime::{Component, Engine, LoadError};
use informer_types::{one_line, visible_json};
use serde_json::{Value, json};

use crate::{
    app::{self, engine_config, existing_code_cache},
    cli::{ClusterArgs, Output},
    commands::output,
    config::{self, Components, Config, FILE_NAME, Plugin},
    connect::connect,
    lock::Lock,
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer check                        checks the file, its components and their grants
  informer check --file-only            checks the file alone and opens no component
  informer check --cluster              also checks that the cluster serves each watch
  informer check --context dev          also checks with the cluster of another context
  informer check --output json          one object: file, problems, each with a message and its line, plugin or watch";

/// The interface that timers call, in any version.
const TIMER_HANDLER: &str = "informer:plugin/timer-handler@";

/// `informer check`
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// The configuration file.
    #[arg(long, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
    /// Also check that the cluster serves each watched resource. `--kubeconfig` and `--context` imply it.
    #[arg(long)]
    pub cluster: bool,
    /// The cluster, if it is another one than the file names.
    #[command(flatten)]
    pub access: ClusterArgs,
    /// Check the file alone; open no component.
    #[arg(long)]
    pub file_only: bool,
}

/// Remarks that are not problems.
struct Notes {
    /// Patterns with what they stand for.
    patterns: Vec<(String, String)>,
    /// Names of resources with their full names.
    abbreviated: BTreeMap<String, String>,
    /// Watches with the requirements that were added to them.
    narrowed: Vec<(String, String)>,
    /// Watches with what they keep of their objects.
    kept: Vec<(String, String)>,
}

/// A problem that the file alone does not show.
struct Problem {
    /// `plugin` or `watch`.
    table: &'static str,
    name: String,
    message: String,
}

/// Checks the configuration and prints the verdict. Returns true if nothing is wrong.
///
/// # Errors
/// The file cannot be read, or there is no connection to the cluster.
pub(super) async fn run(args: CheckArgs, output: Output) -> anyhow::Result<bool> {
    let components = if args.file_only { Components::Unseen } else { Components::Present };
    let mut config = match config::load(&args.config, components) {
        Ok(config) => config,
        Err(config::LoadError::Invalid(error)) => {
            match output {
                Output::Text => print(&error.to_string()),
                Output::Json => print_json(&json!({"file": error.file, "problems": error.problems})),
            }
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    };
    let mut problems = Vec::new();
    if !args.file_only {
        problems.extend(check_components(&config, &args.config).await?);
    }
    let mut patterns = app::Patterns::of(&config);
    if args.cluster || args.access.is_given() {
        args.access.apply(&mut config.cluster.access);
        let connection = connect(&config.cluster.access).await?;
        let unserved = patterns.look_up(&connection).await;
        let watches = app::check_watches(patterns.expanded(), connection).await;
        let found = unserved.into_iter().chain(watches);
        problems.extend(found.map(|(name, message)| Problem { table: "watch", name, message }));
    }
    let notes = Notes {
        abbreviated: config::abbreviated(&config),
        patterns: patterns.meanings(),
        narrowed: app::narrowed_watches(patterns.expanded()),
        kept: app::kept_parts(patterns.expanded()),
    };
    report(&args.config, &problems, &notes, output);
    Ok(problems.is_empty())
}

/// Compiles every component, compares its imports with the grants, and lets an instance answer `describe`.
async fn check_components(config: &Config, file: &Path) -> anyhow::Result<Vec<Problem>> {
    let engine = Engine::new(&engine_config(&config.host, existing_code_cache(&config.host)))?;
    let (puller, lock) = (app::puller(config), Lock::path(file));
    let mut problems = Vec::new();
    for plugin in &config.plugins {
        let loaded = component(&engine, &puller, plugin, &lock).await;
        let unheard = loaded.as_ref().ok().and_then(|component| {
            let (_, exports) = component.names(&engine);
            plugin.unheard_timers(exports.iter().any(|name| name.starts_with(TIMER_HANDLER)))
        });
        let message = match app::check_component(&engine, plugin, loaded).await {
            Ok(()) => unheard,
            Err(error) => Some(error.to_string()),
        };
        if let Some(message) = message {
            problems.push(Problem { table: "plugin", name: plugin.name.clone(), message });
        }
    }
    Ok(problems)
}

/// Compiles the component of a plugin, which is pulled if it is in a registry.
async fn component(
    engine: &Engine,
    puller: &Puller,
    plugin: &Plugin,
    lock: &Path,
) -> Result<Component, LoadError> {
    let origin = app::Origin::of(plugin);
    let pin = origin.pin(Some(lock)).map_err(|error| LoadError::Source(error.to_string()))?;
    let Some(reference) = plugin.source.reference() else {
        let file = plugin.source.file().unwrap_or(Path::new(""));
        check_names(engine, file, plugin).await?;
        let component = Component::from_file(engine, file).await?;
        return match pin.filter(|pin| pin.hex() != component.digest()) {
            Some(pin) => Err(LoadError::Source(format!(
                "the file has the digest sha256:{}, and `digest` is {pin}; correct one of them",
                component.digest()
            ))),
            None => Ok(component),
        };
    };
    let interfaces = |names: &Interfaces| {
        let imports: Vec<&str> = names.imports.iter().map(String::as_str).collect();
        let exports: Vec<&str> = names.exports.iter().map(String::as_str).collect();
        Component::check_names(&imports, &exports, &plugin.grants).map_err(|error| error.to_string())
    };
    let wish = Wish { reference, pin, interfaces: &interfaces, known: &|_| false };
    let pulled = puller.pull(wish).await.map_err(|error| LoadError::Source(error.to_string()))?;
    Component::from_bytes(engine, pulled.component.unwrap_or_default()).await
}

/// Compares the imports of a file with the grants and its version with ours. This takes milliseconds, and compiling takes seconds
/// for some languages. Other mistakes in the file are found when it is compiled.
async fn check_names(engine: &Engine, file: &Path, plugin: &Plugin) -> Result<(), LoadError> {
    let bytes = Component::read_file(engine, file).await?;
    match Inspection::of(&bytes) {
        Ok(Inspection { kind: Kind::Component, imports, exports, .. }) => {
            let imports: Vec<&str> = imports.iter().map(String::as_str).collect();
            let exports: Vec<&str> = exports.iter().map(String::as_str).collect();
            match Component::check_names(&imports, &exports, &plugin.grants) {
                Err(error @ (LoadError::OtherVersion { .. } | LoadError::Imports { .. })) => Err(error),
                Ok(()) | Err(_) => Ok(()),
            }
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn report(file: &Path, problems: &[Problem], notes: &Notes, output: Output) {
    let Notes { patterns, abbreviated, narrowed, kept } = notes;
    match output {
        Output::Json => {
            let problems: Vec<Value> = problems.iter().map(Problem::to_json).collect();
            let narrowed: Vec<Value> =
                narrowed.iter().map(|(watch, by)| json!({"watch": watch, "added": by})).collect();
            let kept: Vec<Value> =
                kept.iter().map(|(watch, what)| json!({"watch": watch, "kept": what})).collect();
            let patterns: Vec<Value> =
                patterns.iter().map(|(watch, what)| json!({"watch": watch, "stands-for": what})).collect();
            print_json(&json!({
                "file": file, "problems": problems, "narrowed": narrowed, "kept": kept, "resources": abbreviated,
                "patterns": patterns,
            }));
        }
        Output::Text if problems.is_empty() => {
            print(&format!("{}: no problems", file.display()));
            for (written, full) in abbreviated {
                print(&format!("`{written}` is {full}"));
            }
            for (watch, what) in patterns {
                print(&format!("watch {watch}: {what}"));
            }
            for (watch, by) in narrowed {
                print(&format!("watch {watch}: narrowed to {by}, which every subscription needs"));
            }
            for (watch, what) in kept {
                print(&format!("watch {watch}: {what}"));
            }
        }
        Output::Text => problems.iter().for_each(|problem| print(&problem.to_string())),
    }
}

impl Problem {
    /// An object with a `message`, as the problems of the file have.
    fn to_json(&self) -> Value {
        json!({(self.table): self.name, "message": self.message})
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.table, self.name, one_line(&self.message))
    }
}

fn print(line: &str) {
    output::print(&format!("{line}\n"));
}

/// Prints a document on one line.
fn print_json(json: &Value) {
    print(&visible_json(&json.to_string()).to_string());
}
