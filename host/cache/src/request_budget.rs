//! How often the API server is asked.

use std::{num::NonZeroU32, time::Duration};

use tokio::{sync::Mutex, time::Instant};

/// One informer's Retry-After holds up all of them no longer than this.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// A token bucket, shared by every reflector of a factory: whatever hits them all at once, a restart of the API
/// server or of the host, reaches the server as `burst` requests and then `qps` a second (client-go's flow
/// control, A-13; weakness 21).
///
/// Whoever waits is served in the order of arrival.
pub(crate) struct RequestBudget {
    /// Between two requests once the burst is spent.
    interval: Duration,
    burst: u32,
    /// Held by the first in the queue while it waits.
    bucket: Mutex<Bucket>,
    paused_until: parking_lot::Mutex<Option<Instant>>,
}

/// As the moment at which the bucket is, or was, full.
struct Bucket {
    full_at: Instant,
}

// === impl RequestBudget ===

impl RequestBudget {
    pub(crate) fn new(qps: NonZeroU32, burst: NonZeroU32) -> Self {
        Self {
            interval: Duration::from_secs(1) / qps.get(),
            burst: burst.get(),
            bucket: Mutex::new(Bucket { full_at: Instant::now() }),
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
            if let Some(until) = self.pause_over(&mut bucket) {
                tokio::time::sleep_until(until).await;
                continue;
            }
            let now = Instant::now();
            let full_at = bucket.full_at.max(now) + self.interval;
            let Some(wait) = (full_at - now).checked_sub(self.capacity()).filter(|wait| !wait.is_zero())
            else {
                bucket.full_at = full_at;
                return;
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// The server wants to be left alone: nobody gets a token for so long, and afterwards there is no burst.
    pub(crate) fn pause(&self, wanted: Duration) {
        let until = Instant::now() + wanted.min(MAX_PAUSE);
        let mut paused_until = self.paused_until.lock();
        *paused_until = Some(paused_until.map_or(until, |known| known.max(until)));
    }

    /// The end of a pause that still goes on. One that is over leaves one token in the bucket.
    fn pause_over(&self, bucket: &mut Bucket) -> Option<Instant> {
        let mut paused_until = self.paused_until.lock();
        let until = (*paused_until)?;
        if until > Instant::now() {
            return Some(until);
        }
        bucket.full_at = bucket.full_at.max(until + self.capacity().saturating_sub(self.interval));
        *paused_until = None;
        None
    }

    /// How long an empty bucket takes to fill.
    fn capacity(&self) -> Duration {
        self.interval.saturating_mul(self.burst)
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

    /// When each of so many that ask at once is served, in milliseconds.
    async fn served(budget: &RequestBudget, count: usize) -> Vec<u128> {
        let start = Instant::now();
        let each = (0..count).map(async |_| {
            budget.take().await;
            start.elapsed().as_millis()
        });
        join_all(each).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_through_at_once_and_the_rest_at_the_rate_a13() {
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
    async fn a_pause_holds_everybody_up_and_then_there_is_no_burst() {
        let budget = budget(10, 3);
        budget.pause(Duration::from_secs(5));
        budget.pause(Duration::from_secs(2));

        assert_eq!(served(&budget, 3).await, [5_000, 5_100, 5_200]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_reaches_those_who_wait_already_and_has_a_bound() {
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
        #[test]
        fn in_no_time_more_than_the_burst_and_the_rate_go_out_and_nobody_waits_for_less_a13(
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
            // Timers of tokio tick in milliseconds.
            let tick = Duration::from_millis(2);

            for (last, at) in served.iter().enumerate() {
                // The burst-th request before it, and each one before that, gave it time to be refilled.
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
    async fn who_gives_up_waiting_takes_nothing_and_lets_the_next_one_in() {
        let budget = budget(1, 1);
        budget.take().await;
        let impatient = tokio::time::timeout(Duration::from_millis(500), budget.take()).await;
        assert!(impatient.is_err());

        assert_eq!(served(&budget, 2).await, [500, 1_500]);
    }
}
