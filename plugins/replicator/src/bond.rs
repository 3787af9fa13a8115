//! The changes that make an object a copy of its source, and those that end this relation.

use std::collections::BTreeSet;

use informer_sdk::ObjectKey;
use serde_json::{Map, Value, json};

use crate::{
    annotations::{
        AUTO_REFLECTS, Annotations, KEEP_OWNER_REFERENCES, REFLECTED_AT, REFLECTED_VERSION, REFLECTS,
        REPLICATED_AT, REPLICATED_FROM, REPLICATED_FROM_VERSION, REPLICATED_KEYS, REPLICATED_LABELS,
        STRIP_LABELS, flag,
    },
    kind::Kind,
    target::{Role, Style},
};

/// The annotations that the plugin writes on targets in the style of kubernetes-replicator.
const REPLICATOR_MARKS: [&str; 5] =
    [REPLICATED_AT, REPLICATED_FROM_VERSION, REPLICATED_KEYS, REPLICATED_FROM, REPLICATED_LABELS];

/// The annotations that the plugin writes on targets in the style of Reflector.
const REFLECTOR_MARKS: [&str; 4] = [REFLECTS, AUTO_REFLECTS, REFLECTED_VERSION, REFLECTED_AT];

/// A source, and how its target is bound to it.
pub(crate) struct Bond<'a> {
    pub(crate) kind: &'static Kind,
    pub(crate) key: &'a ObjectKey,
    pub(crate) source: &'a Value,
    pub(crate) role: Role,
    pub(crate) style: Style,
}

