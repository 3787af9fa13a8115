//! The configuration of the host of a story: the plugin as its `informer.toml` configures it, with the settings of the story.

use std::path::Path;

use informer_system::read_file;
use serde_json::{Map, Value};
use toml::Table;

use super::{BadStory, file::Located, script::Story};
use crate::config::{self, Components, Config, Environment, Place, Plugin, nearest};

/// The most bytes of the configuration.
const BYTES: u64 = 16 << 20;

/// Reads the configuration that the story names, with its own settings. Only the plugin of the story is left.
pub(super) fn configuration(story: &Story) -> Result<Config, BadStory> {
    with_settings(story, story.settings.as_ref().map(|settings| &settings.value))
}

/// Like [`configuration`], with other settings.
pub(super) fn with_settings(
    story: &Story,
    settings: Option<&Map<String, Value>>,
) -> Result<Config, BadStory> {
    let bad = |line: Option<usize>, message: String| BadStory { file: story.file.clone(), line, message };
    // The problems of the file itself have the lines of the file.
    let read = config::load(&story.config, Components::Unseen);
    let mut config = read.map_err(|error| bad(None, format!("`config`: {error}")))?;
    let name = chosen(story, &config.plugins).map_err(|(line, message)| bad(line, message))?;
    if let Some(settings) = settings.filter(|settings| !settings.is_empty()) {
        let line = story.settings.as_ref().map(|settings: &Located<_>| settings.line);
        config = merged(&story.config, &name, settings)
            .map_err(|error| bad(line, format!("with these settings of the plugin: {error:#}")))?;
    }
    config.plugins.retain(|plugin| plugin.name == name);
    config.tenancy = None;
    config.telemetry = None;
    let source = config.plugins.first().map(|plugin| &plugin.source);
    match source.and_then(|source| source.file()) {
        Some(file) if file.is_file() => Ok(config),
        Some(file) => {
            let file = file.display();
            Err(bad(
                None,
                format!("there is no component {file}: build it first, for example by `informer build`"),
            ))
        }
        None => {
            let message = "the component comes from a registry, and a story uses no network: name a file by \
                           `settings: {source: NAME.wasm}`";
            Err(bad(None, message.to_owned()))
        }
    }
}

/// The name of the plugin of the story.
fn chosen(story: &Story, plugins: &[Plugin]) -> Result<String, (Option<usize>, String)> {
    let names: Vec<&str> = plugins.iter().map(|plugin| plugin.name.as_str()).collect();
    let config = story.config.display();
    match (&story.plugin, names.as_slice()) {
        (Some(plugin), names) if names.contains(&plugin.value.as_str()) => Ok(plugin.value.clone()),
        (Some(Located { line, value }), names) => {
            let like = nearest(value, names.iter().copied());
            let like = like.map_or_else(
                || format!("it has {}", names.join(", ")),
                |like| format!("did you mean `{like}`?"),
            );
            Err((Some(*line), format!("{config} has no plugin `{value}`; {like}")))
        }
        (None, [one]) => Ok((*one).to_owned()),
        (None, []) => Err((None, format!("{config} has no plugin to test"))),
        (None, names) => {
            let message = format!(
                "{config} has several plugins: write `plugin: {}`, for example",
                names.first().unwrap_or(&"")
            );
            Err((None, message))
        }
    }
}

/// The configuration with other keys in the table of one plugin.
fn merged(file: &Path, plugin: &str, settings: &Map<String, Value>) -> anyhow::Result<Config> {
    let text = String::from_utf8(read_file(file, BYTES)?)?;
    let mut table: Table = toml::from_str(&text)?;
    let plugins = table.get_mut("plugin").and_then(toml::Value::as_array_mut);
    let named = |table: &&mut toml::Value| table.get("name").and_then(toml::Value::as_str) == Some(plugin);
    if let Some(toml::Value::Table(own)) = plugins.and_then(|plugins| plugins.iter_mut().find(named)) {
        let settings = toml::Value::try_from(settings)?;
        if let toml::Value::Table(settings) = settings {
            merge(own, settings);
        }
    }
    let text = toml::to_string(&table)?;
    let file = std::path::absolute(file)?;
    let base = file.parent().unwrap_or(&file);
    let place = Place { file: &file, base, environment: &Environment::of_process() };
    config::parse(&text, &place, Components::Unseen).map_err(|error| {
        // The merged text has other lines than the file.
        let all = error.problems.iter().map(config::Problem::without_place);
        anyhow::anyhow!("{}", all.collect::<Vec<_>>().join("; "))
    })
}

/// Tables are merged, everything else is replaced.
fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(into)), toml::Value::Table(from)) => merge(into, from),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}
