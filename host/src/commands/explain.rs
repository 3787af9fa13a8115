//! `informer explain`: what every stage of a running host decided about one object.

mod text;

use form_urlencoded::Serializer;
use informer_types::{Gvr, ObjectKey};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    admin::Client,
    cli::{ExplainArgs, Output},
    commands::output::show,
};

/// The object that is meant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Asked {
    /// Its resource.
    pub gvr: Gvr,
    /// `namespace/name`, or `name`.
    #[serde(deserialize_with = "key")]
    pub key: ObjectKey,
    /// What it was to this plugin; none: to each.
    pub plugin: Option<String>,
}

/// Asks, and prints the answer. True where something is known of the object.
///
/// # Errors
/// No host answers, it does not watch the resource, or the configuration says that it has no admin endpoint.
pub async fn run(args: ExplainArgs, output: Output) -> anyhow::Result<bool> {
    let ExplainArgs { gvr, key, plugin, host } = args;
    let mut query = Serializer::new("/explain?".to_owned());
    let query = query.append_pair("gvr", &gvr.to_string()).append_pair("key", &key.to_string());
    if let Some(plugin) = &plugin {
        query.append_pair("plugin", plugin);
    }
    let answer = Client::new(&host)?.get(&query.finish()).await?;
    show(&answer, output, text::text);
    Ok(answer.get("known") == Some(&Value::Bool(true)))
}

fn key<'de, D: serde::Deserializer<'de>>(text: D) -> Result<ObjectKey, D::Error> {
    String::deserialize(text)?.parse().map_err(serde::de::Error::custom)
}
