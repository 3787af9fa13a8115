//! Housekeeping: the queues and the refused Events after a restart, and the marks of Events that are gone.

use informer_sdk::{Error, ErrorCode, ObjectKey, lister, log, workqueue};

use crate::{
    settings::Settings,
    state::{State, StateError},
};

/// The resources that hold Events. They are two versions of the same objects.
const EVENTS: [&str; 2] = ["v1/events", "events.k8s.io/v1/events"];

/// The most refused Events that are kept. The host keeps this number of dead letters.
const REFUSED: usize = 1000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SweepError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error("the cache cannot be read")]
    Cache(#[from] Error),
}

/// The key of the workqueue that sends the queue of a receiver.
pub(crate) fn key_of(receiver: &str) -> String {
    format!("send {receiver}")
}

/// Adds the receivers whose queues hold Events and the refused Events that are not reported yet, and removes entries that are no longer
/// needed.
pub(crate) fn sweep(settings: &Settings, state: &State) -> Result<(), SweepError> {
    for receiver in state.waiting_receivers()? {
        if settings.receivers.contains_key(&receiver) {
            workqueue::add(key_of(&receiver))?;
        } else {
            discard(state, &receiver)?;
        }
    }
    let (events, mut refused) = state.kept()?;
    state.forget(&gone(events)?)?;
    // The part of a key after the receiver is the time.
    refused.sort_by_key(|key| key.split('/').nth(2).map(str::to_owned));
    let newest = refused.split_off(refused.len().saturating_sub(REFUSED));
    state.remove(&refused)?;
    // The host may have been killed between the refusal and the report. The keys of the workqueue are lost then.
    for key in state.unreported(&newest)? {
        if let Err(error) = workqueue::add(&key) {
            log::warn!(key = key; "the next housekeeping makes a dead letter of a refused Event: {error}");
        }
    }
    Ok(())
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
            Err(error)
                if matches!(error.code(), Some(ErrorCode::UnknownResource | ErrorCode::NotGranted)) => {}
            Err(error) => return Err(error),
        }
    }
    if readable.is_empty() {
        log::error!("marks of deleted Events stay: list `v1/events` in `read` under [plugin.grant]");
        return Ok(Vec::new());
    }
    let mut gone = Vec::new();
    for event in events {
        let mut exists = false;
        for gvr in &readable {
            exists = exists || lister::get_fields(gvr, &event, ["/metadata/uid"])?.is_some();
        }
        if !exists {
            gone.push(event);
        }
    }
    Ok(gone)
}