/// What to do with a target that exists.
#[derive(Debug, PartialEq)]
pub(crate) enum Plan {
    /// The target equals its source.
    Nothing,
    /// A merge patch updates the target.
    Change(Value),
    /// The target must be deleted and created again, because this field differs and is immutable.
    Replace(&'static str),
    /// The target stays as it is, because this field differs and is immutable.
    Refuse(&'static str),
    /// The target stays as it is, because its content differs and its `immutable` is true: the API server refuses each change.
    Locked,
}

/// What to do with a target that has lost its source.
#[derive(Debug, PartialEq)]
pub(crate) enum Release {
    Nothing,
    /// A merge patch removes what came from the source.
    Change(Value),
    Delete,
}

// === impl Plan ===

impl Plan {
    /// Returns true if the target may lose something: an entry of a map, an element of a list, a field, a label, an annotation, or
    /// itself.
    pub(crate) fn removes(&self) -> bool {
        match self {
            Self::Change(patch) => may_remove(patch),
            Self::Replace(_) => true,
            Self::Nothing | Self::Refuse(_) | Self::Locked => false,
        }
    }
}

// === impl Bond ===

impl Bond<'_> {
    /// Decides about a target that exists. `now` is the time to write into the bookkeeping.
    pub(crate) fn plan(&self, target: &Value, now: &str) -> Plan {
        if let Some(field) = self.kind.fixed
            && differ(self.source.get(field), target.get(field))
        {
            match (self.role, field) {
                (Role::Copy, _) => return Plan::Replace(field),
                // A RoleBinding that a person made must not give its role to other subjects. A Secret keeps its own type.
                (Role::Pulls, "roleRef") => return Plan::Refuse(field),
                (Role::Pulls, _) => {}
            }
        }
        match self.change(target, now) {
            None => Plan::Nothing,
            Some(patch) if is_locked(self.kind, target, &patch) => Plan::Locked,
            Some(patch) => Plan::Change(patch),
        }
    }

    /// The version of the source if the target names this version or no version. The plugin has then written the target for this version
    /// before, or the target has lost its bookkeeping. Returns `None` if the target names another version.
    pub(crate) fn repeated(&self, target: &Value) -> Option<&str> {
        let version = self.source.pointer("/metadata/resourceVersion").and_then(Value::as_str)?;
        let own = Annotations::of_object(target);
        let [name, _] = versioned(self.style);
        own.filled(name).is_none_or(|own| own == version).then_some(version)
    }

    /// The object to create.
    pub(crate) fn fresh(&self, name: &str, now: &str) -> Value {
        let mut object = self.change(&Value::Null, now).unwrap_or_else(|| json!({}));
        set_metadata(&mut object, [("name", name)]);
        let fixed = self.kind.fixed.and_then(|field| Some((field, self.source.get(field)?.clone())));
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), self.kind.api_version.into());
            fields.insert("kind".to_owned(), self.kind.name.into());
            fields.extend(fixed.map(|(field, value)| (field.to_owned(), value)));
        }
        object
    }

    /// The merge patch that updates the target. Returns `None` if the target equals its source.
    fn change(&self, target: &Value, now: &str) -> Option<Value> {
        let own = Annotations::of_object(target);
        let mut patch = self.content(target, &own);
        let labels = self.labels(target, &own);
        let owners = self.owners(target);
        let mut marks = self.marks(&own);
        let [version, at] = versioned(self.style);
        let complete = own.filled(version).is_some() && own.filled(at).is_some();
        if complete && patch.is_empty() && labels.is_empty() && owners.is_none() && marks.is_empty() {
            return None;
        }
        let read = self.source.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
        marks.insert(version.to_owned(), read);
        marks.insert(at.to_owned(), now.into());
        let mut metadata = Map::from_iter([("annotations".to_owned(), Value::Object(marks))]);
        if !labels.is_empty() {
            metadata.insert("labels".to_owned(), Value::Object(labels));
        }
        metadata.extend(owners.map(|owners| ("ownerReferences".to_owned(), owners)));
        patch.insert("metadata".to_owned(), Value::Object(metadata));
        Some(Value::Object(patch))
    }

    fn content(&self, target: &Value, own: &Annotations) -> Map<String, Value> {
        let managed = own.entries(REPLICATED_KEYS);
        let theirs = self.copied();
        let is_ours =
            |key: &str| self.style == Style::Reflector || managed.contains(&key) || theirs.contains(key);
        let mut patch = Map::new();
        for field in self.kind.maps {
            let changes = map_changes(entries(self.source, field), entries(target, field), is_ours);
            if !changes.is_empty() {
                patch.insert((*field).to_owned(), Value::Object(changes));
            }
        }
        let is_whole = is_copied_whole(own);
        for field in self.kind.named {
            let of_source = names(self.source, field);
            let is_ours = |name: &str| {
                if is_generated(name_of(target), name) {
                    // The source may have the same name as the target. A copy of the whole list then has the name that OpenShift added
                    // to the source, and this name is removed. The name that OpenShift added to the target stays.
                    is_whole && of_source.contains(&name)
                } else {
                    is_whole || is_ours(name)
                }
            };
            let list = list_change(&self.names(field), &names(target, field), is_ours);
            patch.extend(list.map(|list| ((*field).to_owned(), list)));
        }
        for field in self.kind.wholes {
            let (wanted, present) = (filled(self.source.get(field)), filled(target.get(field)));
            // A person may have set a flag of the target that the source does not have.
            let is_own =
                self.role == Role::Pulls && wanted.is_none() && !present.is_some_and(Value::is_array);
            if wanted != present && !is_own {
                patch.insert((*field).to_owned(), wanted.cloned().unwrap_or_default());
            }
        }
        patch
    }

    /// The names in a list of the source, without the name that OpenShift adds: its Secret does not exist in other namespaces.
    fn names(&self, field: &str) -> Vec<&str> {
        let mut names = names(self.source, field);
        names.retain(|name| !is_generated(&self.key.name, name));
        names
    }

    /// The keys and the names that come from the source.
    fn copied(&self) -> BTreeSet<&str> {
        let names = self.kind.named.iter().flat_map(|field| self.names(field));
        keys(self.kind, self.source).into_iter().chain(names).collect()
    }

    /// The changes to the labels of a copy, so that it has those of its source. Labels that other clients added stay.
    fn labels(&self, target: &Value, own: &Annotations) -> Map<String, Value> {
        if self.role != Role::Copy {
            return Map::new();
        }
        let managed = own.entries(REPLICATED_LABELS);
        // A mirror has no labels of its source. A copy of the other style that becomes a mirror loses these labels.
        let wanted = self.wanted_labels().filter(|_| self.style == Style::Replicator);
        map_changes(
            wanted.as_ref(),
            entries(target.get("metadata").unwrap_or(&Value::Null), "labels"),
            |key| managed.contains(&key),
        )
    }

    /// Returns `None` if the source has no labels, or does not want them to be copied.
    fn wanted_labels(&self) -> Option<Map<String, Value>> {
        let annotations = Annotations::of_object(self.source);
        // kubernetes-replicator documents `true`, and accepts any value. Only `false` is an exception here.
        let strip =
            annotations.get(STRIP_LABELS).is_some_and(|text| !text.trim().eq_ignore_ascii_case("false"));
        let labels = self.source.pointer("/metadata/labels").and_then(Value::as_object);
        labels.filter(|_| !strip).cloned()
    }

    /// The `ownerReferences` to write. Returns `None` if the source does not request them, or if the target has them.
    fn owners(&self, target: &Value) -> Option<Value> {
        let keep =
            Annotations::of_object(self.source).get(KEEP_OWNER_REFERENCES).and_then(flag) == Some(true);
        if !keep || (self.role, self.style) != (Role::Copy, Style::Replicator) {
            return None;
        }
        let owners = |object: &Value| filled(object.pointer("/metadata/ownerReferences")).cloned();
        let wanted = owners(self.source);
        (wanted != owners(target)).then(|| wanted.unwrap_or_default())
    }

    /// The changes of the bookkeeping, without the version and the time.
    fn marks(&self, own: &Annotations) -> Map<String, Value> {
        let join = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(",");
        let keys = self.kind.has_keys().then(|| join(self.copied()));
        let labels = self.wanted_labels();
        let labels = labels.map(|labels| join(labels.keys().map(String::as_str).collect()));
        let key = Some(self.key.to_string());
        let gone = |names: &[&'static str]| names.iter().map(|name| (*name, None)).collect::<Vec<_>>();
        let wanted = match (self.style, self.role) {
            (Style::Replicator, Role::Copy) => {
                let own = vec![
                    (REPLICATED_FROM, key),
                    (REPLICATED_KEYS, keys),
                    (REPLICATED_LABELS, labels.filter(|labels| !labels.is_empty())),
                ];
                [own, gone(&REFLECTOR_MARKS)].concat()
            }
            (Style::Replicator, Role::Pulls) => {
                [vec![(REPLICATED_KEYS, keys)], gone(&[REPLICATED_FROM, REPLICATED_LABELS])].concat()
            }
            (Style::Reflector, Role::Copy) => {
                let own = vec![(REFLECTS, key), (AUTO_REFLECTS, Some("True".to_owned()))];
                [own, gone(&REPLICATOR_MARKS)].concat()
            }
            (Style::Reflector, Role::Pulls) => Vec::new(),
        };
        let is_right = |name: &str, wanted: Option<&str>| {
            let present = own.get(name);
            // Other versions of Reflector write `true`.
            present == wanted || (name == AUTO_REFLECTS && wanted.and_then(flag) == present.and_then(flag))
        };
        let wrong = wanted.into_iter().filter(|(name, wanted)| !is_right(name, wanted.as_deref()));
        wrong.map(|(name, wanted)| (name.to_owned(), wanted.map_or(Value::Null, Value::from))).collect()
    }
}

