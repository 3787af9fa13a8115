//! One resource in one version: its names and the rules of its objects.

use serde_json::Value;

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
    /// Any text that fits into one segment of a URL path; used by RBAC and by Events of the core group.
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

    /// Returns true if an update must name the version that it replaces, as kube-apiserver requires for these resources.
    pub(crate) fn needs_version(&self) -> bool {
        const STRICT: [(&str, &str); 3] = [
            ("apiextensions.k8s.io", "customresourcedefinitions"),
            ("coordination.k8s.io", "leases"),
            ("policy", "poddisruptionbudgets"),
        ];
        self.custom || STRICT.iter().any(|(group, plural)| self.is(group, plural))
    }

    /// The values of the selectable fields of a stored object.
    pub(crate) fn field_values(&self, object: &Object) -> Vec<(String, String)> {
        // Only the core group has the selectable field `source`. An event that a client writes in the other group needs the value too.
        let source = (!self.renames.is_empty()).then(|| "source".to_owned());
        let fields = self.selectable.iter().map(|field| self.stored_field(field)).chain(source);
        let value = |field: String| {
            let text = self.field_value(&field, object);
            (field, text)
        };
        fields.map(value).collect()
    }

    /// The value that kube-apiserver compares with a field selector. For some fields, this value differs from the text in the object.
    fn field_value(&self, field: &str, object: &Object) -> String {
        let at = |path: &str| scalar(object, path);
        let value = match (self.plural.as_str(), field) {
            _ if self.custom => at(field),
            ("nodes", "spec.unschedulable") | ("pods", "spec.hostNetwork") => {
                at(field).or_else(|| Some("false".to_owned()))
            }
            ("replicasets" | "replicationcontrollers", "status.replicas") => {
                at(field).or_else(|| Some("0".to_owned()))
            }
            ("jobs", "status.successful") => at("status.succeeded").or_else(|| Some("0".to_owned())),
            ("events", "source") => at("source.component").or_else(|| at("reportingComponent")),
            _ => at(field),
        };
        value.unwrap_or_default()
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

/// The text of a scalar at a path of field names. Returns `None` if it is empty, or if there is no scalar.
fn scalar(object: &Object, path: &str) -> Option<String> {
    let path: Vec<&str> = path.split('.').collect();
    match object.at(&path)? {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        value @ (Value::Bool(_) | Value::Number(_)) => Some(value.to_string()),
        _ => None,
    }
}
