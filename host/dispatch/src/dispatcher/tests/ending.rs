use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};

use informer_types::Source;

use super::*;

fn names(backlog: &Backlog) -> Vec<String> {
    let mut names: Vec<String> = backlog.objects.iter().map(|object| object.key.name.to_string()).collect();
    names.sort();
    names
}

/// Scenario 121.
#[tokio::test(start_paused = true)]
async fn draining_delivers_everything_pending_including_retries_and_ends() {
    let handler = Handler::new(|delivery| if delivery.attempt == 1 { answer(failed()) } else { slow(10) });
    let Running { queue, handle, .. } = run(1, &handler);
    for name in ["a", "b", "c"] {
        queue.offer(added(name, "a1", Cause::Live));
    }
    let start = Instant::now();

    let left = handle.drain(Duration::from_secs(25)).await;

    assert_eq!((left.notifications, queue.stats().acknowledged), (0, 3));
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

/// Scenario 121.
#[tokio::test(start_paused = true)]
async fn at_the_deadline_draining_drops_the_call_in_flight_and_names_what_is_left() {
    let handler = Handler::new(|_| slow(10_000));
    let Running { queue, handle, .. } = run(1, &handler);
    for name in ["a", "b"] {
        queue.offer(added(name, "a1", Cause::Live));
    }
    let start = Instant::now();

    let left = handle.drain(Duration::from_secs(2)).await;

    assert_eq!(start.elapsed().as_secs(), 2);
    assert_eq!((left.notifications, names(&left)), (2, vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!((queue.stats().discarded, queue.stats().in_flight), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn draining_does_not_wait_for_a_retry_beyond_the_deadline() {
    let handler = Handler::new(|_| {
        let failure = Failure::new(FailureKind::Handler, "in an hour");
        answer(Outcome::Retry { after: Some(Duration::from_secs(3600)), failure })
    });
    let Running { queue, handle, .. } = run(1, &handler);
    queue.offer(added("web", "a1", Cause::Live));
    let start = Instant::now();

    let left = handle.drain(Duration::from_secs(25)).await;

    assert_eq!(names(&left), ["web"]);
    assert_eq!(start.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn draining_does_not_wait_for_a_plugin_that_is_paused() {
    let handler = Handler::new(|_| ok());
    let Running { queue, handle, .. } = run(1, &handler);
    queue.pause();
    queue.offer(added("web", "a1", Cause::Live));
    let start = Instant::now();

    let left = handle.drain(Duration::from_secs(25)).await;

    assert_eq!((names(&left), start.elapsed().as_secs()), (vec!["web".to_owned()], 0));
    assert_eq!(handler.calls(), Vec::<String>::new());
}

/// Removing finishes the call in flight and discards the backlog (D-10).
///
/// Scenario 94.
#[tokio::test(start_paused = true)]
async fn removing_finishes_the_call_in_flight_and_discards_the_backlog() {
    let handler = Handler::new(|_| slow(1000));
    let Running { queue, handle, .. } = run(1, &handler);
    queue.offer(added("a", "a1", Cause::Live));
    sleep(Duration::from_millis(1)).await;
    queue.offer(updated("a", "a1", "a2", Cause::Live));
    queue.offer(added("b", "a1", Cause::Live));

    let left = handle.remove().await;

    assert_eq!(handler.calls(), ["a: +a1 #1 at 0"]);
    assert_eq!((left.notifications, names(&left)), (2, vec!["a".to_owned(), "b".to_owned()]));
    let stats = queue.stats();
    assert_eq!((stats.acknowledged, stats.discarded, stats.objects), (1, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn removing_does_not_try_a_failing_call_again() {
    let handler = Handler::new(|_| {
        Box::pin(async {
            sleep(Duration::from_millis(100)).await;
            failed()
        })
    });
    let Running { queue, handle, .. } = run(1, &handler);
    queue.offer(added("web", "a1", Cause::Live));
    sleep(Duration::from_millis(1)).await;

    handle.remove().await;

    assert_eq!((handler.calls().len(), queue.stats().discarded), (1, 1));
}

/// Notes that it was dropped before its end.
struct Cut(Arc<AtomicBool>);

impl Drop for Cut {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn endless(cut: &Arc<AtomicBool>) -> Arc<impl EventHandler + use<>> {
    let cut = Arc::clone(cut);
    Handler::new(move |_| {
        let cut = Cut(Arc::clone(&cut));
        Box::pin(async move {
            std::future::pending::<()>().await;
            drop(cut);
            Outcome::Acknowledged
        })
    })
}

#[tokio::test(start_paused = true)]
async fn cancelling_drops_the_call_in_flight_and_keeps_its_notification_in_the_queue() {
    let cut = Arc::new(AtomicBool::new(false));
    let Running { queue, handle, shutdown } = run(2, &endless(&cut));
    queue.offer(added("web", "a1", Cause::Live));
    until(&queue, |stats| stats.in_flight == 1).await;

    shutdown.cancel();
    until(&queue, |stats| stats.in_flight == 0).await;

    assert!(cut.load(Ordering::SeqCst));
    assert_eq!((queue.stats().pending, queue.stats().given_back), (1, 1));
    let left = handle.drain(Duration::from_secs(25)).await;
    assert_eq!(names(&left), ["web"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_handle_ends_the_workers() {
    let cut = Arc::new(AtomicBool::new(false));
    let Running { queue, handle, .. } = run(2, &endless(&cut));
    queue.offer(added("web", "a1", Cause::Live));
    until(&queue, |stats| stats.in_flight == 1).await;

    drop(handle);

    until(&queue, |stats| stats.in_flight == 0).await;
    assert!(cut.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn a_backlog_is_delivered_by_the_next_dispatcher_of_the_queue() {
    let cut = Arc::new(AtomicBool::new(false));
    let Running { queue, shutdown, handle: _ended } = run(1, &endless(&cut));
    queue.offer(added("web", "a1", Cause::Live));
    until(&queue, |stats| stats.in_flight == 1).await;
    shutdown.cancel();
    until(&queue, |stats| stats.in_flight == 0).await;

    let handler = Handler::new(|_| ok());
    let _handle =
        Dispatcher::spawn(config(1), queue.clone(), Arc::clone(&handler), &CancellationToken::new());
    until_settled(&queue).await;

    assert!(handler.calls()[0].starts_with("web: +a1 #2"), "{:?}", handler.calls());
}

#[tokio::test(start_paused = true)]
async fn draining_delivers_objects_that_are_not_quiet_yet() {
    let handler = Handler::new(|_| slow(10));
    let Running { queue, handle, .. } = run(1, &handler);
    let settle = BTreeMap::from([(Source::new("v1/pods".parse().unwrap()), Duration::from_secs(60))]);
    queue.configure(&QueueConfig { settle, ..QueueConfig::default() });
    queue.offer(added("web", "a1", Cause::Live));
    let start = Instant::now();

    let left = handle.drain(Duration::from_secs(25)).await;

    assert_eq!((left.notifications, queue.stats().acknowledged), (0, 1));
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}
