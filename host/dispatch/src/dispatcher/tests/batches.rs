use super::*;

/// Answers batches by the names of their objects, and notes the names of each call.
#[derive(Default)]
struct Batches {
    /// A call with one of these objects panics.
    poison: &'static [&'static str],
    /// The first attempt for one of these objects fails.
    flaky: &'static [&'static str],
    log: Mutex<Vec<String>>,
}

impl Batches {
    fn call(&self, deliveries: &[Delivery]) -> Vec<Outcome> {
        let name = |delivery: &Delivery| delivery.notification.change.object().name().to_owned();
        let names: Vec<_> = deliveries.iter().map(name).collect();
        self.log.lock().push(names.join(" "));
        assert!(!names.iter().any(|name| self.poison.contains(&name.as_str())), "poison");
        let fails = |delivery: &&Delivery, name: &String| {
            delivery.attempt == 1 && self.flaky.contains(&name.as_str())
        };
        let outcomes = deliveries.iter().zip(&names);
        outcomes
            .map(|(delivery, name)| if fails(&delivery, name) { failed() } else { Outcome::Acknowledged })
            .collect()
    }

    fn calls(&self) -> Vec<String> {
        self.log.lock().clone()
    }
}

impl EventHandler for Batches {
    fn takes_batches(&self) -> bool {
        true
    }

    async fn handle(&self, delivery: Delivery) -> Option<Outcome> {
        self.call(&[delivery]).pop()
    }

    async fn handle_batch(&self, deliveries: Vec<Delivery>) -> Option<Result<Vec<Outcome>, Failure>> {
        assert!(deliveries.len() > 1, "one notification is no batch");
        Some(Ok(self.call(&deliveries)))
    }
}

fn offer(queue: &Queue, names: &[&str]) {
    names.iter().for_each(|name| queue.offer(added(name, "a1", Cause::Live)));
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_what_is_ready_up_to_the_limit_and_waits_for_nothing() {
    let handler = Arc::new(Batches::default());
    let Running { queue, handle: _handle, .. } = run(1, &handler);
    offer(&queue, &["a", "b", "c", "d"]);
    until_settled(&queue).await;
    offer(&queue, &["e"]);
    until_settled(&queue).await;

    assert_eq!(handler.calls(), ["a b c", "d", "e"]);
    let stats = queue.stats();
    assert_eq!((stats.delivered, stats.acknowledged, stats.retried), (5, 5, 0));
}

#[tokio::test(start_paused = true)]
async fn a_notification_that_fails_is_retried_and_the_others_of_its_call_are_not() {
    let handler = Arc::new(Batches { flaky: &["b"], ..Batches::default() });
    let Running { queue, handle: _handle, .. } = run(1, &handler);
    offer(&queue, &["a", "b", "c"]);
    until_settled(&queue).await;

    assert_eq!(handler.calls(), ["a b c", "b"]);
    let stats = queue.stats();
    assert_eq!((stats.delivered, stats.acknowledged, stats.retried), (4, 3, 1));
}

#[tokio::test(start_paused = true)]
async fn after_a_call_that_fails_as_a_whole_each_object_is_delivered_alone() {
    let handler = Arc::new(Batches { poison: &["b"], ..Batches::default() });
    let Running { queue, handle: _handle, .. } = run(1, &handler);
    offer(&queue, &["a", "b", "c"]);
    until(&queue, |stats| stats.dead == 1).await;
    offer(&queue, &["d", "e"]);
    until_settled(&queue).await;

    // The failed batch was no attempt. Attempts 2 to 4 of `b` follow the backoff.
    assert_eq!(handler.calls(), ["a b c", "a", "b", "c", "b", "b", "b", "d e"]);
    let letters = queue.dead_letters().list();
    assert_eq!((letters.len(), letters[0].attempts), (1, 4));
    let stats = queue.stats();
    assert_eq!((stats.acknowledged, stats.dead, stats.given_back), (4, 1, 3));
}

#[tokio::test(start_paused = true)]
async fn newer_state_of_an_object_that_is_delivered_alone_goes_alone_too() {
    let handler = Arc::new(Batches { poison: &["b"], ..Batches::default() });
    let Running { queue, handle: _handle, .. } = run(1, &handler);
    offer(&queue, &["a", "b"]);
    until(&queue, |stats| stats.acknowledged == 1 && stats.retried == 1).await;
    queue.offer(updated("b", "a1", "a2", Cause::Live));
    offer(&queue, &["c", "d"]);
    until(&queue, |stats| stats.dead == 1).await;

    let calls = handler.calls();
    assert_eq!(
        calls.iter().filter(|call| call.contains(' ')).collect::<Vec<_>>(),
        ["a b", "c d"],
        "{calls:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_batch_whose_worker_ends_is_given_back_and_delivered_by_the_next_one() {
    struct Never;
    impl EventHandler for Never {
        fn takes_batches(&self) -> bool {
            true
        }
        async fn handle(&self, _: Delivery) -> Option<Outcome> {
            None
        }
        async fn handle_batch(&self, _: Vec<Delivery>) -> Option<Result<Vec<Outcome>, Failure>> {
            std::future::pending().await
        }
    }
    let Running { queue, handle, .. } = run(1, &Arc::new(Never));
    offer(&queue, &["a", "b", "c"]);
    until(&queue, |stats| stats.in_flight == 3).await;
    drop(handle);
    until(&queue, |stats| stats.in_flight == 0).await;

    let handler = Arc::new(Batches::default());
    let _handle =
        Dispatcher::spawn(config(1), queue.clone(), Arc::clone(&handler), &CancellationToken::new());
    until_settled(&queue).await;
    assert_eq!(handler.calls(), ["a b c"]);
}
