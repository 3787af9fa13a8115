//! `wasi:config`: the plugin's table `[plugin.config]`, and the files mounted for it, as texts by key.

mod source;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use source::{ConfigFilesError, ConfigSource, NoConfigFiles};

use crate::{
    LogLevel,
    bindings::wasi::config::store::{Error, Host},
    guest::Guest,
};

impl Guest {
    /// What `start` is given: the table as JSON, with each file as a text of it.
    pub(crate) async fn start_config(&mut self) -> Result<String, ConfigFilesError> {
        let table = &self.config.config_json;
        let files = self.sources.config.files().await?;
        if files.is_empty() {
            return Ok(table.clone());
        }
        // It was written by us, from TOML.
        let mut table: Map<String, Value> = serde_json::from_str(table).unwrap_or_default();
        table.extend(files.into_iter().map(|(key, text)| (key, Value::String(text))));
        Ok(Value::Object(table).to_string())
    }

    /// The table, by dotted keys.
    fn config_table(&self) -> &BTreeMap<String, String> {
        self.config_table.get_or_init(|| {
            let table: Value = serde_json::from_str(&self.config.config_json).unwrap_or_default();
            let mut texts = BTreeMap::new();
            flatten(String::new(), &table, &mut texts);
            texts
        })
    }

    /// The host's paths are for whoever runs it.
    fn unreadable(&self, error: &ConfigFilesError) -> Error {
        self.output.about(LogLevel::Warn, &error.to_string());
        Error::Io(format!("the configuration files cannot be read: {}", error.why))
    }

    fn within_limit(&self, bytes: usize) -> Result<(), Error> {
        let limit = self.config.limits.response_bytes;
        if bytes <= limit {
            return Ok(());
        }
        Err(Error::Upstream(format!(
            "the answer has {bytes} bytes, the plugin's limit `response` is {limit}"
        )))
    }
}

impl Host for Guest {
    async fn get(&mut self, key: String) -> Result<Option<String>, Error> {
        let file = self.sources.config.file(&key).await.map_err(|error| self.unreadable(&error))?;
        let value = file.or_else(|| self.config_table().get(&key).cloned());
        self.within_limit(value.as_ref().map_or(0, String::len))?;
        Ok(value)
    }

    async fn get_all(&mut self) -> Result<Vec<(String, String)>, Error> {
        let files = self.sources.config.files().await.map_err(|error| self.unreadable(&error))?;
        let mut texts = self.config_table().clone();
        texts.extend(files);
        self.within_limit(texts.iter().map(|(key, text)| key.len() + text.len()).sum())?;
        Ok(texts.into_iter().collect())
    }
}

/// `{"a": {"b": 1}, "c": [true]}` becomes `a.b` = `1` and `c` = `[true]`.
fn flatten(path: String, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(below, value, into);
            }
        }
        Value::String(text) => {
            into.insert(path, text.clone());
        }
        other => {
            into.insert(path, other.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_become_dotted_keys_and_everything_else_a_text() {
        let table = r#"{"a":{"b":{"c":"x"},"n":16},"list":[1,{"k":"v"}],"on":true,"text":"a b","empty":{}}"#;
        let mut texts = BTreeMap::new();

        flatten(String::new(), &serde_json::from_str(table).unwrap(), &mut texts);

        let expected =
            [("a.b.c", "x"), ("a.n", "16"), ("list", r#"[1,{"k":"v"}]"#), ("on", "true"), ("text", "a b")];
        assert!(texts.iter().map(|(key, text)| (key.as_str(), text.as_str())).eq(expected), "{texts:?}");
    }
}
