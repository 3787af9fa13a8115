//! Server-sent events for the changes while pages are open.
//!
//! Each client pulls: its next event is made when its last one is on its way. All clients share the snapshots, and an event has
//! the rows that differ between the client's last snapshot and the present one. A slow client gets fewer events, and nothing
//! waits for it. The listener closes a connection whose client takes nothing for ten seconds.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc, time::Duration};

use axum::response::{
    IntoResponse, Sse,
    sse::{Event, KeepAlive},
};
use futures::{Stream, stream::unfold};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::admin::{Probe, dashboard::Overview};

/// The most clients at once. Each is one open page.
const CLIENTS: usize = 8;

/// The least time between two events of a client, and the greatest age of a snapshot.
const SPACING: Duration = Duration::from_secs(1);

/// The time after which a client without news gets the event `quiet`. A page that receives nothing for three times as long connects
/// again: a connection to a host that hangs stays open, and browsers do not show comments of the stream to a page.
const QUIET: Duration = Duration::from_secs(10);

/// The open pages.
pub(super) struct Live {
    probe: Arc<dyn Probe>,
    newest: Mutex<Option<Arc<Snapshot>>>,
    clients: Arc<Semaphore>,
    stop: CancellationToken,
}

/// The overview as it is sent, at one moment.
#[derive(Debug)]
struct Snapshot {
    at: Instant,
    host: Box<RawValue>,
    informers: Rows,
    plugins: Rows,
}

/// Rows by name.
type Rows = BTreeMap<String, Box<RawValue>>;

/// One client.
struct Client {
    live: Arc<Live>,
    _place: OwnedSemaphorePermit,
    sent: Option<Arc<Snapshot>>,
}

/// The difference between two snapshots.
#[derive(Debug, Default, Serialize)]
struct Difference<'a> {
    /// True if all rows are included: a row that is missing does not exist.
    all: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Changed::is_empty")]
    informers: Changed<'a>,
    #[serde(skip_serializing_if = "Changed::is_empty")]
    plugins: Changed<'a>,
}

/// Rows that are new or changed, and the names of those that are gone.
#[derive(Debug, Default, Serialize)]
struct Changed<'a> {
    rows: Vec<&'a RawValue>,
    gone: Vec<String>,
}

// === impl Live ===

impl Live {
    pub(super) fn new(probe: Arc<dyn Probe>, stop: CancellationToken) -> Self {
        Self { probe, newest: Mutex::default(), clients: Arc::new(Semaphore::new(CLIENTS)), stop }
    }

    /// The events of one client; `None` if there are too many clients.
    pub(super) fn listen(self: &Arc<Self>) -> Option<impl IntoResponse + use<>> {
        let place = Arc::clone(&self.clients).try_acquire_owned().ok()?;
        let client = Client { live: Arc::clone(self), _place: place, sent: None };
        let quiet = Event::default().event("quiet").data("quiet");
        let alive = KeepAlive::new().interval(QUIET).event(quiet);
        Some(Sse::new(events(client)).keep_alive(alive))
    }

    /// A snapshot that is at most a second old. Clients that ask at the same time get the same one.
    async fn snapshot(&self) -> Option<Arc<Snapshot>> {
        let mut newest = self.newest.lock().await;
        if let Some(snapshot) = newest.as_ref().filter(|snapshot| snapshot.at.elapsed() < SPACING) {
            return Some(Arc::clone(snapshot));
        }
        let probe = Arc::clone(&self.probe);
        let snapshot = spawn_blocking(move || Snapshot::of(&probe.overview())).await.ok()??;
        Some(Arc::clone(newest.insert(Arc::new(snapshot))))
    }
}

/// One event after the other, until the host stops.
fn events(client: Client) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(client, |mut client| async move {
        let stop = client.live.stop.clone();
        let event = stop.run_until_cancelled(client.next()).await??;
        Some((Ok(event), client))
    })
}

// === impl Client ===

impl Client {
    /// Waits until the overview differs from the one that was sent last. Returns `None` if no snapshot can be made.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(sent) = &self.sent {
                sleep_until(sent.at + SPACING).await;
            }
            let snapshot = self.live.snapshot().await?;
            let before = self.sent.replace(Arc::clone(&snapshot));
            let difference = snapshot.since(before.as_deref());
            if !difference.is_empty() {
                // The rows are JSON already.
                return Event::default().json_data(&difference).ok();
            }
        }
    }
}

// === impl Snapshot ===

impl Snapshot {
    fn of(overview: &Overview) -> Option<Self> {
        let informers = overview.informers.iter();
        let informers = informers.map(|row| Some((row.id.clone(), to_raw_value(row).ok()?)));
        let plugins = overview.plugins.iter();
        let plugins = plugins.map(|row| Some((row.name.clone(), to_raw_value(row).ok()?)));
        Some(Self {
            at: Instant::now(),
            host: to_raw_value(&overview.host).ok()?,
            informers: informers.collect::<Option<_>>()?,
            plugins: plugins.collect::<Option<_>>()?,
        })
    }

    fn since(&self, before: Option<&Self>) -> Difference<'_> {
        let Some(before) = before else {
            let all =
                |rows| Changed { rows: Rows::values(rows).map(|row| &**row).collect(), gone: Vec::new() };
            let (informers, plugins) = (all(&self.informers), all(&self.plugins));
            return Difference { all: true, host: Some(&self.host), informers, plugins };
        };
        let host = (self.host.get() != before.host.get()).then_some(&*self.host);
        Difference {
            all: false,
            host,
            informers: Changed::between(&before.informers, &self.informers),
            plugins: Changed::between(&before.plugins, &self.plugins),
        }
    }
}

// === impl Difference ===

impl Difference<'_> {
    fn is_empty(&self) -> bool {
        !self.all && self.host.is_none() && self.informers.is_empty() && self.plugins.is_empty()
    }
}

// === impl Changed ===

impl<'a> Changed<'a> {
    fn between(before: &Rows, now: &'a Rows) -> Self {
        let rows = now
            .iter()
            .filter(|(name, row)| before.get(*name).is_none_or(|before| before.get() != row.get()))
            .map(|(_, row)| &**row)
            .collect();
        let gone = before.keys().filter(|name| !now.contains_key(*name)).cloned().collect();
        Self { rows, gone }
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.gone.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::dashboard::PluginRow;

    fn snapshot(plugins: &[(&str, u64)]) -> Snapshot {
        let row = |(name, calls): &(&str, u64)| PluginRow {
            name: (*name).to_owned(),
            calls: *calls,
            ..PluginRow::default()
        };
        Snapshot::of(&Overview { plugins: plugins.iter().map(row).collect(), ..Overview::default() }).unwrap()
    }

    #[test]
    fn the_first_event_has_every_row_and_the_next_ones_what_changed() {
        let [before, now] = [snapshot(&[("a", 1), ("b", 1)]), snapshot(&[("b", 1), ("c", 1)])];

        let first = before.since(None);
        assert!(first.all && first.host.is_some());
        assert_eq!(first.plugins.rows.len(), 2);

        let next = now.since(Some(&before));
        assert!(!next.all && next.host.is_none());
        assert_eq!(
            next.plugins.rows.iter().map(|row| row.get().contains("\"c\"")).collect::<Vec<_>>(),
            [true]
        );
        assert_eq!(next.plugins.gone, ["a"]);

        assert!(before.since(Some(&snapshot(&[("a", 1), ("b", 1)]))).is_empty());
        assert!(!before.since(Some(&snapshot(&[("a", 2), ("b", 1)]))).is_empty());
    }
}
