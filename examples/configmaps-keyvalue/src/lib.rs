//! Counts the versions of each ConfigMap, over reloads, restarts and crashes of the host.
//!
//! Nothing is kept in memory. What is kept of an object is one value: how many versions were seen, and which was the last.
//! It is written before the call is acknowledged; a version that is told again after a crash is known by then.

use informer_sdk::wasi::keyvalue::store::{self, Bucket, Error};
use informer_sdk::{Cause, Config, Event, Failure, Handler, Result, Update, log};

/// Where the counts are. Opening it makes it.
const BUCKET: &str = "versions";

/// The plugin. All it knows is in its bucket.
#[derive(Debug)]
pub struct Counter;

/// What is kept of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    versions: u64,
    /// The resource version of the last.
    last: String,
}

informer_sdk::export!(Counter);

// === impl Counter ===

impl Handler for Counter {
    fn start(_config: Config) -> std::result::Result<Self, String> {
        Ok(Self)
    }

    fn on_add(&mut self, object: Event, _cause: Cause) -> Result {
        count(&object)
    }

    fn on_update(&mut self, update: Update, _cause: Cause) -> Result {
        count(&update.new)
    }

    fn on_delete(&mut self, object: Event, _final_state_known: bool) -> Result {
        bucket()?.delete(&object.key().to_string()).map_err(later)
    }
}

fn count(object: &Event) -> Result {
    let (bucket, key) = (bucket()?, object.key().to_string());
    let mut seen = bucket.get(&key).map_err(later)?.map(|kept| Seen::read(&kept)).unwrap_or_default();
    let new = seen.see(object.resource_version());
    if new {
        bucket.set(&key, seen.to_string().as_bytes()).map_err(later)?;
    }
    let versions = if seen.versions == 1 { "version" } else { "versions" };
    log::info!("{key}: {} {versions} seen{}", seen.versions, if new { "" } else { ", nothing new" });
    Ok(())
}

fn bucket() -> Result<Bucket> {
    store::open(BUCKET).map_err(later)
}

/// The host's state does not work just now, or the quota is used up: the host tells it again later.
fn later(error: Error) -> Failure {
    match error {
        Error::Other(why) => Failure::retry(why),
        other => Failure::retry(format!("{other:?}")),
    }
}

// === impl Seen ===

impl Seen {
    /// As [`Display`](std::fmt::Display) wrote it; nothing where it was written by something else.
    #[must_use]
    pub fn read(kept: &[u8]) -> Self {
        let text = std::str::from_utf8(kept).unwrap_or_default();
        let read = text.split_once(' ').and_then(|(versions, last)| {
            Some(Self { versions: versions.parse().ok()?, last: last.to_owned() })
        });
        read.unwrap_or_default()
    }

    /// True where this version is another than the last.
    pub fn see(&mut self, version: &str) -> bool {
        if self.last == version {
            return false;
        }
        self.versions = self.versions.saturating_add(1);
        version.clone_into(&mut self.last);
        true
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.versions, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_told_again_is_not_counted_again() {
        let mut seen = Seen::default();

        assert_eq!([seen.see("7"), seen.see("7"), seen.see("9")], [true, false, true]);

        assert_eq!(seen.to_string(), "2 9");
    }

    #[test]
    fn what_is_written_is_read_and_what_somebody_else_wrote_is_nothing() {
        let seen = Seen { versions: 12, last: "345".to_owned() };

        assert_eq!(Seen::read(seen.to_string().as_bytes()), seen);
        for odd in [&b""[..], b"12", b"x 1", b"\xff 1"] {
            assert_eq!(Seen::read(odd), Seen::default());
        }
    }
}
