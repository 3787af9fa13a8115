//! Merges a configuration into an object.

use serde_json::Value;

use super::path;
use crate::patch::list_kind::{Key, Layout, ListKind};

/// Sets the fields of `config` in `live`. Other fields of `live` stay.
pub(super) fn apply(live: &mut Value, config: &Value, layout: Layout) {
    merge(live, config, layout, &mut Vec::new());
}

fn merge<'c>(live: &mut Value, config: &'c Value, layout: Layout, at: &mut Vec<&'c str>) {
    match (&mut *live, config) {
        (Value::Object(live), Value::Object(config)) if !layout.is_atomic_map(at) => {
            for (field, value) in config {
                at.push(field);
                match live.get_mut(field) {
                    Some(have) => merge(have, value, layout, at),
                    None => {
                        live.insert(field.clone(), value.clone());
                    }
                }
                at.pop();
            }
        }
        (Value::Array(items), Value::Array(config)) => match layout.list_kind(at) {
            ListKind::Atomic => items.clone_from(config),
            ListKind::Set => {
                let new = config.iter().filter(|value| !items.contains(value)).cloned().collect::<Vec<_>>();
                items.extend(new);
            }
            ListKind::Map(keys) => merge_items(items, config, keys, layout, at),
        },
        (live, config) => *live = config.clone(),
    }
}

fn merge_items<'c>(
    items: &mut Vec<Value>,
    config: &'c [Value],
    keys: &[Key],
    layout: Layout,
    at: &mut Vec<&'c str>,
) {
    for wanted in config {
        let step = path::item_step(wanted, keys);
        match items.iter_mut().find(|item| path::item_step(item, keys) == step) {
            Some(item) => merge(item, wanted, layout, at),
            None => items.push(wanted.clone()),
        }
    }
}
