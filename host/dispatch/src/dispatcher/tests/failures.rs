use super::*;

fn fails_until(attempt: u32) -> impl Fn(Delivery) -> BoxFuture<'static, Outcome> {
    move |delivery| if delivery.attempt < attempt { answer(failed()) } else { ok() }
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_made_again_after_growing_waits_until_it_succeeds() {
    let handler = Handler::new(fails_until(4));
    let Running { queue, handle: _handle, .. } = run(2, &handler);
    queue.offer(added("web", "a1", Cause::Live));

    until_settled(&queue).await;

    assert_eq!(
        handler.calls(),
        ["web: +a1 #1 at 0", "web: +a1 #2 at 100", "web: +a1 #3 at 300", "web: +a1 #4 at 700"]
    );
    let stats = queue.stats();
    assert_eq!((stats.delivered, stats.retried, stats.acknowledged, stats.dead), (4, 3, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_handlers_own_wish_replaces_the_backoff() {
    let handler = Handler::new(|delivery| match delivery.attempt {
        1 => answer(Outcome::Retry {
            after: Some(Duration::from_secs(7)),
            failure: Failure::new(FailureKind::Handler, "later"),
        }),
        _ => ok(),
    });
    let Running { queue, handle: _handle, .. } = run(1, &handler);
    queue.offer(added("web", "a1", Cause::Live));

    until_settled(&queue).await;

    assert_eq!(handler.calls(), ["web: +a1 #1 at 0", "web: +a1 #2 at 7000"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_waits_for_its_retry_delays_no_other() {
    let handler = Handler::new(|delivery| match delivery.notification.change.object().name() {
        "bad" => answer(failed()),
        _ => ok(),
    });
    let Running { queue, handle: _handle, .. } = run(1, &handler);
    for name in ["bad", "good", "fine"] {
        queue.offer(added(name, "a1", Cause::Live));
    }

    sleep(Duration::from_millis(50)).await;

    assert_eq!(handler.calls(), ["bad: +a1 #1 at 0", "good: +a1 #1 at 0", "fine: +a1 #1 at 0"]);
}

#[tokio::test(start_paused = true)]
async fn after_the_last_attempt_it_is_a_dead_letter_until_newer_state_succeeds() {
    let handler = Handler::new(|delivery| match delivery.notification.change.object().resource_version() {
        "a1" => answer(failed()),
        _ => ok(),
    });
    let Running { queue, handle: _handle, .. } = run(1, &handler);
    queue.offer(added("web", "a1", Cause::Live));
    until_settled(&queue).await;

    let letters = queue.dead_letters().list();
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].attempts, letters[0].failure.message.as_str()), (4, "no"));
    assert_eq!(handler.calls().last().unwrap(), "web: +a1 #4 at 700");

    queue.offer(updated("web", "a1", "a2", Cause::Live));
    until_settled(&queue).await;
    assert_eq!(queue.dead_letters().list(), []);
    assert!(handler.calls().last().unwrap().starts_with("web: a1>a2 #1"));
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_is_a_dead_letter_after_one_call() {
    let failure = Failure::new(FailureKind::Handler, "never");
    let handler = Handler::new(move |_| answer(Outcome::Permanent { failure: failure.clone() }));
    let Running { queue, handle: _handle, .. } = run(1, &handler);
    queue.offer(deleted("web", "a1", false));

    until_settled(&queue).await;

    assert_eq!(handler.calls().len(), 1);
    assert_eq!((queue.dead_letters().list()[0].verb, queue.stats().dead), ("delete", 1));
}

/// Scenario 93.
#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_fails_that_call_only() {
    for panics_at_once in [true, false] {
        let handler = Handler::new(move |delivery| {
            if delivery.notification.change.object().name() != "bad" {
                return ok();
            }
            assert!(!panics_at_once, "out of {}", "order");
            Box::pin(async {
                tokio::task::yield_now().await;
                panic!("out of order")
            })
        });
        let Running { queue, handle: _handle, .. } = run(1, &handler);
        queue.offer(added("bad", "a1", Cause::Live));
        queue.offer(added("good", "a1", Cause::Live));

        until_settled(&queue).await;

        let letter = &queue.dead_letters().list()[0];
        assert_eq!(letter.failure.kind, FailureKind::Host);
        assert_eq!(letter.failure.message, "the handler panicked: out of order");
        assert_eq!((letter.attempts, queue.stats().acknowledged), (4, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn newer_state_is_tried_at_once_after_the_floor_instead_of_waiting_for_the_backoff() {
    let handler = Handler::new(|delivery| match delivery.notification.change.object().resource_version() {
        "a2" => answer(failed()),
        _ => ok(),
    });
    let Running { queue, handle: _handle, .. } = run(1, &handler);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    sleep(Duration::from_millis(350)).await;
    // The third attempt failed at 300 and the fourth would be at 700.
    queue.offer(updated("web", "a2", "a3", Cause::Live));

    until_settled(&queue).await;

    assert_eq!(handler.calls()[2..], ["web: a1>a2 #3 at 300", "web: a1>a3 #4 at 400"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_changes_all_the_time_and_always_fails_neither_spins_nor_goes_unnoticed() {
    let handler = Handler::new(|_| answer(failed()));
    let Running { queue, handle: _handle, .. } = run(4, &handler);
    for state in 1..=1000 {
        queue.offer(updated("web", &format!("a{}", state - 1), &format!("a{state}"), Cause::Live));
        sleep(Duration::from_millis(1)).await;
    }

    // Four attempts a hundred milliseconds apart, then a dead letter and the next state at once.
    let stats = queue.stats();
    assert!(stats.delivered <= 14, "{stats:?}");
    assert!((2..=4).contains(&stats.dead), "{stats:?}");
}
