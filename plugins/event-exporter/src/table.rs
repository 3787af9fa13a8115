//! Tables of the configuration, as values of their types.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a table.
///
/// # Errors
/// Returns what is wrong. A value of a wrong type may be a password, so the error does not show it.
pub(crate) fn read<T: DeserializeOwned>(table: Value) -> Result<T, String> {
    serde_json::from_value(table).map_err(|error| without_value(&error.to_string()))
}

/// Removes the value from an error such as ``invalid type: integer `7`, expected a string``.
fn without_value(error: &str) -> String {
    let parts = error.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "));
    let Some((found, expected)) = parts else { return error.to_owned() };
    let kind = found.split(['`', '"']).next().unwrap_or_default().trim_end();
    let is_plain = matches!(kind, "integer" | "floating point" | "boolean");
    let remedy = if is_plain && expected == "a string" { "; write it in quotes" } else { "" };
    format!("invalid type: {kind}, expected {expected}{remedy}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_about_a_type_does_not_show_the_value() {
        let as_text =
            |value: Value| read::<BTreeMap<String, String>>(json!({"password": value})).unwrap_err();
        for (value, kind, remedy) in [
            (json!(4711), "integer", "; write it in quotes"),
            (json!(47.5), "floating point", "; write it in quotes"),
            (json!(true), "boolean", "; write it in quotes"),
            (json!(null), "null", ""),
            (json!(["4711"]), "sequence", ""),
        ] {
            assert_eq!(as_text(value), format!("invalid type: {kind}, expected a string{remedy}"));
        }
        let text = json!("a, expected \"word\"");
        assert_eq!(read::<u64>(text).unwrap_err(), "invalid type: string, expected u64");
    }
}
