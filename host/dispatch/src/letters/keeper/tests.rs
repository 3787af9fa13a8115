use informer_types::{Cause, Failure, FailureKind, NotificationSink};
use tokio::{sync::Notify, time::timeout};

use super::*;
use crate::{DeadLetter, ObjectRef, Queue, QueueConfig, Settlement, testing::added};

/// A store in memory.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    letters: Vec<DeadLetter>,
    broken: bool,
    writes: usize,
    /// If set, a write goes on in a task of its own once this is notified, even if its caller is gone.
    slow: Option<Arc<Notify>>,
}

impl Disk {
    fn names(&self) -> Vec<String> {
        self.0.lock().letters.iter().map(|letter| letter.object.key.name.to_string()).collect()
    }

    fn write(&self, keep: Vec<DeadLetter>, forget: &[ObjectRef]) {
        let mut disk = self.0.lock();
        disk.letters.retain(|letter| {
            !forget.contains(&letter.object) && keep.iter().all(|new| new.object != letter.object)
        });
        disk.letters.extend(keep);
        disk.writes += 1;
    }

    fn set_broken(&self, broken: bool) {
        self.0.lock().broken = broken;
    }
}

impl DeadLetterStore<DeadLetter> for Disk {
    type Error = &'static str;

    async fn load(&self) -> Result<Vec<DeadLetter>, Self::Error> {
        let disk = self.0.lock();
        if disk.broken { Err("the disk is full") } else { Ok(disk.letters.clone()) }
    }

    async fn apply(&self, keep: Vec<DeadLetter>, forget: Vec<ObjectRef>) -> Result<(), Self::Error> {
        let slow = {
            let disk = self.0.lock();
            if disk.broken {
                return Err("the disk is full");
            }
            disk.slow.clone()
        };
        let Some(slow) = slow else {
            self.write(keep, &forget);
            return Ok(());
        };
        let disk = self.clone();
        let writing = async move {
            slow.notified().await;
            disk.write(keep, &forget);
        };
        tokio::spawn(writing).await.map_err(|_| "the write panicked")
    }
}

