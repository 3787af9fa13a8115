//! The janitor: deletes objects whose time to live is over, by the annotations and rules of kube-janitor.
//!
//! Each object has a key in the workqueue. `reconcile` computes when the object expires, and requests the key again for that
//! time. The plugin therefore lists nothing, and deletes an object within a second after it has expired. Before it announces a deletion
//! and before it deletes, the janitor reads the object from the API server, because an annotation may have changed a moment ago, and
//! another object may have the name.

mod expiry;
mod query;
mod settings;
mod ttl;

use std::time::Duration;

use informer_sdk::{
    Cause, Config, Controller, Error, ErrorCode, Event, Handler, ObjectKey, ReconcileError, ReconcileResult,
    Reconciled, Result, Update,
    client::{self, ApiCode, DeleteOptions, Patch, Propagation, WriteOptions},
    lister, log, metrics, workqueue,
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use expiry::{Expiry, Facts, Judged, NOTIFIED, judge};
use settings::Settings;
use ttl::Ttl;

const NAMESPACES: &str = "v1/namespaces";

const EVENTS: &str = "events.k8s.io/v1/events";

/// The reason of the Event that announces a deletion, as kube-janitor writes it.
const ANNOUNCED: &str = "DeleteNotification";

/// The most bytes of the note of an Event. The API server refuses an Event with a longer note.
const NOTE: usize = 1024;

/// The longest time after which a key is reconciled again. The host bounds such delays, and the clock of the machine may be set
/// during one.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// The time after which a deletion that was refused is tried again. A missing role is often added soon.
const REFUSED_WAIT: Duration = Duration::from_secs(10 * 60);

/// The plugin. All state is in the objects and in the workqueue.
#[derive(Debug)]
pub struct Janitor {
    settings: Settings,
    now: fn() -> Timestamp,
}

/// An object of some resource. It is written `apps/v1/deployments shop/web`.
struct Key {
    gvr: String,
    object: ObjectKey,
}

/// The object, as the API server has it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Live {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: String,
    resource_version: String,
    #[serde(flatten)]
    facts: Facts,
}

informer_sdk::export_controller!(Janitor);

// === impl Janitor ===

impl Handler for Janitor {
    fn start(config: Config) -> std::result::Result<Self, String> {
        Ok(Self { settings: config.parse()?, now: Timestamp::now })
    }

    fn on_add(&mut self, object: Event, _cause: Cause) -> Result {
        self.changed(&object)
    }

    fn on_update(&mut self, update: Update, _cause: Cause) -> Result {
        self.changed(&update.new)
    }
}

impl Controller for Janitor {
    fn reconcile(&mut self, key: &str) -> ReconcileResult {
        let key = Key::parse(key)?;
        // A key survives a reload, so it may come from an earlier configuration.
        if !self.settings.covers(key.namespace()) {
            return Ok(Reconciled::Done);
        }
        let fields = match lister::get_fields(&key.gvr, &key.object, Facts::POINTERS) {
            // The API server no longer serves the resource, or the present configuration does not let the plugin read the resource.
            // Another attempt is useless. If a later configuration lets the plugin read the resource, the host delivers the objects
            // again, because the plugin has `on-reload = "replay"`.
            Err(error) if is_out_of_reach(&error) => {
                log::warn!("{key} is left alone: {error}");
                return Ok(Reconciled::Done);
            }
            fields => fields?,
        };
        let Some(fields) = fields else { return Ok(Reconciled::Done) };
        let facts = Facts::of(&fields)?;
        let judged =
            judge(&self.settings, key.resource(), &facts, || lister::get_json(&key.gvr, &key.object))?;
        report(&key, &judged);
        match judged.expiry {
            Some(expiry) if !facts.is_deleted() => self.expire(&key, &expiry, &facts),
            _ => Ok(Reconciled::Done),
        }
    }
}

impl Janitor {
    /// Adds the key of an object that may expire.
    fn changed(&self, object: &Event) -> Result {
        let key = Key { gvr: object.gvr().to_owned(), object: object.key() };
        if self.settings.covers(key.namespace()) {
            workqueue::add(&key)?;
        }
        Ok(())
    }

    /// Waits for the time of an object, announces its deletion, or deletes it.
    fn expire(&self, key: &Key, expiry: &Expiry, facts: &Facts) -> ReconcileResult {
        let now = (self.now)();
        if expiry.at <= now {
            return self.delete(key);
        }
        match self.announced_from(expiry, facts) {
            Some(from) if from <= now => self.announce(key),
            from => Ok(wait(now, from.unwrap_or(expiry.at))),
        }
    }

    /// The time from which the deletion is to be announced. Returns `None` if the object has the mark of an announcement, or if the
    /// settings have no announcements.
    fn announced_from(&self, expiry: &Expiry, facts: &Facts) -> Option<Timestamp> {
        match self.settings.delete_notification {
            Some(Ttl::After(notice)) if facts.annotation(NOTIFIED).is_none() => {
                Some(expiry.at.checked_sub(notice).unwrap_or(Timestamp::MIN))
            }
            _ => None,
        }
    }

