//! Key-values in the database.

use std::{io::ErrorKind, sync::mpsc, time::Duration};

use futures::future::join_all;
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;
use crate::state::tests::FailingDisk;

/// The key-values of one plugin.
struct Plugin {
    kept: KeyValues,
    name: Arc<str>,
    quota: Quota,
}

impl Plugin {
    fn new(state: &State, name: &str, quota: u64) -> Self {
        Self { kept: KeyValues::new(state.clone()), name: name.into(), quota: Quota(quota) }
    }

    fn place(&self, bucket: &str) -> Place {
        Place { plugin: Arc::clone(&self.name), bucket: bucket.into() }
    }

    async fn set(&self, bucket: &str, key: &str, value: &[u8]) -> Result<(), KeyValueError> {
        self.change(bucket, &[(key, Some(value))]).await
    }

    async fn change(&self, bucket: &str, changes: &[(&str, Option<&[u8]>)]) -> Result<(), KeyValueError> {
        let changes =
            changes.iter().map(|(key, value)| ((*key).to_owned(), value.map(<[u8]>::to_vec))).collect();
        self.kept.change(self.place(bucket), changes, self.quota).await
    }

    async fn get(&self, bucket: &str, key: &str) -> Option<Vec<u8>> {
        let found = self.kept.get(self.place(bucket), vec![key.to_owned()], usize::MAX).await;
        found.unwrap().remove(0)
    }

    async fn keys(&self, bucket: &str, after: Option<&str>, most: usize) -> Vec<String> {
        let after = after.map(str::to_owned);
        self.kept.keys(self.place(bucket), after, most).await.unwrap()
    }

    async fn increment(&self, key: &str, delta: u64) -> Result<u64, KeyValueError> {
        self.kept.increment(self.place("b"), key.to_owned(), delta, self.quota).await
    }
}

#[tokio::test]
async fn values_are_kept_by_plugin_bucket_and_key() {
    let state = State::open(None);
    let (one, two) = (Plugin::new(&state, "one", 1000), Plugin::new(&state, "one-more", 1000));
    assert_eq!(one.get("b", "k").await, None, "nothing was ever written");
    assert_eq!(one.keys("b", None, 9).await, [""; 0]);

    one.set("b", "k", b"1").await.unwrap();
    one.set("c", "k", b"2").await.unwrap();
    two.set("b", "k", b"3").await.unwrap();

    assert_eq!(one.get("b", "k").await.unwrap(), b"1");
    assert_eq!(one.get("c", "k").await.unwrap(), b"2");
    assert_eq!(two.get("b", "k").await.unwrap(), b"3");
    assert_eq!(one.get("d", "k").await, None);
    one.change("b", &[("k", None), ("absent", None)]).await.unwrap();
    assert_eq!(one.get("b", "k").await, None);
    assert_eq!(two.get("b", "k").await.unwrap(), b"3");
}

#[tokio::test]
async fn values_survive_a_restart() {
    let directory = TempDir::new().unwrap();
    let kept = |quota| Plugin::new(&State::open(Some(directory.path())), "p", quota);
    kept(100).set("b", "k", b"value").await.unwrap();

    assert_eq!(kept(100).get("b", "k").await.unwrap(), b"value");
    let refused = kept(10).set("b", "l", b"value").await.unwrap_err();
    assert_eq!(refused, KeyValueError::Quota { wanted: 14, quota: 10 }, "what is kept is still counted");
}

#[tokio::test]
async fn keys_come_in_order_page_by_page_and_of_one_bucket_only() {
    let plugin = Plugin::new(&State::open(None), "p", 1000);
    for (bucket, key) in [("a", "z"), ("b", "2"), ("b", ""), ("b", "1"), ("b", "3"), ("ba", "0")] {
        plugin.set(bucket, key, b"").await.unwrap();
    }

    assert_eq!(plugin.keys("b", None, 2).await, ["", "1"]);
    assert_eq!(plugin.keys("b", Some("1"), 2).await, ["2", "3"]);
    assert_eq!(plugin.keys("b", Some("3"), 2).await, [""; 0]);
    assert_eq!(plugin.keys("b", Some("10"), 9).await, ["2", "3"], "the key itself may be gone");
}

