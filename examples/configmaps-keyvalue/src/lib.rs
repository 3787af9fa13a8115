//! Counts the versions of each ConfigMap. The counts survive reloads, restarts and crashes of the host.
//!
//! The plugin keeps nothing in memory. It stores one value for each object: the number of versions, and the last version. It
//! writes the value before the call returns, so it recognises a version that is delivered again after a crash.

use informer_sdk::wasi::keyvalue::store::{self, Bucket, Error};
use informer_sdk::{Cause, Config, Event, Failure, Handler, Result, Update, log};

/// The name of the bucket that holds the counts. Opening the bucket creates it.
const BUCKET: &str = "versions";

/// The plugin. All its state is in its bucket.
#[derive(Debug)]
pub struct Counter;

/// The stored value of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The number of versions seen.
    versions: u64,
    /// The resource version of the last version.
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

/// Asks for another delivery: the host's state is not available now, or the quota is used up.
fn later(error: Error) -> Failure {
    match error {
        Error::Other(why) => Failure::retry(why),
        other => Failure::retry(format!("{other:?}")),
    }
}

// === impl Seen ===

impl Seen {
    /// Parses the text that [`Display`](std::fmt::Display) writes. Any other text counts as no versions.
    #[must_use]
    pub fn read(kept: &[u8]) -> Self {
        let text = std::str::from_utf8(kept).unwrap_or_default();
        let read = text.split_once(' ').and_then(|(versions, last)| {
            Some(Self { versions: versions.parse().ok()?, last: last.to_owned() })
        });
        read.unwrap_or_default()
    }

    /// Counts this version. Returns false if it is the last version again.
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
    fn a_version_that_is_delivered_again_is_not_counted_again() {
        let mut seen = Seen::default();

        assert_eq!([seen.see("7"), seen.see("7"), seen.see("9")], [true, false, true]);

        assert_eq!(seen.to_string(), "2 9");
    }

    #[test]
    fn a_written_value_parses_and_any_other_text_counts_as_no_versions() {
        let seen = Seen { versions: 12, last: "345".to_owned() };

        assert_eq!(Seen::read(seen.to_string().as_bytes()), seen);
        for odd in [&b""[..], b"12", b"x 1", b"\xff 1"] {
            assert_eq!(Seen::read(odd), Seen::default());
        }
    }
}