struct Running {
    queue: Queue,
    keeper: Arc<DeadLetterKeeper<Disk, DeadLetter>>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

fn start(disk: &Disk) -> Running {
    let queue = Queue::new(&QueueConfig::default());
    let keeper = DeadLetterKeeper::new(queue.dead_letters(), disk.clone());
    let stop = CancellationToken::new();
    let (running, token) = (Arc::clone(&keeper), stop.clone());
    let task = tokio::spawn(async move { running.run(token).await });
    Running { queue, keeper, stop, task }
}

fn give_up(queue: &Queue, name: &str) {
    queue.offer(added(name, "a1", Cause::Live));
    let failure = Failure::new(FailureKind::Handler, "no");
    queue.take().unwrap().0.settle(Settlement::Permanent { failure });
}

fn deliver(queue: &Queue, name: &str) {
    queue.offer(added(name, "a1", Cause::Replay));
    queue.take().unwrap().0.settle(Settlement::Acknowledged);
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let reached = timeout(Duration::from_secs(60), async {
        while !condition() {
            sleep(Duration::from_millis(1)).await;
        }
    });
    assert!(reached.await.is_ok(), "{what}");
}

#[tokio::test(start_paused = true)]
async fn given_up_notifications_are_stored_and_delivered_or_dropped_ones_are_removed() {
    let disk = Disk::default();
    let Running { queue, .. } = start(&disk);
    for name in ["a", "b", "c"] {
        give_up(&queue, name);
    }
    until("three on disk", || disk.names().len() == 3).await;

    deliver(&queue, "a");
    queue.dead_letters().drop_if(|object| &*object.key.name == "b");

    until("one on disk", || disk.names() == ["c"]).await;
}

#[tokio::test(start_paused = true)]
async fn letters_of_an_earlier_process_are_restored_and_a_newer_letter_wins() {
    let disk = Disk::default();
    let first = start(&disk);
    give_up(&first.queue, "a");
    give_up(&first.queue, "b");
    first.stop.cancel();
    first.task.await.unwrap();
    assert_eq!(disk.names(), ["a", "b"], "kept at the stop, however early it came");
    let old = disk.0.lock().letters[0].clone();

    let second = start(&disk);
    give_up(&second.queue, "a");

    until("both in the list", || second.queue.dead_letters().list().len() == 2).await;
    let letters = second.queue.dead_letters().list();
    let of = |name: &str| letters.iter().find(|letter| &*letter.object.key.name == name).unwrap().clone();
    assert_ne!(of("a").at, old.at);
    assert_eq!(second.queue.stats().dead, 1, "what was given up before is not counted again");
    until("the newer one on disk", || disk.0.lock().letters.contains(&of("a"))).await;
    deliver(&second.queue, "b");
    until("the old one gone", || disk.names() == ["a"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_shown_and_tried_again_and_nothing_is_lost_meanwhile() {
    let disk = Disk::default();
    let Running { queue, keeper, .. } = start(&disk);
    give_up(&queue, "a");
    until("the first on disk", || disk.names() == ["a"]).await;

    disk.set_broken(true);
    give_up(&queue, "b");
    until("a problem", || keeper.problem().is_some()).await;
    give_up(&queue, "c");
    deliver(&queue, "a");
    assert_eq!(keeper.problem().unwrap(), "the disk is full");
    assert_eq!(queue.dead_letters().list().len(), 2);

    disk.set_broken(false);
    until("the list on disk", || disk.names() == ["b", "c"]).await;
    assert_eq!(keeper.problem(), None);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_read_at_first_is_not_overwritten() {
    let disk = Disk::default();
    let first = start(&disk);
    give_up(&first.queue, "a");
    first.stop.cancel();
    first.task.await.unwrap();

    disk.set_broken(true);
    let second = start(&disk);
    give_up(&second.queue, "b");
    until("a problem", || second.keeper.problem().is_some()).await;
    disk.set_broken(false);

    until("both on disk", || disk.names() == ["a", "b"]).await;
    assert_eq!(second.queue.dead_letters().list().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_letters_is_few_writes() {
    let disk = Disk::default();
    let Running { queue, .. } = start(&disk);
    for number in 0..500 {
        give_up(&queue, &number.to_string());
    }

    until("all on disk", || disk.names().len() == 500).await;
    assert!(disk.0.lock().writes < 10, "{} writes", disk.0.lock().writes);
}

#[tokio::test(start_paused = true)]
async fn a_write_under_way_at_the_stop_is_waited_for_and_does_not_come_last() {
    let disk = Disk::default();
    let slow = Arc::new(Notify::new());
    disk.0.lock().slow = Some(Arc::clone(&slow));
    let Running { queue, stop, mut task, .. } = start(&disk);
    give_up(&queue, "a");
    // The write has begun, and waits.
    sleep(Duration::from_millis(1)).await;

    deliver(&queue, "a");
    stop.cancel();
    // Whatever follows is quick.
    disk.0.lock().slow = None;
    let ended = timeout(Duration::from_secs(1), &mut task).await;
    slow.notify_one();
    until("the first write", || disk.0.lock().writes > 0).await;
    assert!(ended.is_err(), "it ended before its own write did");
    task.await.unwrap();

    assert_eq!(disk.names(), [""; 0], "it was delivered");
}

#[tokio::test(start_paused = true)]
async fn letters_delivered_or_dropped_before_the_store_is_read_do_not_come_back() {
    let disk = Disk::default();
    let first = start(&disk);
    for name in ["a", "b", "c"] {
        give_up(&first.queue, name);
    }
    first.stop.cancel();
    first.task.await.unwrap();

    disk.set_broken(true);
    let second = start(&disk);
    until("a problem", || second.keeper.problem().is_some()).await;
    deliver(&second.queue, "a");
    give_up(&second.queue, "b");
    second.queue.dead_letters().drop_if(|object| &*object.key.name == "b");
    disk.set_broken(false);

    until("the third alone on disk", || disk.names() == ["c"]).await;
    assert_eq!(second.queue.dead_letters().list().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn letters_that_a_smaller_bound_drives_out_are_forgotten_on_disk_too() {
    let disk = Disk::default();
    let Running { queue, .. } = start(&disk);
    give_up(&queue, "a");
    give_up(&queue, "b");
    until("two on disk", || disk.names().len() == 2).await;

    let dead_letters = std::num::NonZeroUsize::MIN;
    queue.configure(&QueueConfig { dead_letters, ..QueueConfig::default() });

    until("one on disk", || disk.names() == ["b"]).await;
}