#[tokio::test]
async fn a_write_beyond_the_quota_does_nothing() {
    let plugin = Plugin::new(&State::open(None), "p", 10);
    plugin.set("b", "k", b"12345678").await.unwrap();

    let wanted = |wanted| KeyValueError::Quota { wanted, quota: 10 };
    assert_eq!(plugin.set("b", "k", b"123456789").await.unwrap_err(), wanted(11));
    let refused = plugin.change("b", &[("k", Some(b"new")), ("l", Some(b"1234"))]).await.unwrap_err();
    assert_eq!(refused, wanted(11));
    assert_eq!(plugin.get("b", "k").await.unwrap(), b"12345678", "neither of the two was set");
    assert_eq!(plugin.increment("number", 1).await.unwrap_err(), wanted(18));

    plugin.set("b", "k", b"new").await.unwrap();
    plugin.set("b", "l", b"123").await.unwrap();
    plugin.change("b", &[("k", None), ("l", None)]).await.unwrap();
    plugin.set("", "0123456789", b"").await.unwrap();
}

#[tokio::test]
async fn a_plugin_above_a_lowered_quota_may_store_less_but_not_more() {
    let state = State::open(None);
    Plugin::new(&state, "p", 100).set("b", "k", &[0; 50]).await.unwrap();
    let plugin = Plugin::new(&state, "p", 10);

    plugin.set("b", "k", &[0; 40]).await.unwrap();
    assert!(plugin.set("b", "k", &[0; 41]).await.is_err());
    plugin.change("b", &[("k", None)]).await.unwrap();
}

#[tokio::test]
async fn the_counted_bytes_equal_the_stored_bytes() {
    let state = State::open(None);
    let plugin = Plugin::new(&state, "p", 400);
    let mut random = 1_u64;
    for _ in 0..300 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (key, size) = (format!("k{}", (random >> 33) % 9), (random >> 40) % 60);
        let value = vec![0; usize::try_from(size).unwrap()];
        let change = (random >> 50).is_multiple_of(3);
        // Refused writes must not count.
        plugin.change("b", &[(&key, (!change).then_some(&value))]).await.ok();
    }

    let counted = state.read_blocking(|read| {
        let mut sum = 0;
        for entry in read.open_table(VALUES)?.iter()? {
            let (key, value) = entry?;
            sum += (key.value().1.len() + key.value().2.len() + value.value().len()) as u64;
        }
        Ok((sum, read.open_table(BYTES)?.get("p")?.map(|bytes| bytes.value())))
    });

    let (sum, kept) = counted.unwrap();
    assert!(sum > 0 && sum <= 400);
    assert_eq!(kept, Some(sum));
}

#[tokio::test]
async fn an_increment_is_atomic_and_of_decimal_numbers_only() {
    let state = State::open(None);
    let plugin = Arc::new(Plugin::new(&state, "p", 1000));
    let adding: Vec<_> = (0..8)
        .map(|_| {
            let plugin = Arc::clone(&plugin);
            tokio::spawn(async move {
                for _ in 0..10 {
                    plugin.increment("n", 2).await.unwrap();
                }
            })
        })
        .collect();
    for task in adding {
        task.await.unwrap();
    }
    assert_eq!(plugin.get("b", "n").await.unwrap(), b"160");

    for bad in [&b"x"[..], b"", b"-1", b"\xff", b"18446744073709551615", b"18446744073709551616"] {
        plugin.set("b", "n", bad).await.unwrap();
        let refused = plugin.increment("n", 1).await.unwrap_err();
        assert_eq!(refused, KeyValueError::NotANumber { key: "n".to_owned() });
        assert_eq!(plugin.get("b", "n").await.unwrap(), bad);
    }
}

#[tokio::test]
async fn the_bytes_of_one_answer_are_limited() {
    let plugin = Plugin::new(&State::open(None), "p", 1000);
    plugin.set("b", "k", &[7; 10]).await.unwrap();
    let ask = |keys: &[&str], most| {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        plugin.kept.get(plugin.place("b"), keys, most)
    };

    assert_eq!(ask(&["k", "none"], 10).await.unwrap(), [Some(vec![7; 10]), None]);
    assert_eq!(ask(&["k", "k"], 19).await.unwrap_err(), KeyValueError::TooLarge { limit: 19 });
}

#[tokio::test]
async fn a_full_disk_is_an_error_and_stored_values_stay() {
    let disk = FailingDisk::default();
    let plugin = Plugin::new(&disk.state(), "p", 1000);
    plugin.set("b", "k", b"old").await.unwrap();

    disk.fail(Some(ErrorKind::StorageFull));
    let refused = plugin.set("b", "k", b"new").await.unwrap_err();
    assert_eq!(refused.to_string(), "the host's state cannot be used: its disk is full");

    disk.fail(None);
    assert_eq!(plugin.get("b", "k").await.unwrap(), b"old");
    plugin.set("b", "k", b"new").await.unwrap();
}

