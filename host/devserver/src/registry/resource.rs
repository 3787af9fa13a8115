//! One resource in one version: its names, and what its objects may do.

use crate::{object::Object, patch::list_kind::Layout, status::GroupResource};

/// Group and plural: versions of one resource share their objects.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CollectionId {
    pub(crate) group: String,
    pub(crate) plural: String,
}

/// How an object of a resource may be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// RFC 1123 subdomain: most resources.
    Subdomain,
    /// RFC 1123 label: namespaces.
    Label,
    /// RFC 1035 label: services.
    DnsLabel,
    /// Anything that fits into one URL path segment: RBAC.
    PathSegment,
}

/// Where a resource keeps what its `scale` subresource shows, as paths of plain field names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) spec_replicas: Vec<String>,
    pub(crate) status_replicas: Vec<String>,
    pub(crate) selector: Option<Vec<String>>,
}

/// A column of `kubectl get`, as a definition declares it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PrinterColumn {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
    /// A JSONPath of plain field names and array indexes.
    pub(crate) path: String,
}

/// One resource in one version.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// Defined by a CustomResourceDefinition.
    pub(crate) custom: bool,
    /// Has a `status` subresource, so the main one ignores `.status`.
    pub(crate) status: bool,
    pub(crate) scale: Option<Scale>,
    /// Counts changes of everything but metadata and status in `metadata.generation`.
    pub(crate) generation: bool,
    /// A question to the server, answered and not kept: it can be created and nothing else.
    pub(crate) is_review: bool,
    pub(crate) name_rule: NameRule,
    /// The fields a field selector may name besides `metadata.name` and `metadata.namespace`.
    pub(crate) selectable: Vec<String>,
    /// The resource whose objects it shows, when they are not its own.
    pub(crate) stored_as: Option<CollectionId>,
    /// Top-level fields that it names otherwise than the storage: `(stored, shown)`.
    pub(crate) renames: &'static [(&'static str, &'static str)],
    /// Columns of a custom resource; empty for the built-in ones.
    pub(crate) columns: Vec<PrinterColumn>,
}

// === impl Resource ===

impl Resource {
    /// `apps/v1`, or `v1` for the core group.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Where its objects are kept.
    pub(crate) fn id(&self) -> CollectionId {
        if let Some(id) = &self.stored_as {
            return id.clone();
        }
        CollectionId { group: self.group.clone(), plural: self.plural.clone() }
    }

    pub(crate) fn group_resource(&self) -> GroupResource<'_> {
        GroupResource { group: &self.group, plural: &self.plural }
    }

    /// Where the shape of its objects is known from.
    pub(crate) fn layout(&self) -> Layout {
        if self.custom { Layout::Custom } else { Layout::BuiltIn }
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    /// From the names of this resource to those of the storage.
    pub(crate) fn rename_for_storage(&self, object: &mut Object) {
        for (stored, shown) in self.renames {
            let value = object.fields.remove(*shown);
            object.fields.extend(value.map(|value| ((*stored).to_owned(), value)));
        }
    }

    /// From the names of the storage to those of this resource.
    pub(crate) fn rename_from_storage(&self, object: &mut Object) {
        for (stored, shown) in self.renames {
            let value = object.fields.remove(*stored);
            object.fields.extend(value.map(|value| ((*shown).to_owned(), value)));
        }
    }

    /// The name in the storage of a selectable field.
    pub(crate) fn stored_field(&self, path: &str) -> String {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let renamed =
            self.renames.iter().find(|(_, shown)| *shown == first).map_or(first, |(stored, _)| stored);
        rest.map_or_else(|| renamed.to_owned(), |rest| format!("{renamed}.{rest}"))
    }

    /// The values of the selectable fields of an object as it is stored, for its header.
    pub(crate) fn field_values(&self, object: &Object) -> Vec<(String, String)> {
        let value = |field: &String| {
            let field = self.stored_field(field);
            let path: Vec<&str> = field.split('.').collect();
            let text = match object.at(&path) {
                Some(serde_json::Value::String(text)) => text.clone(),
                Some(value @ (serde_json::Value::Bool(_) | serde_json::Value::Number(_))) => {
                    value.to_string()
                }
                _ => String::new(),
            };
            (field, text)
        };
        self.selectable.iter().map(value).collect()
    }
}

impl From<&str> for CollectionId {
    /// Reads `deployments.apps`, or `pods` for the core group.
    fn from(text: &str) -> Self {
        let (plural, group) = text.split_once('.').unwrap_or((text, ""));
        Self { group: group.to_owned(), plural: plural.to_owned() }
    }
}
