//! The configuration: `[plugin.config]`, or a mounted `config.yaml` of the original.

mod yaml;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    route::{Route, or_default},
    sink::Destination,
    table,
};

/// The configuration of the exporter.
pub(crate) struct Settings {
    /// Events that are older than this when the exporter starts for the first time are not sent.
    pub(crate) max_age: Duration,
    pub(crate) cluster_name: String,
    /// Only Events of this namespace are sent. Empty means all.
    pub(crate) namespace: String,
    /// If true, the object that an Event is about is not looked up.
    pub(crate) omit_lookup: bool,
    pub(crate) metrics_prefix: String,
    pub(crate) route: Route,
    pub(crate) receivers: BTreeMap<String, Destination>,
    /// Warnings about the configuration, for the operator.
    pub(crate) remarks: Vec<String>,
}

/// The keys of the original.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Keys {
    max_event_age_seconds: Option<u64>,
    /// The old name of `maxEventAgeSeconds`.
    throttle_period: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    cluster_name: String,
    #[serde(default, deserialize_with = "or_default")]
    namespace: String,
    #[serde(default, deserialize_with = "or_default")]
    omit_lookup: bool,
    metrics_name_prefix: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    route: Route,
    #[serde(default, deserialize_with = "or_default")]
    receivers: Vec<Receiver>,
}

#[derive(Deserialize)]
struct Receiver {
    name: String,
    /// One table, whose key is the kind of the receiver.
    #[serde(flatten)]
    destinations: BTreeMap<String, Value>,
}

/// The texts of mounted files, by the names of the files.
type Variables = BTreeMap<String, String>;

/// The keys of [`Keys`].
const KNOWN: [&str; 8] = [
    "maxEventAgeSeconds",
    "throttlePeriod",
    "clusterName",
    "namespace",
    "omitLookup",
    "metricsNamePrefix",
    "route",
    "receivers",
];

/// Keys of the original for what the host does here.
const OF_THE_HOST: [&str; 6] =
    ["logLevel", "logFormat", "leaderElection", "kubeQPS", "kubeBurst", "cacheSize"];

/// The names of a mounted configuration of the original.
const FILES: [&str; 2] = ["config.yaml", "config.yml"];

/// The default of the original, in seconds.
const MAX_AGE: u64 = 5;

impl Settings {
    /// Reads the configuration, given as JSON. A text under any other key is the content of a mounted file, and `${KEY}` or `$KEY` in
    /// a text stands for it.
    ///
    /// # Errors
    /// Returns what is wrong, and where.
    pub(crate) fn read(json: &str) -> Result<Self, String> {
        let table: Map<String, Value> =
            serde_json::from_str(json).map_err(|error| format!("[plugin.config]: {error}"))?;
        let (keys, variables) = split(table)?;
        let mut remarks = Vec::new();
        let mut used = BTreeSet::new();
        let mut known = Map::new();
        for (key, value) in keys {
            if OF_THE_HOST.contains(&key.as_str()) {
                remarks.push(format!("`{key}` has no effect here: the host has keys of its own for it"));
            } else {
                known.insert(key, expanded(value, &variables, &mut used)?);
            }
        }
        let unused = variables.keys().filter(|name| !used.contains(*name));
        remarks.extend(unused.map(|name| format!("`{name}` is neither a key nor used as `${{{name}}}`")));
        let read = table::read(Value::Object(known)).and_then(|keys| Self::of(keys, remarks));
        read.map_err(|error| without_secrets(error, &variables))
    }

    fn of(keys: Keys, remarks: Vec<String>) -> Result<Self, String> {
        let seconds = match (keys.max_event_age_seconds, keys.throttle_period) {
            (Some(_), Some(_)) => {
                return Err(
                    "`throttlePeriod` is the old name of `maxEventAgeSeconds`: set only one".to_owned()
                );
            }
            (one, other) => one.or(other).unwrap_or(MAX_AGE),
        };
        let mut receivers = BTreeMap::new();
        for Receiver { name, destinations } in keys.receivers {
            let at = |why: String| format!("receiver `{name}`: {why}");
            if name.is_empty() || name.len() > 100 || name.contains('/') {
                return Err(at("a name has 1 to 100 bytes, and no `/`".to_owned()));
            }
            let mut destinations = destinations.into_iter();
            let (Some((kind, table)), None) = (destinations.next(), destinations.next()) else {
                return Err(at("it needs exactly one kind, such as `webhook`".to_owned()));
            };
            let destination = Destination::new(&kind, table).map_err(|why| at(format!("{kind}: {why}")))?;
            if receivers.insert(name.clone(), destination).is_some() {
                return Err(at("another receiver has this name".to_owned()));
            }
        }
        if let Some(name) = keys.route.named().into_iter().find(|name| !receivers.contains_key(*name)) {
            return Err(format!("a rule names the receiver `{name}`, which is not in `receivers`"));
        }
        Ok(Self {
            max_age: Duration::from_secs(seconds),
            cluster_name: keys.cluster_name,
            namespace: keys.namespace,
            omit_lookup: keys.omit_lookup,
            metrics_prefix: keys.metrics_name_prefix.unwrap_or_else(|| "event_exporter_".to_owned()),
            route: keys.route,
            receivers,
            remarks,
        })
    }
}