// === impl Release ===

impl Release {
    /// Decides about a target whose source is gone, or no longer permits or requests it.
    pub(crate) fn of(kind: &Kind, role: Role, style: Style, target: &Value) -> Self {
        let own = Annotations::of_object(target);
        let managed = own.entries(REPLICATED_KEYS);
        let is_managed = |key: &&str| managed.contains(key);
        match (role, style) {
            (Role::Copy, Style::Replicator) if keys(kind, target).iter().all(is_managed) => Self::Delete,
            (Role::Copy, Style::Reflector) => Self::Delete,
            (Role::Pulls, Style::Reflector) => Self::Nothing,
            (Role::Pulls, Style::Replicator)
                if REPLICATOR_MARKS.iter().all(|name| own.get(name).is_none()) =>
            {
                Self::Nothing
            }
            (_, Style::Replicator) => {
                let patch = without(kind, target, &own);
                if is_locked(kind, target, &patch) { Self::Nothing } else { Self::Change(patch) }
            }
        }
    }
}

/// The annotations of a target with the version of its source, and with the time of the last write.
fn versioned(style: Style) -> [&'static str; 2] {
    match style {
        Style::Replicator => [REPLICATED_FROM_VERSION, REPLICATED_AT],
        Style::Reflector => [REFLECTED_VERSION, REFLECTED_AT],
    }
}

