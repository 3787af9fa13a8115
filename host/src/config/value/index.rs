//! The paths of an index: a text, or an array of texts.

use informer_types::{IndexPath, IndexPaths};
use serde_json::{Value, json};
use toml::de::DeValue;

use super::scalar::{Scalar, wrong_type};
use crate::config::problem::Fault;

impl Scalar for IndexPaths {
    const KIND: &'static str = "a JSON pointer or an array of them";

    fn example() -> String {
        "\"/spec/nodeName\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        path(text).map(|path| [path].into_iter().collect())
    }

    fn read(value: &DeValue<'_>) -> Result<Self, Fault> {
        let Some(elements) = value.as_array() else {
            return value.as_str().map_or_else(|| Err(wrong_type::<Self>(value)), Self::parse);
        };
        if elements.is_empty() {
            let remedy = format!("write for example [{}]", Self::example());
            return Err(Fault::new("an index without a pointer has no values", remedy));
        }
        let read =
            |element: &DeValue<'_>| element.as_str().map_or_else(|| Err(wrong_type::<Self>(element)), path);
        elements.iter().map(|element| read(element.get_ref())).collect()
    }

    fn plain(&self) -> String {
        self.iter().map(IndexPath::to_string).collect::<Vec<_>>().join(", ")
    }

    fn shown(&self) -> String {
        let paths: Vec<String> = self.iter().map(|path| format!("\"{path}\"")).collect();
        if let [path] = paths.as_slice() { path.clone() } else { format!("[{}]", paths.join(", ")) }
    }

    fn schema(_: Option<&(Self, Self)>) -> Value {
        json!({"anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ]})
    }
}

fn path(text: &str) -> Result<IndexPath, Fault> {
    text.parse().map_err(|error| Fault::of(&error))
}
