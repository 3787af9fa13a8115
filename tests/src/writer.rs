//! The fixture guest `writer` as a plugin of a configuration.

use std::path::Path;

use serde_json::Value;

/// The grants and the steps of the plugin.
#[derive(Clone, Debug)]
pub struct Writer<'a> {
    /// The resource of its subscription. The plugin runs its steps when it receives the object `trigger`.
    pub on: &'a str,
    /// The lines of `[plugin.grant]`.
    pub grant: &'a str,
    /// An array of steps, see the guest's source.
    pub steps: Value,
}

// === impl Writer ===

impl Writer<'_> {
    /// The table `[[plugin]]` with the name `writer`.
    #[must_use]
    pub fn toml(&self, component: &Path) -> String {
        let Self { on, grant, steps } = self;
        format!(
            "[[plugin]]\nname = \"writer\"\nsource = {component:?}\n[[plugin.on]]\nwatch = \"{on}\"\n\
             [plugin.limits]\ndeadline = \"60s\"\nrequests = 1000\n[plugin.grant]\n{grant}\n\
             [plugin.config]\nonly = \"trigger\"\nsteps = {}\n",
            inline(steps)
        )
    }
}

/// A JSON value as an inline value of TOML, which has no null.
fn inline(value: &Value) -> String {
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
