//! Field ownership: which manager set which field. Server-side apply depends on it.
//!
//! Follows the structured merge diff of Kubernetes with two limits. Ownership is tracked from the first server-side
//! apply of an object; earlier fields belong to `before-first-apply`. Lists of custom resources are atomic whatever
//! their schema declares.

use serde_json::Value;

use crate::{
    object::{Fields, Object, SERVER_FIELDS, timestamp},
    patch::list_kind::{Layout, ListKind},
};

mod conflict;
mod entry;
mod path;
mod set;

pub(crate) use conflict::Conflicts;
pub(crate) use entry::Writer;

use entry::{Entry, Operation};
use set::{FieldSet, Path};

/// The owner of the fields that existed before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// The metadata field with the owners.
const FIELD: &str = "managedFields";

/// The new object that a configuration creates.
pub(crate) fn apply_new(config: &Object, writer: Writer<'_>) -> Object {
    let mut object = config.clone();
    let set = owned(config, writer.layout);
    write(&mut object, &[Entry::new(Operation::Apply, writer, set)]);
    object
}

/// The live object with a configuration applied: sets the fields of the configuration, and removes the fields that this
/// manager applied before and now leaves out, unless another manager owns them.
///
/// # Errors
/// [`Conflicts`] if other managers own fields of the configuration with other values, unless `force` is set.
pub(crate) fn apply(
    live: &Object,
    config: &Object,
    writer: Writer<'_>,
    force: bool,
) -> Result<Object, Conflicts> {
    let mut entries = read(live).unwrap_or_else(|| {
        let before = Writer { manager: BEFORE_FIRST_APPLY, subresource: "", ..writer };
        vec![Entry::new(Operation::Update, before, owned(live, writer.layout))]
    });
    let at = entries.iter().position(|entry| entry.is_of(Operation::Apply, writer));
    let mine = at.map(|at| entries.remove(at));
    let (live_value, config_value) = (live.clone().into_value(), config.clone().into_value());
    let wanted = owned(config, writer.layout);

    let conflicts = conflict::find(&live_value, &config_value, &wanted, &entries);
    if !conflicts.is_empty() && !force {
        return Err(conflicts);
    }
    for entry in &mut entries {
        entry.set = &entry.set - &conflicts.of(entry);
    }

    let mut merged = live_value;
    merge(&mut merged, &config_value, writer.layout, &mut Vec::new());
    if let Some(mine) = &mine {
        for path in mine.set.difference(&wanted) {
            let kept = set::holds(&wanted, path) || entries.iter().any(|entry| set::holds(&entry.set, path));
            if !kept {
                path::remove(&mut merged, path);
            }
        }
    }
    let mut applied = Object::from_value(merged).unwrap_or_default();
    let mut entry = Entry::new(Operation::Apply, writer, wanted);
    // Applying the same configuration again changes nothing, not even a time.
    if let Some(mine) = mine.filter(|mine| mine.set == entry.set && same_but_owners(live, &applied)) {
        entry.time = mine.time;
    }
    entries.push(entry);
    write(&mut applied, &entries);
    Ok(applied)
}

/// Gives the fields that a write other than an apply changed to the manager of that write. Does nothing if the object
/// was never applied.
pub(crate) fn track(old: &Object, new: &mut Object, writer: Writer<'_>) {
    let Some(mut entries) = read(old) else { return };
    match new.metadata.get(FIELD) {
        None | Some(Value::Null) => {}
        // If the client wrote the owners itself, keep what it wrote.
        Some(changed) if old.metadata.get(FIELD) != Some(changed) => return,
        Some(_) => {}
    }
    let (old_value, new_value) = (old.clone().into_value(), new.clone().into_value());
    let (before, after) = (owned(old, writer.layout), owned(new, writer.layout));
    let differs = |path: &Path| path::get(&old_value, path) != path::get(&new_value, path);
    let changed: FieldSet = after.iter().filter(|path| differs(path)).cloned().collect();
    let gone = &before - &after;
    for entry in &mut entries {
        let lost = if entry.is_of(Operation::Update, writer) { &gone } else { &(&gone | &changed) };
        entry.set = &entry.set - lost;
    }
    if !changed.is_empty() {
        match entries.iter_mut().find(|entry| entry.is_of(Operation::Update, writer)) {
            Some(entry) => {
                entry.set = &entry.set | &changed;
                entry.time = timestamp();
            }
            None => entries.push(Entry::new(Operation::Update, writer, changed)),
        }
    }
    write(new, &entries);
}

/// Sets the fields of `config` in `live`. Other fields of `live` stay.
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
            ListKind::Map(keys) => {
                for wanted in config {
                    let step = path::item_step(wanted, keys);
                    match items.iter_mut().find(|item| path::item_step(item, keys) == step) {
                        Some(item) => merge(item, wanted, layout, at),
                        None => items.push(wanted.clone()),
                    }
                }
            }
        },
        (live, config) => *live = config.clone(),
    }
}

/// The owners in the metadata. Returns `None` if there are none.
fn read(object: &Object) -> Option<Vec<Entry>> {
    let entries = object.metadata.get(FIELD)?.as_array()?;
    let entries: Vec<Entry> = entries.iter().filter_map(Entry::from_json).collect();
    (!entries.is_empty()).then_some(entries)
}

fn write(object: &mut Object, entries: &[Entry]) {
    let entries = entries.iter().filter(|entry| !entry.set.is_empty()).map(Entry::to_json).collect();
    object.metadata.insert(FIELD.into(), entries);
}

fn same_but_owners(one: &Object, other: &Object) -> bool {
    let without = |object: &Object| -> Fields {
        object.metadata.iter().filter(|(k, _)| *k != FIELD).map(|(k, v)| (k.clone(), v.clone())).collect()
    };
    one.fields == other.fields && without(one) == without(other)
}

/// The fields of an object that can be owned: all except its identity and the fields that only the server writes.
fn owned(object: &Object, layout: Layout) -> FieldSet {
    const IDENTITY: [&str; 6] = ["name", "namespace", "generateName", "resourceVersion", "selfLink", FIELD];
    let mut object = object.clone();
    object.fields.remove("apiVersion");
    object.fields.remove("kind");
    let is_owned = |field: &str| !SERVER_FIELDS.contains(&field) && !IDENTITY.contains(&field);
    object.metadata.retain(|field, _| is_owned(field));
    if object.metadata.is_empty() {
        return set::of(&Value::Object(object.fields), layout);
    }
    set::of(&object.into_value(), layout)
}

#[cfg(test)]
mod tests;
