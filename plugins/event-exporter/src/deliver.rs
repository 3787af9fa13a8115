//! Sends the queue of a receiver, in the order of time.

use std::time::Duration;

use informer_sdk::{ReconcileError, ReconcileResult, Reconciled, delivery, log, metrics, workqueue};
use jiff::Timestamp;

use crate::{
    http::{LONGEST_PAUSE, Post, Verdict},
    record::Record,
    sink::{Destination, Sink},
    state::{Refused, State, StateError, Stuck},
};

/// A call begins no batch after this time, so that the call ends before its deadline. The last batch may still need two requests: the
/// receiver refuses the batch, and the exporter then sends the first Event of the batch alone.
const BUDGET: Duration = Duration::from_secs(5);

/// The most Events of a call.
const AT_ONCE: usize = 500;

/// The most bytes of the documents of one request.
const REQUEST_BYTES: usize = 1 << 20;

/// The most bytes of the lines of a call. The host cuts the log of a call at 64 KiB. A call that logs a longer line logs no other line of
/// an Event.
const LOG_BYTES: usize = 48 << 10;

/// When the number of failed attempts of the first Event of a queue reaches a multiple of this number, the next call sends another Event
/// first.
const ATTEMPTS: usize = 10;

/// Sends Events to one receiver.
pub(crate) struct Delivery<'a> {
    pub(crate) name: &'a str,
    pub(crate) destination: &'a Destination,
    pub(crate) state: &'a State,
    pub(crate) http: &'a dyn Post,
    pub(crate) now: fn() -> Timestamp,
    pub(crate) metrics_prefix: &'a str,
}

/// The state of one call of [`Delivery::drain`].
struct Call {
    begun: Timestamp,
    /// The Event that may be the reason of its failures. If there is a suspect, each request has one Event.
    suspect: Option<String>,
    /// True if the receiver has accepted an Event in this call.
    accepted: bool,
    /// The error of the last refused Event that could not be set aside. The Event stays in the queue.
    not_set_aside: Option<StateError>,
}

/// The reason why the rest of a queue waits.
enum Stop {
    /// The call has lasted long enough.
    Budget,
    /// The receiver failed. The next attempt is after the backoff, or after the time that the receiver named.
    Failed(String, Option<Duration>),
    State(StateError),
}

/// An Event in the queue.
struct Item {
    key: String,
    record: Record,
    /// The line for `stdout`, or the reason why there is none. `None` if the Event goes to a receiver over HTTP.
    line: Option<Result<String, String>>,
}

// === impl Delivery ===

