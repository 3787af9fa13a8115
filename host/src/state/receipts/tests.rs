use informer_types::{Body, Header, Object};

use super::*;

const UID: &str = "0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d";

fn source(resource: &str) -> Source {
    Source::new(format!("v1/{resource}").parse().unwrap())
}

fn receipt(version: &str) -> Receipt {
    let header = Header { uid: UID.into(), resource_version: version.into(), ..Header::default() };
    Receipt::of(&Object::new(&header, Body::Raw("{}".into())).unwrap()).unwrap()
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("shop", name)
}

fn state(version: &str) -> Write {
    Write::State(receipt(version))
}

fn skip(from: &str, to: &str) -> Write {
    Write::Skip(Skip { from: receipt(from), to: receipt(to) })
}

/// A batch for Pods.
fn batch(first: First, writes: &[(&str, Write)]) -> Arc<Batch> {
    let writes = writes.iter().map(|(name, write)| (key(name), write.clone())).collect();
    Arc::new(Batch { rows: vec![Rows { source: source("pods"), first, writes }], ..Batch::default() })
}

/// The version of each Pod that is kept, by name.
fn versions(kept: &KeptReceipts) -> BTreeMap<String, String> {
    let receipts = kept.load(&source("pods")).unwrap().into_iter();
    receipts.map(|(key, receipt)| (key.name.to_string(), receipt.resource_version())).collect()
}

fn of<const N: usize>(rows: [(&str, &str); N]) -> BTreeMap<String, String> {
    rows.map(|(name, version)| (name.to_owned(), version.to_owned())).into()
}

async fn write(kept: &KeptReceipts, batch: &Arc<Batch>) -> Waiting {
    kept.write(batch).await.unwrap()
}

#[tokio::test]
async fn receipts_survive_the_end_of_the_database() {
    let directory = tempfile::TempDir::new().unwrap();
    let kept = KeptReceipts::new(State::open(Some(directory.path())), "a", "");
    assert_eq!((versions(&kept), kept.component().unwrap()), (of([]), None), "a new database has none");

    write(&kept, &batch(First::Keep, &[("web", state("7")), ("db", state("8"))])).await;
    let component = Batch { component: Some("digest".into()), ..Batch::default() };
    write(&kept, &Arc::new(component)).await;
    drop(kept);

    let kept = KeptReceipts::new(State::open(Some(directory.path())), "a", "");
    assert_eq!(versions(&kept), of([("db", "8"), ("web", "7")]));
    assert_eq!(kept.component().unwrap().as_deref(), Some("digest"));
    let other = KeptReceipts::new(State::open(None), "b", "");
    assert_eq!((versions(&other), other.component().unwrap()), (of([]), None));
}

#[tokio::test]
async fn a_withheld_change_is_written_only_on_the_state_before_it() {
    let kept = KeptReceipts::new(State::open(None), "a", "");
    write(&kept, &batch(First::Keep, &[("web", state("7"))])).await;

    let waiting = write(&kept, &batch(First::Keep, &[("web", skip("7", "8")), ("db", skip("1", "2"))])).await;

    assert_eq!(versions(&kept), of([("web", "8")]));
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].1, [(key("db"), Skip { from: receipt("1"), to: receipt("2") })]);
}

#[tokio::test]
async fn a_call_that_began_is_written_only_if_the_object_has_no_row() {
    let kept = KeptReceipts::new(State::open(None), "a", "");
    write(&kept, &batch(First::Keep, &[("web", state("7"))])).await;
    let begun = |version: &str| Write::Begun(receipt(version).begun());

    write(&kept, &batch(First::Keep, &[("web", begun("8")), ("db", begun("1"))])).await;

    let receipts = kept.load(&source("pods")).unwrap();
    assert_eq!(receipts[&key("web")], receipt("7"));
    assert_eq!(receipts[&key("db")], receipt("1").begun());
    assert_eq!(kept.size().objects, 2);
    // A withheld change does not make it acknowledged.
    let waiting = write(&kept, &batch(First::Keep, &[("db", skip("1", "2"))])).await;
    assert_eq!(waiting.len(), 1);
    write(&kept, &batch(First::Keep, &[("db", Write::Gone)])).await;
    assert_eq!(versions(&kept), of([("web", "7")]));
}

#[tokio::test]
async fn rows_are_counted_through_all_that_happens_to_them() {
    let kept = KeptReceipts::new(State::open(None), "a", "");
    let bytes = |kept: &KeptReceipts| {
        let (size, read) = (kept.size(), versions(kept));
        assert_eq!(kept.size(), size, "what was counted is what is read");
        assert_eq!(size.objects, read.len() as u64);
        size.bytes
    };

    write(&kept, &batch(First::Keep, &[("web", state("7")), ("db", state("300")), ("api", Write::Gone)]))
        .await;
    // The number of the subscription, `shop/web`, a tag, the UID and the version.
    assert_eq!(bytes(&kept), (4 + 8 + 1 + 16 + 1) + (4 + 7 + 1 + 16 + 2));
    write(&kept, &batch(First::Keep, &[("web", state("70000")), ("db", Write::Gone)])).await;
    assert_eq!(bytes(&kept), 4 + 8 + 1 + 16 + 3);
    write(&kept, &batch(First::Stale, &[("db", state("9"))])).await;
    assert_eq!(versions(&kept), of([("db", "9"), ("web", "")]));
    assert_eq!(bytes(&kept), (4 + 8 + 1 + 16) + (4 + 7 + 1 + 16 + 1));
    write(&kept, &batch(First::Remove, &[("web", state("10"))])).await;
    assert_eq!(versions(&kept), of([("web", "10")]));

    let unread = KeptReceipts::new(kept.state.clone(), "a", "");
    write(&unread, &batch(First::Keep, &[("db", state("1"))])).await;
    assert_eq!(
        unread.size(),
        Size { objects: 2, bytes: 30 + 29 },
        "they are counted when they are first written"
    );
}

