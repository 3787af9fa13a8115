//! The arguments of each command.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Subcommand};
use informer_types::{Gvr, ObjectKey};

use crate::{
    admin::types::Chosen,
    config::{FILE_NAME, loopback},
};

/// The component that `cargo xtask guests` builds for the demo.
const EXAMPLE_COMPONENT: &str = "target/wasm32-wasip2/plugin/deployments_rust.wasm";

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  informer run
  informer run --config /etc/informer/informer.toml --log-format json";

pub(super) const DEV_EXAMPLES: &str = "\
Examples:
  informer dev                          the API server alone, on a free port
  informer dev --config informer.toml   with the plugins of the file; its [cluster] is ignored
  informer dev --listen 127.0.0.1:6443  the API server on a fixed port";

pub(super) const DEMO_EXAMPLES: &str = "\
Examples:
  cargo xtask demo                      builds what the demo needs, then runs this command
  informer demo --once                  ends after the demo, with status 0 if every step succeeded";

pub(super) const APISERVER_EXAMPLES: &str = "\
Examples:
  informer apiserver
  informer apiserver --listen 127.0.0.1:6443";

pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  informer check                        checks the file and the components: valid, and within their grants
  informer check --file-only            checks the file alone and opens no component
  informer check --cluster              also checks that the cluster serves each watch
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
  informer status                           the host that runs with ./informer.toml
  informer status --admin 127.0.0.1:8080    the host with this admin address
  informer status --output json             all details, for a program

Exit status: 0 all is well, 1 something is wrong or no host answers.";

pub(super) const RELOAD_EXAMPLES: &str = "\
Examples:
  informer reload                           reads informer.toml and every component again
  informer reload --plugin deployments      reads the component of one plugin again
  informer reload --admin 127.0.0.1:8080    the host with this admin address

A running host notices changed files by itself; this command makes it read them now and prints the result.
Exit status: 0 everything is in force, now or at the next start; 1 something is refused or no host answers.";

pub(super) const LOG_LEVEL_EXAMPLES: &str = "\
Examples:
  informer log-level debug --plugin hello       keeps the lines of `hello` from debug upwards
  informer log-level default --plugin hello     lets the host's filter decide about `hello`
  informer log-level info,informer_cache=debug  sets the host's filter
  informer log-level default                    restores the configured filter

Exit status: 0 done, 1 there is no such level or plugin, or no host answers.";

pub(super) const QUEUES_EXAMPLES: &str = "\
Examples:
  informer queues                           a line for each plugin
  informer queues --output json             all details, for a program

Exit status: 0 no plugin is in quarantine, 1 a plugin is in quarantine or no host answers.";

pub(super) const DEAD_LETTERS_EXAMPLES: &str = "\
Examples:
  informer dead-letters list
  informer dead-letters replay --plugin ttl --key shop/web
  informer dead-letters replay --all
  informer dead-letters drop --key shop/web --gvr v1/configmaps

Exit status: 0 done, 1 a letter was refused, there was no letter, or no host answers.";

pub(super) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  informer explain v1/pods shop/web                  the object `web` in the namespace `shop`
  informer explain v1/nodes node-1                   an object without a namespace
  informer explain v1/pods shop/web --plugin ttl     one plugin only
  informer explain v1/pods shop/web --output json    all details, for a program

Exit status: 0 the host has something about the object, 1 it has nothing, does not watch the resource, or does not answer.";

/// `informer run`
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// The configuration file.
    #[arg(long, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
}

/// `informer dev`
#[derive(Clone, Debug, Args)]
pub struct DevArgs {
    /// The configuration file; without it the API server runs alone.
    #[arg(long, env = "INFORMER_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Loopback address of the API server; port 0 means any free port.
    #[arg(long, default_value = "127.0.0.1:0", value_parser = loopback, value_name = "ADDRESS")]
    pub listen: SocketAddr,
}

/// `informer demo`
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// End after the demo: status 0 if every step succeeded, 1 if not.
    #[arg(long)]
    pub once: bool,
    /// The component that receives the notifications.
    #[arg(long, default_value = EXAMPLE_COMPONENT, value_name = "FILE")]
    pub component: PathBuf,
}

