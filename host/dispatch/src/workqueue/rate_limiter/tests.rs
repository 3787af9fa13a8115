use super::*;

const MS: Duration = Duration::from_millis(1);

fn key(name: &str) -> Arc<str> {
    name.into()
}

fn waits(limiter: &mut RateLimiter, name: &str, times: usize) -> Vec<u128> {
    let now = Instant::now();
    (0..times).map(|_| limiter.when(&key(name), now).as_millis()).collect()
}

/// Each failure of a key doubles its wait, and forgetting the key resets it (W-9, W-10, W-12).
///
/// Scenario 124 (TestItemExponentialFailureRateLimiter).
#[test]
fn each_failure_of_a_key_doubles_its_wait_and_forgetting_resets_it() {
    let mut limiter = RateLimiter::exponential(MS, 1_000 * MS);

    assert_eq!(waits(&mut limiter, "one", 5), [1, 2, 4, 8, 16]);
    assert_eq!(limiter.num_requeues("one"), 5);
    assert_eq!(waits(&mut limiter, "two", 2), [1, 2]);
    assert_eq!(limiter.num_requeues("two"), 2);
    limiter.forget("one");
    assert_eq!(limiter.num_requeues("one"), 0);
    assert_eq!(waits(&mut limiter, "one", 1), [1]);
    assert_eq!(limiter.num_requeues("two"), 2);
}

/// A wait that overflows is the longest one (W-10).
///
/// Scenario 124 (TestItemExponentialFailureRateLimiterOverFlow).
#[test]
fn a_wait_that_overflows_is_the_longest_one() {
    let mut limiter = RateLimiter::exponential(MS, 1_000_000 * MS);

    let waits = waits(&mut limiter, "one", 200);
    assert_eq!(waits[19], 524_288);
    assert!(waits[20..].iter().all(|wait| *wait == 1_000_000));
    let half = Duration::from_secs(1 << 62);
    let mut long = RateLimiter::exponential(half, Duration::MAX);
    let now = Instant::now();
    assert_eq!(long.when(&key("one"), now), half);
    (0..100).for_each(|_| assert!(long.when(&key("one"), now) > half));
}

/// Combined limiters wait as long as the strictest one, and each is called (W-11).
///
/// Scenario 124 (TestMaxOfRateLimiter).
#[test]
fn combined_limiters_wait_as_long_as_the_strictest_and_each_is_called() {
    let mut limiter = RateLimiter::exponential(5 * MS, 20 * MS).and(RateLimiter::exponential(MS, 1_000 * MS));

    assert_eq!(waits(&mut limiter, "one", 6), [5, 10, 20, 20, 20, 32]);
    assert_eq!(limiter.num_requeues("one"), 6);
    limiter.forget("one");
    assert_eq!(limiter.num_requeues("one"), 0);
    assert_eq!(waits(&mut limiter, "one", 1), [5]);
}

/// client-go's bucket limiter behaves like this (scenario 124, W-9).
#[test]
fn the_bucket_lets_a_burst_through_and_then_its_rate_and_is_full_again_after_a_while() {
    let mut limiter = RateLimiter::bucket(10.0, NonZeroU32::new(3).unwrap());
    let start = Instant::now();
    let mut at = |millis: u32| limiter.when(&key("any"), start + millis * MS).as_millis();

    assert_eq!([at(0), at(0), at(0), at(0), at(0)], [0, 0, 0, 100, 200]);
    // Half a second brings five tokens; two of them are spent.
    assert_eq!([at(500), at(500), at(500), at(500)], [0, 0, 0, 100]);
    assert_eq!([at(100_000), at(100_000), at(100_000), at(100_000)], [0, 0, 0, 100]);
}

/// The default limiter combines a backoff for each key with one bucket for all keys (W-9).
///
/// Scenario 124, W-9: 5 ms doubled up to 1000 s, and 10 a second with 100 at once.
#[test]
fn the_default_limiter_combines_a_backoff_per_key_with_one_bucket_for_all() {
    let burst = NonZeroU32::new(100).unwrap();
    let mut limiter = RateLimiter::default_controller(5 * MS, 1_000_000 * MS, 10.0, burst);
    let now = Instant::now();

    for number in 0..100 {
        assert_eq!(limiter.when(&key(&number.to_string()), now), 5 * MS, "{number}");
    }
    assert_eq!(limiter.when(&key("101"), now), 100 * MS);
    assert_eq!(limiter.when(&key("102"), now), 200 * MS);
    let mut one = RateLimiter::default_controller(5 * MS, 1_000_000 * MS, 10.0, burst);
    assert_eq!(waits(&mut one, "one", 20).last(), Some(&1_000_000));
}
