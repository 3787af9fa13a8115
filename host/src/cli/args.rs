//! The arguments of each command.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Subcommand};
use informer_types::{Gvr, ObjectKey};

use crate::{
    commands::dead_letters::Chosen,
    config::{FILE_NAME, loopback},
};

/// Where `cargo xtask guests` leaves the example.
const EXAMPLE_COMPONENT: &str = "target/wasm32-wasip2/plugin/deployments_rust.wasm";

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  informer run
  informer run --config /etc/informer/informer.toml --log-format json";

pub(super) const DEV_EXAMPLES: &str = "\
Examples:
  informer dev                          the API server alone, on a free port
  informer dev --config informer.toml   and the plugins of the file; its [cluster] is ignored
  informer dev --listen 127.0.0.1:6443  on the port you know";

pub(super) const DEMO_EXAMPLES: &str = "\
Examples:
  cargo xtask demo                      builds what is needed, then runs this command
  informer demo --once                  ends by itself, with status 0 if all went as told";

pub(super) const APISERVER_EXAMPLES: &str = "\
Examples:
  informer apiserver
  informer apiserver --listen 127.0.0.1:6443";

pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  informer check                        the file and the plugins' components: there, sound, and within their grants
  informer check --file-only            the file alone: no component is opened
  informer check --cluster              the cluster too: it must serve what is watched
  informer check --output json          one object: file, problems, each with a message and its line, plugin or watch";

pub(super) const CONFIG_EXAMPLES: &str = "\
Examples:
  informer config example               every key, with its meaning and its default, as a file that works
  informer config schema                a JSON Schema of the file, for editors";

pub(super) const RBAC_EXAMPLES: &str = "\
Examples:
  informer rbac | kubectl apply -f -
  informer rbac --config informer.toml --name deployments --service-account apps/informer
  informer rbac --output json                 one List instead of YAML documents";

pub(super) const STATUS_EXAMPLES: &str = "\
Examples:
  informer status                           the host that runs with the informer.toml here
  informer status --admin 127.0.0.1:8080    the host with this admin address
  informer status --output json             everything, for a program

Exit status: 0 all is well, 1 something is wrong or no host answers.";

pub(super) const RELOAD_EXAMPLES: &str = "\
Examples:
  informer reload                           informer.toml and every component, whatever happened to them
  informer reload --plugin deployments      the component of one plugin
  informer reload --admin 127.0.0.1:8080    the host with this admin address

A running host follows its files by itself; this tells it to look now, and says what came of it.
Exit status: 0 all of it is in force, or will be at the next start; 1 something is refused or no host answers.";

pub(super) const LOG_LEVEL_EXAMPLES: &str = "\
Examples:
  informer log-level debug --plugin hello       what the plugin `hello` says, from debug on
  informer log-level default --plugin hello     as the host's own filter says
  informer log-level info,informer_cache=debug  the host's own filter
  informer log-level default                    as it was configured

Exit status: 0 done, 1 there is no such level or plugin, or no host answers.";

pub(super) const QUEUES_EXAMPLES: &str = "\
Examples:
  informer queues                           a line for each plugin
  informer queues --output json             everything, for a program

Exit status: 0 no plugin is in quarantine, 1 one is or no host answers.";

pub(super) const DEAD_LETTERS_EXAMPLES: &str = "\
Examples:
  informer dead-letters list
  informer dead-letters replay --plugin ttl --key shop/web
  informer dead-letters replay --all
  informer dead-letters drop --key shop/web --gvr v1/configmaps

Exit status: 0 done, 1 something was refused, there was nothing to do, or no host answers.";

pub(super) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  informer explain v1/pods shop/web                  the object `web` of the namespace `shop`
  informer explain v1/nodes node-1                   one that has no namespace
  informer explain v1/pods shop/web --plugin ttl     what it was to one plugin alone
  informer explain v1/pods shop/web --output json    everything, for a program

Exit status: 0 something is known of the object, 1 nothing is, nobody watches its resource, or no host answers.";

/// `informer run`
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// The configuration to serve.
    #[arg(long, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
}

/// `informer dev`
#[derive(Clone, Debug, Args)]
pub struct DevArgs {
    /// The configuration whose plugins are served; without it the API server runs alone.
    #[arg(long, env = "INFORMER_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where the API server listens, on loopback; port 0 is any free one.
    #[arg(long, default_value = "127.0.0.1:0", value_parser = loopback, value_name = "ADDRESS")]
    pub listen: SocketAddr,
}

/// `informer demo`
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// End when the story is told: status 0 if it went as told, 1 if not.
    #[arg(long)]
    pub once: bool,
    /// The component that hears the story.
    #[arg(long, default_value = EXAMPLE_COMPONENT, value_name = "FILE")]
    pub component: PathBuf,
}

/// `informer apiserver`
#[derive(Clone, Debug, Args)]
pub struct ApiserverArgs {
    /// Where it listens, on loopback; port 0 is any free one.
    #[arg(long, default_value = "127.0.0.1:0", value_parser = loopback, value_name = "ADDRESS")]
    pub listen: SocketAddr,
}

