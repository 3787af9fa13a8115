//! The state on the disk of the host: which Events the routes have judged, and which Events receivers have yet to get.
//!
//! | key | value |
//! |---|---|
//! | `out/RECEIVER/TIME-COUNT/NAMESPACE/NAME` | an Event that the receiver has yet to get, as JSON |
//! | `pause/RECEIVER` | the time until which the receiver wants to be left alone |
//! | `seen/NAMESPACE/NAME` | the last occurrence of an Event that the routes have judged, and the receivers without updates that have it |
//! | `since` | when the exporter started for the first time |
//! | `stuck/RECEIVER` | the Event that failed last at the receiver, and the number of its failed attempts |
//! | `turn/RECEIVER` | the number of attempts before the last pause; it chooses the next host of the receiver |
//! | `undelivered/RECEIVER/..` | an Event that the receiver refused |
//!
//! One transaction marks an occurrence as seen and puts it into the queues of its receivers, so a crash neither loses the
//! occurrence nor queues it twice. Keys are listed in the order of their bytes, so the queues come first, and a queue is in the
//! order of time. Occurrences that have the same time are in the order of their counts.

mod wasi;

use informer_sdk::ObjectKey;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::record::{Occurrence, Record};

pub(crate) use wasi::Wasi;

/// Keys and values on disk. A write takes effect as a whole or not at all.
pub(crate) trait Store {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StateError>;

    fn set(&self, entries: &[(String, Vec<u8>)]) -> Result<(), StateError>;

    fn delete(&self, keys: &[String]) -> Result<(), StateError>;

    /// A page of keys in the order of their bytes, and the cursor of the next one.
    fn keys(&self, cursor: Option<u64>) -> Result<(Vec<String>, Option<u64>), StateError>;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the state cannot be used: {0}")]
pub(crate) struct StateError(pub(crate) String);

/// The last occurrence of an Event that the routes have judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) uid: String,
    pub(crate) occurrence: Occurrence,
    /// The receivers without updates that get this occurrence or got an earlier one. Receivers with updates are not listed, to save room on
    /// the disk. An earlier version of the exporter wrote marks without this list. The list is `None` in such a mark, and in the later
    /// marks of the same Event.
    pub(crate) done: Option<Vec<String>>,
}

/// An Event that a receiver refused.
pub(crate) struct Refused {
    pub(crate) receiver: String,
    pub(crate) why: String,
    /// True if the refusal was reported as a dead letter.
    pub(crate) reported: bool,
    pub(crate) record: Record,
}

/// The mark behind the number of attempts of a [`Stuck`]: `PASS` if the receiver accepts other Events, and `NO_PASS` if that is not known.
const PASS: char = '+';
const NO_PASS: char = '-';

/// The Event that failed last at a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stuck {
    /// The key of the Event in the queue. The Event may have left the queue since.
    pub(crate) key: String,
    /// The number of its failed attempts in a row.
    pub(crate) attempts: usize,
    /// The receiver has just accepted another Event, so the next failure of this one is its own fault.
    pub(crate) others_pass: bool,
}

/// The state of the exporter.
pub(crate) struct State {
    store: Box<dyn Store>,
}

const SINCE: &str = "since";

const SEEN: &str = "seen/";

/// The prefix of keys of Events that receivers refused. Such a key is also a key of the workqueue.
pub(crate) const UNDELIVERED: &str = "undelivered/";

// === impl State ===

impl State {
    pub(crate) fn new(store: Box<dyn Store>) -> Self {
        Self { store }
    }

    /// When the exporter started for the first time: now, if this is the first time.
    pub(crate) fn since(&self, now: Timestamp) -> Result<Timestamp, StateError> {
        let kept = self.store.get(SINCE)?.and_then(|text| String::from_utf8(text).ok()?.parse().ok());
        // A start in the future would discard all Events until then: the clock was ahead at that time.
        if let Some(since) = kept.filter(|since| *since <= now) {
            return Ok(since);
        }
        self.store.set(&[(SINCE.to_owned(), now.to_string().into_bytes())])?;
        Ok(now)
    }

