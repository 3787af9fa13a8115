//! The table `[plugin.config]` as texts by dotted key.

use std::{collections::BTreeMap, sync::OnceLock};

use serde_json::Value;

/// The table, flattened at its first use.
#[derive(Default)]
pub(crate) struct ConfigTable(OnceLock<BTreeMap<String, String>>);

// === impl ConfigTable ===

impl ConfigTable {
    /// The texts by dotted key. `json` is the table as a JSON object, the same at each call.
    pub(super) fn texts(&self, json: &str) -> &BTreeMap<String, String> {
        self.0.get_or_init(|| {
            let table: Value = serde_json::from_str(json).unwrap_or_default();
            let mut texts = BTreeMap::new();
            flatten(String::new(), &table, &mut texts);
            texts
        })
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
    fn tables_become_dotted_keys_and_every_other_value_a_text() {
        let json = r#"{"a":{"b":{"c":"x"},"n":16},"list":[1,{"k":"v"}],"on":true,"text":"a b","empty":{}}"#;
        let table = ConfigTable::default();

        let texts = table.texts(json);

        let expected =
            [("a.b.c", "x"), ("a.n", "16"), ("list", r#"[1,{"k":"v"}]"#), ("on", "true"), ("text", "a b")];
        assert!(texts.iter().map(|(key, text)| (key.as_str(), text.as_str())).eq(expected), "{texts:?}");
    }
}