/// `informer check`
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// The configuration to check.
    #[arg(long, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
    /// Ask the cluster, too, whether it serves what is watched.
    #[arg(long)]
    pub cluster: bool,
    /// Do not open the plugins' components.
    #[arg(long)]
    pub file_only: bool,
}

/// `informer config`
#[derive(Clone, Debug, Args)]
pub struct ConfigArgs {
    /// What to print.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// What `informer config` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Prints an annotated configuration: every key with its meaning, bounds and default.
    Example,
    /// Prints a JSON Schema of the configuration.
    Schema,
}

/// `informer rbac`
#[derive(Clone, Debug, Args)]
pub struct RbacArgs {
    /// The configuration that the host runs with.
    #[arg(long, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
    /// What the roles and their bindings are called.
    #[arg(long, default_value = "informer", value_parser = object_name, value_name = "NAME")]
    pub name: String,
    /// The ServiceAccount that the host runs as, which is bound to them.
    #[arg(long, default_value = "default/informer", value_parser = service_account, value_name = "NAMESPACE/NAME")]
    pub service_account: (String, String),
}

/// Which running host is asked.
#[derive(Clone, Debug, Args)]
pub struct AdminArgs {
    /// The configuration of the running host; it names the admin address.
    #[arg(long, global = true, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
    /// The admin address of the running host, on loopback; wins over the configuration.
    #[arg(long, global = true, value_parser = loopback, value_name = "ADDRESS")]
    pub admin: Option<SocketAddr>,
}

/// `informer reload`
#[derive(Clone, Debug, Args)]
pub struct ReloadArgs {
    /// Look at the component of this plugin alone; a version that was tried and failed is tried again.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// Which host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// `informer log-level`
#[derive(Clone, Debug, Args)]
pub struct LogLevelArgs {
    /// trace, debug, info, warn or error, or `default` for what was configured; without --plugin also a whole filter.
    #[arg(value_name = "LEVEL")]
    pub level: String,
    /// Of the lines of this plugin alone.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// Which host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// `informer queues`
#[derive(Clone, Debug, Args)]
pub struct QueuesArgs {
    /// Which host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// `informer explain`
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// The resource, as in the configuration: `apps/v1/deployments`, `v1/pods`.
    #[arg(value_name = "GVR")]
    pub gvr: Gvr,
    /// The object: `namespace/name`, or `name` where it has no namespace.
    #[arg(value_name = "KEY")]
    pub key: ObjectKey,
    /// What it was to this plugin alone.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// Which host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// `informer dead-letters`
#[derive(Clone, Debug, Args)]
pub struct DeadLettersArgs {
    /// What to do with them.
    #[command(subcommand)]
    pub command: DeadLettersCommand,
    /// Which host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// What is done with dead letters.
#[derive(Clone, Debug, Subcommand)]
pub enum DeadLettersCommand {
    /// Shows them, the oldest first.
    List(FilterArgs),
    /// Tells the plugins again: the object as it is now, or its deletion; a key is reconciled again. A letter goes once that
    /// is acknowledged.
    Replay(WhichArgs),
    /// Forgets them. The objects are told again when they change.
    Drop(WhichArgs),
}

/// Which letters are shown.
#[derive(Clone, Debug, Args)]
pub struct FilterArgs {
    /// Of this plugin alone.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// Of this resource alone, as in the configuration: `v1/pods`. Keys of a reconciler are of none.
    #[arg(long, value_name = "GVR")]
    pub gvr: Option<String>,
}

/// Which letters something is done about.
#[derive(Clone, Debug, Args)]
pub struct WhichArgs {
    /// Of which plugin and resource.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// That of this object: `namespace/name`, or `name` without a namespace; or of this key that a reconciler gave up.
    #[arg(long, value_name = "KEY", required_unless_present = "all", conflicts_with = "all")]
    pub key: Option<String>,
    /// All of them.
    #[arg(long)]
    pub all: bool,
}

// === impl WhichArgs ===

impl WhichArgs {
    /// As the admin endpoint is told.
    pub fn chosen(self) -> Chosen {
        let Self { filter, key, all } = self;
        Chosen { plugin: filter.plugin, gvr: filter.gvr, key, all }
    }
}

/// A DNS subdomain, which is what both a role and a ServiceAccount may be called everywhere.
fn object_name(text: &str) -> Result<String, String> {
    let label = |label: &str| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(allowed) && !label.starts_with('-') && !label.ends_with('-')
    };
    if text.len() <= 253 && text.split('.').all(label) {
        return Ok(text.to_owned());
    }
    Err("write lower-case letters, digits, `-` and `.`".to_owned())
}

fn service_account(text: &str) -> Result<(String, String), String> {
    let Some((namespace, name)) = text.split_once('/') else {
        return Err("write namespace/name, for example default/informer".to_owned());
    };
    Ok((object_name(namespace)?, object_name(name)?))
}
