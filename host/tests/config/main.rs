//! `informer.toml`, through the public interface.
//!
//! | module | what it shows |
//! |---|---|
//! | `accepted` | the meaning of valid files: defaults, paths, inheritance |
//! | `defaults` | `[defaults]`, and its order of precedence |
//! | `environment` | the environment variables of the command line |
//! | `errors` | the problems of invalid files, word by word |
//! | `files` | files that are missing, unreadable or no text |
//! | `included` | files with further watches and plugins |
//! | `registries` | registries, signers and policies |
//! | `tenancy` | what Plugin objects may do |
//! | `props` | no text makes the parser panic |
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "functions that tests call are tests"
)]

mod accepted;
mod defaults;
mod environment;
mod errors;
mod files;
mod included;
mod props;
mod registries;
mod tenancy;

use std::path::Path;

use informer::config::{self, Components, Config, ConfigError, Environment, Place};

/// Reads a text as if it were `/etc/informer/informer.toml` of a user whose home is `/home/me`.
fn parse(text: &str) -> Result<Config, ConfigError> {
    let environment = Environment {
        home: Some("/home/me".into()),
        cache_dir: Some("/home/me/.cache/informer".into()),
        state_dir: Some("/home/me/.local/state/informer".into()),
    };
    let place = Place {
        file: Path::new("informer.toml"),
        base: Path::new("/etc/informer"),
        environment: &environment,
    };
    config::parse(text, &place, Components::Unseen)
}

/// A file with one plugin; `lines` stand at its end.
fn with(lines: &str) -> String {
    format!("{}{lines}", config::SMALLEST)
}