    pub(crate) fn seen(&self, event: &ObjectKey) -> Result<Option<Seen>, StateError> {
        Ok(self.store.get(&seen_key(event))?.and_then(|text| Seen::parse(&text)))
    }

    /// Marks Events as seen, and puts one Event into the queues of its receivers. A mark that is older than the stored mark is left out.
    /// Each instance of the plugin keeps marks in memory for a while, so another instance may have stored a later mark meanwhile. If the
    /// older mark replaced the later mark, the exporter would deliver the later occurrence a second time.
    pub(crate) fn judged(
        &self,
        marks: &[(ObjectKey, Seen)],
        queued: Option<(&ObjectKey, &Seen, &Record, &[&str])>,
    ) -> Result<(), StateError> {
        let mut entries: Vec<(String, Vec<u8>)> = Vec::new();
        for (event, mark) in marks {
            if self.seen(event)?.is_none_or(|kept| mark.is_after(&kept)) {
                entries.push((seen_key(event), mark.to_string().into_bytes()));
            }
        }
        if let Some((event, seen, record, receivers)) = queued {
            entries.push((seen_key(event), seen.to_string().into_bytes()));
            let Occurrence { count, at } = seen.occurrence;
            let document = record.document().to_string().into_bytes();
            for receiver in receivers {
                let millis = at.as_millisecond().max(0);
                // The times of most Events are whole seconds, so several occurrences of an Event may differ in the count alone. With
                // numbers of the same length, the order of bytes is the order of numbers.
                let name =
                    format!("{}/{millis:015}-{count:010}/{}/{}", out(receiver), event.namespace, event.name);
                entries.push((name, document.clone()));
            }
        }
        if entries.is_empty() { Ok(()) } else { self.store.set(&entries) }
    }

    /// The first keys of the queue of a receiver, at most this number.
    pub(crate) fn queue(&self, receiver: &str, at_most: usize) -> Result<Vec<String>, StateError> {
        let prefix = format!("{}/", out(receiver));
        let mut found = Vec::new();
        self.each_key(|key| {
            if key.starts_with(&prefix) {
                found.push(key.to_owned());
            }
            // No key after the queue belongs to it, so the walk ends there.
            found.len() < at_most && (key.starts_with(&prefix) || key < prefix.as_str())
        })?;
        Ok(found)
    }

    /// The receivers that have yet to get Events.
    pub(crate) fn waiting_receivers(&self) -> Result<Vec<String>, StateError> {
        let mut found: Vec<String> = Vec::new();
        self.each_key(|key| {
            let Some(rest) = key.strip_prefix("out/") else { return key < "out/" };
            let receiver = rest.split('/').next().unwrap_or_default();
            if found.last().is_none_or(|last| last != receiver) {
                found.push(receiver.to_owned());
            }
            true
        })?;
        Ok(found)
    }

    /// An Event of a queue. Returns `None` if it is no longer there.
    pub(crate) fn load(&self, key: &str) -> Result<Option<Record>, StateError> {
        let kept = self.store.get(key)?;
        Ok(kept.and_then(|json| serde_json::from_slice(&json).ok()).map(Record::from_document))
    }

    pub(crate) fn remove(&self, keys: &[String]) -> Result<(), StateError> {
        if keys.is_empty() { Ok(()) } else { self.store.delete(keys) }
    }

    /// Moves an Event that the receiver refused out of its queue. Returns the new key of the Event.
    pub(crate) fn refuse(
        &self,
        key: &str,
        record: &Record,
        why: &str,
        now: Timestamp,
    ) -> Result<String, StateError> {
        let moved = format!("{UNDELIVERED}{}", key.strip_prefix("out/").unwrap_or(key));
        let at = now.to_string();
        let value = json!({"why": why, "reported": false, "at": at, "document": record.document()});
        // One write empties the old entry and makes the new one. So the move needs little room if the quota is used up, and an
        // Event whose old entry is empty is not sent again after a crash.
        self.store.set(&[(moved.clone(), value.to_string().into_bytes()), (key.to_owned(), Vec::new())])?;
        self.store.delete(&[key.to_owned()])?;
        Ok(moved)
    }