/// A disk without room proves that nothing is written.
#[tokio::test]
async fn a_change_beyond_the_quota_is_refused_before_anything_is_written() {
    let disk = FailingDisk::default();
    let plugin = Plugin::new(&disk.state(), "p", 1 << 20);
    plugin.set("b", "k", &[0; 1000]).await.unwrap();
    disk.fail(Some(ErrorKind::StorageFull));
    let half = vec![0; 600 << 10];

    let refused = plugin.change("b", &[("k", Some(&half)), ("l", Some(&half))]).await.unwrap_err();

    assert_eq!(refused, KeyValueError::Quota { wanted: 2 * (2 + (600 << 10)), quota: 1 << 20 });
    disk.fail(None);
    plugin.change("b", &[("k", Some(&half)), ("k", Some(&half)), ("k", None)]).await.unwrap();
    assert_eq!(plugin.get("b", "k").await, None, "of one key the last counts");
}

/// A commit with all of them would keep a neighbour waiting.
#[tokio::test]
async fn a_write_of_many_small_entries_takes_a_commit_of_its_own() {
    const WRITES: usize = 16;
    let disk = FailingDisk::default();
    let plugin = Plugin::new(&disk.state(), "flood", 1 << 20);
    let before = disk.syncs();
    plugin.set("b", "k", b"").await.unwrap();
    let single = disk.syncs() - before;

    let (before, nothing) = (disk.syncs(), vec![("", None); 1_100]);
    let written = join_all((0..WRITES).map(|_| plugin.change("b", &nothing))).await;

    written.into_iter().for_each(Result::unwrap);
    let syncs = disk.syncs() - before;
    assert!(single > 0 && syncs >= WRITES * single, "{WRITES} writes: {syncs} syncs, one write: {single}");
}

#[tokio::test]
async fn a_plugin_whose_reads_hang_leaves_places_for_the_reads_of_a_neighbour() {
    let state = State::open(None);
    let kept = KeyValues::new(state);
    let plugin = |name: &str| Plugin { kept: kept.clone(), name: name.into(), quota: Quota(100) };
    let (flood, neighbour) = (plugin("flood"), plugin("neighbour"));
    neighbour.set("b", "k", b"value").await.unwrap();
    let (begin, begun) = mpsc::channel();
    let (ends, reads): (Vec<_>, Vec<_>) = (0..64)
        .map(|_| {
            let (kept, name, begin) = (kept.clone(), Arc::clone(&flood.name), begin.clone());
            let (end, ended) = mpsc::channel::<()>();
            let work = move |_: &ReadOnlyTable<Key, &'static [u8]>| {
                begin.send(()).ok();
                ended.recv().ok();
                Ok(Ok(()))
            };
            (end, tokio::spawn(async move { kept.read(name, work).await }))
        })
        .unzip();
    tokio::task::spawn_blocking(move || begun.recv().unwrap()).await.unwrap();

    let value = timeout(Duration::from_secs(30), neighbour.get("b", "k")).await;

    assert_eq!(value.unwrap().as_deref(), Some(&b"value"[..]));
    drop(ends);
    join_all(reads).await.into_iter().for_each(|read| read.unwrap().unwrap());
}

/// Another host may lead already (E-9).
#[tokio::test]
async fn a_host_that_does_not_hold_its_lease_changes_no_value() {
    let state = State::open(None);
    let leading = Plugin::new(&state, "a", 100);
    leading.set("b", "k", b"1").await.unwrap();
    let kept = KeyValues::new(state).fenced(Leadership::never());
    let late = Plugin { kept, name: "a".into(), quota: Quota(100) };

    let refused = [late.set("b", "k", b"2").await, late.increment("k", 1).await.map(drop)];

    for refused in refused {
        assert!(matches!(refused, Err(KeyValueError::Unavailable(NOT_LEADING))), "{refused:?}");
    }
    assert_eq!(late.get("b", "k").await.as_deref(), Some(&b"1"[..]), "reads go on");
}

#[tokio::test]
async fn a_plugin_that_is_gone_leaves_nothing_in_memory() {
    let (state, places) = (State::open(None), Places::new(1));
    let kept = KeyValues::new(state);
    let place = |plugin: &str| Place { plugin: plugin.into(), bucket: "b".into() };
    for plugin in 0..100 {
        kept.exists(place(&plugin.to_string()), "k".to_owned()).await.unwrap();
    }
    assert!(kept.reads.by_plugin.lock().len() < 3);

    // A place that is in use is not forgotten.
    let held = places.take(&"busy".into()).await;
    drop(places.take(&"other".into()).await);
    drop(places.take(&"another".into()).await);
    assert!(timeout(Duration::from_millis(20), places.take(&"busy".into())).await.is_err());
    drop(held);
}
