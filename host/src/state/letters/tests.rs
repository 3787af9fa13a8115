//! Both kinds of letters, with the same tests.

use informer_dispatch::ObjectRef;
use informer_types::{Cause, Source};
use redb::ReadableTableMetadata;
use tempfile::TempDir;

use super::*;

/// One letter for each kind of failure. The newer a letter, the lower its key.
fn letters<L>(letter: impl Fn(&str, Failure, SystemTime) -> L) -> Vec<L> {
    let at = |number| SystemTime::UNIX_EPOCH + Duration::from_millis(number);
    let kinds = FailureKind::ALL.into_iter().zip(0..);
    kinds.map(|(kind, n)| letter(&format!("shop/{}", 9 - n), Failure::new(kind, "no\nway"), at(n))).collect()
}

fn event(resource: &str, key: &str, failure: Failure, at: SystemTime) -> DeadLetter {
    DeadLetter {
        object: ObjectRef { source: Source::new(resource.parse().unwrap()), key: key.parse().unwrap() },
        verb: "delete",
        cause: Cause::Relist,
        uid: "u-1".into(),
        resource_version: "17".into(),
        labels: vec![("app".into(), "web".into())],
        attempts: 3,
        failure,
        at,
    }
}

fn events() -> Vec<DeadLetter> {
    let node = Failure::new(FailureKind::Trap, "no");
    let node = event("v1/nodes", "node-1", node, SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    let mut events = letters(|key, failure, at| event("apps/v1/deployments", key, failure, at));
    events.push(node);
    events
}

fn keys() -> Vec<DroppedKey> {
    letters(|key, failure, at| DroppedKey { key: key.into(), attempts: 6, failure, at })
}

async fn survives_a_restart<L: Written>(letters: Vec<L>) {
    let directory = TempDir::new().unwrap();
    {
        let state = State::open(Some(directory.path()));
        Letters::new(state.clone(), "b").apply(letters.clone(), Vec::new()).await.unwrap();
        Letters::new(state, "a").apply(letters[..1].to_vec(), Vec::new()).await.unwrap();
    }

    let state = State::open(Some(directory.path()));

    let b = Letters::<L>::new(state.clone(), "b");
    assert_eq!(b.load().await.unwrap(), letters);
    assert_eq!(Letters::<L>::new(state.clone(), "a").load().await.unwrap(), letters[..1]);
    assert_eq!(Letters::<L>::new(state, "c").load().await.unwrap(), []);
    b.apply(Vec::new(), letters[1..].iter().map(|letter| letter.id().clone()).collect()).await.unwrap();
    assert_eq!(b.load().await.unwrap(), letters[..1]);
}

#[tokio::test]
async fn letters_survive_a_restart_the_oldest_first_and_each_plugin_has_its_own() {
    survives_a_restart(events()).await;
    survives_a_restart(keys()).await;
}

async fn skips_unreadable<L: Written>(readable: Vec<L>) {
    let state = State::open(None);
    let letters = Letters::<L>::new(state.clone(), "a");
    letters.apply(readable.clone(), Vec::new()).await.unwrap();
    let odd = |transaction: &WriteTransaction| {
        let place = L::place(Of { plugin: "a", resource: "v1/pods", key: "shop/odd" });
        transaction.open_table(L::TABLE)?.insert(place, b"{}".as_slice())?;
        Ok(Ok::<(), ()>(()))
    };
    state.write_blocking(odd).unwrap().unwrap();

    assert_eq!(letters.load().await.unwrap(), readable);
    letters.apply(Vec::new(), readable.iter().map(|letter| letter.id().clone()).collect()).await.unwrap();
    assert_eq!(letters.load().await.unwrap(), []);
    let rows = state.read_blocking(|transaction| Ok(transaction.open_table(L::TABLE)?.len()?)).unwrap();
    assert_eq!(rows, 1, "it stays");
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_skipped_and_stays() {
    skips_unreadable(events()).await;
    skips_unreadable(keys()).await;
}

async fn reports_the_lock<L: Written>() {
    let directory = TempDir::new().unwrap();
    let _other = State::open(Some(directory.path()));

    let letters = Letters::<L>::new(State::open(Some(directory.path())), "a");

    assert!(matches!(letters.load().await, Err(StateError::Locked { .. })));
}

#[tokio::test]
async fn a_locked_database_is_reported() {
    reports_the_lock::<DeadLetter>().await;
    reports_the_lock::<DroppedKey>().await;
}

/// A host reads the rows of older versions.
#[test]
fn the_form_of_rows_does_not_change() {
    let failure = Failure::new(FailureKind::Trap, "no");
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(5);
    assert_eq!(
        serde_json::to_string(&event("v1/pods", "shop/web", failure.clone(), at).row()).unwrap(),
        r#"{"verb":"delete","cause":"relist","uid":"u-1","resource-version":"17","labels":[["app","web"]],"attempts":3,"kind":"trap","message":"no","at":5}"#
    );
    assert_eq!(
        serde_json::to_string(&DroppedKey { key: "shop/web".into(), attempts: 6, failure, at }.row())
            .unwrap(),
        r#"{"attempts":6,"kind":"trap","message":"no","at":5}"#
    );
}
