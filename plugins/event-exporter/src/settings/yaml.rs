//! A mounted file of YAML as JSON.

use serde_json::{Map, Value};
use yaml_rust2::{Yaml, YamlLoader, yaml::Hash};

/// Reads the mapping of a file. An empty file is an empty mapping.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let documents = YamlLoader::load_from_str(text).map_err(|error| error.to_string())?;
    match documents.as_slice() {
        [] | [Yaml::Null] => Ok(Map::new()),
        [Yaml::Hash(fields)] => mapping(fields),
        [_] => Err("it is not a mapping".to_owned()),
        _ => Err("it has more than one document".to_owned()),
    }
}

fn value(yaml: &Yaml) -> Result<Value, String> {
    match yaml {
        Yaml::Null => Ok(Value::Null),
        Yaml::Boolean(yes) => Ok(Value::Bool(*yes)),
        Yaml::Integer(number) => Ok(Value::from(*number)),
        Yaml::Real(text) => {
            let number = text.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            Ok(number.map_or_else(|| Value::from(text.as_str()), Value::Number))
        }
        Yaml::String(text) => Ok(Value::from(text.as_str())),
        Yaml::Array(items) => items.iter().map(value).collect(),
        Yaml::Hash(fields) => mapping(fields).map(Value::Object),
        Yaml::Alias(_) | Yaml::BadValue => {
            Err("an alias names no anchor, or a value has a wrong tag".to_owned())
        }
    }
}

/// A mapping, with the fields of `<<` that it does not have itself.
fn mapping(fields: &Hash) -> Result<Map<String, Value>, String> {
    let (mut own, mut merged) = (Map::new(), Map::new());
    for (key, field) in fields {
        match (key, field) {
            (Yaml::String(key), Yaml::Hash(fields)) if key == "<<" => merged.extend(mapping(fields)?),
            (Yaml::String(key), field) => {
                own.insert(key.clone(), value(field)?);
            }
            (Yaml::Integer(key), field) => {
                own.insert(key.to_string(), value(field)?);
            }
            (Yaml::Boolean(key), field) => {
                own.insert(key.to_string(), value(field)?);
            }
            (key, _) => return Err(format!("{key:?} is not a key")),
        }
    }
    merged.extend(own);
    Ok(merged)
}
