//! `informer check`: what is wrong with a configuration, its components and, on request, its cluster.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use clap::Args;
use informer_author::{Inspection, Kind, Toolchain};
use informer_registry::{Interfaces, Puller, Wish};
use informer_runtime::{Component, Engine, InstancePolicy, LoadError};
use informer_types::{DeclaredReads, one_line};
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
    /// The cluster, instead of the cluster of the file.
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
    /// Watches with a question about their names. The cluster answers it, if it is checked.
    misspelt: Vec<(String, String)>,
    /// Watches with the requirements that were added to them.
    narrowed: Vec<(String, String)>,
    /// Watches with what they keep of their objects.
    kept: Vec<(String, String)>,
    /// Plugins with advice that follows from their components.
    advice: Vec<(String, String)>,
}

/// What the components show.
#[derive(Default)]
struct Shown {
    problems: Vec<Problem>,
    /// For [`Notes`].
    advice: Vec<(String, String)>,
    /// What the component of each plugin declares to read.
    declared: Vec<DeclaredReads>,
}

/// What the bytes of a component say about it.
#[derive(Default)]
struct Traits {
    reads: DeclaredReads,
    toolchain: Option<Toolchain>,
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
                Output::Json => {
                    let file = error.file.display().to_string();
                    print_json(&json!({"file": file, "problems": error.problems}));
                }
            }
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    };
    let Shown { mut problems, advice, declared } =
        if args.file_only { Shown::default() } else { check_components(&config, &args.config).await? };
    for (plugin, DeclaredReads(declared)) in config.plugins.iter_mut().zip(declared) {
        plugin.declare(|gvr| declared.get(gvr).cloned());
    }
    let mut patterns = app::Patterns::of(&config);
    let asks_cluster = args.cluster || args.access.is_given();
    if asks_cluster {
        args.access.apply(&mut config.cluster.access);
        let connection = connect(&config.cluster.access).await?;
        let unserved = patterns.look_up(&connection).await;
        let watches = app::check_watches(patterns.expanded(), connection).await;
        let found = unserved.into_iter().chain(watches);
        problems.extend(found.map(|(name, message)| Problem { table: "watch", name, message }));
    }
    let notes = Notes {
        abbreviated: config::abbreviated(&config),
        misspelt: if asks_cluster { Vec::new() } else { config::misspelt(&config) },
        patterns: patterns.meanings(),
        narrowed: app::narrowed_watches(patterns.expanded()),
        kept: app::kept_parts(patterns.expanded()),
        advice,
    };
    report(&args.config, &problems, &notes, output);
    Ok(problems.is_empty())
}

/// Compiles every component, compares its imports with the grants and its reads with `reads`, and lets an instance answer `describe`.
async fn check_components(config: &Config, file: &Path) -> anyhow::Result<Shown> {
    let engine = Engine::new(&engine_config(&config.host, existing_code_cache(&config.host)))?;
    let (puller, lock) = (app::puller(config), Lock::path(file));
    let mut shown = Shown::default();
    for plugin in &config.plugins {
        let (loaded, traits) = component(&engine, &puller, plugin, &lock).await.map_or_else(
            |error| (Err(error), Traits::default()),
            |(component, traits)| (Ok(component), traits),
        );
        let unhandled = loaded.as_ref().ok().and_then(|component| {
            let (_, exports) = component.names();
            plugin.unhandled_timers(exports.iter().any(|name| name.starts_with(TIMER_HANDLER)))
        });
        let message = match app::check_component(&engine, plugin, loaded).await {
            Ok(()) => unhandled.or_else(|| unread(plugin, &traits.reads)),
            Err(error) => Some(error.to_string()),
        };
        if let Some(message) = message {
            shown.problems.push(Problem { table: "plugin", name: plugin.name.clone(), message });
        }
        shown.advice.extend(limited(plugin, &traits).map(|text| (plugin.name.clone(), text)));
        shown.declared.push(traits.reads);
    }
    Ok(shown)
}

/// The problem if the component declares to read something that is not under `reads`.
fn unread(plugin: &Plugin, DeclaredReads(declared): &DeclaredReads) -> Option<String> {
    let reads = plugin.reads();
    declared.iter().find_map(|(gvr, parts)| {
        let part = reads.get(gvr)?.undeclared(parts)?;
        Some(format!(
            "the component reads {:?} of {gvr}: add it to `reads` under [[plugin.on]]",
            part.to_string()
        ))
    })
}

/// The line that limits the memory of an instance that grows with each call.
fn limited(plugin: &Plugin, traits: &Traits) -> Option<String> {
    let is_unlimited = matches!(plugin.instance, InstancePolicy::Warm { max_calls: None, .. });
    let toolchain = traits.toolchain.as_ref().filter(|toolchain| is_unlimited && toolchain.grows())?;
    let engine = toolchain.compiler.as_deref()?;
    Some(format!(
        "an instance in {engine} keeps some memory of each call; under [[plugin]] you can write: max-calls = 1000"
    ))
}

