//! Where a reflector is in the history of its collection, and so how it lists next.

/// Without the server's watch cache a list of everything costs etcd a full read; pages keep each small.
const DEFAULT_PAGE_SIZE: u32 = 500;

/// What a reflector remembers from one run to the next.
#[derive(Debug, Default)]
pub(crate) struct ListState {
    last_version: String,
    /// the server no longer or not yet has `last_version`; or it is not known, but there was one.
    unavailable: bool,
    /// the server has no watch cache.
    always_paged: bool,
    /// Asked for by the configuration.
    page_size: Option<u32>,
}

// === impl ListState ===

impl ListState {
    pub(crate) fn new(page_size: Option<u32>) -> Self {
        Self { page_size, ..Self::default() }
    }

    /// Of a reflector that takes up where another one ended, because the resource has come back (D-12): its first list
    /// asks for the most recent state, or it could go back behind what the other one told.
    pub(crate) fn returning(page_size: Option<u32>) -> Self {
        Self { unavailable: true, ..Self::new(page_size) }
    }

    /// The resource version of the next list: "0", any state, at first; then what was last seen,
    /// so that a relist cannot go back in time; the most recent where the server does not have that.
    pub(crate) fn list_version(&self) -> &str {
        if self.unavailable {
            ""
        } else if self.last_version.is_empty() {
            "0"
        } else {
            &self.last_version
        }
    }

    /// The resource version of a streaming list: what was last seen, or the most recent state; never
    /// "0", which would be any.
    pub(crate) fn stream_version(&self) -> &str {
        if self.unavailable { "" } else { &self.last_version }
    }

    /// no limit at a concrete version, so that the server's watch cache can answer.
    pub(crate) fn page_limit(&self) -> Option<u32> {
        let any_state = matches!(self.list_version(), "0" | "");
        self.page_size.or((any_state || self.always_paged).then_some(DEFAULT_PAGE_SIZE))
    }

    /// The last resource version seen, verbatim.
    pub(crate) fn last_version(&self) -> &str {
        &self.last_version
    }

    /// no comparison, whatever the server says counts.
    pub(crate) fn observe(&mut self, resource_version: &str) {
        self.last_version.clear();
        self.last_version.push_str(resource_version);
    }

    /// True where this is news.
    pub(crate) fn version_unavailable(&mut self) -> bool {
        !std::mem::replace(&mut self.unavailable, true)
    }

    /// A list succeeded; `paged` says that it took more than one page.
    pub(crate) fn listed(&mut self, resource_version: &str, paged: bool) {
        self.always_paged |= paged && self.list_version() == "0";
        self.unavailable = false;
        self.observe(resource_version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_list_asks_for_any_state_and_later_ones_for_what_was_seen_r5_r6() {
        let mut state = ListState::new(None);
        assert_eq!((state.list_version(), state.page_limit()), ("0", Some(500)));

        state.listed("10", false);
        assert_eq!((state.list_version(), state.page_limit()), ("10", None));

        state.observe("55");
        state.observe("32");
        assert_eq!(state.list_version(), "32");
    }

    #[test]
    fn after_the_return_of_a_resource_the_first_list_asks_for_the_most_recent_state_r6_d12() {
        let mut state = ListState::returning(None);
        assert_eq!((state.list_version(), state.stream_version(), state.page_limit()), ("", "", Some(500)));

        state.listed("10", true);

        assert_eq!((state.list_version(), state.page_limit()), ("10", None));
    }

    #[test]
    fn an_unavailable_version_leads_to_a_quorum_read_until_a_list_succeeds_r7() {
        let mut state = ListState::new(None);
        state.listed("10", false);

        state.version_unavailable();
        assert_eq!((state.list_version(), state.page_limit()), ("", Some(500)));

        state.listed("20", true);
        assert_eq!((state.list_version(), state.page_limit()), ("20", None));
    }

    #[test]
    fn a_streaming_list_asks_for_what_was_seen_or_for_the_newest_and_never_for_any_state_r41() {
        let mut state = ListState::new(None);
        assert_eq!(state.stream_version(), "");

        state.listed("10", false);
        assert_eq!(state.stream_version(), "10");

        assert!(state.version_unavailable());
        assert!(!state.version_unavailable());
        assert_eq!(state.stream_version(), "");
    }

    #[test]
    fn a_paged_answer_to_the_first_list_keeps_all_later_ones_paged_r11() {
        let mut state = ListState::new(None);

        state.listed("10", true);

        assert_eq!((state.list_version(), state.page_limit()), ("10", Some(500)));
    }

    #[test]
    fn a_configured_page_size_always_wins_r10() {
        let mut state = ListState::new(Some(4));
        state.listed("10", false);

        assert_eq!(state.page_limit(), Some(4));
    }
}
