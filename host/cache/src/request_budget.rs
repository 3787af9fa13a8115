//! Limits how often the informers of one factory send requests to the API server.

use std::{num::NonZeroU32, time::Duration};

use informer_types::TokenBucket;
use tokio::{sync::Mutex, time::Instant};

/// The longest pause. A server that asks one informer for a longer one does not hold up all of them for that long.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// A token bucket that all reflectors of a factory share: `burst` requests at once, then `qps` a second, as client-go's
/// flow control. After a restart of the API server or of the host, when all reflectors start at once, the server
/// receives no more than that.
///
/// Callers that wait are served in the order of arrival.
pub(crate) struct RequestBudget {
    /// The first caller in the queue holds the lock while it waits.
    bucket: Mutex<TokenBucket>,
    paused_until: parking_lot::Mutex<Option<Instant>>,
}

// === impl RequestBudget ===

impl RequestBudget {
    pub(crate) fn new(qps: NonZeroU32, burst: NonZeroU32) -> Self {
        Self {
            bucket: Mutex::new(TokenBucket::new(qps.get().into(), burst.get().into())),
            paused_until: parking_lot::Mutex::default(),
        }
    }

    /// Waits for a token and takes it.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub(crate) async fn take(&self) {
        let mut bucket = self.bucket.lock().await;
        loop {
            if let Some(until) = self.end_of_pause(&mut bucket) {
                tokio::time::sleep_until(until).await;
                continue;
            }
            let now = Instant::now().into_std();
            if bucket.take(now) {
                return;
            }
            tokio::time::sleep_until(bucket.next(now).into()).await;
        }
    }

    /// Stops all requests for `wanted`, because the server asked for it. No burst follows the pause.
    pub(crate) fn pause(&self, wanted: Duration) {
        let until = Instant::now() + wanted.min(MAX_PAUSE);
        let mut paused_until = self.paused_until.lock();
        *paused_until = Some(paused_until.map_or(until, |earlier| earlier.max(until)));
    }

    /// The end of a pause that is not over. A pause that is over leaves at most one token in the bucket.
    fn end_of_pause(&self, bucket: &mut TokenBucket) -> Option<Instant> {
        let mut paused_until = self.paused_until.lock();
        let until = (*paused_until)?;
        if until > Instant::now() {
            return Some(until);
        }
        *paused_until = None;
        let end = until.into_std();
        if bucket.next(end) == end {
            bucket.set_tokens(1.0, end);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::join_all;
    use proptest::prelude::*;

    use super::*;

    fn budget(qps: u32, burst: u32) -> Arc<RequestBudget> {
        Arc::new(RequestBudget::new(qps.try_into().unwrap(), burst.try_into().unwrap()))
    }

    /// Sends `count` requests at once and returns when each of them is served, in milliseconds.
    async fn served(budget: &RequestBudget, count: usize) -> Vec<u128> {
        let start = Instant::now();
        let each = (0..count).map(async |_| {
            budget.take().await;
            start.elapsed().as_millis()
        });
        join_all(each).await
    }

    /// A burst of requests is sent at once, and the rest at the sustained rate.
    #[tokio::test(start_paused = true)]
    async fn a_burst_is_served_at_once_and_the_rest_at_the_rate() {
        let budget = budget(10, 3);

        assert_eq!(served(&budget, 6).await, [0, 0, 0, 100, 200, 300]);
    }

    #[tokio::test(start_paused = true)]
    async fn time_without_requests_fills_the_bucket_up_to_the_burst() {
        let budget = budget(10, 3);
        served(&budget, 3).await;
        tokio::time::advance(Duration::from_millis(200)).await;
        assert_eq!(served(&budget, 3).await, [0, 0, 100]);

        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(served(&budget, 4).await, [0, 0, 0, 100]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_is_served_during_a_pause_and_no_burst_follows_it() {
        let budget = budget(10, 3);
        budget.pause(Duration::from_secs(5));
        budget.pause(Duration::from_secs(2));

        assert_eq!(served(&budget, 3).await, [5_000, 5_100, 5_200]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_up_requests_that_wait_already_and_is_bounded() {
        let budget = budget(1, 1);
        budget.take().await;
        let waiting = tokio::spawn({
            let budget = Arc::clone(&budget);
            async move { served(&budget, 1).await }
        });
        tokio::task::yield_now().await;

        budget.pause(Duration::MAX);

        assert_eq!(waiting.await.unwrap(), [30_000]);
    }

    proptest! {
        /// No period has more requests than the burst and the rate allow, and no request waits longer than it has to
        ///
        #[test]
        fn requests_are_served_exactly_when_the_burst_and_the_rate_allow_it(
            qps in 1..50_u32,
            burst in 1..10_usize,
            gaps in prop::collection::vec(0..400_u64, 1..60),
        ) {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_time().start_paused(true).build().unwrap();
            let (asked, served): (Vec<Duration>, Vec<Duration>) = runtime.block_on(async {
                let budget = budget(qps, burst as u32);
                let start = Instant::now();
                let mut at = Duration::ZERO;
                let each = gaps.iter().map(|gap| {
                    at += Duration::from_millis(*gap);
                    let (asked, budget) = (at, &budget);
                    async move {
                        tokio::time::sleep_until(start + asked).await;
                        budget.take().await;
                        (asked, start.elapsed())
                    }
                });
                join_all(each).await.into_iter().unzip()
            });
            let interval = Duration::from_secs(1) / qps;
            // Tokio's timers have a resolution of one millisecond.
            let tick = Duration::from_millis(2);

            for (last, at) in served.iter().enumerate() {
                // The bucket was refilled since the burst-th request before this one, and since each earlier one.
                let due = (0..last).rev().skip(burst - 1).map(|first| {
                    served[first] + interval * u32::try_from(last - first - burst + 1).unwrap()
                });
                let due = due.max().unwrap_or_default().max(asked[last]);
                prop_assert!(*at + Duration::from_micros(1) >= due, "{last}: {at:?}, due {due:?}");
                prop_assert!(*at <= due + tick * (last as u32 + 1), "{last}: {at:?}, due {due:?}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_stops_waiting_takes_no_token() {
        let budget = budget(1, 1);
        budget.take().await;
        let impatient = tokio::time::timeout(Duration::from_millis(500), budget.take()).await;
        assert!(impatient.is_err());

        assert_eq!(served(&budget, 2).await, [500, 1_500]);
    }
}