/// `informer apiserver`
#[derive(Clone, Debug, Args)]
pub struct ApiserverArgs {
    /// Loopback address of the API server; port 0 means any free port.
    #[arg(long, default_value = "127.0.0.1:0", value_parser = loopback, value_name = "ADDRESS")]
    pub listen: SocketAddr,
}

/// `informer check`
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// The configuration file.
    #[arg(long, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
    /// Also check that the cluster serves each watched resource.
    #[arg(long)]
    pub cluster: bool,
    /// Check the file alone; open no component.
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
    /// The configuration file of the host.
    #[arg(long, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
    /// Name of the roles and of their bindings.
    #[arg(long, default_value = "informer", value_parser = object_name, value_name = "NAME")]
    pub name: String,
    /// The ServiceAccount of the host, to which the roles are bound.
    #[arg(long, default_value = "default/informer", value_parser = service_account, value_name = "NAMESPACE/NAME")]
    pub service_account: (String, String),
}

/// The running host that receives the request.
#[derive(Clone, Debug, Args)]
pub struct AdminArgs {
    /// The configuration file of the running host, which names its admin address.
    #[arg(long, global = true, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
    /// The admin address of the running host; overrides the configuration.
    #[arg(long, global = true, value_parser = loopback, value_name = "ADDRESS")]
    pub admin: Option<SocketAddr>,
}

/// `informer reload`
#[derive(Clone, Debug, Args)]
pub struct ReloadArgs {
    /// Read only the component of this plugin again; a version that failed before is tried again.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// The running host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// `informer log-level`
#[derive(Clone, Debug, Args)]
pub struct LogLevelArgs {
    /// trace, debug, info, warn, error, or `default` for the configured level; without --plugin also a whole filter.
    #[arg(value_name = "LEVEL")]
    pub level: String,
    /// Change the level of this plugin only.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// The running host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// `informer queues`
#[derive(Clone, Debug, Args)]
pub struct QueuesArgs {
    /// The running host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// `informer explain`
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// The resource, as in the configuration: `apps/v1/deployments`, `v1/pods`.
    #[arg(value_name = "GVR")]
    pub gvr: Gvr,
    /// The object: `namespace/name`, or `name` if it has no namespace.
    #[arg(value_name = "KEY")]
    pub key: ObjectKey,
    /// Explain this plugin only.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// The running host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// `informer dead-letters`
#[derive(Clone, Debug, Args)]
pub struct DeadLettersArgs {
    /// The action.
    #[command(subcommand)]
    pub command: DeadLettersCommand,
    /// The running host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// The actions on dead letters.
#[derive(Clone, Debug, Subcommand)]
pub enum DeadLettersCommand {
    /// Lists the dead letters, the oldest first.
    List(FilterArgs),
    /// Delivers objects again in their present state, or their deletion, and reconciles keys again. A letter is deleted once
    /// the plugin acknowledges it.
    Replay(WhichArgs),
    /// Deletes the letters. The objects are delivered again only when they change.
    Drop(WhichArgs),
}

/// The letters that are listed.
#[derive(Clone, Debug, Args)]
pub struct FilterArgs {
    /// Letters of this plugin only.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// Letters of this resource only, such as `v1/pods`. The keys of a reconciler belong to no resource.
    #[arg(long, value_name = "GVR")]
    pub gvr: Option<String>,
}

/// The letters that are replayed or dropped.
#[derive(Clone, Debug, Args)]
pub struct WhichArgs {
    /// Plugin and resource.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// The letter of this object, `namespace/name` or `name`, or of this key of a reconciler.
    #[arg(long, value_name = "KEY", required_unless_present = "all", conflicts_with = "all")]
    pub key: Option<String>,
    /// All letters.
    #[arg(long)]
    pub all: bool,
}

// === impl WhichArgs ===

impl WhichArgs {
    /// The same as a request to the admin endpoint.
    pub fn chosen(self) -> Chosen {
        let Self { filter, key, all } = self;
        Chosen { plugin: filter.plugin, gvr: filter.gvr, key, all }
    }
}

/// Reads a DNS subdomain: a name that both a role and a ServiceAccount may have.
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
