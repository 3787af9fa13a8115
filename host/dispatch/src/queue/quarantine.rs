//! The circuit breaker of a plugin: one that does not work is left alone, but for a probe now and then.
//!
//! | state | calls | leads to |
//! |---|---|---|
//! | closed | as always | open, after so many failures in a row that are not the handler's own errors |
//! | open | none | half open, when the wait is over, or at once for a new version |
//! | half open | one, the probe | closed if it is acknowledged, else open, with a longer wait |
//!
//! In a row: any answer of the handler of its own accord, an error too, shows that the plugin works and starts the count
//! anew. So an object that always makes the plugin trap is the business of its attempts, as long as others get through.
//!
//! No attempt is lost to a quarantine: a call that fails in one, and the one that leads to it, do not count. A probe that
//! failed goes to the end of its lane, so the next one is about another object, if there is another.
//!
//! A new version is judged by its own calls: one that fails and began before it took over begins no quarantine, prolongs
//! none, and delays no probe. If it succeeds it ends one, as ever.
//!
//! What arrives meanwhile stays in the queue and merges there as ever, so that afterwards the plugin hears what changed
//! since, in order, each change from the state it knows. Nothing has to be asked for again, hence no cause `replay`.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use informer_types::{Backoff, Failure, FailureKind};

use crate::dead_letter::cut;

/// When a plugin is left alone, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct QuarantineConfig {
    /// Failures in a row (trap, deadline, memory, host-calls, start) that lead to it; none: they never do.
    pub after: Option<NonZeroU32>,
    /// The waits before the probes.
    pub backoff: Backoff,
}

/// A plugin in quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// How long it has been.
    pub lasting: Duration,
    /// Until the next probe; zero where one is being made.
    pub probe_in: Duration,
    /// Probes that failed.
    pub failed_probes: u32,
    /// The last failure.
    pub failure: Failure,
}

/// Of one queue, whose calls have ids of this type.
#[derive(Debug)]
pub(crate) struct Circuit<I> {
    config: QuarantineConfig,
    state: State<I>,
    /// Since when the version in service serves; none: always.
    since: Option<Instant>,
    opened: u64,
}

#[derive(Debug)]
enum State<I> {
    Closed { in_a_row: u32 },
    Open(Open<I>),
}

#[derive(Debug)]
struct Open<I> {
    since: Instant,
    until: Instant,
    failed_probes: u32,
    /// Half open: this one is in hand.
    probe: Option<I>,
    failure: Failure,
}

/// What a call was to the circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A call as any other.
    Counts,
    /// It is not to be held against its object: the plugin is in quarantine, since just now or before.
    Spared,
    /// It ended the quarantine.
    Closed,
}

// === impl QuarantineConfig ===

impl Default for QuarantineConfig {
    /// After five; a second, and up to five minutes.
    fn default() -> Self {
        let (min, max) = (Duration::from_secs(1), Duration::from_secs(5 * 60));
        Self { after: NonZeroU32::new(5), backoff: Backoff { min, max, factor: 2.0, jitter: 0.2 } }
    }
}

// === impl Circuit ===

impl<I: PartialEq> Circuit<I> {
    pub(crate) fn new(config: QuarantineConfig) -> Self {
        Self { config, state: State::Closed { in_a_row: 0 }, since: None, opened: 0 }
    }

