//! `wasi:keyvalue`: values that a plugin stores by bucket and key, within the quota of its grant.

pub(crate) mod bucket;
mod source;

use std::{num::NonZeroU32, time::Instant};

use informer_types::HostRequest;
use wasmtime::component::{HasSelf, Linker, Resource};

pub(crate) use source::KeyValueCounters;
pub use source::{
    Kept, KeyValueError, KeyValueSource, KeyValueStats, NoKeyValues, Place, Quota, entry_cost, write_cost,
};

use super::interface::{Grant, Interface, Link, Version};
use crate::{
    Grants,
    bindings::{
        KeyValueFailure,
        wasi::keyvalue::{
            atomics, batch,
            store::{self, Error, KeyResponse},
        },
    },
    guest::Guest,
};
use bucket::Bucket;

/// The longest key, and the longest name of a bucket.
const NAME_BYTES: usize = 1 << 10;

/// The most keys of one read. The database takes time for each key, also for a key without a value.
const READ_KEYS: usize = 1_000;

/// The most keys on one page of `list-keys`.
const PAGE: usize = 500;

/// The cost of a write, by [`write_cost`], that one token of the budget pays for.
const BYTES_A_TOKEN: usize = 16 << 10;

/// Buckets that an instance may have open at a time.
const BUCKETS: u32 = 64;

pub(super) const INTERFACES: &[Interface] = &[
    draft("wasi:keyvalue/store", |linker| store::add_to_linker::<_, HasSelf<Guest>>(linker, Guest::called)),
    draft("wasi:keyvalue/atomics", |linker| {
        atomics::add_to_linker::<_, HasSelf<Guest>>(linker, Guest::called)
    }),
    draft("wasi:keyvalue/batch", |linker| batch::add_to_linker::<_, HasSelf<Guest>>(linker, Guest::called)),
];

type Answer<T> = Result<T, KeyValueFailure>;

const fn draft(name: &'static str, link: fn(&mut Linker<Guest>) -> wasmtime::Result<()>) -> Interface {
    let grant =
        Grant { example: "keyvalue = \"1MiB\"", is_given: |grants: &Grants| grants.keyvalue.is_some() };
    Interface { name, version: Version::Exactly("0.2.0-draft"), grant: Some(grant), link: Link::Named(link) }
}

impl store::Host for Guest {
    async fn open(&mut self, identifier: String) -> Answer<Resource<Bucket>> {
        fits(&identifier)?;
        if self.buckets >= BUCKETS {
            let message = format!(
                "{BUCKETS} buckets are open in this instance, its limit: drop the ones that are no longer needed"
            );
            return Err(Error::Other(message).into());
        }
        let handle = self.table.push(Bucket::new(identifier)).map_err(KeyValueFailure::trap)?;
        self.buckets += 1;
        Ok(handle)
    }

    fn convert_error(&mut self, failure: KeyValueFailure) -> wasmtime::Result<Error> {
        failure.downcast()
    }
}

impl store::HostBucket for Guest {
    async fn get(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<Option<Vec<u8>>> {
        Ok(read(self, &bucket, vec![key]).await?.into_iter().next().flatten())
    }

    async fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> Answer<()> {
        change(self, &bucket, vec![(key, Some(value))]).await
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<()> {
        change(self, &bucket, vec![(key, None)]).await
    }

    async fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<bool> {
        let place = place(self, &bucket)?;
        fits(&key)?;
        let since = begun(self);
        let exists = self.sources.keyvalue.exists(place, key).await;
        traced(self, since, "read", exists.as_ref().err());
        counted(self, exists, false)
    }

    async fn list_keys(&mut self, handle: Resource<Bucket>, cursor: Option<u64>) -> Answer<KeyResponse> {
        let place = place(self, &handle)?;
        let after = self.table.get(&handle).map_err(KeyValueFailure::trap)?.after(cursor);
        let since = begun(self);
        let keys = self.sources.keyvalue.keys(place, after.map_err(Error::Other)?, PAGE).await;
        traced(self, since, "read", keys.as_ref().err());
        let keys = counted(self, keys, false)?;
        self.receives(keys.iter().map(String::len).sum());
        // Only a full page may have another one after it.
        let last = keys.last().filter(|_| keys.len() >= PAGE).cloned();
        let cursor = last.map(|last| self.table.get_mut(&handle).map(|bucket| bucket.cursor(last)));
        Ok(KeyResponse { keys, cursor: cursor.transpose().map_err(KeyValueFailure::trap)? })
    }

    async fn drop(&mut self, handle: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(handle)?;
        self.buckets = self.buckets.saturating_sub(1);
        Ok(())
    }
}

impl atomics::Host for Guest {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: u64) -> Answer<u64> {
        let place = place(self, &bucket)?;
        fits(&key)?;
        self.sent(key.len());
        token(self, entry_cost(&key, None)).await?;
        let since = begun(self);
        let sum = self.sources.keyvalue.increment(place, key, delta, quota(self)).await;
        traced(self, since, "write", sum.as_ref().err());
        counted(self, sum, true)
    }
}

impl batch::Host for Guest {
    async fn get_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> Answer<Vec<Option<(String, Vec<u8>)>>> {
        let values = read(self, &bucket, keys.clone()).await?;
        Ok(keys.into_iter().zip(values).map(|(key, value)| value.map(|value| (key, value))).collect())
    }

