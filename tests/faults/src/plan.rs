//! Which request meets which fault.

use parking_lot::Mutex;

use crate::{Call, Fault, Request};

/// Which requests a fault is for. Without more being said: the next one of its kind, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct On {
    call: Call,
    page: Option<usize>,
    initial_events: Option<bool>,
    skip: usize,
    times: usize,
}

/// Every rule made so far.
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
    /// Pages of lists.
    #[must_use]
    pub fn list() -> Self {
        Self::call(Call::List)
    }

    /// This page of lists, from 1.
    #[must_use]
    pub fn page(page: usize) -> Self {
        Self { page: Some(page), ..Self::list() }
    }

    /// Watches that are no streaming lists.
    #[must_use]
    pub fn watch() -> Self {
        Self { initial_events: Some(false), ..Self::call(Call::Watch) }
    }

    /// Streaming lists: watches that ask for initial events.
    #[must_use]
    pub fn streaming_list() -> Self {
        Self { initial_events: Some(true), ..Self::call(Call::Watch) }
    }

    /// Requests for what resources there are.
    #[must_use]
    pub fn discovery() -> Self {
        Self::call(Call::Discovery)
    }

    /// Not the next one but the `nth`, from 1, counted from when the rule is made.
    #[must_use]
    pub fn nth(self, nth: usize) -> Self {
        Self { skip: nth.saturating_sub(1), ..self }
    }

    /// So many in a row.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// All that follow.
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

    /// The fault this request meets: that of the first rule that has its turn. Rules behind it wait: they do
    /// not count this request.
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