    /// From the next failure on.
    pub(crate) fn set_config(&mut self, config: QuarantineConfig) {
        self.config = config;
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// How often a quarantine began.
    pub(crate) fn opened(&self) -> u64 {
        self.opened
    }

    /// True where a call may be made.
    pub(crate) fn admits(&self, now: Instant) -> bool {
        match &self.state {
            State::Closed { .. } => true,
            State::Open(open) => open.probe.is_none() && open.until <= now,
        }
    }

    /// When a call may be made, where `now` is not the time; none: when the probe in hand is settled.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        match &self.state {
            State::Closed { .. } => Some(now),
            State::Open(open) => open.probe.is_none().then(|| open.until.max(now)),
        }
    }

    /// A call is made.
    pub(crate) fn begin(&mut self, id: I) {
        if let State::Open(open) = &mut self.state {
            open.probe = Some(id);
        }
    }

    /// A call was acknowledged, and that closes the circuit, whenever the call began.
    pub(crate) fn succeeded(&mut self) -> Verdict {
        let was = std::mem::replace(&mut self.state, State::Closed { in_a_row: 0 });
        if matches!(was, State::Open(_)) { Verdict::Closed } else { Verdict::Counts }
    }

    /// The handler refused for good, or the host cut the call short. Neither says whether the plugin works again: a
    /// probe that ended like this is followed by another at once.
    pub(crate) fn undecided(&mut self, id: &I, answered: bool) {
        match &mut self.state {
            State::Closed { in_a_row } if answered => *in_a_row = 0,
            State::Open(open) if open.probe.as_ref() == Some(id) => open.probe = None,
            State::Closed { .. } | State::Open(_) => {}
        }
    }

    /// True where a call that began at this time says nothing about the version in service.
    pub(crate) fn is_outdated(&self, began: Instant) -> bool {
        self.since.is_some_and(|since| began < since)
    }

    /// A call failed that began then, and would be made again.
    pub(crate) fn failed(&mut self, id: &I, began: Instant, failure: &Failure, now: Instant) -> Verdict {
        let outdated = self.is_outdated(began);
        match &mut self.state {
            State::Closed { .. } if outdated => return Verdict::Counts,
            State::Closed { in_a_row } => {
                *in_a_row = match failure.kind {
                    FailureKind::Trap
                    | FailureKind::Deadline
                    | FailureKind::Memory
                    | FailureKind::HostCalls
                    | FailureKind::Start => in_a_row.saturating_add(1),
                    FailureKind::Handler => 0,
                    // It says nothing about the plugin.
                    FailureKind::Host => *in_a_row,
                };
                let enough = self.config.after.is_some_and(|after| *in_a_row >= after.get());
                if !enough {
                    return Verdict::Counts;
                }
                self.open(failure, now);
            }
            State::Open(open) if open.probe.as_ref() == Some(id) => {
                open.probe = None;
                open.failed_probes = open.failed_probes.saturating_add(1);
                open.failure = cut(failure.clone());
                let wait = self.config.backoff.delay(open.failed_probes.saturating_add(1), fastrand::f64());
                open.until = now + wait;
            }
            // It began before the quarantine did, or before the version in service took over.
            State::Open(_) => {}
        }
        Verdict::Spared
    }

    /// Begins a quarantine, or leaves it as it is where there is one.
    pub(crate) fn open(&mut self, failure: &Failure, now: Instant) {
        if self.is_open() {
            return;
        }
        self.opened += 1;
        let until = now + self.config.backoff.delay(1, fastrand::f64());
        let failure = cut(failure.clone());
        self.state = State::Open(Open { since: now, until, failed_probes: 0, probe: None, failure });
    }

    /// Another version is in service, which has not failed yet. Where there is a quarantine, the next probe is due now
    /// whatever is in hand, and the waits start anew; false where there is none.
    pub(crate) fn new_version(&mut self, now: Instant) -> bool {
        self.since = Some(now);
        match &mut self.state {
            State::Closed { in_a_row } => {
                *in_a_row = 0;
                false
            }
            State::Open(open) => {
                (open.until, open.failed_probes, open.probe) = (now, 0, None);
                true
            }
        }
    }

    pub(crate) fn quarantine(&self, now: Instant) -> Option<Quarantine> {
        let State::Open(open) = &self.state else { return None };
        let wait = open.until.saturating_duration_since(now);
        Some(Quarantine {
            lasting: now.saturating_duration_since(open.since),
            probe_in: if open.probe.is_some() { Duration::ZERO } else { wait },
            failed_probes: open.failed_probes,
            failure: open.failure.clone(),
        })
    }
}