/// Separates the keys, with those of a mounted file, from the texts of other mounted files.
fn split(table: Map<String, Value>) -> Result<(Map<String, Value>, Variables), String> {
    let is_key = |key: &str| KNOWN.contains(&key) || OF_THE_HOST.contains(&key);
    let (mut keys, mut variables, mut file) = (Map::new(), BTreeMap::new(), Map::new());
    for (key, value) in table {
        match value {
            value if is_key(&key) => {
                keys.insert(key, value);
            }
            Value::String(text) if FILES.contains(&key.as_str()) => {
                file = yaml::parse(&text).map_err(|why| format!("{key}: {why}"))?;
            }
            Value::String(text) => {
                variables.insert(key, text.trim_end_matches(['\r', '\n']).to_owned());
            }
            _ => return Err(format!("unknown key `{key}`; the keys are {}", KNOWN.join(", "))),
        }
    }
    for (key, value) in file {
        if !is_key(&key) {
            return Err(format!(
                "unknown key `{key}` in the mounted file; the keys are {}",
                KNOWN.join(", ")
            ));
        }
        if keys.insert(key.clone(), value).is_some() {
            return Err(format!("`{key}` is both in the mounted file and in [plugin.config]"));
        }
    }
    Ok((keys, variables))
}

/// Replaces `${NAME}` and `$NAME` in all texts of a value.
fn expanded(value: Value, variables: &Variables, used: &mut BTreeSet<String>) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::from(filled(&text, variables, used)?),
        Value::Array(items) => {
            items.into_iter().map(|item| expanded(item, variables, used)).collect::<Result<_, _>>()?
        }
        Value::Object(fields) => {
            let mut filled = Map::new();
            for (key, value) in fields {
                filled.insert(key, expanded(value, variables, used)?);
            }
            Value::Object(filled)
        }
        plain => plain,
    })
}

/// The original also replaces each `$NAME`. Here `$NAME` stays unless a file of this name is mounted, because templates have variables
/// such as `$key`.
fn filled(text: &str, variables: &Variables, used: &mut BTreeSet<String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let in_braces = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let named = in_braces.or_else(|| capital_name(after));
        if let Some((name, value, behind)) =
            named.and_then(|(name, behind)| Some((name, variables.get(name)?, behind)))
        {
            used.insert(name.to_owned());
            filled.push_str(value);
            rest = behind;
        } else if let Some((name, _)) = in_braces {
            return Err(format!(
                "`${{{name}}}` is not defined: list a file of this name in `config-files` of the plugin"
            ));
        } else {
            filled.push('$');
            rest = after;
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The name without small letters at the start of a text, and what follows.
fn capital_name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let (name, behind) = text.split_at_checked(end.unwrap_or(text.len()))?;
    let has_small_letter = name.bytes().any(|byte| byte.is_ascii_lowercase());
    (!name.is_empty() && !has_small_letter).then_some((name, behind))
}

/// Writes `${NAME}` in place of the text of each mounted file. The text may be a password, and an error may show a template with it. A
/// text of less than four bytes stays: it would be part of other words. A longer text comes first, because a shorter one may be a part
/// of it.
fn without_secrets(error: String, variables: &Variables) -> String {
    let mut texts: Vec<_> = variables.iter().filter(|(_, text)| text.len() >= 4).collect();
    texts.sort_by_key(|(_, text)| Reverse(text.len()));
    texts.into_iter().fold(error, |error, (name, text)| error.replace(text, &format!("${{{name}}}")))
}

#[cfg(test)]
mod tests;