    async fn set_many(&mut self, bucket: Resource<Bucket>, pairs: Vec<(String, Vec<u8>)>) -> Answer<()> {
        change(self, &bucket, pairs.into_iter().map(|(key, value)| (key, Some(value))).collect()).await
    }

    async fn delete_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Answer<()> {
        change(self, &bucket, keys.into_iter().map(|key| (key, None)).collect()).await
    }
}

fn place(guest: &mut Guest, handle: &Resource<Bucket>) -> Answer<Place> {
    let bucket = guest.table.get(handle).map_err(KeyValueFailure::trap)?.name();
    Ok(Place { plugin: guest.config.name.clone(), bucket })
}

fn quota(guest: &Guest) -> Quota {
    // Without the grant the interfaces are not linked.
    Quota(guest.config.grants.keyvalue.unwrap_or_default())
}

async fn read(
    guest: &mut Guest,
    handle: &Resource<Bucket>,
    keys: Vec<String>,
) -> Answer<Vec<Option<Vec<u8>>>> {
    let place = place(guest, handle)?;
    if keys.len() > READ_KEYS {
        let message = format!("{} keys in one read; at most {READ_KEYS} are allowed", keys.len());
        return Err(Error::Other(message).into());
    }
    keys.iter().try_for_each(|key| fits(key))?;
    let since = begun(guest);
    let read = guest.sources.keyvalue.get(place, keys, guest.config.limits.response_bytes).await;
    traced(guest, since, "read", read.as_ref().err());
    let values = read.iter().flatten().flatten();
    guest.receives(values.map(Vec::len).sum());
    counted(guest, read, false)
}

/// Sets the keys that have a value, and deletes the others.
async fn change(
    guest: &mut Guest,
    handle: &Resource<Bucket>,
    changes: Vec<(String, Option<Vec<u8>>)>,
) -> Answer<()> {
    let place = place(guest, handle)?;
    changes.iter().try_for_each(|(key, _)| fits(key))?;
    let bytes = changes.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, Vec::len)).sum();
    guest.sent(bytes);
    token(guest, write_cost(&changes)).await?;
    let since = begun(guest);
    let changed = guest.sources.keyvalue.change(place, changes, quota(guest)).await;
    traced(guest, since, "write", changed.as_ref().err());
    counted(guest, changed, true)
}

/// Waits for the tokens of a write of this cost: one, and one more for each further 16 KiB, so that no plugin keeps the disk busy.
///
/// # Errors
/// If they would come too late for the deadline of the call.
async fn token(guest: &mut Guest, cost: usize) -> Answer<()> {
    let limit = guest.config.limits.keyvalue_writes;
    let tokens = NonZeroU32::MIN.saturating_add(u32::try_from(cost / BYTES_A_TOKEN).unwrap_or(u32::MAX));
    // A tenth of the call's time stays for the write itself.
    let (deadline, room) = (guest.call.clock.deadline(), guest.call.allowed / 10);
    let latest = deadline.checked_sub(room).unwrap_or(deadline);
    match guest.counters.keyvalue.writes.reserve_many(tokens, limit, Instant::now(), latest) {
        Ok(wait) if wait.is_zero() => Ok(()),
        Ok(wait) => {
            tokio::time::sleep(wait).await;
            Ok(())
        }
        Err(_) => counted(guest, Err(KeyValueError::TooOften { per_second: limit.get() }), true),
    }
}

/// The time, if the event of the call is sampled.
fn begun(guest: &Guest) -> Option<Instant> {
    guest.call.trace.as_ref().map(|_| Instant::now())
}

/// Reports a call that ended to the trace of the event, if it is sampled.
fn traced(guest: &Guest, since: Option<Instant>, operation: &'static str, error: Option<&KeyValueError>) {
    if let Some((trace, since)) = guest.call.trace.as_ref().zip(since) {
        trace.ended(since, HostRequest::KeyValue { operation }, error.map(|_| "failed"));
    }
}

