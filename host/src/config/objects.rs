//! Plugins as objects of the cluster: a `spec` is read as `[[plugin]]` is, and confined to what `[tenancy]` allows.

mod bounds;
mod conditions;
mod confine;
mod refused;

use std::path::Path;

use informer_types::{Gvr, is_namespace};
use serde::Serialize;
use serde_json::Value;
use toml::{
    de::{DeTable, DeValue},
    ser::ValueSerializer,
};

use super::{
    Components, Config, Environment, Plugin, Problem, Tenancy,
    context::Context,
    document::{collect, not_toml},
    key::Draft,
    plugin::{OBJECT, PluginKeys, plugin},
    problem::{Problems, joined},
    table::{Header, Known, Table},
    watched::Watched,
};

pub use refused::Refused;

/// The resource of the Plugins of namespaces.
pub const PLUGINS: &str = "informer.dev/v1alpha1/plugins";

/// The resource of ClusterPlugins.
pub const CLUSTER_PLUGINS: &str = "informer.dev/v1alpha1/clusterplugins";

/// With a namespace of 63 characters the field manager `informer/NAMESPACE/NAME` then has at most 128, as the API server
/// requires.
pub(super) const NAME_BYTES: usize = 52;

/// Much more than any plugin needs besides its `config`.
const SPEC_BYTES: usize = 256 << 10;

/// The most bytes of the path of a key. The path of each key below begins with this path, so a long path would be repeated for all of
/// them.
const PATH_BYTES: usize = 4 << 10;

/// The most elements of one list, besides those in `config`. Several of them are compared with one another.
const ELEMENTS: usize = 256;

/// The name of the table in problems.
const SPEC: &str = "spec";

/// The prefix of the paths of keys below `config`, the part of a spec that belongs to the plugin alone.
const CONFIG: &str = "spec.config.";

/// The most problems of one object that are shown.
const SHOWN: usize = 5;

/// The most bytes that are shown of a path that is too long.
const SHOWN_PATH_BYTES: usize = 100;

/// A `Plugin`, or a `ClusterPlugin` if it has no namespace.
#[derive(Clone, Copy, Debug)]
pub struct PluginObject<'a> {
    /// The namespace; empty for a ClusterPlugin.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// Its `spec` as the API server has it.
    pub spec: &'a Value,
}

// === impl PluginObject ===

impl PluginObject<'_> {
    /// The plugin that the object describes, confined to what `[tenancy]` allows it. No two objects have the same name, and no
    /// plugin of a file has the name of an object. `is_cluster_scoped` returns true for a resource whose objects have no
    /// namespace, as far as that is known. Never panics, whatever the spec.
    ///
    /// # Errors
    /// [`Refused`]
    pub fn plugin(
        &self,
        config: &Config,
        tenancy: &Tenancy,
        is_cluster_scoped: &dyn Fn(&Gvr) -> bool,
    ) -> Result<Plugin, Refused> {
        let name = self.host_name()?;
        let text = as_toml(self.spec)?;
        let mut problems = Problems::new(Path::new(SPEC), Path::new("/"), &text);
        let draft = read(&text, tenancy, &mut problems);
        if let Some(refused) = draft.as_ref().and_then(|draft| confine::beyond(draft, tenancy)) {
            return Err(refused);
        }
        let mut context =
            Context { problems, environment: &Environment::default(), components: Components::Unseen };
        let explicit = draft.as_ref().map(|draft| bounds::explicit(&draft.value)).unwrap_or_default();
        let found = draft.map(|draft| plugin(draft, &Watched::of(&config.watches), &mut context));
        let Some(mut plugin) = found.filter(|_| context.problems.is_empty()) else {
            return Err(of_problems(&context.problems.into_error().problems));
        };
        plugin.name = name;
        let scope = confine::Scope {
            namespace: self.namespace,
            tenancy,
            watches: &config.watches,
            is_cluster_scoped,
        };
        let mut faults = scope.confine(&mut plugin);
        faults.extend(bounds::bound(&mut plugin, &explicit, tenancy, &config.watches));
        if faults.is_empty() { Ok(plugin) } else { Err(Refused::new(Refused::NOT_ALLOWED, summary(&faults))) }
    }

    fn host_name(&self) -> Result<String, Refused> {
        if is_namespace(self.name) && self.name.len() <= NAME_BYTES {
            return Ok(host_name(self.namespace, self.name));
        }
        let message = format!(
            "the name of the object is not a name of a plugin: it must have at most {NAME_BYTES} lower-case letters, digits and \
             `-`, with no `-` at either end"
        );
        Err(Refused::new(Refused::INVALID, message))
    }
}