/// Sets texts in the metadata of an object, or of a merge patch.
pub(crate) fn set_metadata<const N: usize>(object: &mut Value, texts: [(&str, &str); N]) {
    let Some(fields) = object.as_object_mut() else { return };
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.extend(texts.map(|(name, text)| (name.to_owned(), text.into())));
    }
}

/// The patch that removes what came from the source, and the bookkeeping.
fn without(kind: &Kind, target: &Value, own: &Annotations) -> Value {
    let removed = |names: Vec<&str>| -> Map<String, Value> {
        names.into_iter().map(|name| (name.to_owned(), Value::Null)).collect()
    };
    let mut patch = Map::new();
    for field in kind.maps {
        let present = entries(target, field);
        let mut came = own.entries(REPLICATED_KEYS);
        came.retain(|key| present.is_some_and(|map| map.contains_key(*key)));
        if !came.is_empty() {
            let values = came.into_iter().map(|key| (key.to_owned(), emptied(target, key)));
            patch.insert((*field).to_owned(), Value::Object(values.collect()));
        }
    }
    let (managed, is_whole) = (own.entries(REPLICATED_KEYS), is_copied_whole(own));
    for field in kind.named {
        let is_ours =
            |name: &str| managed.contains(&name) || (is_whole && !is_generated(name_of(target), name));
        let list = list_change(&[], &names(target, field), is_ours);
        patch.extend(list.map(|list| ((*field).to_owned(), list)));
    }
    let lists = kind.wholes.iter().filter(|field| target.get(**field).is_some_and(Value::is_array));
    patch.extend(lists.map(|field| ((*field).to_owned(), Value::Null)));
    let marks = REPLICATOR_MARKS.into_iter().filter(|name| own.get(name).is_some()).collect();
    let mut metadata = Map::from_iter([("annotations".to_owned(), Value::Object(removed(marks)))]);
    let labels = own.entries(REPLICATED_LABELS);
    if !labels.is_empty() {
        metadata.insert("labels".to_owned(), Value::Object(removed(labels)));
    }
    patch.insert("metadata".to_owned(), Value::Object(metadata));
    Value::Object(patch)
}

/// What takes the place of a value that came from the source: null, or a value without a secret if the type of the Secret requires the
/// key. The API server refuses the removal of such a key, and the target would keep the value of the source.
fn emptied(target: &Value, key: &str) -> Value {
    match (target.get("type").and_then(Value::as_str).unwrap_or_default(), key) {
        ("kubernetes.io/tls", "tls.crt" | "tls.key")
        | ("kubernetes.io/basic-auth", "username" | "password") => "".into(),
        // An empty JSON object.
        ("kubernetes.io/dockerconfigjson", ".dockerconfigjson")
        | ("kubernetes.io/dockercfg", ".dockercfg") => "e30=".into(),
        // A line break: this value must not be empty.
        ("kubernetes.io/ssh-auth", "ssh-privatekey") => "Cg==".into(),
        _ => Value::Null,
    }
}