fn counted<T>(guest: &Guest, done: Result<T, KeyValueError>, write: bool) -> Answer<T> {
    guest.counters.keyvalue.ended(write, done.as_ref().err());
    done.map_err(|error| Error::Other(error.to_string()).into())
}

fn fits(name: &str) -> Result<(), Error> {
    if name.len() <= NAME_BYTES {
        return Ok(());
    }
    Err(Error::Other(format!(
        "the name of a key or bucket has {} bytes; at most {NAME_BYTES} are allowed",
        name.len()
    )))
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use informer_types::{EventSpans, EventTrace, HostCall, TraceContext, Traced};
    use parking_lot::Mutex;

    use super::*;
    use crate::guest::{Attempt, tests::idle};

    /// Keeps the operations of the spans of a sampled event.
    #[derive(Debug, Default)]
    struct Spans(Mutex<Vec<&'static str>>);

    const CONTEXT: TraceContext = TraceContext { trace_id: 1, span_id: 1 };

    impl EventSpans for Spans {
        fn context(&self) -> TraceContext {
            CONTEXT
        }

        fn step(&self, _: &Traced, _: Option<Instant>) {}

        fn merged_into(&self, _: TraceContext) {}

        fn begin_call(&self, _: &Arc<str>) -> TraceContext {
            CONTEXT
        }

        fn new_span_id(&self) -> u64 {
            2
        }

        fn host_call(&self, call: HostCall<'_>) {
            let HostRequest::KeyValue { operation } = call.request else { return };
            self.0.lock().push(operation);
        }
    }

    #[tokio::test]
    async fn each_call_that_reads_or_writes_values_has_a_span() {
        let spans = Arc::new(Spans::default());
        let event = EventTrace::new(Arc::clone(&spans) as Arc<dyn EventSpans>);
        let mut guest = idle(|config| config.grants.keyvalue = Some(1 << 20));
        guest.begin(Duration::from_secs(60), Attempt { event, ..Attempt::default() }, None);
        let opened = store::Host::open(guest.called(), "b".to_owned()).await.unwrap();
        let bucket = || Resource::<Bucket>::new_borrow(opened.rep());
        let key = || "k".to_owned();

        // This host stores nothing, so each call fails.
        assert!(store::HostBucket::get(&mut guest, bucket(), key()).await.is_err());
        assert!(store::HostBucket::exists(&mut guest, bucket(), key()).await.is_err());
        assert!(store::HostBucket::list_keys(&mut guest, bucket(), None).await.is_err());
        assert!(store::HostBucket::delete(&mut guest, bucket(), key()).await.is_err());
        assert!(atomics::Host::increment(&mut guest, bucket(), key(), 1).await.is_err());

        assert_eq!(*spans.0.lock(), ["read", "read", "read", "write", "write"]);
    }

    #[tokio::test]
    async fn no_call_takes_a_key_that_is_too_long_or_reads_too_many_keys() {
        let mut guest = idle(|config| config.grants.keyvalue = Some(1 << 20));
        guest.begin(Duration::from_secs(60), Attempt::default(), None);
        let opened = store::Host::open(guest.called(), "b".to_owned()).await.unwrap();
        let bucket = || Resource::<Bucket>::new_borrow(opened.rep());
        let long = || "k".repeat(NAME_BYTES + 1);
        let keys = |number| vec!["k".to_owned(); number];

        let too_long = [
            store::HostBucket::get(&mut guest, bucket(), long()).await.map(drop),
            store::HostBucket::exists(&mut guest, bucket(), long()).await.map(drop),
            store::HostBucket::set(&mut guest, bucket(), long(), Vec::new()).await,
            store::HostBucket::delete(&mut guest, bucket(), long()).await,
            atomics::Host::increment(&mut guest, bucket(), long(), 1).await.map(drop),
            batch::Host::get_many(&mut guest, bucket(), vec![long()]).await.map(drop),
        ];
        let too_many = batch::Host::get_many(&mut guest, bucket(), keys(READ_KEYS + 1)).await.map(drop);
        let most = batch::Host::get_many(&mut guest, bucket(), keys(READ_KEYS)).await.map(drop);

        for refused in too_long {
            assert!(message(refused).contains("1025 bytes; at most 1024"));
        }
        assert_eq!(message(too_many), "1001 keys in one read; at most 1000 are allowed");
        // The number of keys is accepted. The call fails later, because this host has no state.
        assert!(message(most).contains("this host stores nothing"));
    }

    fn message(answer: Answer<()>) -> String {
        match answer.map_err(|failure| failure.downcast().unwrap()) {
            Err(Error::Other(message)) => message,
            other => panic!("{other:?}"),
        }
    }
}
