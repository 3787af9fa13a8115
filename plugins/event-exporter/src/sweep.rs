//! Housekeeping: the queues and the refused Events after a restart, and the marks of Events that are gone.

use std::time::Duration;

use informer_sdk::{Error, ErrorCode, ObjectKey, lister, log, workqueue};
use jiff::Timestamp;

use crate::{
    settings::Settings,
    state::{State, StateError},
};

/// The resources that hold Events. They are two versions of the same objects.
const EVENTS: [&str; 2] = ["v1/events", "events.k8s.io/v1/events"];

/// The most refused Events that are kept. The host keeps this number of dead letters.
const REFUSED: usize = 1000;

/// The time between two runs.
pub(crate) const EVERY: Duration = Duration::from_secs(10 * 60);

/// The time in which the worker that gets the key of a refused Event reports the Event. A second key within this time would come after
/// the report, and the plugin would take it for a replay of the dead letter.
pub(crate) const REPORTED_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub(crate) enum SweepError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error("the cache cannot be read")]
    Cache(#[source] Error),
    #[error("a receiver cannot be added to the workqueue")]
    Workqueue(#[source] Error),
}

/// The key of the workqueue that sends the queue of a receiver.
pub(crate) fn key_of(receiver: &str) -> String {
    format!("send {receiver}")
}

/// Adds the receivers whose queues hold Events and the refused Events that are not reported yet, and removes entries that are no longer
/// needed. Returns the time until the next run. Each start of an instance leads to a run, also while the exporter works.
pub(crate) fn sweep(settings: &Settings, state: &State, now: Timestamp) -> Result<Duration, SweepError> {
    for receiver in state.waiting_receivers()? {
        if settings.receivers.contains_key(&receiver) {
            workqueue::add(key_of(&receiver)).map_err(SweepError::Workqueue)?;
        } else {
            discard(state, &receiver)?;
        }
    }
    let (events, mut refused) = state.kept()?;
    // The part of a key after the receiver is the time.
    refused.sort_by_key(|key| key.split('/').nth(2).map(str::to_owned));
    let newest = refused.split_off(refused.len().saturating_sub(REFUSED));
    state.remove(&refused)?;
    // The host may have been killed between the refusal and the report. The keys of the workqueue are lost then.
    let mut next = EVERY;
    for (key, at) in state.unreported(&newest)? {
        let age = at.and_then(|at| Duration::try_from(now.duration_since(at)).ok());
        if age.is_some_and(|age| age < REPORTED_WITHIN) {
            next = REPORTED_WITHIN;
        } else if let Err(error) = workqueue::add(&key) {
            log::warn!(key = key; "the next housekeeping makes a dead letter of a refused Event: {error}");
        }
    }
    // This is the last step, so that refused Events are reported even if the cache cannot be read.
    state.forget(&gone(events).map_err(SweepError::Cache)?)?;
    Ok(next)
}

/// Removes the queue of a receiver that the configuration no longer has.
fn discard(state: &State, receiver: &str) -> Result<(), StateError> {
    loop {
        let queue = state.queue(receiver, 500)?;
        if queue.is_empty() {
            return Ok(());
        }
        log::error!(receiver = receiver; "{} Events are lost: the receiver is no longer configured", queue.len());
        state.remove(&queue)?;
    }
}

/// The Events that no cache has. A mark is needed while its Event exists, because a restart of the host delivers the Event again.
fn gone(events: Vec<ObjectKey>) -> Result<Vec<ObjectKey>, Error> {
    let mut readable = Vec::new();
    for gvr in EVENTS {
        match lister::has_synced(gvr) {
            Ok(true) => readable.push(gvr),
            Ok(false) => return Ok(Vec::new()),
            Err(error) if is_out_of_reach(&error) => {}
            Err(error) => return Err(error),
        }
    }
    gone_from(events, |event| {
        let read =
            |gvr: &&str| lister::get_fields(gvr, event, ["/metadata/uid"]).map(|found| found.is_some());
        readable.iter().map(read).collect()
    })
}

/// The Events that are in no cache. `exist` looks an Event up, and returns the answer of each cache.
///
/// A grant may be limited to some namespaces. If every cache refuses to look an Event up, the mark of the Event stays.
fn gone_from(
    events: Vec<ObjectKey>,
    exist: impl Fn(&ObjectKey) -> Vec<Result<bool, Error>>,
) -> Result<Vec<ObjectKey>, Error> {
    let (mut gone, mut unknown) = (Vec::new(), Vec::new());
    for event in events {
        let (mut exists, mut is_known) = (false, false);
        for answer in exist(&event) {
            match answer {
                Ok(found) => (exists, is_known) = (exists || found, true),
                Err(error) if is_out_of_reach(&error) => {}
                Err(error) => return Err(error),
            }
        }
        match (exists, is_known) {
            (true, _) => {}
            (false, true) => gone.push(event),
            (false, false) => unknown.push(event),
        }
    }
    if let Some(event) = unknown.first() {
        log::error!(
            "the marks of {} Events stay, because the plugin may not look up Events such as {event}: list `v1/events` for \
             their namespaces in `read` under [plugin.grant]",
            unknown.len()
        );
    }
    Ok(gone)
}

fn is_out_of_reach(error: &Error) -> bool {
    matches!(error.code(), Some(ErrorCode::UnknownResource | ErrorCode::NotGranted))
}

#[cfg(test)]
mod tests {
    use informer_sdk::testing::TestHost;

    use super::*;

    fn refused(code: ErrorCode) -> Error {
        Error::Host { code, message: "no".to_owned() }
    }

    /// A grant such as `v1/events @shop` answers for one namespace only.
    #[test]
    fn the_mark_of_an_event_that_cannot_be_looked_up_stays_and_the_others_are_judged() {
        let _host = TestHost::new();
        let events = ["shop/stays", "shop/gone", "blog/hidden"].map(|key| key.parse::<ObjectKey>().unwrap());
        let exist = |event: &ObjectKey| match event.name.as_str() {
            "hidden" => vec![Err(refused(ErrorCode::NotGranted)), Err(refused(ErrorCode::UnknownResource))],
            name => vec![Err(refused(ErrorCode::NotGranted)), Ok(name == "stays")],
        };

        assert_eq!(gone_from(events.to_vec(), exist).unwrap(), [ObjectKey::new("shop", "gone")]);

        let fails = |_: &ObjectKey| vec![Err(refused(ErrorCode::Internal))];
        assert!(gone_from(events.to_vec(), fails).is_err(), "another attempt may succeed");
    }

    #[test]
    fn marks_stay_if_no_cache_has_events() {
        let host = TestHost::new();

        assert!(gone(vec![ObjectKey::new("shop", "a")]).unwrap().is_empty());

        assert!(host.log()[0].message.contains("list `v1/events`"), "{:?}", host.log());
    }
}
