//! The plugin's configuration.

use serde::de::DeserializeOwned;

use crate::Error;

/// The table `[plugin.config]` of `informer.toml`, as JSON text; `{}` where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    json: String,
}

// === impl Config ===

impl Config {
    /// A configuration from JSON text, as tests of a handler need it.
    pub fn from_json(json: impl Into<String>) -> Self {
        Self { json: json.into() }
    }

    /// The text as the host gave it.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The configuration as a type of the plugin's own. Give it `#[serde(deny_unknown_fields)]`, so that a
    /// misspelt key refuses the plugin instead of being ignored.
    ///
    /// # Errors
    /// [`Error::Decode`] where the table does not fit the type. In `start`, `?` turns it into the text that the
    /// operator sees.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(&self.json).map_err(|source| Error::decode("[plugin.config]", source))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    struct Settings {
        min_replicas: u32,
        #[serde(default)]
        note: Option<String>,
    }

    #[test]
    fn a_table_becomes_the_plugins_own_type() {
        let config = Config::from_json(r#"{"min-replicas": 3}"#);

        assert_eq!(config.parse::<Settings>().unwrap(), Settings { min_replicas: 3, note: None });
        assert_eq!(config.json(), r#"{"min-replicas": 3}"#);
    }

    #[test]
    fn a_misspelt_key_names_the_table_and_the_key() {
        let config = Config::from_json(r#"{"min-replicas": 3, "nte": "x"}"#);

        let shown: String = config.parse::<Settings>().unwrap_err().into();

        assert!(
            shown.starts_with("[plugin.config] does not have the expected type: unknown field `nte`"),
            "{shown}"
        );
    }

    #[test]
    fn text_that_is_not_json_is_an_error() {
        assert!(matches!(Config::from_json("{").parse::<Settings>(), Err(Error::Decode { .. })));
        assert!(matches!(Config::from_json("").parse::<Settings>(), Err(Error::Decode { .. })));
    }
}
