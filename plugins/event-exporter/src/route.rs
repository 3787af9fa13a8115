//! The route tree: which receivers get an Event.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde::{Deserialize, Deserializer};

use crate::record::Record;

/// A route. An Event that a rule of `drop` matches goes no further. Each rule of `match` is independent. The sub-routes get the
/// Event if every rule of `match` matches.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Route {
    #[serde(deserialize_with = "or_default")]
    drop: Vec<Rule>,
    #[serde(rename = "match", deserialize_with = "or_default")]
    matches: Vec<Rule>,
    #[serde(deserialize_with = "or_default")]
    routes: Vec<Route>,
}

/// The conditions of one rule. All of them must hold. A rule without conditions matches every Event.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct Rule {
    /// Labels of the object that the Event is about.
    #[serde(deserialize_with = "or_default")]
    labels: BTreeMap<String, Pattern>,
    #[serde(deserialize_with = "or_default")]
    annotations: BTreeMap<String, Pattern>,
    message: Option<Pattern>,
    api_version: Option<Pattern>,
    kind: Option<Pattern>,
    namespace: Option<Pattern>,
    reason: Option<Pattern>,
    r#type: Option<Pattern>,
    #[serde(deserialize_with = "or_default")]
    min_count: u64,
    component: Option<Pattern>,
    host: Option<Pattern>,
    receiver: Option<String>,
}

/// A regular expression that matches anywhere in a text.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Pattern(Regex);

/// Reads `null`, which YAML has for an empty value, as the default.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

// === impl Route ===

impl Route {
    /// The receivers of an Event, each once, in the order of the routes.
    pub(crate) fn receivers(&self, record: &Record) -> Vec<&str> {
        let mut found = Vec::new();
        self.collect(record, &mut found);
        found
    }

    fn collect<'a>(&'a self, record: &Record, found: &mut Vec<&'a str>) {
        if self.drop.iter().any(|rule| rule.matches(record)) {
            return;
        }
        let mut all = true;
        for rule in &self.matches {
            if !rule.matches(record) {
                all = false;
            } else if let Some(receiver) = rule.receiver()
                && !found.contains(&receiver)
            {
                found.push(receiver);
            }
        }
        if all {
            self.routes.iter().for_each(|route| route.collect(record, found));
        }
    }

    /// The receivers that the rules name, to check that they exist.
    pub(crate) fn named(&self) -> Vec<&str> {
        let own = self.matches.iter().chain(&self.drop).filter_map(Rule::receiver);
        own.chain(self.routes.iter().flat_map(Self::named)).collect()
    }
}

// === impl Rule ===

impl Rule {
    fn receiver(&self) -> Option<&str> {
        self.receiver.as_deref().filter(|name| !name.is_empty())
    }

    fn matches(&self, record: &Record) -> bool {
        let texts = [
            (&self.message, "/message"),
            (&self.api_version, "/involvedObject/apiVersion"),
            (&self.kind, "/involvedObject/kind"),
            (&self.namespace, "/metadata/namespace"),
            (&self.reason, "/reason"),
            (&self.r#type, "/type"),
            (&self.component, "/source/component"),
            (&self.host, "/source/host"),
        ];
        let text = |(pattern, pointer): &(&Option<Pattern>, &str)| {
            pattern.as_ref().is_none_or(|pattern| pattern.0.is_match(record.text(pointer)))
        };
        let map = |name: &str, patterns: &BTreeMap<String, Pattern>| {
            let holds = |(key, pattern): (&String, &Pattern)| {
                record.of_involved(name, key).is_some_and(|value| pattern.0.is_match(value))
            };
            patterns.iter().all(holds)
        };
        let count = record.document().get("count").and_then(serde_json::Value::as_u64).unwrap_or(1);
        texts.iter().all(text)
            && map("labels", &self.labels)
            && map("annotations", &self.annotations)
            && count >= self.min_count
    }
}

// === impl Pattern ===

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Regex::new(&text).map(Self).map_err(|error| {
            let hint = if text.starts_with('*') { "; write `.*` for any text" } else { "" };
            format!("`{text}` is not a regular expression: {error}{hint}")
        })
    }
}

#[cfg(test)]
mod tests;
