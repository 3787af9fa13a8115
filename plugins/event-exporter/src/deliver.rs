//! Sends the queue of a receiver, in the order of time.

use std::time::Duration;

use informer_sdk::{ReconcileError, ReconcileResult, Reconciled, delivery, log, metrics, workqueue};
use jiff::Timestamp;

use crate::{
    http::{Post, Verdict},
    record::Record,
    sink::{Destination, Sink},
    state::{Refused, State, StateError},
};

/// A call sends for at most this time, so that it ends before its deadline. The last request may take longer.
const BUDGET: Duration = Duration::from_secs(5);

/// The most Events of a call.
const AT_ONCE: usize = 500;

/// The most bytes of the documents of one request.
const REQUEST_BYTES: usize = 1 << 20;

/// The most bytes that a call logs. The host cuts the log of a call at 64 KiB.
const LOG_BYTES: usize = 48 << 10;

/// Sends Events to one receiver.
pub(crate) struct Delivery<'a> {
    pub(crate) name: &'a str,
    pub(crate) destination: &'a Destination,
    pub(crate) state: &'a State,
    pub(crate) http: &'a dyn Post,
    pub(crate) now: fn() -> Timestamp,
    pub(crate) metrics_prefix: &'a str,
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
    /// Sends the queue. A failure leaves the rest of it for the next call.
    pub(crate) fn drain(&self) -> ReconcileResult {
        let begun = (self.now)();
        if let Some(until) = self.state.paused(self.name)? {
            let rest = Duration::try_from(until.duration_since(begun)).unwrap_or_default();
            if !rest.is_zero() {
                return Ok(Reconciled::RequeueAfter(rest));
            }
            self.state.set_pause(self.name, None)?;
        }
        let queue = self.state.queue(self.name, AT_ONCE)?;
        let mut left = queue.as_slice();
        let stopped = loop {
            match self.next(&mut left, begun) {
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
            Some(Stop::Failed(why, None)) => Err(ReconcileError::retry(why)),
            Some(Stop::Failed(why, Some(pause))) => {
                log::warn!(receiver = self.name; "{why}; the next attempt is in {} s", pause.as_secs());
                self.state.set_pause(self.name, (self.now)().checked_add(pause).ok())?;
                Ok(Reconciled::RequeueAfter(pause.max(Duration::from_millis(1))))
            }
        }
    }

    /// Tries an Event once more that the receiver refused before.
    pub(crate) fn again(&self, key: &str, refused: Refused) -> ReconcileResult {
        let records = [refused.record];
        let (verdicts, _) = self.verdicts(&records);
        match verdicts.into_iter().next() {
            Some(Verdict::Sent) => {
                self.count("events_sent_total", 1);
                self.state.remove(&[key.to_owned()])?;
                Ok(Reconciled::Done)
            }
            Some(Verdict::Never(why)) => Err(ReconcileError::terminal(self.about(&why))),
            Some(Verdict::Later(why, _)) => Err(ReconcileError::retry(self.about(&why))),
            None => Ok(Reconciled::Done),
        }
    }

    /// Sends the next request. Returns false at the end of the queue.
    fn next(&self, left: &mut &[String], begun: Timestamp) -> Result<bool, Stop> {
        if left.is_empty() {
            return Ok(false);
        }
        let batch = self.load(left)?;
        self.send(batch, begun)?;
        match self.destination {
            Destination::Stdout(_) if !left.is_empty() => Err(Stop::Budget),
            _ => Ok(true),
        }
    }

    /// Loads the Events of the next request. What cannot be read is removed.
    fn load(&self, left: &mut &[String]) -> Result<Vec<Item>, Stop> {
        let (most, bytes) = match self.destination {
            Destination::Stdout(_) => (AT_ONCE, LOG_BYTES),
            Destination::Http(sink) => (sink.batch(), REQUEST_BYTES),
        };
        let (mut batch, mut size) = (Vec::new(), 0);
        while let Some((key, rest)) = left.split_first() {
            let Some(record) = self.state.load(key)? else {
                self.state.remove(std::slice::from_ref(key))?;
                *left = rest;
                continue;
            };
            size += record.document().to_string().len();
            if batch.len() == most || (!batch.is_empty() && size > bytes) {
                break;
            }
            batch.push((key.clone(), record));
            *left = rest;
        }
        Ok(batch)
    }

    /// Sends a batch in one request. If the receiver refuses the request, each Event gets a request of its own: one of them may be
    /// the reason.
    fn send(&self, batch: Vec<Item>, begun: Timestamp) -> Result<(), Stop> {
        let (keys, records): (Vec<String>, Vec<Record>) = batch.into_iter().unzip();
        let (verdicts, as_a_whole) = self.verdicts(&records);
        let refused = verdicts.iter().any(|verdict| matches!(verdict, Verdict::Never(_)));
        if !(refused && as_a_whole && records.len() > 1) {
            self.settle(&keys, &records, verdicts)?;
            return self.within(begun);
        }
        for (key, record) in keys.into_iter().zip(records) {
            let (key, record) = ([key], [record]);
            let (verdicts, _) = self.verdicts(&record);
            self.settle(&key, &record, verdicts)?;
            self.within(begun)?;
        }
        Ok(())
    }

    fn within(&self, begun: Timestamp) -> Result<(), Stop> {
        let lasted = Duration::try_from((self.now)().duration_since(begun)).unwrap_or_default();
        if lasted < BUDGET { Ok(()) } else { Err(Stop::Budget) }
    }

    /// A verdict on each Event, and true if they are one verdict on the whole request.
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
        let attempt = delivery::current().attempt.max(1);
        let request = match sink.request(records, attempt) {
            Ok(request) => request,
            Err(why) => return all(Verdict::Never(why)),
        };
        match self.http.post(&request) {
            Ok(answer) => (sink.judge(&answer, records.len(), (self.now)()), !answer.is_success()),
            Err(verdict) => all(verdict),
        }
    }

    /// Removes what was sent, sets aside what was refused, and stops if something is to be sent later.
    fn settle(&self, keys: &[String], records: &[Record], verdicts: Vec<Verdict>) -> Result<(), Stop> {
        let (mut sent, mut later) = (Vec::new(), None);
        for ((key, record), verdict) in keys.iter().zip(records).zip(verdicts) {
            match verdict {
                Verdict::Sent => sent.push(key.clone()),
                Verdict::Never(why) => self.refuse(key, record, &why)?,
                Verdict::Later(why, pause) => later = Some((why, pause)),
            }
        }
        self.state.remove(&sent)?;
        self.count("events_sent_total", sent.len());
        match later {
            None => Ok(()),
            Some((why, pause)) => {
                self.count("send_event_errors_total", 1);
                Err(Stop::Failed(self.about(&why), pause))
            }
        }
    }

    /// Sets an Event aside. Its key becomes a dead letter.
    fn refuse(&self, key: &str, record: &Record, why: &str) -> Result<(), StateError> {
        self.count("send_event_errors_total", 1);
        let moved = self.state.refuse(key, record, why)?;
        if let Err(error) = workqueue::add(&moved) {
            log::error!(key = moved; "the receiver refused an Event, and it is no dead letter: {error}");
        }
        Ok(())
    }

    pub(crate) fn about(&self, why: &str) -> String {
        format!("receiver `{}`: {why}", self.name)
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

impl From<StateError> for Stop {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}
