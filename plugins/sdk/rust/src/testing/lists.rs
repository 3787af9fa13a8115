//! Lists of the test host: what a selector selects, and what an index has.

use informer_types::{Body, FieldSelector, Header, IndexPaths, LabelSelector, Object};
use serde_json::Value;

use super::state::{Resource, error, meta};
use crate::bindings::informer::plugin::types::{Error, ErrorCode};

/// The fields that the API server can select by for every resource.
const FIELDS: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// The index that every resource has.
const NAMESPACE_INDEX: &str = "namespace";

/// The conditions of a list.
pub(super) struct Selected<'a> {
    namespace: Option<&'a str>,
    labels: LabelSelector,
    fields: FieldSelector,
}

/// An index of a resource.
pub(super) enum Index<'a> {
    Namespace,
    Paths(&'a IndexPaths),
}

// === impl Selected ===

impl<'a> Selected<'a> {
    /// The error describes the problem.
    pub(super) fn parse(namespace: Option<&'a str>, labels: &str, fields: &str) -> Result<Self, String> {
        let labels = labels.parse::<LabelSelector>().map_err(|problem| problem.to_string())?;
        let fields = fields.parse::<FieldSelector>().map_err(|problem| problem.to_string())?;
        for path in fields.pointers().map(|pointer| pointer.tokens().join(".")) {
            if !FIELDS.contains(&path.as_str()) {
                let [name, namespace] = FIELDS;
                return Err(format!(
                    "the test host selects by the fields {name} and {namespace}, not by {path}"
                ));
            }
        }
        Ok(Self { namespace: namespace.filter(|namespace| !namespace.is_empty()), labels, fields })
    }

    /// The selected objects, sorted by namespace and name.
    pub(super) fn of<'r>(&'r self, resource: &'r Resource) -> impl Iterator<Item = &'r Value> {
        resource.in_namespace(self.namespace).filter(|object| {
            let labels = object.pointer("/metadata/labels");
            let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
            self.labels.matches(label) && self.fields_select(object)
        })
    }

    /// Only the header decides, because it has both fields.
    fn fields_select(&self, object: &Value) -> bool {
        let meta = meta(object);
        let header = Header { namespace: meta.namespace.into(), name: meta.name.into(), ..Header::default() };
        let object = Object::new(&header, Body::Raw("{}".into()));
        object.is_ok_and(|object| self.fields.selects(&object).unwrap_or(false))
    }
}

// === impl Resource ===

impl Resource {
    pub(super) fn index(&self, name: &str) -> Result<Index<'_>, Error> {
        match self.indexes.get(name) {
            Some(paths) => Ok(Index::Paths(paths)),
            None if name == NAMESPACE_INDEX => Ok(Index::Namespace),
            None => {
                let message = format!("there is no index `{name}`; declare it by `TestHost::index`");
                Err(error(ErrorCode::Invalid, message))
            }
        }
    }
}

// === impl Index ===

impl Index<'_> {
    /// The values of an object, sorted and without duplicates.
    pub(super) fn values(&self, object: &Value) -> Vec<String> {
        match self {
            Self::Namespace => vec![meta(object).namespace],
            // The text of a tree is JSON.
            Self::Paths(paths) => paths.values(&object.to_string()).unwrap_or_default(),
        }
    }

    pub(super) fn has(&self, object: &Value, value: &str) -> bool {
        self.values(object).iter().any(|of| of == value)
    }
}

#[cfg(test)]
mod tests;
