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
        if let Some(included) = included_from(&config, &name) {
            let includes = story.config.display();
            let message = format!(
                "`settings` cannot change plugin `{name}`, which {includes} includes from {included}: name that file under \
                 `config`"
            );
            return Err(bad(line, message));
        }
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

/// The included file that has the plugin. Returns `None` if the configuration itself has it.
fn included_from(config: &Config, plugin: &str) -> Option<String> {
    let of_plugin = format!("plugin {plugin} in ");
    config.written.keys().iter().find_map(|key| key.section.strip_prefix(&of_plugin).map(str::to_owned))
}

/// The configuration with other keys in the table of one plugin, which the file itself has.
fn merged(file: &Path, plugin: &str, settings: &Map<String, Value>) -> anyhow::Result<Config> {
    let text = String::from_utf8(read_file(file, BYTES)?)?;
    let mut table: Table = toml::from_str(&text)?;
    let plugins = table.get_mut("plugin").and_then(toml::Value::as_array_mut);
    let named = |table: &&mut toml::Value| table.get("name").and_then(toml::Value::as_str) == Some(plugin);
    let own = plugins.and_then(|plugins| plugins.iter_mut().find(named));
    let Some(toml::Value::Table(own)) = own else {
        anyhow::bail!("{} has no plugin `{plugin}`", file.display());
    };
    if let toml::Value::Table(settings) = toml::Value::try_from(settings)? {
        merge(own, settings);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    const WATCH: &str = "[[watch]]\ngvr = \"v1/configmaps\"\n";

    fn plugin(name: &str) -> String {
        format!(
            "[[plugin]]\nname = \"{name}\"\nsource = \"{name}.wasm\"\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n"
        )
    }

    #[test]
    fn settings_of_an_included_plugin_are_refused_and_the_text_names_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let config = format!("include = [\"plugins.d\"]\n{WATCH}{}", plugin("own"));
        fs::write(path("informer.toml"), config).unwrap();
        fs::create_dir(path("plugins.d")).unwrap();
        fs::write(path("plugins.d/more.toml"), plugin("included")).unwrap();
        for name in ["included.wasm", "own.wasm", "plugins.d/included.wasm"] {
            fs::write(path(name), "").unwrap();
        }
        let story = |text: &str| Story::parse(text, &path("it.test.yaml")).unwrap();
        let refusal = format!(
            "`settings` cannot change plugin `included`, which {} includes from plugins.d/more.toml: name that file \
             under `config`",
            path("informer.toml").display()
        );

        let refused = configuration(&story("plugin: included\nsettings: {config: {a: b}}\n")).unwrap_err();

        let expected = BadStory { file: path("it.test.yaml"), line: Some(2), message: refusal.clone() };
        assert_eq!(refused, expected);
        let without = story("plugin: included\n");
        assert_eq!(configuration(&without).unwrap().plugins.len(), 1);
        // A step may reload with other settings.
        let settings = json!({"config": {"a": "b"}});
        let refused = with_settings(&without, settings.as_object()).unwrap_err();
        assert_eq!(refused.message, refusal);
        let own = story("plugin: own\nsettings: {limits: {deadline: 100ms}}\n");
        let deadline = configuration(&own).unwrap().plugins.first().unwrap().limits.calls.deadline;
        assert_eq!(deadline, std::time::Duration::from_millis(100));
    }
}
