//! The circuit breaker of a plugin. A plugin that keeps failing is quarantined: it gets no calls except a probe from time
//! to time.
//!
//! | state | calls | next state |
//! |---|---|---|
//! | closed | all | open, after N failures in a row ([`QuarantineConfig::after`]), or by `Fate::Quarantine` |
//! | open | none | half open, when the wait is over, or at once for a new version |
//! | half open | one, the probe | closed if the probe is acknowledged, open with a longer wait if the probe fails |
//!
//! If the handler refuses the probe for good, or the host cuts the probe short, the next probe follows at once.
//!
//! Any answer that the handler gives itself, including an error, shows that the plugin works, and resets the count. An object
//! that always makes the plugin trap therefore spends its own attempts as long as calls for other objects succeed.
//!
//! A quarantine costs no attempt: the call that triggers the quarantine, and calls that fail during it, do not count. A key
//! whose probe failed goes to the end of its lane, so the next probe is for another key if there is one.
//!
//! A new version is judged by its own calls only. A failed call that began before the new version was in service neither
//! begins nor prolongs a quarantine, and delays no probe. A successful call ends a quarantine, whenever the call began.
//! If a new version takes keys instead of notifications, the quarantine of the notifications ends, because no probe could end it.
//! If a new version has no reconciler, the quarantine of the keys ends for the same reason.
//!
//! What arrives during a quarantine stays in the queue and merges as usual. After the quarantine the plugin receives what
//! changed, in order, starting from the state that it knows. Nothing needs to be replayed.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use informer_types::{Backoff, Failure, FailureKind, millis};
use serde::{Deserialize, Serialize};

use super::slot::SlotId;
use crate::letters::cut;

/// When a plugin is quarantined, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct QuarantineConfig {
    /// Failures in a row (trap, deadline, memory, host-calls, start) that begin a quarantine. `None` turns quarantine off.
    pub after: Option<NonZeroU32>,
    /// The waits before the probes.
    pub backoff: Backoff,
}

/// A plugin in quarantine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Quarantine {
    /// Time since the quarantine began.
    #[serde(rename = "lasting-ms", with = "millis")]
    pub lasting: Duration,
    /// Time until the next probe; zero while a probe is in flight.
    #[serde(rename = "probe-in-ms", with = "millis")]
    pub probe_in: Duration,
    /// Number of failed probes.
    pub failed_probes: u32,
    /// The last failure.
    pub failure: String,
    /// One sentence: `in quarantine for 12 s, next probe in 3 s; deliveries wait: trap: ...`, with the first line of the failure.
    pub text: String,
}

/// The circuit breaker of one queue.
#[derive(Debug)]
pub(crate) struct Circuit {
    config: QuarantineConfig,
    state: State,
    /// When the version in service was put into service. `None` if it is the first one.
    since: Option<Instant>,
    /// Number of quarantines.
    opened: u64,
    /// No call is made during a pause, whatever the state.
    pub(crate) paused: bool,
}

#[derive(Debug)]
enum State {
    Closed { in_a_row: u32 },
    Open(Open),
}

#[derive(Debug)]
struct Open {
    since: Instant,
    until: Instant,
    failed_probes: u32,
    /// The key of the probe in flight. The circuit is half open if there is one.
    probe: Option<SlotId>,
    failure: Failure,
}

// === impl QuarantineConfig ===

impl Default for QuarantineConfig {
    /// A quarantine begins after five failures in a row; the waits grow from one second to five minutes.
    fn default() -> Self {
        let (min, max) = (Duration::from_secs(1), Duration::from_secs(5 * 60));
        Self { after: NonZeroU32::new(5), backoff: Backoff { min, max, factor: 2.0, jitter: 0.2 } }
    }
}

// === impl Circuit ===

impl Circuit {
    pub(crate) fn new(config: QuarantineConfig) -> Self {
        Self { config, state: State::Closed { in_a_row: 0 }, since: None, opened: 0, paused: false }
    }