    /// The object as the API server has it, and when the object expires. Returns `None` if the object is gone, is being deleted, or never
    /// expires.
    fn expiring(&self, key: &Key) -> std::result::Result<Option<(Live, Expiry)>, Error> {
        let Some(live) = live(key)? else { return Ok(None) };
        let facts = &live.metadata.facts;
        let judged = judge(&self.settings, key.resource(), facts, || whole(key))?;
        let expiry = judged.expiry.filter(|_| !facts.is_deleted());
        Ok(expiry.map(|expiry| (live, expiry)))
    }

    /// Announces the deletion of an object by an Event, and then marks the object. The state in the API server decides: if the object has
    /// expired in this state, the function deletes it, and if the announcement is not due in this state, the function waits. The mark
    /// says that the Event exists, so each deletion is announced once. The name of the Event is the same in each attempt, so a second
    /// attempt after a crash makes no second Event.
    fn announce(&self, key: &Key) -> ReconcileResult {
        let expiring = self.expiring(key).map_err(|error| failed(key, error))?;
        let Some((live, expiry)) = expiring else { return Ok(Reconciled::Done) };
        let now = (self.now)();
        if expiry.at <= now {
            return self.delete(key);
        }
        match self.announced_from(&expiry, &live.metadata.facts) {
            Some(from) if from <= now => self.write_announcement(key, &live, &expiry)?,
            Some(from) => return Ok(wait(now, from)),
            None => {}
        }
        Ok(wait(now, expiry.at))
    }

    fn write_announcement(
        &self,
        key: &Key,
        live: &Live,
        expiry: &Expiry,
    ) -> std::result::Result<(), ReconcileError> {
        let note = format!("{key} is deleted at {}: {}", expiry.at, expiry.cause.announced());
        if self.settings.dry_run {
            log::info!("dry run: not announced: {note}");
            return Ok(());
        }
        let id = format!("announced.{:x}", expiry.at.as_nanosecond());
        match self.record(key, live, &id, ANNOUNCED, &note) {
            Err(error) if error.api_code() == Some(ApiCode::AlreadyExists) => {}
            Err(error) if is_passing(&error) => return Err(error.into()),
            recorded => warn_without_event(key, recorded),
        }
        let patch =
            Patch::merge(json!({"metadata": {"uid": live.metadata.uid, "annotations": {NOTIFIED: "yes"}}}));
        match client::patch(&key.gvr, &key.object, &patch, &WriteOptions::new()) {
            Ok(_) => {}
            Err(error) if error.api_code() == Some(ApiCode::NotFound) => return Ok(()),
            Err(error) if is_passing(&error) || error.api_code() == Some(ApiCode::Conflict) => {
                return Err(error.into());
            }
            // The object must be deleted in time even if it cannot be marked. A later announcement makes no second Event.
            Err(error) => {
                log::warn!("{key} is not marked as announced: {error}");
                return Ok(());
            }
        }
        count("janitor_announced_total", key);
        log::info!("{note}");
        Ok(())
    }

    /// Deletes the object if it has expired in the state that the API server has.
    fn delete(&self, key: &Key) -> ReconcileResult {
        let expiring = self.expiring(key).map_err(|error| failed(key, error))?;
        let Some((live, expiry)) = expiring else { return Ok(Reconciled::Done) };
        let now = (self.now)();
        if expiry.at > now {
            return Ok(wait(now, expiry.at));
        }
        if self.settings.dry_run {
            log::info!("dry run: {key} is not deleted: {}", expiry.cause);
            count("janitor_dry_run_total", key);
            return Ok(Reconciled::Done);
        }
        let exactly = DeleteOptions::new()
            .uid(&live.metadata.uid)
            .resource_version(&live.metadata.resource_version)
            .propagation(Propagation::Background);
        match client::delete(&key.gvr, &key.object, &exactly) {
            Ok(()) => {}
            // The API server accepted the deletion, and only its answer was too long.
            Err(error) if error.api_code() == Some(ApiCode::TooLarge) => {}
            Err(error) if error.api_code() == Some(ApiCode::NotFound) => return Ok(Reconciled::Done),
            Err(error) => return Err(failed(key, error)),
        }
        let note = format!("{key} was deleted: {}", expiry.cause);
        count("janitor_deleted_total", key);
        let id = format!("deleted.{:x}", now.as_nanosecond());
        warn_without_event(key, self.record(key, &live, &id, expiry.cause.reason(), &note));
        log::info!("{note}");
        Ok(Reconciled::Done)
    }