#[tokio::test]
async fn rows_of_other_subscriptions_go_and_those_of_other_plugins_stay() {
    let database = State::open(None);
    let (one, other) =
        (KeptReceipts::new(database.clone(), "a", ""), KeptReceipts::new(database.clone(), "a-b", ""));
    let services = |name: &str| Rows {
        source: source("services"),
        first: First::Keep,
        writes: vec![(key(name), state("1"))],
    };
    for kept in [&one, &other] {
        write(kept, &batch(First::Keep, &[("web", state("7"))])).await;
        write(kept, &Arc::new(Batch { rows: vec![services("s")], ..Batch::default() })).await;
    }
    assert_eq!(one.size().objects, 2);

    let only = |sources: &[&str]| {
        let sources = sources.iter().map(|resource| source(resource)).collect();
        Arc::new(Batch { only: Some(sources), ..Batch::default() })
    };
    write(&one, &only(&["services"])).await;
    assert_eq!((versions(&one), one.load(&source("services")).unwrap().len()), (of([]), 1));
    write(&one, &only(&[])).await;
    assert_eq!((one.load(&source("services")).unwrap().len(), one.size()), (0, Size::default()));
    assert_eq!(versions(&other), of([("web", "7")]));

    // A number is used again, and what had it before is gone.
    write(&one, &batch(First::Keep, &[("new", state("2"))])).await;
    assert_eq!(versions(&one), of([("new", "2")]));
}

/// A Plugin object that was deleted while the host was down.
#[tokio::test]
async fn another_object_of_the_same_name_has_other_receipts_and_removes_those_before() {
    let database = State::open(None);
    let of_uid = |uid: &str| KeptReceipts::new(database.clone(), "shop/a", uid);
    let near = KeptReceipts::new(database.clone(), "shop/ab", "");
    write(&near, &batch(First::Keep, &[("web", state("1"))])).await;
    write(&of_uid("one"), &batch(First::Keep, &[("web", state("7"))])).await;
    assert_eq!(versions(&of_uid("two")), of([]));

    let only = Batch { only: Some([source("pods")].into()), ..Batch::default() };
    write(&of_uid("two"), &Arc::new(only)).await;
    assert_eq!(versions(&of_uid("one")), of([]));

    write(&of_uid("two"), &batch(First::Keep, &[("web", state("8"))])).await;
    super::super::forget(&database, "shop/a").await.unwrap();
    assert_eq!((versions(&of_uid("two")), versions(&near)), (of([]), of([("web", "1")])));
}

/// A version is recorded when it enters service, even if the plugin never receives an object.
#[tokio::test]
async fn the_version_of_a_plugin_without_receipts_is_removed_as_receipts_are() {
    let database = State::open(None);
    let kept = |plugin: &str, uid: &str| KeptReceipts::new(database.clone(), plugin, uid);
    let version = |kept: KeptReceipts| kept.component().unwrap().is_some();
    let component = Arc::new(Batch { component: Some("digest".into()), ..Batch::default() });
    for (plugin, uid) in [("shop/a", "one"), ("shop/a", "two"), ("shop/ab", "one"), ("file", "")] {
        write(&kept(plugin, uid), &component).await;
    }

    // The object `two` replaced `one` while the host was down.
    let only = Batch { only: Some([source("pods")].into()), ..Batch::default() };
    write(&kept("shop/a", "two"), &Arc::new(only)).await;
    assert_eq!((version(kept("shop/a", "one")), version(kept("shop/a", "two"))), (false, true));

    super::super::forget(&database, "shop/a").await.unwrap();
    assert_eq!((version(kept("shop/a", "two")), version(kept("shop/ab", "one"))), (false, true));

    // A changed configuration keeps no receipts.
    let none = Batch { only: Some(BTreeSet::new()), ..Batch::default() };
    write(&kept("file", ""), &Arc::new(none)).await;
    assert!(!version(kept("file", "")));
}

#[tokio::test]
async fn a_row_of_a_newer_host_is_left_out_and_stays() {
    let database = State::open(None);
    let kept = KeptReceipts::new(database.clone(), "a", "");
    write(&kept, &batch(First::Keep, &[("web", state("7")), ("db", state("8"))])).await;
    let strange = database.write_blocking(|transaction| {
        transaction.open_table(RECEIPTS)?.insert((0, "shop/db"), &[99_u8, 1, 2][..])?;
        Ok(Ok::<_, Infallible>(()))
    });
    strange.unwrap().unwrap();

    assert_eq!(versions(&kept), of([("web", "7")]));
    assert_eq!(kept.size().objects, 2);
}

#[tokio::test]
async fn a_disk_that_fails_changes_nothing_and_is_used_again() {
    let disk = crate::state::tests::FailingDisk::default();
    let kept = KeptReceipts::new(disk.state(), "a", "");
    write(&kept, &batch(First::Keep, &[("web", state("7"))])).await;
    let size = kept.size();

    disk.fail(Some(std::io::ErrorKind::StorageFull));
    kept.write(&batch(First::Keep, &[("web", Write::Gone), ("db", state("8"))])).await.unwrap_err();
    assert_eq!(kept.size(), size);

    disk.fail(None);
    assert_eq!(versions(&kept), of([("web", "7")]));
    write(&kept, &batch(First::Keep, &[("db", state("8"))])).await;
    assert_eq!(versions(&kept), of([("db", "8"), ("web", "7")]));
}