    /// The configuration applies from the next failure on.
    pub(crate) fn set_config(&mut self, config: QuarantineConfig) {
        self.config = config;
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Returns true during a pause or a quarantine: only probes of the quarantine are handed out.
    pub(crate) fn holds_back(&self) -> bool {
        self.paused || self.is_open()
    }

    /// Number of quarantines so far.
    pub(crate) fn opened(&self) -> u64 {
        self.opened
    }

    /// Returns true if a call may be made.
    pub(crate) fn admits(&self, now: Instant) -> bool {
        !self.paused
            && match &self.state {
                State::Closed { .. } => true,
                State::Open(open) => open.probe.is_none() && open.until <= now,
            }
    }

    /// When the next call may be made. Returns `None` while a probe is in flight.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        match &self.state {
            State::Closed { .. } => Some(now),
            State::Open(open) => open.probe.is_none().then(|| open.until.max(now)),
        }
    }

    /// A call is made.
    pub(crate) fn begin(&mut self, id: SlotId) {
        if let State::Open(open) = &mut self.state {
            open.probe = Some(id);
        }
    }

    /// A call was acknowledged. That closes the circuit, whenever the call began. Returns true if it ended a quarantine.
    pub(crate) fn succeeded(&mut self) -> bool {
        let was = std::mem::replace(&mut self.state, State::Closed { in_a_row: 0 });
        matches!(was, State::Open(_))
    }

    /// Ends a quarantine, because no call will be made.
    pub(crate) fn end(&mut self) {
        self.state = State::Closed { in_a_row: 0 };
    }

    /// A call ended that does not show whether the plugin works: the handler refused for good (`answered`), or the host cut the call
    /// short. If the call was a probe, another one may follow at once.
    pub(crate) fn undecided(&mut self, id: SlotId, answered: bool) {
        match &mut self.state {
            State::Closed { in_a_row } if answered => *in_a_row = 0,
            State::Open(open) if open.probe == Some(id) => open.probe = None,
            State::Closed { .. } | State::Open(_) => {}
        }
    }

    /// Returns true if a call that began at this time was made before the version in service was put into service.
    pub(crate) fn is_outdated(&self, began: Instant) -> bool {
        self.since.is_some_and(|since| began < since)
    }

    /// A call that began at `began` failed, and would be retried. Returns true if the call does not count against its key: the
    /// plugin is in quarantine, since this call or before.
    pub(super) fn spares(&mut self, id: SlotId, began: Instant, failure: &Failure, now: Instant) -> bool {
        let outdated = self.is_outdated(began);
        match &mut self.state {
            State::Closed { .. } if outdated => return false,
            State::Closed { in_a_row } => {
                *in_a_row = match failure.kind {
                    FailureKind::Trap
                    | FailureKind::Deadline
                    | FailureKind::Memory
                    | FailureKind::HostCalls
                    | FailureKind::Start => in_a_row.saturating_add(1),
                    FailureKind::Handler => 0,
                    // A fault of the host, and the memory of all plugins, show nothing about this one.
                    FailureKind::GuestMemory | FailureKind::Host => *in_a_row,
                };
                let enough = self.config.after.is_some_and(|after| *in_a_row >= after.get());
                if !enough {
                    return false;
                }
                self.open(failure, now);
            }
            State::Open(open) if open.probe == Some(id) => {
                open.probe = None;
                open.failed_probes = open.failed_probes.saturating_add(1);
                open.failure = cut(failure.clone());
                let wait = self.config.backoff.delay(open.failed_probes.saturating_add(1), fastrand::f64());
                open.until = now + wait;
            }
            // The call began before the quarantine, or before the version in service.
            State::Open(_) => {}
        }
        true
    }

    /// Begins a quarantine. Does nothing if there is one.
    pub(crate) fn open(&mut self, failure: &Failure, now: Instant) {
        if self.is_open() {
            return;
        }
        self.opened += 1;
        let until = now + self.config.backoff.delay(1, fastrand::f64());
        let failure = cut(failure.clone());
        self.state = State::Open(Open { since: now, until, failed_probes: 0, probe: None, failure });
    }

    /// A new version is in service. In a quarantine the next probe is due now, even if another probe is in flight, and the
    /// waits start over. Returns true if there is a quarantine.
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
        let probe_in = if open.probe.is_some() { Duration::ZERO } else { wait };
        let (lasting, failure) = (now.saturating_duration_since(open.since), open.failure.to_string());
        let text = format!(
            "in quarantine for {} s, next probe in {} s; deliveries wait: {}",
            lasting.as_secs(),
            probe_in.as_secs_f64().ceil(),
            failure.lines().next().unwrap_or_default(),
        );
        Some(Quarantine { lasting, probe_in, failed_probes: open.failed_probes, failure, text })
    }
}
