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

/// A call sends for at most this time, so that it ends before its deadline. The last two requests may take longer:
/// the receiver refuses a batch, and the first Event of the batch then has a request of its own.
const BUDGET: Duration = Duration::from_secs(5);

/// The most Events of a call.
const AT_ONCE: usize = 500;

/// The most bytes of the documents of one request.
const REQUEST_BYTES: usize = 1 << 20;

/// The most bytes of the lines of a call. The host cuts the log of a call at 64 KiB. One longer line has a call of its own.
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
    /// The Event whose failures may be its own fault. If there is one, each Event gets a request of its own.
    suspect: Option<String>,
    /// True if the receiver has accepted an Event in this call.
    accepted: bool,
}

/// Why the rest of a queue waits.
enum Stop {
    /// The call has lasted long enough.
    Budget,
    /// The receiver failed: try again after the backoff, or after the time that it named.
    Failed(String, Option<Duration>),
    State(StateError),
}

/// An Event and its key in the queue.
type Item = (String, Record);

// === impl Delivery ===

impl Delivery<'_> {
    /// Sends the Events in the queue. After a failure, the Events that are left wait for the next call.
    pub(crate) fn drain(&self) -> ReconcileResult {
        let begun = (self.now)();
        if let Some(rest) = self.rest_of_pause(begun)? {
            return Ok(Reconciled::RequeueAfter(rest));
        }
        let mut queue = self.state.queue(self.name, AT_ONCE)?;
        let mut call = Call { begun, suspect: None, accepted: false };
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
        // The wait resets the number of attempts, and the next attempt would go to the same host without end.
        let turn = self.attempt();
        let kept = self.state.set_pause(self.name, until).and_then(|()| self.state.set_turn(self.name, turn));
        // The key of the receiver waits anyway. The queue may have used up the room on the disk.
        if let Err(error) = kept {
            log::warn!(receiver = self.name; "a new Event or a restart may end the wait: {error}");
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

    /// The number of this attempt, which continues after a pause. The number chooses the host of a receiver that has several.
    fn attempt(&self) -> u32 {
        let before = self.state.turn(self.name).unwrap_or_default();
        delivery::current().attempt.max(1).wrapping_add(before)
    }

    /// Sends an Event again that the receiver refused before. A pause of the receiver is a failure here, because the success of a wait
    /// would remove the dead letter.
    pub(crate) fn again(&self, key: &str, refused: Refused) -> ReconcileResult {
        if let Some(rest) = self.rest_of_pause((self.now)())? {
            let why = format!("it wants no request for {} s", rest.as_secs().max(1));
            return Err(ReconcileError::retry(about(self.name, &why)));
        }
        let records = [refused.record];
        let (verdicts, _) = self.verdicts(&records);
        match verdicts.into_iter().next() {
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
        match self.destination {
            Destination::Stdout(_) if !left.is_empty() => Err(Stop::Budget),
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
            size += match self.destination {
                // The layout may make a long line of a short Event. An Event without a line is refused later. Such an Event has a call
                // of its own: its template may have taken many steps, and its refusal writes to the disk.
                Destination::Stdout(stdout) => stdout.line(&record).map_or(LOG_BYTES, |line| line.len() + 1),
                Destination::Http(_) => record.document().to_string().len(),
            };
            if batch.len() == most || (!batch.is_empty() && size > bytes) {
                break;
            }
            batch.push((key.clone(), record));
            *left = rest;
        }
        Ok(batch)
    }

    /// Sends a batch in one request. If the receiver refuses the request, each Event gets a request of its own: one of them may
    /// be the reason.
    fn send(&self, batch: Vec<Item>, call: &mut Call) -> Result<(), Stop> {
        let (keys, records): (Vec<String>, Vec<Record>) = batch.into_iter().unzip();
        let (verdicts, as_a_whole) = self.verdicts(&records);
        let refused = verdicts.iter().any(|verdict| matches!(verdict, Verdict::Never(_)));
        if !(refused && as_a_whole && records.len() > 1) {
            self.settle(call, &keys, &records, verdicts)?;
            return self.within(call);
        }
        for (key, record) in keys.into_iter().zip(records) {
            let (key, record) = ([key], [record]);
            let (verdicts, _) = self.verdicts(&record);
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

    /// Sends the Events. Returns a verdict on each of them, and true if all verdicts follow from one failure of the whole
    /// request.
    fn verdicts(&self, records: &[Record]) -> (Vec<Verdict>, bool) {
        let all = |verdict: Verdict| (vec![verdict; records.len()], true);
        let sink: &dyn Sink = match self.destination {
            Destination::Http(sink) => sink.as_ref(),
            Destination::Stdout(stdout) => {
                let print = |record: &Record| match stdout.line(record) {
                    Ok(line) => {
                        log::info!("{line}");
                        Verdict::Sent
                    }
                    Err(why) => Verdict::Never(why),
                };
                return (records.iter().map(print).collect(), false);
            }
        };
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
            self.refuse(key, record, &why)?;
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
        self.count("send_event_errors_total", 1);
        let moved = self.state.refuse(key, record, why)?;
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

/// The reason of a failure, with the name of the receiver.
pub(crate) fn about(receiver: &str, why: &str) -> String {
    format!("receiver `{receiver}`: {why}")
}

#[cfg(test)]
mod tests;
