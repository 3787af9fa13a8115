//! Selectors of lists.

use crate::bindings::informer::plugin::lister::{self as wit, Page};

/// Selects the objects of a list, and sets the size of its pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    namespace: Option<String>,
    labels: String,
    index: Option<(String, String)>,
    page_size: u32,
}

// === impl Selector ===

impl Selector {
    /// Selects all objects that the plugin may read.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects the objects of one namespace.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// Selects the objects that match a Kubernetes label selector: `app=web,tier in (a, b),!legacy`.
    #[must_use]
    pub fn labels(self, labels: impl Into<String>) -> Self {
        Self { labels: labels.into(), ..self }
    }

    /// Selects the objects with `value` in an index. The `[[watch]]` declares its indexes under `index`.
    #[must_use]
    pub fn index(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { index: Some((name.into(), value.into())), ..self }
    }

    /// Fetches at most `objects` objects at a time. The host chooses the number if it is 0, the default. The size changes
    /// memory and time, never the result.
    #[must_use]
    pub fn page_size(self, objects: u32) -> Self {
        Self { page_size: objects, ..self }
    }

    pub(super) fn wire(&self) -> wit::Selector<'_> {
        wit::Selector {
            namespace: self.namespace.as_deref(),
            labels: &self.labels,
            index: self.index.as_ref().map(|(name, value)| (name.as_str(), value.as_str())),
        }
    }

    pub(super) fn part<'a>(&self, token: Option<&'a str>) -> Page<'a> {
        Page { limit: self.page_size, token }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_selector_reaches_the_host() {
        let selector =
            Selector::all().namespace("default").labels("app=web").index("by-node", "n1").page_size(50);

        let wire = selector.wire();

        assert_eq!(
            (wire.namespace, wire.labels, wire.index),
            (Some("default"), "app=web", Some(("by-node", "n1")))
        );
        assert_eq!(selector.part(Some("t")), Page { limit: 50, token: Some("t") });
    }

    #[test]
    fn a_selector_of_all_objects_has_no_conditions() {
        let selector = Selector::all();

        assert_eq!(selector.wire(), wit::Selector { namespace: None, labels: "", index: None });
        assert_eq!(selector.part(None), Page { limit: 0, token: None });
    }
}
