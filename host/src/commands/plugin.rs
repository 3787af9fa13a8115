//! `informer plugin`: components in registries.

mod print;

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use informer_registry::{Digest, Interfaces, Puller, Push, Reference, Settings, Wish};
use informer_runtime::{Component, Engine};
use serde_json::json;

use super::output;
use crate::{
    app::{self, engine_config, existing_code_cache},
    cli::Output,
    config::{self, Components, Config, FILE_NAME, Host, LoadError},
    lock::Lock,
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer plugin push ttl.wasm oci://ghcr.io/acme/ttl:1.2
  informer plugin inspect oci://ghcr.io/acme/ttl:1.2
  informer plugin pull oci://ghcr.io/acme/ttl:1.2 --to ttl.wasm
  informer plugin verify                every plugin of the configuration that comes from a registry
  informer plugin lock                  writes informer.lock, which pins every tag of the configuration

Exit status: 0 done, 1 failed or not accepted.";

/// The package of the worlds that a plugin is built against.
const PACKAGE: &str = "informer:plugin";

/// `informer plugin`
#[derive(Clone, Debug, Args)]
pub struct PluginArgs {
    /// The action.
    #[command(subcommand)]
    pub command: PluginCommand,
    /// The configuration file, whose tables `registry`, `signer` and `verify` apply.
    #[arg(long, global = true, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
}

/// The actions on components in registries.
#[derive(Clone, Debug, Subcommand)]
pub enum PluginCommand {
    /// Pushes a component under a tag, with its imports and exports, and prints its digest.
    Push(PushArgs),
    /// Pulls a component into a file, if the configuration accepts it.
    Pull(PullArgs),
    /// Shows what a registry has under a name: manifest, digest, imports, exports, size and signatures.
    Inspect(NameArgs),
    /// Verifies signatures anew, as [[verify]] of the configuration requires.
    Verify(VerifyArgs),
    /// Looks up every tag of the configuration, verifies it, and writes its digest to informer.lock beside the file.
    Lock,
}

/// What is pushed.
#[derive(Clone, Debug, Args)]
pub struct PushArgs {
    /// The file of the component.
    pub file: PathBuf,
    /// The name in the registry, with a tag.
    pub reference: Reference,
    /// An annotation of the manifest; can be repeated.
    #[arg(long, value_name = "NAME=TEXT", value_parser = annotation)]
    pub annotation: Vec<(String, String)>,
    /// The person or program that made the component.
    #[arg(long, value_name = "TEXT")]
    pub author: Option<String>,
}

/// What is pulled.
#[derive(Clone, Debug, Args)]
pub struct PullArgs {
    /// The name in the registry.
    pub reference: Reference,
    /// The file to write. Default: the last part of the name and `.wasm`.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}

/// One name in a registry.
#[derive(Clone, Debug, Args)]
pub struct NameArgs {
    /// The name in the registry.
    pub reference: Reference,
}

/// What is verified.
#[derive(Clone, Debug, Args)]
pub struct VerifyArgs {
    /// Names in registries. Default: the names in the configuration.
    pub references: Vec<Reference>,
}

/// Runs the action. Returns true if it succeeded.
///
/// # Errors
/// The configuration cannot be used, or the registry fails or refuses.
pub(super) async fn run(args: PluginArgs, output: Output) -> anyhow::Result<bool> {
    let PluginArgs { command, config } = args;
    match command {
        PluginCommand::Push(args) => push(args, &optional(&config)?, output).await,
        PluginCommand::Pull(args) => pull(args, &optional(&config)?, output).await,
        PluginCommand::Inspect(args) => {
            let (host, settings) = optional(&config)?;
            let inspection = puller(&host, settings).inspect(&args.reference).await?;
            print::inspection(&args.reference, &inspection, output);
            Ok(true)
        }
        PluginCommand::Verify(args) => verify(args, &config, output).await,
        PluginCommand::Lock => lock(&config, output).await,
    }
}

/// The sections that concern registries. Without a file of the usual name, everything has its default.
fn optional(path: &Path) -> anyhow::Result<(Host, Settings)> {
    match config::load(path, Components::Unseen) {
        Ok(config) => Ok((config.host, config.registries)),
        Err(LoadError::Absent { .. }) if path == Path::new(FILE_NAME) => {
            Ok((Host::default(), Settings::default()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Nothing is kept: the cache belongs to the host.
fn puller(host: &Host, settings: Settings) -> Puller {
    Puller::without_store(settings, host.component_bytes as u64)
}

async fn push(args: PushArgs, (host, settings): &(Host, Settings), output: Output) -> anyhow::Result<bool> {
    let engine = Engine::new(&engine_config(host, existing_code_cache(host)))?;
    let bytes = Component::read_file(&engine, &args.file).await?;
    let component = Component::from_bytes(&engine, bytes.clone()).await?;
    let (imports, exports) = component.names();
    let target = world(&exports);
    let artifact = Push {
        component: bytes.into(),
        interfaces: Interfaces { imports, exports, target },
        created: modified(&args.file),
        author: args.author,
        annotations: args.annotation.into_iter().collect::<BTreeMap<String, String>>(),
    };
    let digest = puller(host, settings.clone()).push(&args.reference, artifact).await?;
    let exact = args.reference.with_digest(digest);
    match output {
        Output::Json => {
            output::print_json(&json!({"reference": exact.to_string(), "digest": digest.to_string()}));
        }
        Output::Text => output::print(&format!("pushed {}\ndigest {digest}\n", args.reference)),
    }
    Ok(true)
}

/// The time of the last change of a file. The same file then has the same manifest each time that it is pushed.
fn modified(file: &Path) -> Option<String> {
    let modified = fs::metadata(file).ok()?.modified().ok()?;
    let time = jiff::Timestamp::try_from(modified).ok()?;
    jiff::Timestamp::from_second(time.as_second()).ok().map(|time| time.to_string())
}

/// The world that a component with these exports was built against.
fn world(exports: &[String]) -> Option<String> {
    let has = |interface: &str| {
        let start = format!("{PACKAGE}/{interface}@");
        exports.iter().find_map(|export| export.strip_prefix(&start).map(str::to_owned))
    };
    let has_signals =
        ["sync-handler", "timer-handler", "config-handler"].iter().all(|one| has(one).is_some());
    match (has("handler"), has("reconciler")) {
        (Some(version), Some(_)) if has_signals => {
            Some(format!("{PACKAGE}/controller-with-signals@{version}"))
        }
        (Some(version), Some(_)) => Some(format!("{PACKAGE}/controller-with-handlers@{version}")),
        (Some(version), None) => Some(format!("{PACKAGE}/event-handler@{version}")),
        (None, Some(version)) => Some(format!("{PACKAGE}/controller@{version}")),
        (None, None) => {
            has("batch-handler").map(|version| format!("{PACKAGE}/batch-event-handler@{version}"))
        }
    }
}

async fn pull(args: PullArgs, (host, settings): &(Host, Settings), output: Output) -> anyhow::Result<bool> {
    let PullArgs { reference, to } = args;
    let wish = Wish { reference: &reference, pin: None, interfaces: &|_| Ok(()), known: &|_| false };
    let pulled = puller(host, settings.clone()).pull(wish).await?;
    let name = reference.repository().rsplit('/').next().unwrap_or_default();
    let to = to.unwrap_or_else(|| PathBuf::from(format!("{name}.wasm")));
    let bytes = pulled.component.unwrap_or_default();
    write(&to, &bytes).with_context(|| format!("{} cannot be written", to.display()))?;
    let (artifact, layer) = (pulled.artifact.to_string(), pulled.layer.to_string());
    match output {
        Output::Json => output::print_json(
            &json!({"file": to.display().to_string(), "artifact": artifact, "component": layer}),
        ),
        Output::Text => {
            output::print(&format!(
                "{}: {} bytes, {layer}\nartifact {artifact}\n",
                to.display(),
                bytes.len()
            ));
        }
    }
    Ok(true)
}

async fn verify(args: VerifyArgs, file: &Path, output: Output) -> anyhow::Result<bool> {
    let config = config::load(file, Components::Unseen)?;
    let wanted = if args.references.is_empty() {
        pinned(&config, &Lock::path(file))?
    } else {
        args.references.into_iter().map(|reference| (reference, None)).collect()
    };
    let puller = puller(&config.host, config.registries.clone());
    let mut lines = Vec::with_capacity(wanted.len());
    for (reference, pin) in wanted {
        lines.push((reference.clone(), puller.verify(&reference, pin).await));
    }
    print::verdicts(&lines, output);
    Ok(lines.iter().all(|(_, verdict)| verdict.is_ok()))
}

/// The artifacts of the configuration, with their pins.
fn pinned(config: &Config, lock: &Path) -> anyhow::Result<Vec<(Reference, Option<Digest>)>> {
    let mut wanted = Vec::new();
    for plugin in &config.plugins {
        if let Some(reference) = plugin.source.reference() {
            wanted.push((reference.clone(), app::Origin::of(plugin).pin(Some(lock))?));
        }
    }
    wanted.dedup();
    Ok(wanted)
}

/// If one tag is not accepted, the old file stays.
async fn lock(file: &Path, output: Output) -> anyhow::Result<bool> {
    let config = config::load(file, Components::Unseen)?;
    let path = Lock::path(file);
    // A file that cannot be read is written anew.
    let old = Lock::read(&path).ok().flatten().unwrap_or_default();
    let (puller, mut lock) = (puller(&config.host, config.registries.clone()), Lock::default());
    let mut changes = Vec::new();
    for plugin in config.plugins.iter().filter(|plugin| plugin.digest.is_none()) {
        let Some(reference) = plugin.source.reference().filter(|reference| reference.digest().is_none())
        else {
            continue;
        };
        let digest = puller.resolve(reference).await?;
        puller.verify(reference, Some(digest)).await?;
        changes.push((reference.clone(), old.digest(reference), digest));
        lock.add(reference, digest);
    }
    if changes.is_empty() {
        bail!(
            "no plugin of {} has a tag in a registry as its source, so there is nothing to lock",
            file.display()
        );
    }
    write(&path, lock.text().as_bytes()).with_context(|| format!("{} cannot be written", path.display()))?;
    print::locked(&path, &changes, output);
    Ok(true)
}

/// Replaces a file atomically.
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let absolute = std::path::absolute(path)?;
    let mut file = tempfile::NamedTempFile::new_in(absolute.parent().unwrap_or(Path::new("/")))?;
    file.write_all(bytes)?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(mode)?;
    file.persist(&absolute)?;
    Ok(())
}

fn annotation(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=TEXT, for example org.opencontainers.image.licenses=Apache-2.0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_world_follows_from_the_exports() {
        let named =
            |exports: &[&str]| world(&exports.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());

        let (handler, reconciler) = ("informer:plugin/handler@0.1.0", "informer:plugin/reconciler@0.1.0");
        assert_eq!(named(&[handler]).unwrap(), "informer:plugin/event-handler@0.1.0");
        assert_eq!(named(&[reconciler, "a:b/c"]).unwrap(), "informer:plugin/controller@0.1.0");
        assert_eq!(named(&[handler, reconciler]).unwrap(), "informer:plugin/controller-with-handlers@0.1.0");
        let signals = ["sync-handler", "timer-handler", "config-handler"]
            .map(|name| format!("informer:plugin/{name}@0.1.0"));
        let all: Vec<&str> =
            [handler, reconciler].into_iter().chain(signals.iter().map(String::as_str)).collect();
        assert_eq!(named(&all).unwrap(), "informer:plugin/controller-with-signals@0.1.0");
        assert_eq!(named(&all[..4]).unwrap(), "informer:plugin/controller-with-handlers@0.1.0");
        let batches = named(&["informer:plugin/batch-handler@0.2.0"]).unwrap();
        assert_eq!(batches, "informer:plugin/batch-event-handler@0.2.0");
        assert_eq!(named(&["wasi:cli/run@0.2.0"]), None);
    }
}
