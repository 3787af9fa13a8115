//! `informer check`: what is wrong with a configuration, and with what it points to.

use std::path::Path;

use informer_runtime::{Component, Engine, EngineConfig};
use serde_json::json;

use crate::{
    app::{self, component_grants},
    cli::{CheckArgs, Output},
    config::{self, Components, Config, LoadError},
    connect::connect,
};

/// Checks, and prints the verdict. True where nothing is wrong.
///
/// # Errors
/// The file cannot be read at all, or the cluster cannot be asked.
pub async fn run(args: CheckArgs, output: Output) -> anyhow::Result<bool> {
    let components = if args.components { Components::Present } else { Components::Unseen };
    let config = match config::load(&args.config, components) {
        Ok(config) => config,
        Err(LoadError::Invalid(error)) => {
            match output {
                Output::Text => print(&error.to_string()),
                Output::Json => print(&json!({"file": error.file, "problems": error.problems}).to_string()),
            }
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    };
    let mut problems = Vec::new();
    if args.components {
        problems.extend(check_components(&config).await?);
    }
    if args.cluster {
        let connection = connect(&config.cluster.access).await?;
        problems.extend(app::check_watches(&config, connection).await);
    }
    report(&args.config, &problems, output);
    Ok(problems.is_empty())
}

/// Compiles every component and compares its imports with the grants.
async fn check_components(config: &Config) -> anyhow::Result<Vec<String>> {
    let engine = Engine::new(&EngineConfig { cache_dir: config.host.cache_dir.clone() })?;
    let mut problems = Vec::new();
    for plugin in &config.plugins {
        let loaded = Component::from_file(&engine, &plugin.source).await;
        let checked = loaded.and_then(|component| component.check(&engine, &component_grants(plugin)));
        if let Err(error) = checked {
            problems.push(format!("plugin {}: {error}", plugin.name));
        }
    }
    Ok(problems)
}

fn report(file: &Path, problems: &[String], output: Output) {
    match output {
        Output::Json => print(&json!({"file": file, "problems": problems}).to_string()),
        Output::Text if problems.is_empty() => print(&format!("{}: no problems", file.display())),
        Output::Text => problems.iter().for_each(|problem| print(problem)),
    }
}

#[expect(clippy::print_stdout, reason = "the answer to the command")]
fn print(text: &str) {
    println!("{text}");
}
