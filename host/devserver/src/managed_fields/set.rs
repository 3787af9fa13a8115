//! A set of fields, which `FieldsV1` encodes.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::patch::list_kind::{Layout, ListKind};

/// A set of field paths. A step of a path is `f:<field>`, `k:<keys of a list item>` or `v:<value of a set>`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    /// If true, the path to this node is in the set itself.
    member: bool,
    children: BTreeMap<String, FieldSet>,
}

// === impl FieldSet ===

impl FieldSet {
    fn leaf() -> Self {
        Self { member: true, children: BTreeMap::new() }
    }

    /// All fields of a document.
    pub(super) fn of(document: &Value, layout: Layout) -> Self {
        match document {
            Value::Object(fields) if fields.is_empty() => Self::default(),
            _ => Self::below(document, layout, &mut Vec::new()),
        }
    }

    fn below<'v>(value: &'v Value, layout: Layout, path: &mut Vec<&'v str>) -> Self {
        match value {
            Value::Object(fields) if !fields.is_empty() && !layout.is_atomic_map(path) => {
                let mut set = Self::default();
                for (field, value) in fields {
                    path.push(field);
                    set.children.insert(format!("f:{field}"), Self::below(value, layout, path));
                    path.pop();
                }
                set
            }
            Value::Array(items) if !items.is_empty() => match layout.list_kind(path) {
                ListKind::Atomic => Self::leaf(),
                ListKind::Set => {
                    let children = items.iter().map(|item| (format!("v:{item}"), Self::leaf())).collect();
                    Self { member: false, children }
                }
                ListKind::Map(keys) => {
                    let mut set = Self::default();
                    for item in items {
                        let mut inner = Self::below(item, layout, path);
                        inner.member = true;
                        set.children.insert(super::path::item_step(item, keys), inner);
                    }
                    set
                }
            },
            _ => Self::leaf(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    /// The paths in this set that are not in `other`.
    pub(super) fn difference(&self, other: &Self) -> Self {
        let member = self.member && !other.member;
        let empty = Self::default();
        let left = |(step, set): (&String, &Self)| {
            let left = set.difference(other.children.get(step).unwrap_or(&empty));
            (!left.is_empty()).then(|| (step.clone(), left))
        };
        Self { member, children: self.children.iter().filter_map(left).collect() }
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.member |= other.member;
        for (step, set) in &other.children {
            let merged = union.children.get(step).map_or_else(|| set.clone(), |have| have.union(set));
            union.children.insert(step.clone(), merged);
        }
        union
    }

    /// The members for which `keep` returns true.
    pub(super) fn filter(&self, keep: impl Fn(&[String]) -> bool) -> Self {
        self.members().into_iter().filter(|path| keep(path)).collect()
    }

    /// Returns true if the path or a path below it is in the set.
    pub(super) fn holds(&self, path: &[String]) -> bool {
        path.iter().try_fold(self, |set, step| set.children.get(step)).is_some_and(|set| !set.is_empty())
    }

    /// Returns true if the path is in the set and no path below it is.
    pub(super) fn holds_leaf(&self, path: &[String]) -> bool {
        let found = path.iter().try_fold(self, |set, step| set.children.get(step));
        found.is_some_and(|set| set.member && set.children.is_empty())
    }

    /// All paths in the set. A path comes before the paths below it.
    pub(super) fn members(&self) -> Vec<Vec<String>> {
        let mut members = Vec::new();
        self.collect(&mut Vec::new(), &mut members);
        members
    }

    fn collect(&self, path: &mut Vec<String>, members: &mut Vec<Vec<String>>) {
        if self.member {
            members.push(path.clone());
        }
        for (step, set) in &self.children {
            path.push(step.clone());
            set.collect(path, members);
            path.pop();
        }
    }

    /// Reads `FieldsV1`. A value that is not an object counts as empty.
    pub(super) fn from_json(json: &Value) -> Self {
        let Value::Object(fields) = json else { return Self::default() };
        let mut set = Self::default();
        for (step, inner) in fields {
            if step == "." {
                set.member = true;
                continue;
            }
            let mut child = Self::from_json(inner);
            child.member |= child.children.is_empty();
            set.children.insert(step.clone(), child);
        }
        set
    }

    pub(super) fn to_json(&self) -> Value {
        let mut fields = Map::new();
        if self.member && !self.children.is_empty() {
            fields.insert(".".into(), Value::Object(Map::new()));
        }
        fields.extend(self.children.iter().map(|(step, set)| (step.clone(), set.to_json())));
        Value::Object(fields)
    }
}

impl FromIterator<Vec<String>> for FieldSet {
    fn from_iter<I: IntoIterator<Item = Vec<String>>>(paths: I) -> Self {
        let mut all = Self::default();
        for path in paths {
            let mut set = &mut all;
            for step in path {
                set = set.children.entry(step).or_default();
            }
            set.member = true;
        }
        all
    }
}
