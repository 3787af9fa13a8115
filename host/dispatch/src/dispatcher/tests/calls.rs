use super::*;

#[tokio::test(start_paused = true)]
async fn one_worker_calls_in_the_order_of_the_queue() {
    let handler = Handler::new(|_| ok());
    let Running { queue, handle: _handle, .. } = run(1, &handler);
    for name in ["a", "b"] {
        queue.offer(added(name, "a1", Cause::Live));
        queue.offer(updated(name, "a1", "a2", Cause::Live));
    }

    until_settled(&queue).await;

    assert_eq!(handler.calls(), ["a: +a2 #1 at 0", "b: +a2 #1 at 0"]);
}

/// As client-go, the queue merges changes of an object that is in flight and hands them out afterwards (scenario 120).
#[tokio::test(start_paused = true)]
async fn notifications_that_arrive_during_a_call_merge_and_are_delivered_after_it() {
    let handler = Handler::new(|_| slow(10));
    let Running { queue, handle: _handle, .. } = run(4, &handler);
    queue.offer(added("web", "a1", Cause::Live));
    sleep(Duration::from_millis(5)).await;
    for (old, new) in [("a1", "a2"), ("a2", "a3"), ("a3", "a4")] {
        queue.offer(updated("web", old, new, Cause::Live));
    }

    until_settled(&queue).await;

    assert_eq!(handler.calls(), ["web: +a1 #1 at 0", "web: a1>a4 #1 at 10"]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_lets_the_call_in_flight_finish_and_starts_no_other() {
    let handler = Handler::new(|_| slow(10));
    let Running { queue, handle: _handle, .. } = run(1, &handler);
    queue.offer(added("a", "a1", Cause::Live));
    queue.offer(added("b", "a1", Cause::Live));
    sleep(Duration::from_millis(5)).await;

    queue.pause();
    sleep(Duration::from_millis(995)).await;
    assert_eq!(queue.stats().acknowledged, 1);
    queue.resume();
    until_settled(&queue).await;

    assert_eq!(handler.calls(), ["a: +a1 #1 at 0", "b: +a1 #1 at 1000"]);
}

#[tokio::test]
async fn a_handler_that_is_always_ready_leaves_others_their_turn() {
    let queue = Queue::new(&QueueConfig::default());
    let refill = queue.clone();
    // Each call queues the next, so the worker never has to wait.
    let handler = Handler::new(move |delivery| {
        let name = delivery.notification.change.object().name();
        refill.offer(added(if name == "a" { "b" } else { "a" }, "a1", Cause::Live));
        ok()
    });
    let shutdown = CancellationToken::new();
    let handle = Dispatcher::spawn(config(1), queue.clone(), Arc::clone(&handler), &shutdown);
    queue.offer(added("a", "a1", Cause::Live));

    // One thread: these turns are only ours if the worker yields.
    while queue.stats().acknowledged < 1000 {
        tokio::task::yield_now().await;
    }

    handle.remove().await;
}