    pub(crate) fn refused(&self, key: &str) -> Result<Option<Refused>, StateError> {
        let Some(mut kept) =
            self.store.get(key)?.and_then(|json| serde_json::from_slice::<Value>(&json).ok())
        else {
            return Ok(None);
        };
        let receiver = key.strip_prefix(UNDELIVERED).and_then(|rest| rest.split('/').next());
        Ok(Some(Refused {
            receiver: receiver.unwrap_or_default().to_owned(),
            why: kept.get("why").and_then(Value::as_str).unwrap_or_default().to_owned(),
            reported: kept.get("reported") == Some(&Value::Bool(true)),
            record: Record::from_document(kept.get_mut("document").map(Value::take).unwrap_or_default()),
        }))
    }

    /// The refused Events of these keys that were not reported as dead letters, each with the time of the refusal. The time is absent if
    /// an earlier version of the plugin stored the Event.
    pub(crate) fn unreported(&self, keys: &[String]) -> Result<Vec<(String, Option<Timestamp>)>, StateError> {
        #[derive(serde::Deserialize)]
        struct Kept {
            reported: bool,
            #[serde(default)]
            at: String,
        }
        let mut found = Vec::new();
        for key in keys {
            let kept = self.store.get(key)?.and_then(|json| serde_json::from_slice::<Kept>(&json).ok());
            if let Some(kept) = kept.filter(|kept| !kept.reported) {
                found.push((key.clone(), kept.at.parse().ok()));
            }
        }
        Ok(found)
    }

    /// Remembers that the refusal of an Event is a dead letter.
    pub(crate) fn reported(&self, key: &str, refused: &Refused) -> Result<(), StateError> {
        let value = json!({"why": refused.why, "reported": true, "document": refused.record.document()});
        self.store.set(&[(key.to_owned(), value.to_string().into_bytes())])
    }

    /// The Events that are marked as seen, and the keys of those that were refused.
    pub(crate) fn kept(&self) -> Result<(Vec<ObjectKey>, Vec<String>), StateError> {
        let (mut events, mut refused) = (Vec::new(), Vec::new());
        self.each_key(|key| {
            if let Some((namespace, name)) = key.strip_prefix(SEEN).and_then(|rest| rest.split_once('/')) {
                events.push(ObjectKey::new(namespace, name));
            } else if key.starts_with(UNDELIVERED) {
                refused.push(key.to_owned());
            }
            true
        })?;
        Ok((events, refused))
    }

    pub(crate) fn forget(&self, events: &[ObjectKey]) -> Result<(), StateError> {
        let keys: Vec<String> = events.iter().map(seen_key).collect();
        keys.chunks(500).try_for_each(|keys| self.store.delete(keys))
    }

    /// The time until which a receiver gets no requests, because it answered with `Retry-After`.
    pub(crate) fn paused(&self, receiver: &str) -> Result<Option<Timestamp>, StateError> {
        let kept = self.store.get(&pause(receiver))?;
        Ok(kept.and_then(|text| String::from_utf8(text).ok()?.parse().ok()))
    }

    /// Stores the time until which a receiver gets no requests, or removes it.
    pub(crate) fn set_pause(&self, receiver: &str, until: Option<Timestamp>) -> Result<(), StateError> {
        match until {
            Some(until) => self.store.set(&[(pause(receiver), until.to_string().into_bytes())]),
            None => self.store.delete(&[pause(receiver)]),
        }
    }

    /// The number of attempts before the last pause of a receiver. The attempts after the pause are added to this number.
    pub(crate) fn turn(&self, receiver: &str) -> Result<u32, StateError> {
        let kept = self.store.get(&turn(receiver))?;
        Ok(kept.and_then(|text| String::from_utf8(text).ok()?.parse().ok()).unwrap_or_default())
    }

