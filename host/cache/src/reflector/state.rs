//! A reflector's position in the history of its collection, which decides how it lists next.

/// The default page size. If the server has no watch cache, a full list is a full read of etcd; pages keep each read
/// small.
const DEFAULT_PAGE_SIZE: u32 = 500;

/// The state that a reflector keeps from one run to the next.
#[derive(Debug, Default)]
pub(crate) struct ListState {
    last_version: String,
    /// True if the server does not have `last_version`, or if an earlier reflector's version is unknown to this
    /// one.
    unavailable: bool,
    /// True if the server has no watch cache.
    always_paged: bool,
    /// True if the last list had no version.
    unversioned: bool,
    /// The configured page size.
    page_size: Option<u32>,
}

// === impl ListState ===

impl ListState {
    pub(crate) fn new(page_size: Option<u32>) -> Self {
        Self { page_size, ..Self::default() }
    }

    /// The state of a reflector that continues for an earlier one, because the resource came back (D-12). Its first
    /// list requests the most recent state; an older state could be older than what was delivered before.
    pub(crate) fn returning(page_size: Option<u32>) -> Self {
        Self { unavailable: true, ..Self::new(page_size) }
    }

    /// The resource version of the next list: first "0", which means any state, then the last one seen, so
    /// that a relist cannot go back in time. If the server does not have that one, the most recent.
    ///
    /// A later list with pages requests the most recent state, too (D-15): the server answers a limit at a concrete
    /// version with exactly that version, so a relist would repeat the past for as long as no watch opens.
    pub(crate) fn list_version(&self) -> &str {
        if self.unavailable {
            ""
        } else if self.last_version.is_empty() {
            "0"
        } else if self.page_size.is_some() || self.always_paged {
            ""
        } else {
            &self.last_version
        }
    }

    /// The resource version of a streaming list: the last one seen, or the most recent. Never "0", which would
    /// allow any state.
    pub(crate) fn stream_version(&self) -> &str {
        if self.unavailable || !self.can_resume() { "" } else { &self.last_version }
    }

    /// The page size of the next list. A list at a concrete version has no limit, so that the server's watch cache can
    /// answer it.
    pub(crate) fn page_limit(&self) -> Option<u32> {
        let any_state = matches!(self.list_version(), "0" | "");
        self.page_size.or(any_state.then_some(DEFAULT_PAGE_SIZE))
    }

    /// The last resource version seen, verbatim.
    pub(crate) fn last_version(&self) -> &str {
        &self.last_version
    }

    /// Returns true if a watch can begin where the last watch ended. A watch from no version, or from "0", begins with the current
    /// state, and the current state does not show earlier deletions.
    pub(crate) fn can_resume(&self) -> bool {
        !matches!(self.last_version.as_str(), "" | "0")
    }

    /// Returns true if the last list had no version. A server without versions cannot mark the end of a streaming list, because the
    /// mark has a version.
    pub(crate) fn is_unversioned(&self) -> bool {
        self.unversioned
    }

    /// Records a resource version. The latest one received is used; versions are not compared.
    pub(crate) fn observe(&mut self, resource_version: &str) {
        self.last_version.clear();
        self.last_version.push_str(resource_version);
    }

    /// Records that the server does not have the last version. Returns true if this was not known.
    pub(crate) fn version_unavailable(&mut self) -> bool {
        !std::mem::replace(&mut self.unavailable, true)
    }

    /// Records a list that succeeded. `paged` is true if it had more than one page.
    pub(crate) fn listed(&mut self, resource_version: &str, paged: bool) {
        self.always_paged |= paged && self.list_version() == "0";
        self.unavailable = false;
        self.unversioned = resource_version.is_empty();
        self.observe(resource_version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first list is at "0", and a relist is at the last resource version seen.
    #[test]
    fn the_first_list_requests_any_state_and_later_lists_the_last_version_seen() {
        let mut state = ListState::new(None);
        assert_eq!((state.list_version(), state.page_limit()), ("0", Some(500)));

        state.listed("10", false);
        assert_eq!((state.list_version(), state.page_limit()), ("10", None));

        state.observe("55");
        state.observe("32");
        assert_eq!(state.list_version(), "32");
    }

    /// After a resource came back (D-12), the first list must not be older than what was delivered before.
    #[test]
    fn after_a_resource_came_back_the_first_list_requests_the_most_recent_state() {
        let mut state = ListState::returning(None);
        assert_eq!((state.list_version(), state.stream_version(), state.page_limit()), ("", "", Some(500)));

        state.listed("10", true);

        assert_eq!((state.list_version(), state.page_limit()), ("10", None));
    }

    /// If the server does not have the requested version, the next list requests the most recent one.
    #[test]
    fn an_unavailable_version_leads_to_consistent_reads_until_a_list_succeeds() {
        let mut state = ListState::new(None);
        state.listed("10", false);

        state.version_unavailable();
        assert_eq!((state.list_version(), state.page_limit()), ("", Some(500)));

        state.listed("20", true);
        assert_eq!((state.list_version(), state.page_limit()), ("20", None));
    }

    /// A streaming list never requests any state, "0".
    #[test]
    fn a_streaming_list_requests_the_last_version_seen_or_the_most_recent_state() {
        let mut state = ListState::new(None);
        assert_eq!(state.stream_version(), "");

        state.listed("10", false);
        assert_eq!(state.stream_version(), "10");

        assert!(state.version_unavailable());
        assert!(!state.version_unavailable());
        assert_eq!(state.stream_version(), "");

        state.listed("0", false);
        assert_eq!((state.stream_version(), state.can_resume()), ("", false));
    }

    /// A paged answer to the first list means that the server has no watch cache.
    #[test]
    fn a_paged_answer_to_the_first_list_makes_all_later_lists_paged() {
        let mut state = ListState::new(None);

        state.listed("10", true);

        assert_eq!((state.list_version(), state.page_limit()), ("", Some(500)));
    }

    /// A configured page size replaces the choice between 500 and no limit. With a limit, a concrete version
    /// would mean exactly that version (D-15).
    #[test]
    fn a_configured_page_size_applies_to_every_list_and_later_lists_request_the_most_recent_state() {
        let mut state = ListState::new(Some(4));
        assert_eq!((state.list_version(), state.page_limit()), ("0", Some(4)));

        state.listed("10", false);

        assert_eq!((state.list_version(), state.page_limit()), ("", Some(4)));
    }
}
