//! The event exporter: sends Events of Kubernetes to other systems, by the configuration of kubernetes-event-exporter.
//!
//! A handler applies the route tree once to each occurrence of an Event, and puts the occurrence into the queues of its
//! receivers, on the disk of the host. `reconcile` sends the queue of one receiver. A restart therefore neither repeats an Event
//! nor loses one that still exists, a receiver that is down delays no other one, and several Events become one request if the
//! receiver accepts batches.

mod deliver;
mod go_time;
mod http;
mod layout;
mod lookup;
mod record;
mod route;
mod settings;
mod sink;
mod state;
mod sweep;
mod table;
mod template;

use std::time::Duration;

use informer_sdk::{
    Cause, Config, Controller, Event, Handler, ObjectKey, ReconcileError, ReconcileResult, Reconciled,
    Result, Update, log, metrics, workqueue,
};
use jiff::Timestamp;
use serde_json::Value;

use deliver::{Delivery, about};
use http::Post;
use record::Record;
use settings::Settings;
use state::{Seen, State, UNDELIVERED};
use sweep::{key_of, sweep};

/// The key of the housekeeping.
const SWEEP: &str = "sweep";

/// How long the first Event of a batch waits for others.
const BATCH_WAIT: Duration = Duration::from_secs(1);

/// If a receiver fails, a new Event for it leads to an attempt after this time, or after the backoff if that ends earlier. The
/// receiver may work again by then.
const FAILING_WAIT: Duration = Duration::from_secs(10);

/// Events that no receiver gets are marked as seen together, because each write waits for the disk. If the marks are lost in a
/// crash, the Events are judged again.
const MARKS: usize = 50;

/// The plugin. Its state is on the disk of the host and in the workqueue.
pub struct Exporter {
    settings: Settings,
    state: State,
    http: Box<dyn Post>,
    now: fn() -> Timestamp,
    /// When the exporter started for the first time, if that is known yet.
    since: Option<Timestamp>,
    /// Marks that are not on the disk yet.
    marks: Vec<(ObjectKey, Seen)>,
}

informer_sdk::export_controller!(Exporter);

// === impl Exporter ===

impl Handler for Exporter {
    fn start(config: Config) -> std::result::Result<Self, String> {
        let settings = Settings::read(config.json())?;
        for remark in &settings.remarks {
            log::warn!("{remark}");
        }
        workqueue::add(SWEEP)?;
        Ok(Self {
            settings,
            state: State::new(Box::new(state::Wasi)),
            http: Box::new(http::Wasi),
            now: Timestamp::now,
            since: None,
            marks: Vec::new(),
        })
    }

    fn on_add(&mut self, object: Event, cause: Cause) -> Result {
        self.judge(&object, cause)
    }

    fn on_update(&mut self, update: Update, cause: Cause) -> Result {
        self.judge(&update.new, cause)
    }

    fn stop(&mut self) {
        if let Err(error) = self.state.judged(&self.marks, None) {
            log::warn!("{} Events are judged again: {error}", self.marks.len());
        }
    }
}

impl Controller for Exporter {
    fn reconcile(&mut self, key: &str) -> ReconcileResult {
        if key == SWEEP {
            let next = sweep(&self.settings, &self.state, (self.now)())?;
            return Ok(Reconciled::RequeueAfter(next));
        }
        if key.starts_with(UNDELIVERED) {
            return self.refused(key);
        }
        match key.strip_prefix("send ").and_then(|name| self.delivery(name)) {
            Some(delivery) => delivery.drain(),
            None => Ok(Reconciled::Done),
        }
    }
}

impl Exporter {
    /// Judges an occurrence that was not judged before.
    fn judge(&mut self, object: &Event, cause: Cause) -> Result {
        let now = (self.now)();
        let mut record = Record::new(object.parse::<Value>()?);
        let wanted = &self.settings.namespace;
        if !wanted.is_empty() && wanted != record.namespace() {
            return Ok(());
        }
        let event = object.key();
        let occurrence = record.occurrence(now);
        let seen = self.seen(&event, record.uid())?;
        if seen.as_ref().is_some_and(|seen| !occurrence.is_after(&seen.occurrence)) {
            return Ok(());
        }
        let oldest = self.since(now)?.checked_sub(self.settings.max_age).unwrap_or(Timestamp::MIN);
        if occurrence.at < oldest {
            return self.discard(&event);
        }
        record.set("clusterName", Value::from(self.settings.cluster_name.as_str()));
        if !self.settings.omit_lookup {
            lookup::enrich(&mut record, cause == Cause::Live)?;
        }
        let done = seen.map_or_else(|| Some(Vec::new()), |seen| seen.done);
        let mark = Seen { uid: record.uid().to_owned(), occurrence, done };
        self.queue(&event, mark, &record)
    }

