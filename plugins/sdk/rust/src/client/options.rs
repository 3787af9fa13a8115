//! Options of requests.

use super::{Propagation, wit};

/// Selects the objects of a [`list`](super::list). By default it selects all objects of all namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOptions {
    namespace: Option<String>,
    labels: String,
    fields: String,
    page_size: u32,
}

/// Options of a write. By default a write changes the object itself and is not a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    dry_run: bool,
    force: bool,
    subresource: String,
}

/// Options of a deletion. By default there is no precondition, and the resource decides about dependents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    dry_run: bool,
    uid: Option<String>,
    resource_version: Option<String>,
    propagation: Option<Propagation>,
}

// === impl ListOptions ===

impl ListOptions {
    /// All objects of all namespaces. The grant must name the resource without a namespace.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects the objects of one namespace. An empty namespace selects all, as [`all`](Self::all) does.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// Selects the objects that match a Kubernetes label selector.
    #[must_use]
    pub fn labels(self, labels: impl Into<String>) -> Self {
        Self { labels: labels.into(), ..self }
    }

    /// Selects the objects that match a Kubernetes field selector.
    #[must_use]
    pub fn fields(self, fields: impl Into<String>) -> Self {
        Self { fields: fields.into(), ..self }
    }

    /// Fetches at most `objects` objects at a time. The host chooses the number if it is 0, the default.
    #[must_use]
    pub fn page_size(self, objects: u32) -> Self {
        Self { page_size: objects, ..self }
    }

    pub(super) fn wire<'a>(&'a self, token: Option<&'a str>) -> wit::ListOptions<'a> {
        wit::ListOptions {
            namespace: self.namespace.as_deref(),
            labels: &self.labels,
            fields: &self.fields,
            limit: self.page_size,
            token,
        }
    }
}

// === impl WriteOptions ===

impl WriteOptions {
    /// A write of the object itself that is not a dry run.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the write a dry run: the server checks the request and answers, but changes nothing.
    #[must_use]
    pub fn dry_run(self) -> Self {
        Self { dry_run: true, ..self }
    }

    /// Lets server-side apply change fields that another manager owns.
    #[must_use]
    pub fn force(self) -> Self {
        Self { force: true, ..self }
    }

    /// Writes a subresource: `status`, `scale`.
    #[must_use]
    pub fn subresource(self, name: impl Into<String>) -> Self {
        Self { subresource: name.into(), ..self }
    }

    pub(super) fn wire(&self) -> wit::WriteOptions<'_> {
        wit::WriteOptions { dry_run: self.dry_run, force: self.force, subresource: &self.subresource }
    }
}

// === impl DeleteOptions ===

impl DeleteOptions {
    /// A deletion without preconditions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the deletion a dry run: the server checks the request and answers, but deletes nothing.
    #[must_use]
    pub fn dry_run(self) -> Self {
        Self { dry_run: true, ..self }
    }

    /// Deletes the object only if it has this UID.
    #[must_use]
    pub fn uid(self, uid: impl Into<String>) -> Self {
        Self { uid: Some(uid.into()), ..self }
    }

    /// Deletes the object only if it has this resource version.
    #[must_use]
    pub fn resource_version(self, version: impl Into<String>) -> Self {
        Self { resource_version: Some(version.into()), ..self }
    }

    /// Sets what happens to the objects that the object owns.
    #[must_use]
    pub fn propagation(self, propagation: Propagation) -> Self {
        Self { propagation: Some(propagation), ..self }
    }

    pub(super) fn wire(&self) -> wit::DeleteOptions<'_> {
        wit::DeleteOptions {
            dry_run: self.dry_run,
            uid: self.uid.as_deref(),
            resource_version: self.resource_version.as_deref(),
            propagation: self.propagation,
        }
    }
}
