//! Assigns faults to requests.

use parking_lot::Mutex;

use crate::{Call, Fault, Request};

/// Selects the requests that meet a fault. Defaults to the next request of a kind, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct On {
    call: Call,
    page: Option<usize>,
    initial_events: Option<bool>,
    skip: usize,
    times: usize,
}

/// All rules in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Plan(Mutex<Vec<Rule>>);

#[derive(Debug)]
struct Rule {
    on: On,
    fault: Fault,
    seen: usize,
}

// === impl On ===

impl On {
    /// Any page of a list.
    #[must_use]
    pub fn list() -> Self {
        Self::call(Call::List)
    }

    /// This page of a list, counted from 1.
    #[must_use]
    pub fn page(page: usize) -> Self {
        Self { page: Some(page), ..Self::list() }
    }

    /// Watches that are not streaming lists.
    #[must_use]
    pub fn watch() -> Self {
        Self { initial_events: Some(false), ..Self::call(Call::Watch) }
    }

    /// Streaming lists: watches that request initial events.
    #[must_use]
    pub fn streaming_list() -> Self {
        Self { initial_events: Some(true), ..Self::call(Call::Watch) }
    }

    /// Discovery requests.
    #[must_use]
    pub fn discovery() -> Self {
        Self::call(Call::Discovery)
    }

    /// Starts with the `nth` request after the rule was added, counted from 1.
    #[must_use]
    pub fn nth(self, nth: usize) -> Self {
        Self { skip: nth.saturating_sub(1), ..self }
    }

    /// Applies to `times` requests in a row.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// Applies to all following requests.
    #[must_use]
    pub fn always(self) -> Self {
        self.times(usize::MAX)
    }

    fn call(call: Call) -> Self {
        Self { call, page: None, initial_events: None, skip: 0, times: 1 }
    }

    fn is_about(&self, request: &Request) -> bool {
        request.call == self.call
            && self.page.is_none_or(|page| page == request.page())
            && self.initial_events.is_none_or(|wanted| wanted == request.wants_initial_events())
    }
}

// === impl Plan ===

impl Plan {
    pub(crate) fn add(&self, on: On, fault: Fault) {
        self.0.lock().push(Rule { on, fault, seen: 0 });
    }

    /// The fault for this request, by the oldest rule that applies to it. Later rules do not count the request.
    /// Returns `None` if no rule applies.
    pub(crate) fn take(&self, request: &Request) -> Option<Fault> {
        let mut rules = self.0.lock();
        for rule in rules.iter_mut().filter(|rule| rule.on.is_about(request)) {
            let turn = rule.seen.checked_sub(rule.on.skip);
            rule.seen += 1;
            if turn.is_some_and(|turn| turn < rule.on.times) {
                return Some(rule.fault.clone());
            }
        }
        None
    }
}