    /// Creates an Event. `id` is the end of its name, and is different for each Event about the object.
    ///
    /// The name has the UID of the object in place of the name of the object: the names of RBAC objects may have characters that the
    /// API server refuses in the name of an Event.
    ///
    /// `client::record` is of no use here: it refuses a watch with `metadata-only`, as the janitor's watches have.
    fn record(
        &self,
        key: &Key,
        live: &Live,
        id: &str,
        reason: &str,
        note: &str,
    ) -> std::result::Result<(), Error> {
        let now = (self.now)();
        // The Event of an object without a namespace is in `default`.
        let namespace =
            if key.object.namespace.is_empty() { "default" } else { key.object.namespace.as_str() };
        let name = format!("janitor.{}.{id}", live.metadata.uid);
        let note = note.get(..note.floor_char_boundary(NOTE)).unwrap_or_default();
        let event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": namespace, "name": name},
            "type": "Normal",
            "reason": reason,
            "action": "Deleting",
            "note": note,
            "eventTime": format!("{now:.6}"),
            "reportingController": "informer.dev/janitor",
            "reportingInstance": "janitor",
            "regarding": {
                "apiVersion": live.api_version,
                "kind": live.kind,
                "namespace": key.object.namespace,
                "name": key.object.name,
                "uid": live.metadata.uid,
            },
        });
        client::create(EVENTS, namespace, &event, &WriteOptions::new()).map(drop)
    }
}

/// Logs that there is no Event. The object is still deleted or marked.
fn warn_without_event(key: &Key, recorded: std::result::Result<(), Error>) {
    if let Err(error) = recorded {
        log::warn!("no Event about {key}: {error}");
    }
}

/// Returns true if the cache has no such resource, or if the plugin may not read it.
fn is_out_of_reach(error: &Error) -> bool {
    matches!(error.code(), Some(ErrorCode::UnknownResource | ErrorCode::NotGranted))
}

/// Returns true if another attempt of the request may succeed.
fn is_passing(error: &Error) -> bool {
    matches!(
        error.api_code(),
        Some(
            ApiCode::TooManyRequests
                | ApiCode::LimitExceeded
                | ApiCode::Timeout
                | ApiCode::Unavailable
                | ApiCode::Internal
        )
    )
}

/// The failure of a request without which the object is not deleted. If the same request fails each time, the key becomes a dead letter.
/// The key is reconciled again after [`REFUSED_WAIT`], because a role or a policy may have changed by then.
fn failed(key: &Key, error: Error) -> ReconcileError {
    let is_final = matches!(
        error.api_code(),
        Some(
            ApiCode::NotGranted
                | ApiCode::BadArgument
                | ApiCode::TooLarge
                | ApiCode::Invalid
                | ApiCode::Forbidden
        )
    );
    if !is_final {
        return error.into();
    }
    if let Err(full) = workqueue::add_after(key, REFUSED_WAIT) {
        return full.into();
    }
    count("janitor_refused_total", key);
    ReconcileError::terminal(format!("{key} cannot be deleted: {error}"))
}

/// The object as the API server has it now. Returns `None` if it is gone.
fn live(key: &Key) -> std::result::Result<Option<Live>, Error> {
    match client::get(&key.gvr, &key.object) {
        Ok(live) => Ok(Some(live)),
        Err(error) if error.api_code() == Some(ApiCode::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The whole object, for the rules.
fn whole(key: &Key) -> std::result::Result<Option<String>, Error> {
    Ok(Some(client::get::<Value>(&key.gvr, &key.object)?.to_string()))
}

/// Logs each annotation that is invalid and each rule that failed. The valid ones still apply.
fn report(key: &Key, judged: &Judged) {
    for problem in &judged.problems {
        log::warn!("{key}: {problem}");
    }
}

fn count(name: &str, key: &Key) {
    // The host logs a metric that it refuses.
    metrics::counter_add(name, &[("resource", key.gvr.as_str())], 1.0).ok();
}

/// Requests the key again for this time, or earlier to check the clock.
fn wait(now: Timestamp, until: Timestamp) -> Reconciled {
    let rest = Duration::try_from(until.duration_since(now)).unwrap_or_default();
    Reconciled::RequeueAfter(rest.clamp(Duration::from_millis(1), LONGEST_WAIT))
}

// === impl Key ===

impl Key {
    fn parse(text: &str) -> std::result::Result<Self, ReconcileError> {
        let wrong = || ReconcileError::terminal(format!("`{text}` is not a key of the janitor"));
        let (gvr, object) = text.split_once(' ').ok_or_else(wrong)?;
        Ok(Self { gvr: gvr.to_owned(), object: object.parse().map_err(|_| wrong())? })
    }

    /// `deployments` of `apps/v1/deployments`.
    fn resource(&self) -> &str {
        self.gvr.rsplit('/').next().unwrap_or_default()
    }

    /// The namespace that decides whether the object is covered. For a Namespace, this is its own name.
    fn namespace(&self) -> &str {
        if self.gvr == NAMESPACES { &self.object.name } else { &self.object.namespace }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.gvr, self.object)
    }
}

#[cfg(test)]
mod tests;