    pub(crate) fn set_turn(&self, receiver: &str, attempts: u32) -> Result<(), StateError> {
        self.store.set(&[(turn(receiver), attempts.to_string().into_bytes())])
    }

    pub(crate) fn stuck(&self, receiver: &str) -> Result<Option<Stuck>, StateError> {
        Ok(self.store.get(&stuck_key(receiver))?.and_then(|text| Stuck::parse(&text)))
    }

    pub(crate) fn set_stuck(&self, receiver: &str, stuck: &Stuck) -> Result<(), StateError> {
        self.store.set(&[(stuck_key(receiver), stuck.to_string().into_bytes())])
    }

    /// Calls `wanted` with each key until it returns false.
    fn each_key(&self, mut wanted: impl FnMut(&str) -> bool) -> Result<(), StateError> {
        let mut cursor = None;
        loop {
            let (keys, next) = self.store.keys(cursor)?;
            if !keys.iter().all(|key| wanted(key)) || next.is_none() {
                return Ok(());
            }
            cursor = next;
        }
    }
}

fn out(receiver: &str) -> String {
    format!("out/{receiver}")
}

fn pause(receiver: &str) -> String {
    format!("pause/{receiver}")
}

fn turn(receiver: &str) -> String {
    format!("turn/{receiver}")
}

fn stuck_key(receiver: &str) -> String {
    format!("stuck/{receiver}")
}

fn seen_key(event: &ObjectKey) -> String {
    format!("{SEEN}{}/{}", event.namespace, event.name)
}

// === impl Seen ===

impl Seen {
    /// Returns true if this mark is later than another mark of the same name. If the UIDs differ, only the times are compared, because each
    /// Event counts its occurrences from 1.
    pub(crate) fn is_after(&self, other: &Self) -> bool {
        if self.uid == other.uid {
            self.occurrence.is_after(&other.occurrence)
        } else {
            self.occurrence.at > other.occurrence.at
        }
    }

    /// Returns true if a receiver without updates may already have the Event. If the mark has no list, the result is true for each
    /// receiver.
    pub(crate) fn is_done(&self, receiver: &str) -> bool {
        self.done.as_ref().is_none_or(|done| done.iter().any(|name| name == receiver))
    }

    /// The names of receivers are at the end of the text, because a name may contain spaces. `/` separates the names, because no name
    /// contains `/`. The list is empty if nothing follows the last space.
    fn parse(kept: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(kept).ok()?.splitn(4, ' ');
        let (uid, count, nanos) = (words.next()?, words.next()?, words.next()?);
        let at = Timestamp::from_nanosecond(nanos.parse().ok()?).ok()?;
        let occurrence = Occurrence { count: count.parse().ok()?, at };
        let names = words.next().map(|names| names.split('/').filter(|name| !name.is_empty()));
        let done = names.map(|names| names.map(str::to_owned).collect());
        Some(Self { uid: uid.to_owned(), occurrence, done })
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Occurrence { count, at } = self.occurrence;
        write!(f, "{} {count} {}", self.uid, at.as_nanosecond())?;
        self.done.as_ref().map_or(Ok(()), |done| write!(f, " {}", done.join("/")))
    }
}

// === impl Stuck ===

impl Stuck {
    fn parse(kept: &[u8]) -> Option<Self> {
        let (attempts, key) = std::str::from_utf8(kept).ok()?.split_once(' ')?;
        let (attempts, others_pass) = match attempts.strip_suffix(PASS) {
            Some(attempts) => (attempts, true),
            None => (attempts.strip_suffix(NO_PASS)?, false),
        };
        Some(Self { key: key.to_owned(), attempts: attempts.parse().ok()?, others_pass })
    }
}

/// All numbers have the same length, so that counting needs no more room on the disk.
impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:010}{} {}", self.attempts, if self.others_pass { PASS } else { NO_PASS }, self.key)
    }
}

#[cfg(test)]
pub(crate) mod memory;
#[cfg(test)]
mod tests;
