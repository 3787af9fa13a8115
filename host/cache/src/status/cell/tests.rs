use super::*;

fn lag(cell: &ReflectorCell) -> Duration {
    cell.snapshot().lag
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

async fn pass(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_cache_lags_from_when_something_was_seen_until_it_is_applied() {
    let cell = ReflectorCell::new(None);
    assert_eq!(lag(&cell), Duration::ZERO);

    let first = now();
    cell.event("5");
    pass(3).await;
    assert_eq!(lag(&cell), Duration::from_secs(3));

    cell.applied("5", first);
    assert_eq!(lag(&cell), Duration::ZERO);

    // A long silence is no lag, neither before nor after the next event.
    pass(600).await;
    assert_eq!(lag(&cell), Duration::ZERO);
    cell.event("6");
    pass(1).await;
    assert_eq!(lag(&cell), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn in_a_stream_without_end_the_lag_is_that_of_what_was_applied_last() {
    let cell = ReflectorCell::new(None);
    let mut seen = Vec::new();
    for version in 1..=60 {
        seen.push(now());
        cell.event(&version.to_string());
        pass(1).await;
        // Always two behind.
        if version > 2 {
            cell.applied(&(version - 2).to_string(), seen[version - 3]);
        }
    }

    assert_eq!(lag(&cell), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn what_is_applied_before_it_is_noted_as_seen_is_no_lag() {
    let cell = ReflectorCell::new(None);

    cell.applied("5", now());
    cell.event("5");
    pass(9).await;

    assert_eq!(lag(&cell), Duration::ZERO);
}
