//! `wasi:config`: the plugin's table `[plugin.config]`, and the files mounted for it, as texts by key.

mod source;
mod table;

use serde_json::{Map, Value};
use wasmtime::component::HasSelf;

pub use source::{ConfigFilesError, ConfigSource, NoConfigFiles};
pub(crate) use table::ConfigTable;

use super::interface::{Interface, Link, Version};
use crate::{
    LogLevel,
    bindings::wasi::config::store::{self, Error, Host},
    guest::Guest,
};

pub(super) const INTERFACES: &[Interface] = &[Interface {
    name: "wasi:config/store",
    version: Version::Exactly("0.2.0-rc.1"),
    grant: None,
    link: Link::Named(|linker| store::add_to_linker::<_, HasSelf<Guest>>(linker, Guest::called)),
}];

/// The configuration that `start` receives: the table as JSON, with each file as a text in it.
pub(crate) async fn start_config(guest: &mut Guest) -> Result<String, ConfigFilesError> {
    let table = &guest.config.config_json;
    let files = guest.sources.config.files().await?;
    if files.is_empty() {
        return Ok(table.clone());
    }
    // The host wrote this text from TOML, so it is an object.
    let mut table: Map<String, Value> = serde_json::from_str(table).unwrap_or_default();
    table.extend(files.into_iter().map(|(key, text)| (key, Value::String(text))));
    Ok(Value::Object(table).to_string())
}

/// Logs the whole error. The guest receives it without the path, which is for the operator.
fn unreadable(guest: &Guest, error: &ConfigFilesError) -> Error {
    guest.output.about(LogLevel::Warn, &error.to_string());
    Error::Io(format!("the configuration files cannot be read: {}", error.why))
}

/// Counts an answer, and refuses it above the plugin's limit.
fn within_limit(guest: &mut Guest, bytes: usize) -> Result<(), Error> {
    let limit = guest.config.limits.response_bytes;
    if bytes <= limit {
        guest.receives(bytes);
        return Ok(());
    }
    Err(Error::Upstream(format!("the answer has {bytes} bytes, the plugin's limit `response` is {limit}")))
}

impl Host for Guest {
    async fn get(&mut self, key: String) -> Result<Option<String>, Error> {
        let file = self.sources.config.file(&key).await.map_err(|error| unreadable(self, &error))?;
        let value = file.or_else(|| self.config_table.texts(&self.config.config_json).get(&key).cloned());
        within_limit(self, value.as_ref().map_or(0, String::len))?;
        Ok(value)
    }

    async fn get_all(&mut self) -> Result<Vec<(String, String)>, Error> {
        let files = self.sources.config.files().await.map_err(|error| unreadable(self, &error))?;
        let mut texts = self.config_table.texts(&self.config.config_json).clone();
        texts.extend(files);
        within_limit(self, texts.iter().map(|(key, text)| key.len() + text.len()).sum())?;
        Ok(texts.into_iter().collect())
    }
}
