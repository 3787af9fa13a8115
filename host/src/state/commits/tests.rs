//! Which writes share a commit, and in which order.

use std::{convert::Infallible, io::ErrorKind, sync::mpsc, task::Poll};

use futures::{
    future::{BoxFuture, join_all, ready},
    poll,
};
use redb::TableDefinition;

use super::*;
use crate::state::{State, tests::FailingDisk};

const NUMBERS: TableDefinition<'_, u64, u64> = TableDefinition::new("numbers");

/// The owners of the writes, in the order of the writes.
type Order = Arc<Mutex<Vec<&'static str>>>;

fn owner(name: &str) -> Arc<str> {
    name.into()
}

/// A write of one number that waits already, or is done if the writer was quicker.
async fn waiting(
    state: &State,
    of: &'static str,
    number: u64,
    order: &Order,
) -> BoxFuture<'static, Result<(), StateError>> {
    let (state, order) = (state.clone(), Arc::clone(order));
    let mut write: BoxFuture<'static, _> = Box::pin(async move {
        let work = move |transaction: &WriteTransaction| {
            order.lock().push(of);
            transaction.open_table(NUMBERS)?.insert(number, number)?;
            Ok(Ok::<(), Infallible>(()))
        };
        let Ok(()) = state.write(&owner(of), 8, work).await?;
        Ok(())
    });
    match poll!(&mut write) {
        Poll::Pending => write,
        Poll::Ready(result) => Box::pin(ready(result)),
    }
}

/// Occupies the writer until the sender is dropped.
async fn occupied(state: &State) -> (mpsc::Sender<()>, BoxFuture<'static, Result<(), StateError>>) {
    let ((end, ended), (begin, begun)) = (mpsc::channel(), oneshot::channel());
    let state = state.clone();
    let mut write: BoxFuture<'static, _> = Box::pin(async move {
        let work = move |_: &WriteTransaction| {
            begin.send(()).ok();
            ended.recv().ok();
            Ok(Err::<(), ()>(()))
        };
        state.write(&owner("first"), 0, work).await.map(|_| ())
    });
    assert!(matches!(poll!(&mut write), Poll::Pending));
    begun.await.unwrap();
    (end, write)
}

#[tokio::test]
async fn an_owner_with_one_write_waits_for_the_next_commit_however_much_another_writes() {
    let disk = FailingDisk::default();
    let (state, order) = (disk.state(), Order::default());
    let alone = disk.syncs();
    let (end, first) = occupied(&state).await;
    let mut writes = Vec::new();
    for number in 0..200 {
        writes.push(waiting(&state, "flood", number, &order).await);
    }
    writes.push(waiting(&state, "neighbour", 200, &order).await);
    assert_eq!(disk.syncs(), alone);

    drop(end);
    first.await.unwrap();
    join_all(writes).await.into_iter().for_each(Result::unwrap);

    let place = order.lock().iter().position(|of| *of == "neighbour");
    assert_eq!((place, order.lock().len()), (Some(1), 201));
    let shared = disk.syncs() - alone;
    let before = disk.syncs();
    let mut one = waiting(&state, "neighbour", 201, &order).await;
    (&mut one).await.unwrap();
    let single = disk.syncs() - before;
    assert!(single > 0 && shared <= 5 * single, "201 writes: {shared} syncs, one write: {single}");
}

#[tokio::test]
async fn each_write_is_on_disk_when_it_returns() {
    let disk = FailingDisk::default();
    let (state, order) = (disk.state(), Order::default());
    let before = disk.syncs();
    waiting(&state, "a", 1, &order).await.await.unwrap();
    assert!(disk.syncs() > before);

    disk.fail(Some(ErrorKind::StorageFull));
    let (one, two) = (waiting(&state, "a", 2, &order).await, waiting(&state, "b", 3, &order).await);
    for refused in [one.await, two.await] {
        assert!(matches!(refused, Err(StateError::Full { .. })), "{refused:?}");
    }
    disk.fail(None);
    waiting(&state, "b", 4, &order).await.await.unwrap();
}

#[tokio::test]
async fn a_write_that_is_refused_leaves_the_others_of_its_commit_alone() {
    let (state, order) = (State::open(None), Order::default());
    let (end, first) = occupied(&state).await;
    let one = waiting(&state, "a", 1, &order).await;
    let refusing = state.clone();
    let mut refused: BoxFuture<'static, _> =
        Box::pin(async move { refusing.write(&owner("b"), 8, |_| Ok(Err::<(), _>("no"))).await });
    assert!(matches!(poll!(&mut refused), Poll::Pending));
    let two = waiting(&state, "c", 2, &order).await;

    drop(end);
    first.await.unwrap();

    assert_eq!(refused.await.unwrap(), Err("no"));
    join_all([one, two]).await.into_iter().for_each(Result::unwrap);
    let kept = state.read(|read| Ok(read.open_table(NUMBERS)?.get(2)?.map(|value| value.value()))).await;
    assert_eq!(kept.unwrap(), Some(2));
}

fn nothing() -> (Box<dyn Write>, oneshot::Receiver<Written<(), ()>>) {
    write(|_| Ok(Ok(())))
}

#[test]
fn a_commit_ends_after_a_mebibyte() {
    let commits = Commits::default();
    let mut turn = commits.add(&owner("a"), 1 << 20, nothing().0).unwrap();
    for _ in 0..2 {
        assert!(commits.add(&owner("a"), 1 << 19, nothing().0).is_none(), "one turn at a time");
    }
    assert!(commits.add(&owner("b"), 8, nothing().0).is_none());

    let sizes: Vec<usize> = std::iter::from_fn(|| turn.next().map(|writes| writes.len())).collect();

    assert_eq!(sizes, [1, 3], "the second takes those of both owners");
    assert!(commits.add(&owner("a"), 8, nothing().0).is_some(), "the turn is over");
}

#[test]
fn a_turn_that_ends_early_fails_what_waits_and_blocks_nothing() {
    let commits = Commits::default();
    let (write, mut result) = nothing();
    let turn = commits.add(&owner("a"), 8, write).unwrap();

    drop(turn);

    assert!(matches!(result.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    assert!(commits.add(&owner("a"), 8, nothing().0).is_some());
}
