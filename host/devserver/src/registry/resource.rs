//! One resource in one version: its names and the rules of its objects.

use crate::{object::Object, patch::list_kind::Layout};

/// Group and plural of a resource. All versions of a resource share one collection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CollectionId {
    pub(crate) group: String,
    pub(crate) plural: String,
}

/// The rule for the names of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum NameRule {
    /// An RFC 1123 subdomain; used by most resources.
    #[default]
    Subdomain,
    /// An RFC 1123 label; used by namespaces.
    Label,
    /// An RFC 1035 label; used by services.
    DnsLabel,
    /// Any text that fits into one segment of a URL path; used by RBAC.
    PathSegment,
}

/// The fields behind a `scale` subresource, as paths of field names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) spec_replicas: Vec<String>,
    pub(crate) status_replicas: Vec<String>,
    pub(crate) selector: Option<Vec<String>>,
}

/// A column of `kubectl get` that a definition declares.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PrinterColumn {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
    /// A JSONPath of field names and array indexes.
    pub(crate) path: String,
}

/// One resource in one version. Most properties default to what a plain resource without subresources has.
#[derive(Debug, Clone, Default)]
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
    /// If true, a CustomResourceDefinition defines the resource.
    pub(crate) custom: bool,
    /// If true, the resource has a `status` subresource, and other writes ignore `.status`.
    pub(crate) status: bool,
    pub(crate) scale: Option<Scale>,
    /// If true, `metadata.generation` counts changes outside of the metadata and the status.
    pub(crate) generation: bool,
    /// If true, objects can only be created: the server answers them and does not store them.
    pub(crate) is_review: bool,
    pub(crate) name_rule: NameRule,
    /// The fields that a field selector may name besides `metadata.name` and `metadata.namespace`.
    pub(crate) selectable: Vec<String>,
    /// The collection of the objects, if it belongs to another resource.
    pub(crate) stored_as: Option<CollectionId>,
    /// Top-level fields with other names than in the collection: `(stored, shown)`.
    pub(crate) renames: &'static [(&'static str, &'static str)],
    /// The columns of a custom resource; empty for built-in resources.
    pub(crate) columns: Vec<PrinterColumn>,
}

// === impl Resource ===

impl Resource {
    /// `apps/v1`, or `v1` for the core group.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The collection of the objects.
    pub(crate) fn id(&self) -> CollectionId {
        if let Some(id) = &self.stored_as {
            return id.clone();
        }
        CollectionId { group: self.group.clone(), plural: self.plural.clone() }
    }

    /// `deployments.apps`, or `pods` for the core group.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// The source of the merge rules for the objects.
    pub(crate) fn layout(&self) -> Layout {
        if self.custom { Layout::Custom } else { Layout::BuiltIn }
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    /// Renames the fields of this resource to their stored names.
    pub(crate) fn rename_for_storage(&self, object: &mut Object) {
        self.renames.iter().for_each(|(stored, shown)| object.rename(shown, stored));
    }

    /// Renames stored fields to their names in this resource.
    pub(crate) fn rename_from_storage(&self, object: &mut Object) {
        self.renames.iter().for_each(|(stored, shown)| object.rename(stored, shown));
    }

    /// The stored name of a selectable field.
    pub(crate) fn stored_field(&self, path: &str) -> String {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let renamed =
            self.renames.iter().find(|(_, shown)| *shown == first).map_or(first, |(stored, _)| stored);
        rest.map_or_else(|| renamed.to_owned(), |rest| format!("{renamed}.{rest}"))
    }

    /// The values of the selectable fields of a stored object.
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

// === impl Scale ===

impl Scale {
    /// The paths of all scalable built-in resources.
    pub(crate) fn replicas() -> Self {
        Self {
            spec_replicas: Self::path(".spec.replicas"),
            status_replicas: Self::path(".status.replicas"),
            selector: None,
        }
    }

    /// The field names of a path such as `.spec.replicas`.
    pub(crate) fn path(path: &str) -> Vec<String> {
        path.split('.').filter(|field| !field.is_empty()).map(str::to_owned).collect()
    }
}
