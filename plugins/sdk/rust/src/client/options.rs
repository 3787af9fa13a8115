//! How a request differs from the plain one.

use super::{Propagation, wit};

/// Which objects a live list is about. The default is all of all namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOptions {
    namespace: Option<String>,
    labels: String,
    fields: String,
    page_size: u32,
}

/// How a write is made. The default is the object itself, in earnest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    dry_run: bool,
    force: bool,
    subresource: String,
}

/// How an object is deleted. The default is whichever object has the name, as its resource says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    dry_run: bool,
    uid: Option<String>,
    resource_version: Option<String>,
    propagation: Option<Propagation>,
}

// === impl ListOptions ===

impl ListOptions {
    /// All objects; that must be granted without a namespace.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Only those of one namespace.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// Only those that match a Kubernetes label selector.
    #[must_use]
    pub fn labels(self, labels: impl Into<String>) -> Self {
        Self { labels: labels.into(), ..self }
    }

    /// Only those that match a Kubernetes field selector.
    #[must_use]
    pub fn fields(self, fields: impl Into<String>) -> Self {
        Self { fields: fields.into(), ..self }
    }

    /// At most so many objects from the server at a time; 0, the default, leaves it to the host.
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
    /// The object itself, in earnest.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The server checks and answers, and changes nothing.
    #[must_use]
    pub fn dry_run(self) -> Self {
        Self { dry_run: true, ..self }
    }

    /// Server-side apply only: take fields over that another manager owns.
    #[must_use]
    pub fn force(self) -> Self {
        Self { force: true, ..self }
    }

    /// `status`, `scale`.
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
    /// Whichever object has the name.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The server checks and answers, and deletes nothing.
    #[must_use]
    pub fn dry_run(self) -> Self {
        Self { dry_run: true, ..self }
    }

    /// Only the object with this UID.
    #[must_use]
    pub fn uid(self, uid: impl Into<String>) -> Self {
        Self { uid: Some(uid.into()), ..self }
    }

    /// Only this version of it.
    #[must_use]
    pub fn resource_version(self, version: impl Into<String>) -> Self {
        Self { resource_version: Some(version.into()), ..self }
    }

    /// What becomes of the objects it owns.
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
