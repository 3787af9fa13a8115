//! The plugin's configuration.

use serde::de::DeserializeOwned;

use crate::{Error, json};

/// The table `[plugin.config]` of `informer.toml`, as JSON text. It is `{}` if the file has no such table.
///
/// ```
/// use informer_sdk::Config;
///
/// #[derive(serde::Deserialize)]
/// #[serde(deny_unknown_fields, rename_all = "kebab-case")]
/// struct Settings {
///     min_replicas: u32,
/// }
///
/// let config = Config::from_json(r#"{"min-replicas": 2}"#);
/// assert_eq!(config.parse::<Settings>()?.min_replicas, 2);
/// # Ok::<(), informer_sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    json: String,
}

// === impl Config ===

impl Config {
    /// Makes a configuration from JSON text, for tests of a plugin.
    pub fn from_json(json: impl Into<String>) -> Self {
        Self { json: json.into() }
    }

    /// The JSON text.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Parses the configuration into the plugin's own type.
    ///
    /// Add `#[serde(deny_unknown_fields)]` to the type: then a misspelt key is an error and is not ignored.
    ///
    /// # Errors
    /// Returns [`Error::Decode`] if the table does not fit the type. In `start`, `?` turns this error into the text that
    /// the operator sees.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        json::parse("[plugin.config]", &self.json)
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
