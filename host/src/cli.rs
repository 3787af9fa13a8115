//! The arguments that commands have in common.
//!
//! A flag overrides its environment variable, a variable overrides the file, and the file overrides the default.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use informer_system::HttpAddress;

use crate::{
    config::{self, Components, Config, FILE_NAME, local},
    logging::{self, LogFormat, Precedence},
};

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

/// The running host that receives the request.
#[derive(Clone, Debug, Args)]
pub struct AdminArgs {
    /// The configuration file of the running host, which names its admin address.
    #[arg(long, global = true, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
    /// The admin address of the running host, such as 127.0.0.1:8080 or unix:/run/informer/admin.sock; overrides the
    /// configuration, and whatever file the host runs with is accepted.
    #[arg(long, global = true, value_parser = local, value_name = "ADDRESS")]
    pub admin: Option<HttpAddress>,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For a person; YAML for `rbac`.
    #[default]
    #[value(alias = "yaml")]
    Text,
    /// For a program.
    Json,
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