impl Delivery<'_> {
    /// Sends the Events in the queue. After a failure, the Events that are left wait for the next call.
    pub(crate) fn drain(&self) -> ReconcileResult {
        let begun = (self.now)();
        if let Some(rest) = self.rest_of_pause(begun)? {
            return Ok(Reconciled::RequeueAfter(rest));
        }
        let mut queue = self.state.queue(self.name, AT_ONCE)?;
        let mut call = Call { begun, suspect: None, accepted: false, not_set_aside: None };
        self.find_suspect(&mut queue, &mut call)?;
        let mut left = queue.as_slice();
        let stopped = loop {
            match self.next(&mut left, &mut call) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(stop) => break Some(stop),
            }
        };
        self.gauge("events_queued", self.state.queue(self.name, AT_ONCE)?.len());
        if let Some(error) = call.not_set_aside {
            if let None | Some(Stop::Budget) = stopped {
                return Err(error.into());
            }
            // The other failure decides when the next attempt is, so this error does not replace it.
            log::warn!(receiver = self.name; "a refused Event stays in the queue: {error}");
        }
        match stopped {
            None if queue.len() < AT_ONCE => Ok(Reconciled::Done),
            None | Some(Stop::Budget) => Ok(Reconciled::RequeueAfter(Duration::from_millis(1))),
            Some(Stop::State(error)) => Err(error.into()),
            Some(Stop::Failed(why, pause)) => self.later(why, pause),
        }
    }

    /// Waits for the time that the receiver named, or else for the backoff. A time of zero would repeat the request without end.
    fn later(&self, why: String, pause: Option<Duration>) -> ReconcileResult {
        let Some(pause) = pause.filter(|pause| !pause.is_zero()) else {
            return Err(ReconcileError::retry(why));
        };
        log::warn!(receiver = self.name; "{why}; the next attempt is in {} s", pause.as_secs());
        self.begin_pause(pause);
        Ok(Reconciled::RequeueAfter(pause))
    }

    fn begin_pause(&self, pause: Duration) {
        let until = (self.now)().checked_add(pause).ok();
        // After a wait, the host counts the attempts of the key from 1 again. Without the stored number, each attempt would go to the
        // same host of the receiver.
        let turn = self.attempt();
        let kept = self.state.set_pause(self.name, until).and_then(|()| self.state.set_turn(self.name, turn));
        // The disk may be full of queued Events. Without the stored pause, the workqueue still delays the key of the receiver.
        if let Err(error) = kept {
            log::warn!(receiver = self.name; "the wait is not stored, so a new Event or a restart may end it: {error}");
        }
    }

    /// The rest of the time that the receiver named. A pause that is over is removed.
    fn rest_of_pause(&self, now: Timestamp) -> Result<Option<Duration>, StateError> {
        let Some(until) = self.state.paused(self.name)? else { return Ok(None) };
        let rest = Duration::try_from(until.duration_since(now)).unwrap_or_default();
        // A pause that is longer than the longest one shows that the clock was set back after the pause began. Such a pause is ignored.
        if !rest.is_zero() && rest <= LONGEST_PAUSE {
            return Ok(Some(rest));
        }
        self.state.set_pause(self.name, None)?;
        Ok(None)
    }

    /// The number of this attempt. It includes the attempts before the last pause. If a receiver has several hosts, the number chooses the
    /// host.
    fn attempt(&self) -> u32 {
        let before = self.state.turn(self.name).unwrap_or_default();
        delivery::current().attempt.max(1).wrapping_add(before)
    }

    /// Sends an Event again that the receiver refused before. The call fails during a pause of the receiver: a call that succeeds removes
    /// the dead letter, even if it only requests a wait.
    pub(crate) fn again(&self, key: &str, refused: Refused) -> ReconcileResult {
        if let Some(rest) = self.rest_of_pause((self.now)())? {
            let why = format!("it wants no request for {} s", rest.as_secs().max(1));
            return Err(ReconcileError::retry(about(self.name, &why)));
        }
        let record = refused.record;
        let verdict = match self.destination {
            Destination::Stdout(stdout) => Some(print(stdout.line(&record))),
            Destination::Http(sink) => self.post(sink.as_ref(), &[record]).0.into_iter().next(),
        };
        match verdict {
            Some(Verdict::Sent) => {
                self.count("events_sent_total", 1);
                self.state.remove(&[key.to_owned()])?;
                Ok(Reconciled::Done)
            }
            Some(Verdict::Never(why)) => Err(ReconcileError::terminal(about(self.name, &why))),
            Some(Verdict::Later(why, pause) | Verdict::Busy(why, pause)) => {
                if let Some(pause) = pause.filter(|pause| !pause.is_zero()) {
                    self.begin_pause(pause);
                }
                Err(ReconcileError::retry(about(self.name, &why)))
            }
            None => Ok(Reconciled::Done),
        }
    }

    /// Begins a test if the first Event of the queue has failed often: is the Event the reason, or the receiver? The Event becomes the
    /// suspect of the call, and another Event moves to the front of the queue. Each test takes a different Event, because that Event may be
    /// the reason of its failures as well. If the receiver has accepted another Event in an earlier call, the suspect is sent at once.
    fn find_suspect(&self, queue: &mut [String], call: &mut Call) -> Result<(), StateError> {
        let Some(stuck) = self.state.stuck(self.name)?.filter(|stuck| queue.first() == Some(&stuck.key))
        else {
            return Ok(());
        };
        if stuck.others_pass {
            // The acceptance of the other Event counts once, because the receiver may fail later.
            self.state.set_stuck(self.name, &Stuck { others_pass: false, ..stuck.clone() })?;
            (call.suspect, call.accepted) = (Some(stuck.key), true);
            return Ok(());
        }
        let (rounds, others) = (stuck.attempts / ATTEMPTS, queue.len().saturating_sub(1));
        if rounds == 0 || !stuck.attempts.is_multiple_of(ATTEMPTS) || others == 0 {
            return Ok(());
        }
        let other = 1 + (rounds - 1) % others;
        if let Some(front) = queue.get_mut(..=other) {
            front.rotate_right(1);
        }
        call.suspect = Some(stuck.key);
        Ok(())
    }

    /// Sends the next request. Returns false at the end of the queue.
    fn next(&self, left: &mut &[String], call: &mut Call) -> Result<bool, Stop> {
        if left.is_empty() {
            return Ok(false);
        }
        let batch = self.load(left, call)?;
        self.send(batch, call)?;
        // A refused Event that stays in the queue has used no room in the log.
        let has_logged = call.accepted || call.not_set_aside.is_none();
        match self.destination {
            Destination::Stdout(_) if has_logged && !left.is_empty() => Err(Stop::Budget),
            _ => Ok(true),
        }
    }

    /// Loads the Events of the next request. An entry that cannot be read is removed.
    fn load(&self, left: &mut &[String], call: &Call) -> Result<Vec<Item>, Stop> {
        let (most, bytes) = match self.destination {
            Destination::Stdout(_) => (AT_ONCE, LOG_BYTES),
            Destination::Http(_) if call.suspect.is_some() => (1, REQUEST_BYTES),
            Destination::Http(sink) => (sink.batch(), REQUEST_BYTES),
        };
        let (mut batch, mut size) = (Vec::new(), 0);
        while let Some((key, rest)) = left.split_first() {
            let Some(record) = self.state.load(key)? else {
                self.state.remove(std::slice::from_ref(key))?;
                *left = rest;
                continue;
            };
            let line = match self.destination {
                Destination::Stdout(stdout) => Some(stdout.line(&record)),
                Destination::Http(_) => None,
            };
            size += match &line {
                // A layout may make a long line from a short Event, so the length of the line counts.
                Some(Ok(line)) => line.len() + 1,
                // The Event counts as a full batch, so that a batch has at most one such Event: a template that fails may take many
                // steps, and each refusal writes to the disk.
                Some(Err(_)) => LOG_BYTES,
                None => record.document().to_string().len(),
            };
            if batch.len() == most || (!batch.is_empty() && size > bytes) {
                break;
            }
            batch.push(Item { key: key.clone(), record, line });
            *left = rest;
        }
        Ok(batch)
    }

    /// Sends a batch in one request. If the receiver refuses the request, each Event is sent in a separate request, because one of them
    /// may be the reason.
    fn send(&self, batch: Vec<Item>, call: &mut Call) -> Result<(), Stop> {
        let (mut keys, mut records, mut printed) = (Vec::new(), Vec::new(), Vec::new());
        for Item { key, record, line } in batch {
            keys.push(key);
            records.push(record);
            printed.extend(line.map(print));
        }
        let Destination::Http(sink) = self.destination else {
            self.settle(call, &keys, &records, printed)?;
            return self.within(call);
        };
        let sink = sink.as_ref();
        let (verdicts, as_a_whole) = self.post(sink, &records);
        let refused = verdicts.iter().any(|verdict| matches!(verdict, Verdict::Never(_)));
        if !(refused && as_a_whole && records.len() > 1) {
            self.settle(call, &keys, &records, verdicts)?;
            return self.within(call);
        }
        for (key, record) in keys.into_iter().zip(records) {
            let (key, record) = ([key], [record]);
            let (verdicts, _) = self.post(sink, &record);
            self.settle(call, &key, &record, verdicts)?;
            self.within(call)?;
        }
        Ok(())
    }

    /// Stops a call that has lasted long enough.
    fn within(&self, call: &Call) -> Result<(), Stop> {
        let lasted = Duration::try_from((self.now)().duration_since(call.begun)).unwrap_or_default();
        if lasted < BUDGET {
            return Ok(());
        }
        if let Some(key) = call.suspect.as_ref().filter(|_| call.accepted)
            && let Some(stuck) = self.state.stuck(self.name)?.filter(|stuck| stuck.key == *key)
        {
            self.state.set_stuck(self.name, &Stuck { others_pass: true, ..stuck })?;
        }
        Err(Stop::Budget)
    }

    /// Sends the Events in one request. Returns a verdict on each of them, and true if all verdicts follow from one failure of the
    /// whole request.
    fn post(&self, sink: &dyn Sink, records: &[Record]) -> (Vec<Verdict>, bool) {
        let all = |verdict: Verdict| (vec![verdict; records.len()], true);
        let request = match sink.request(records, self.attempt()) {
            Ok(request) => request,
            Err(why) => return all(Verdict::Never(why)),
        };
        match self.http.post(&request) {
            Ok(answer) => (sink.judge(&answer, records.len(), (self.now)()), !answer.is_success()),
            Err(verdict) => all(verdict),
        }
    }

    /// Removes what was sent, sets aside what was refused, and stops if something is to be sent later.
    fn settle(
        &self,
        call: &mut Call,
        keys: &[String],
        records: &[Record],
        verdicts: Vec<Verdict>,
    ) -> Result<(), Stop> {
        let (mut sent, mut refused, mut failed, mut later) = (Vec::new(), Vec::new(), None, None);
        for ((key, record), verdict) in keys.iter().zip(records).zip(verdicts) {
            match verdict {
                Verdict::Sent => sent.push(key.clone()),
                Verdict::Never(why) => refused.push((key, record, why)),
                Verdict::Later(why, _) if call.is_at_fault(key) => {
                    refused.push((key, record, format!("{why}; it accepts other Events")));
                }
                Verdict::Later(why, pause) => {
                    failed = failed.or(Some(key));
                    later = Some((why, pause));
                }
                Verdict::Busy(why, pause) => later = Some((why, pause)),
            }
        }
        // The sent Events are removed first, because a refused Event needs room on the disk.
        self.state.remove(&sent)?;
        call.accepted |= !sent.is_empty();
        self.count("events_sent_total", sent.len());
        for (key, record, why) in refused {
            // A refused Event takes more room than a queued Event. If the disk is full, the Events behind it are sent and make room, and
            // the next call sets it aside.
            if let Err(error) = self.refuse(key, record, &why) {
                call.not_set_aside = Some(error);
            }
        }
        if let Some(key) = failed {
            self.count_attempt(call, key)?;
        }
        match later {
            None => Ok(()),
            Some((why, pause)) => {
                self.count("send_event_errors_total", 1);
                Err(Stop::Failed(about(self.name, &why), pause))
            }
        }
    }

    /// Counts a failed attempt of an Event. If the call has a suspect, a failure before the receiver accepts an Event counts for
    /// the suspect.
    fn count_attempt(&self, call: &Call, key: &str) -> Result<(), StateError> {
        let key = call.suspect.as_deref().filter(|_| !call.accepted).unwrap_or(key);
        let before = self.state.stuck(self.name)?.filter(|stuck| stuck.key == key);
        let attempts = before.map_or(0, |stuck| stuck.attempts).saturating_add(1);
        let stuck = Stuck { key: key.to_owned(), attempts, others_pass: false };
        // The operator needs to see the failure of the receiver, so this error does not replace it.
        if let Err(error) = self.state.set_stuck(self.name, &stuck) {
            log::warn!(receiver = self.name; "a failed attempt is not counted: {error}");
        }
        Ok(())
    }

    /// Sets an Event aside. Its key becomes a dead letter.
    fn refuse(&self, key: &str, record: &Record, why: &str) -> Result<(), StateError> {
        let moved = self.state.refuse(key, record, why, (self.now)())?;
        self.count("send_event_errors_total", 1);
        if let Err(error) = workqueue::add(&moved) {
            log::warn!(key = moved; "the next housekeeping makes a dead letter of a refused Event: {error}");
        }
        Ok(())
    }

    fn count(&self, name: &str, events: usize) {
        #[expect(clippy::cast_precision_loss, reason = "a call sends a few hundred events")]
        let events = events as f64;
        if events > 0.0 {
            let name = format!("{}{name}", self.metrics_prefix);
            // The host logs a metric that it refuses.
            metrics::counter_add(&name, &[("receiver", self.name)], events).ok();
        }
    }

    fn gauge(&self, name: &str, events: usize) {
        #[expect(clippy::cast_precision_loss, reason = "a call counts a few hundred events")]
        let events = events as f64;
        let name = format!("{}{name}", self.metrics_prefix);
        metrics::gauge_set(&name, &[("receiver", self.name)], events).ok();
    }
}

// === impl Call ===

impl Call {
    /// Returns true if a failure of this Event is its own fault, because the receiver has just accepted another Event.
    fn is_at_fault(&self, key: &str) -> bool {
        self.accepted && self.suspect.as_deref() == Some(key)
    }
}

// === impl Stop ===

impl From<StateError> for Stop {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

/// Logs the line of an Event.
fn print(line: Result<String, String>) -> Verdict {
    match line {
        Ok(line) => {
            log::info!("{line}");
            Verdict::Sent
        }
        Err(why) => Verdict::Never(why),
    }
}

/// The reason of a failure, with the name of the receiver.
pub(crate) fn about(receiver: &str, why: &str) -> String {
    format!("receiver `{receiver}`: {why}")
}

#[cfg(test)]
mod tests;
