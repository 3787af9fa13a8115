//! The arguments that commands have in common.
//!
//! A flag overrides its environment variable, a variable overrides the file, and the file overrides the default. An empty variable
//! counts as unset.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use informer_system::HttpAddress;

use crate::{
    config::{self, Access, Components, Config, FILE_NAME, local},
    logging::{self, LogFormat, Precedence},
};

/// The input of the caller is wrong, so the exit status is 2.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WrongInput(pub anyhow::Error);

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub struct GlobalArgs {
    /// Form of the result on stdout.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORM")]
    pub output: Output,
    /// Log filter, such as `info,informer_cache=debug`; the log goes to stderr. Overrides the file's `log`.
    #[arg(long, global = true, env = "INFORMER_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// Form of the log lines; overrides the file's `log-format`.
    #[arg(long, global = true, env = "INFORMER_LOG_FORMAT", value_enum, value_name = "FORM")]
    pub log_format: Option<LogFormat>,
}

/// The cluster, instead of the cluster of the configuration.
#[derive(Clone, Debug, Default, Args)]
pub struct ClusterArgs {
    /// The kubeconfig file; overrides `kubeconfig`, `context` and `server` of the configuration.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; overrides `context` and `server` of the configuration.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// The running host that receives the request.
#[derive(Clone, Debug, Args)]
pub struct AdminArgs {
    /// The configuration file of the running host, which names its admin address.
    #[arg(long, global = true, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
    /// The admin address of the running host, such as 127.0.0.1:8080 or unix:/run/informer/admin.sock;
    /// overrides the configuration, and accepts a host with any configuration file.
    #[arg(long, global = true, value_parser = local, value_name = "ADDRESS")]
    pub admin: Option<HttpAddress>,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For a person; YAML for `rbac` and `crd`.
    #[default]
    #[value(alias = "yaml")]
    Text,
    /// For a program.
    Json,
}

// === impl ClusterArgs ===

impl ClusterArgs {
    /// Returns true if these arguments name a cluster.
    pub(crate) fn is_given(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }

    /// Replaces what these arguments name. A context of the configuration belongs to the kubeconfig of the configuration, so
    /// another kubeconfig has its current context.
    pub(crate) fn apply(&self, access: &mut Access) {
        let (path, context) = match (&self.kubeconfig, &self.context, &*access) {
            (None, None, _) => return,
            (Some(path), context, _) => (Some(path.clone()), context.clone()),
            (None, context, Access::Kubeconfig { path, .. }) => (path.clone(), context.clone()),
            (None, context, Access::Inferred | Access::Server(_)) => (None, context.clone()),
        };
        *access = Access::Kubeconfig { path, context };
    }
}

// === impl GlobalArgs ===

impl GlobalArgs {
    /// Reads the configuration, and starts the log that it describes.
    pub(crate) fn load(&self, path: &Path) -> anyhow::Result<Config> {
        let config = config::load(path, Components::Unseen)?;
        self.init_logging(&config.host.log, config.host.log_format)?;
        Ok(config)
    }

    /// Starts the log with this filter and format. Flags override both.
    pub(crate) fn init_logging(&self, filter: &str, format: LogFormat) -> anyhow::Result<()> {
        let precedence = if self.log.is_some() { Precedence::Flag } else { Precedence::File };
        let filter = self.log.as_deref().unwrap_or(filter);
        Ok(logging::init(filter, self.log_format.unwrap_or(format), precedence)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubeconfig(path: Option<&str>, context: Option<&str>) -> Access {
        Access::Kubeconfig { path: path.map(PathBuf::from), context: context.map(str::to_owned) }
    }

    #[test]
    fn the_arguments_come_before_the_values_of_the_file() {
        let server = || Access::Server("http://127.0.0.1:8001".parse().unwrap());
        let file = || kubeconfig(Some("/file"), Some("file"));
        for (path, context, of_file, expected) in [
            (None, None, file(), file()),
            (None, None, server(), server()),
            (Some("/arg"), None, file(), kubeconfig(Some("/arg"), None)),
            (Some("/arg"), Some("arg"), server(), kubeconfig(Some("/arg"), Some("arg"))),
            (None, Some("arg"), file(), kubeconfig(Some("/file"), Some("arg"))),
            (None, Some("arg"), server(), kubeconfig(None, Some("arg"))),
            (None, Some("arg"), Access::Inferred, kubeconfig(None, Some("arg"))),
        ] {
            let arguments =
                ClusterArgs { kubeconfig: path.map(PathBuf::from), context: context.map(str::to_owned) };
            let mut access = of_file;

            arguments.apply(&mut access);

            assert_eq!(access, expected, "{arguments:?}");
        }
    }
}