    /// The last occurrence of this Event that the routes have judged. A mark of another Event with the same name does not count. The stored
    /// mark may be later than the mark of this instance, because another instance of the plugin may have judged the Event meanwhile.
    fn seen(&self, event: &ObjectKey, uid: &str) -> Result<Option<Seen>> {
        let is_same = |seen: &Seen| seen.uid == uid;
        let unsaved = self.marks.iter().rev().find(|(marked, seen)| marked == event && is_same(seen));
        let saved = self.state.seen(event)?.filter(is_same);
        Ok(match (unsaved, saved) {
            (Some((_, unsaved)), Some(saved)) if saved.is_after(unsaved) => Some(saved),
            (Some((_, unsaved)), _) => Some(unsaved.clone()),
            (None, saved) => saved,
        })
    }

    fn since(&mut self, now: Timestamp) -> Result<Timestamp> {
        let since = match self.since {
            Some(since) if since <= now => since,
            _ => self.state.since(now)?,
        };
        self.since = Some(since);
        Ok(since)
    }

    /// Counts an Event that is older than the first start. Such an Event needs no mark, because it is too old after a restart as
    /// well.
    fn discard(&self, event: &ObjectKey) -> Result {
        log::debug!("{event} is older than the exporter");
        let name = format!("{}events_discarded_total", self.settings.metrics_prefix);
        metrics::counter_add(&name, &[], 1.0).ok();
        Ok(())
    }

    /// Puts an occurrence into the queues of its receivers. A receiver without updates gets only the first occurrence that a route sends to
    /// it. With `minCount`, this is a later occurrence than the first one of the Event.
    fn queue(&mut self, event: &ObjectKey, mut mark: Seen, record: &Record) -> Result {
        let receivers = &self.settings.receivers;
        let takes =
            |name: &&str| receivers.get(*name).is_some_and(|to| to.takes_updates() || !mark.is_done(name));
        let names: Vec<&str> = self.settings.route.receivers(record).into_iter().filter(takes).collect();
        if let Some(done) = &mut mark.done {
            let without_updates =
                names.iter().filter(|name| receivers.get(**name).is_some_and(|to| !to.takes_updates()));
            done.extend(without_updates.map(|name| (*name).to_owned()));
        }
        if names.is_empty() {
            self.marks.push((event.clone(), mark));
            if self.marks.len() >= MARKS {
                if let Err(error) = self.state.judged(&self.marks, None) {
                    // The host delivers the Event again. If the mark stayed, the marks would add up while the disk is full.
                    self.marks.pop();
                    return Err(error.into());
                }
                self.marks.clear();
            }
            return Ok(());
        }
        self.state.judged(&self.marks, Some((event, &mark, record, &names)))?;
        self.marks.clear();
        for name in names {
            let key = key_of(name);
            let is_batch = receivers.get(name).is_some_and(|to| to.batch() > 1);
            let wait = match workqueue::num_requeues(&key) {
                1.. => FAILING_WAIT,
                0 if is_batch => BATCH_WAIT,
                0 => Duration::ZERO,
            };
            // The Event is already in the queue of the receiver, and the next sweep adds the key.
            if let Err(error) = workqueue::add_after(&key, wait) {
                log::warn!(receiver = name; "Events wait for the next housekeeping: {error}");
            }
        }
        Ok(())
    }

    fn delivery<'a>(&'a self, name: &'a str) -> Option<Delivery<'a>> {
        Some(Delivery {
            name,
            destination: self.settings.receivers.get(name)?,
            state: &self.state,
            http: self.http.as_ref(),
            now: self.now,
            metrics_prefix: &self.settings.metrics_prefix,
        })
    }

    /// Reports an Event that a receiver refused as a dead letter. When an operator replays the dead letter, the Event is sent
    /// again.
    fn refused(&self, key: &str) -> ReconcileResult {
        let Some(refused) = self.state.refused(key)? else { return Ok(Reconciled::Done) };
        if !refused.reported {
            self.state.reported(key, &refused)?;
            return Err(ReconcileError::terminal(about(&refused.receiver, &refused.why)));
        }
        let receiver = refused.receiver.clone();
        match self.delivery(&receiver) {
            Some(delivery) => delivery.again(key, refused),
            None => {
                let why = format!("the receiver `{receiver}` is no longer configured");
                Err(ReconcileError::terminal(why))
            }
        }
    }
}

#[cfg(test)]
mod tests;
