//! Parts of an `informer.toml`.

use std::path::Path;

use serde_json::Value;

/// A watch of this resource.
pub fn watch(gvr: &str) -> String {
    format!("[[watch]]\ngvr = \"{gvr}\"\n")
}

/// A plugin with this component and one subscription to a resource. `lines` continue the subscription, and may go on with
/// tables of the plugin.
pub fn plugin(name: &str, component: &Path, gvr: &str, lines: &str) -> String {
    format!(
        "[[plugin]]\nname = \"{name}\"\nsource = {component:?}\n[[plugin.on]]\nwatch = \"{gvr}\"\n{lines}\n"
    )
}

/// A JSON value as an inline value of TOML. TOML has no null, so null becomes an empty text.
pub fn inline(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{} = {}", Value::from(key.as_str()), inline(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Null => "\"\"".to_owned(),
        scalar => scalar.to_string(),
    }
}