/// The changes of a map as a merge patch: all wanted entries, and the removal of those of `is_ours` that are not wanted.
fn map_changes(
    wanted: Option<&Map<String, Value>>,
    present: Option<&Map<String, Value>>,
    is_ours: impl Fn(&str) -> bool,
) -> Map<String, Value> {
    let value = |map: Option<&Map<String, Value>>, key: &str| map.and_then(|map| map.get(key)).cloned();
    let differ =
        wanted.into_iter().flatten().filter(|(key, wanted)| value(present, key).as_ref() != Some(wanted));
    let mut changes: Map<String, Value> = differ.map(|(key, value)| (key.clone(), value.clone())).collect();
    let gone = present.into_iter().flatten().filter(|(key, _)| value(wanted, key).is_none() && is_ours(key));
    changes.extend(gone.map(|(key, _)| (key.clone(), Value::Null)));
    changes
}

/// The list of the target with all wanted names, and without the names for which `is_ours` returns true and that are not wanted. Returns
/// `None` if the list does not change.
fn list_change(wanted: &[&str], present: &[&str], is_ours: impl Fn(&str) -> bool) -> Option<Value> {
    let kept = present.iter().filter(|name| wanted.contains(name) || !is_ours(name));
    let missing = wanted.iter().filter(|name| !present.contains(name));
    let list: Vec<&str> = kept.chain(missing).copied().collect();
    (list != present).then(|| list.iter().map(|name| json!({"name": name})).collect())
}

/// The names in a list of references.
fn names<'a>(object: &'a Value, field: &str) -> Vec<&'a str> {
    let list = object.get(field).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|entry| entry.get("name")?.as_str()).collect()
}

/// Returns true if the annotations record a copy, but no names. kubernetes-replicator copies the whole list in this way.
fn is_copied_whole(own: &Annotations) -> bool {
    own.get(REPLICATED_KEYS).is_none() && own.filled(REPLICATED_AT).is_some()
}

fn name_of(object: &Value) -> &str {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// Returns true if OpenShift made the Secret for a ServiceAccount of this name.
fn is_generated(account: &str, secret: &str) -> bool {
    secret.strip_prefix(account).is_some_and(|rest| rest.starts_with("-dockercfg-"))
}

fn entries<'a>(object: &'a Value, field: &str) -> Option<&'a Map<String, Value>> {
    object.get(field).and_then(Value::as_object)
}

/// The keys of all maps of an object.
fn keys<'a>(kind: &Kind, object: &'a Value) -> BTreeSet<&'a str> {
    let maps = kind.maps.iter().filter_map(|field| entries(object, field));
    maps.flat_map(|map| map.keys().map(String::as_str)).collect()
}

/// The value, unless it is null or an empty list.
fn filled(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()))
}

/// Returns true if a merge patch may remove something. It replaces a list as a whole, so elements may go.
fn may_remove(patch: &Value) -> bool {
    match patch {
        Value::Null | Value::Array(_) => true,
        Value::Object(fields) => fields.values().any(may_remove),
        _ => false,
    }
}

/// Returns true if the patch changes the content of an immutable Secret or ConfigMap.
fn is_locked(kind: &Kind, target: &Value, patch: &Value) -> bool {
    let is_immutable = target.get("immutable") == Some(&Value::Bool(true));
    is_immutable && kind.maps.iter().any(|field| patch.get(field).is_some())
}

/// Returns true if both have the field, with different values.
fn differ(one: Option<&Value>, other: Option<&Value>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

#[cfg(test)]
mod tests;
