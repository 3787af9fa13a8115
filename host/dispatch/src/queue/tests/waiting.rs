use std::task::Poll;

use futures::poll;

use super::*;

#[tokio::test]
async fn an_offer_wakes_a_waiting_worker() {
    let queue = queue();
    let mut next = pin!(queue.next());
    assert!(poll!(&mut next).is_pending());

    queue.offer(added("web", "a1", Cause::Live));

    let Poll::Ready(Some((_, delivery))) = poll!(&mut next) else { panic!("it still waits") };
    assert_eq!(seen(&delivery), "web: +a1");
}

#[tokio::test]
async fn each_offer_wakes_one_waiting_worker() {
    let queue = queue();
    let (mut first, mut second) = (pin!(queue.next()), pin!(queue.next()));
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());

    queue.offer(added("a", "a1", Cause::Live));
    queue.offer(added("b", "a1", Cause::Live));

    let (Poll::Ready(Some(first)), Poll::Ready(Some(second))) = (poll!(&mut first), poll!(&mut second))
    else {
        panic!("one still waits");
    };
    assert_eq!((seen(&first.1).as_str(), seen(&second.1).as_str()), ("a: +a1", "b: +a1"));
}

#[tokio::test]
async fn a_batch_of_offers_wakes_one_worker_for_each() {
    let queue = queue();
    let (mut first, mut second) = (pin!(queue.next()), pin!(queue.next()));
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());

    let changes =
        [added("a", "a1", Cause::Live), updated("a", "a1", "a2", Cause::Live), added("b", "a1", Cause::Live)];
    let mut together = VecDeque::from(changes);
    queue.offer_all(&mut together);

    assert!(together.is_empty());
    let (Poll::Ready(Some(first)), Poll::Ready(Some(second))) = (poll!(&mut first), poll!(&mut second))
    else {
        panic!("one still waits");
    };
    assert_eq!((seen(&first.1).as_str(), seen(&second.1).as_str()), ("a: +a2", "b: +a1"));
}

#[tokio::test]
async fn a_worker_that_stops_waiting_leaves_the_object_and_its_call_to_another() {
    let queue = queue();
    let mut stays = pin!(queue.next());
    {
        let mut goes = pin!(queue.next());
        assert!(poll!(&mut goes).is_pending() && poll!(&mut stays).is_pending());
        queue.offer(added("web", "a1", Cause::Live));
    }

    assert!(poll!(&mut stays).is_ready());
}

#[tokio::test]
async fn a_settlement_wakes_a_worker_that_waits_for_the_object() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    let (lease, _) = take(&queue);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    let mut next = pin!(queue.next());
    assert!(poll!(&mut next).is_pending());

    lease.settle(Settlement::Acknowledged);

    assert!(poll!(&mut next).is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_wakes_when_a_retry_is_due() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    take(&queue).0.settle(retry(5000, 5000));
    let start = time::Instant::now();

    let next = queue.next().await;

    assert!(next.is_some());
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn newer_state_that_shortens_a_wait_wakes_a_worker() {
    let queue = queue();
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    take(&queue).0.settle(retry(60_000, 1000));
    let start = time::Instant::now();
    let mut next = pin!(queue.next());
    assert!(poll!(&mut next).is_pending());

    queue.offer(updated("web", "a2", "a3", Cause::Live));
    next.await.unwrap();

    assert_eq!(start.elapsed().as_secs(), 1);
}

#[tokio::test]
async fn waiting_workers_hear_that_the_queue_is_closed() {
    let queue = queue();
    let (mut first, mut second) = (pin!(queue.next()), pin!(queue.next()));
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());

    queue.close();

    assert!(first.await.is_none() && second.await.is_none());
    assert!(queue.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn waiting_workers_hear_that_a_pause_is_over() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    queue.pause();
    let mut next = pin!(queue.next());
    assert!(poll!(&mut next).is_pending());

    queue.resume();

    assert!(poll!(&mut next).is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_due_during_a_pause_waits_for_its_end() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    take(&queue).0.settle(retry(10, 10));
    queue.pause();
    time::advance(Duration::from_secs(1)).await;

    let mut next = pin!(queue.next());
    assert!(poll!(&mut next).is_pending());
    queue.resume();

    assert!(poll!(&mut next).is_ready());
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_quiet_when_nothing_is_in_flight_and_nothing_is_due_in_time() {
    let queue = queue();
    let later = |seconds| now() + Duration::from_secs(seconds);
    assert!(poll!(pin!(queue.quiet(later(9)))).is_ready(), "nothing was offered");

    queue.offer(added("web", "a1", Cause::Live));
    assert!(poll!(pin!(queue.quiet(later(9)))).is_pending(), "one is ready");

    let (lease, _) = take(&queue);
    let mut quiet = pin!(queue.quiet(later(9)));
    assert!(poll!(&mut quiet).is_pending(), "one is in flight");

    lease.settle(retry(10_000, 10_000));
    assert!(poll!(&mut quiet).is_ready(), "the retry is too late");
    assert!(poll!(pin!(queue.quiet(later(11)))).is_pending(), "the retry is in time");

    queue.pause();
    assert!(poll!(pin!(queue.quiet(later(11)))).is_ready(), "nothing goes out during a pause");
}