/// Compiles the component of a plugin, which is pulled if it is in a registry.
async fn component(
    engine: &Engine,
    puller: &Puller,
    plugin: &Plugin,
    lock: &Path,
) -> Result<(Component, Traits), LoadError> {
    let origin = app::Origin::of(plugin);
    let pin = origin.pin(Some(lock)).map_err(|error| LoadError::Source(error.to_string()))?;
    let Some(reference) = plugin.source.reference() else {
        let file = plugin.source.file().unwrap_or(Path::new(""));
        let traits = check_names(engine, file, plugin).await?;
        let component = Component::from_file(engine, file).await?;
        return match pin.filter(|pin| pin.hex() != component.digest()) {
            Some(pin) => Err(LoadError::Source(format!(
                "the file has the digest sha256:{}, and `digest` is {pin}; correct one of them",
                component.digest()
            ))),
            None => Ok((component, traits)),
        };
    };
    let interfaces = |names: &Interfaces| {
        let imports: Vec<&str> = names.imports.iter().map(String::as_str).collect();
        let exports: Vec<&str> = names.exports.iter().map(String::as_str).collect();
        Component::check_names(&imports, &exports, &plugin.grants).map_err(|error| error.to_string())
    };
    let wish = Wish { reference, pin, interfaces: &interfaces, known: &|_| false };
    let pulled = puller.pull(wish).await.map_err(|error| LoadError::Source(error.to_string()))?;
    let bytes = pulled.component.unwrap_or_default();
    let traits = Inspection::of(&bytes).map(Traits::of).unwrap_or_default();
    Ok((Component::from_bytes(engine, bytes).await?, traits))
}

/// Compares the imports of a file with the grants and its version with ours. This takes milliseconds, and compiling takes seconds
/// for some languages. Other mistakes in the file are found when it is compiled.
async fn check_names(engine: &Engine, file: &Path, plugin: &Plugin) -> Result<Traits, LoadError> {
    let bytes = Component::read_file(engine, file).await?;
    match Inspection::of(&bytes) {
        Ok(inspection) if inspection.kind == Kind::Component => {
            let imports: Vec<&str> = inspection.imports.iter().map(String::as_str).collect();
            let exports: Vec<&str> = inspection.exports.iter().map(String::as_str).collect();
            match Component::check_names(&imports, &exports, &plugin.grants) {
                Err(error @ (LoadError::OtherVersion { .. } | LoadError::Imports { .. })) => Err(error),
                Ok(()) | Err(_) => Ok(Traits::of(inspection)),
            }
        }
        Ok(_) | Err(_) => Ok(Traits::default()),
    }
}

fn report(file: &Path, problems: &[Problem], notes: &Notes, output: Output) {
    let Notes { patterns, abbreviated, misspelt, narrowed, kept, advice } = notes;
    match output {
        Output::Json => {
            let problems: Vec<Value> = problems.iter().map(Problem::to_json).collect();
            let narrowed: Vec<Value> =
                narrowed.iter().map(|(watch, by)| json!({"watch": watch, "added": by})).collect();
            let kept: Vec<Value> =
                kept.iter().map(|(watch, what)| json!({"watch": watch, "kept": what})).collect();
            let patterns: Vec<Value> =
                patterns.iter().map(|(watch, what)| json!({"watch": watch, "stands-for": what})).collect();
            let misspelt: Vec<Value> =
                misspelt.iter().map(|(watch, what)| json!({"watch": watch, "question": what})).collect();
            let advice: Vec<Value> =
                advice.iter().map(|(plugin, what)| json!({"plugin": plugin, "advice": what})).collect();
            print_json(&json!({
                "file": file.display().to_string(), "problems": problems, "narrowed": narrowed, "kept": kept, "resources": abbreviated,
                "misspelt": misspelt, "patterns": patterns, "plugins": advice,
            }));
        }
        Output::Text if problems.is_empty() => {
            print(&format!("{}: no problems", file.display()));
            for (written, full) in abbreviated {
                print(&format!("`{written}` is {full}"));
            }
            for (watch, what) in misspelt.iter().chain(patterns) {
                print(&format!("watch {watch}: {what}"));
            }
            for (watch, by) in narrowed {
                print(&format!("watch {watch}: narrowed to {by}, which every subscription needs"));
            }
            for (watch, what) in kept {
                print(&format!("watch {watch}: {what}"));
            }
            for (plugin, what) in advice {
                print(&format!("plugin {plugin}: {what}"));
            }
        }
        Output::Text => problems.iter().for_each(|problem| print(&problem.to_string())),
    }
}

impl Traits {
    fn of(inspection: Inspection) -> Self {
        Self { reads: inspection.reads, toolchain: inspection.toolchain }
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
    output::print_json_line(json);
}