/// The name of the plugin in logs, metrics and commands: `shop/reloader`, or `cluster:janitor` for a ClusterPlugin. A plugin of
/// a file has neither `/` nor `:` in its name.
pub fn host_name(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { format!("cluster:{name}") } else { format!("{namespace}/{name}") }
}

/// The spec in the language that the tables read: `spec = { ... }`. Headers of tables would repeat the keys above them, and a spec of
/// some hundred KiB could become a text of many GiB.
fn as_toml(spec: &Value) -> Result<String, Refused> {
    let invalid = |message: String| Refused::new(Refused::INVALID, message);
    let Value::Object(_) = spec else {
        return Err(invalid(format!("{SPEC}: expected an object with `source` and `on`")));
    };
    let bytes = spec.to_string().len();
    if bytes > SPEC_BYTES {
        return Err(invalid(format!(
            "{SPEC} has {bytes} bytes, and {SPEC_BYTES} are allowed; keep data in a ConfigMap that the plugin reads"
        )));
    }
    let table = toml_value(spec, SPEC).map_err(invalid)?;
    let mut text = format!("{SPEC} = ");
    if let Some(table) = table {
        table
            .serialize(ValueSerializer::new(&mut text))
            .map_err(|error| invalid(format!("{SPEC}: {error}")))?;
    }
    Ok(text)
}

/// Returns `None` for null, which is the same as a key that is not written.
fn toml_value(value: &Value, path: &str) -> Result<Option<toml::Value>, String> {
    if path.len() > PATH_BYTES {
        let start = path.get(..path.floor_char_boundary(SHOWN_PATH_BYTES)).unwrap_or_default();
        return Err(format!(
            "the path of the key {start}... has more than {PATH_BYTES} bytes; write shorter keys"
        ));
    }
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Bool(truth) => toml::Value::Boolean(*truth),
        Value::String(text) => toml::Value::String(text.clone()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => toml::Value::Integer(whole),
            (None, Some(number)) if number.abs() < 1e18 => toml::Value::Float(number),
            _ => return Err(format!("{path}: {number} is too large; write at most {}", i64::MAX)),
        },
        Value::Array(items) if items.len() > ELEMENTS && !path.starts_with(CONFIG) => {
            return Err(format!(
                "{path} has {} elements, and {ELEMENTS} are allowed; write fewer, for example a pointer or a pattern that stands for several",
                items.len()
            ));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate().map(|(index, item)| {
                let path = format!("{path}[{index}]");
                toml_value(item, &path)?.ok_or_else(|| format!("{path}: null is no element; remove it"))
            });
            toml::Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let mut table = toml::Table::new();
            for (key, value) in members {
                if let Some(value) = toml_value(value, &format!("{path}.{key}"))? {
                    table.insert(key.clone(), value);
                }
            }
            toml::Value::Table(table)
        }
    }))
}

fn read(text: &str, tenancy: &Tenancy, problems: &mut Problems<'_>) -> Option<Draft<PluginKeys>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if let Some(first) = errors.first() {
        problems.add(0, SPEC, not_toml(first.message()));
        return None;
    }
    let spec = document.get_ref().get(SPEC).map(|spec| spec.get_ref()).and_then(DeValue::as_table)?;
    let mut known = Vec::new();
    collect(&OBJECT.entries(), &Header::default().below(SPEC, false), &mut known);
    let known = Known(known);
    let mut draft = Draft::new(PluginKeys::with(&tenancy.defaults.0));
    OBJECT.read(Table::alone(SPEC, spec, &OBJECT.names(), &known, problems), &mut draft);
    Some(draft)
}

fn of_problems(problems: &[Problem]) -> Refused {
    let texts: Vec<String> = problems.iter().map(Problem::without_place).collect();
    Refused::new(Refused::INVALID, summary(&texts))
}

/// The first of several texts, and how many more there are.
fn summary(texts: &[String]) -> String {
    let more = texts.len().saturating_sub(SHOWN);
    let shown = joined(texts.iter().take(SHOWN));
    if more == 0 { shown } else { format!("{shown}. There are {more} more") }
}

#[cfg(test)]
mod tests;
