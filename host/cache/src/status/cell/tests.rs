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
async fn the_cache_lags_from_the_receipt_of_a_change_until_it_is_applied() {
    let cell = ReflectorCell::new(None);
    assert_eq!(lag(&cell), Duration::ZERO);

    let first = now();
    cell.event("5");
    pass(3).await;
    assert_eq!(lag(&cell), Duration::from_secs(3));

    cell.applied("5", first);
    assert_eq!(lag(&cell), Duration::ZERO);

    // A silence is not a lag, neither before nor after the next event.
    pass(600).await;
    assert_eq!(lag(&cell), Duration::ZERO);
    cell.event("6");
    pass(1).await;
    assert_eq!(lag(&cell), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn in_a_steady_stream_the_lag_is_the_age_of_the_last_applied_change() {
    let cell = ReflectorCell::new(None);
    let mut seen = Vec::new();
    for version in 1..=60 {
        seen.push(now());
        cell.event(&version.to_string());
        pass(1).await;
        // The cache is always two changes behind.
        if version > 2 {
            cell.applied(&(version - 2).to_string(), seen[version - 3]);
        }
    }

    assert_eq!(lag(&cell), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_applied_before_its_receipt_is_recorded_is_no_lag() {
    let cell = ReflectorCell::new(None);

    cell.applied("5", now());
    cell.event("5");
    pass(9).await;

    assert_eq!(lag(&cell), Duration::ZERO);
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("shop", name)
}

fn bad(key: Option<ObjectKey>) -> Quarantined {
    Quarantined { key, problem: "bad".to_owned() }
}

/// An object that cannot be decoded still exists (D-2).
#[tokio::test]
async fn the_quarantined_objects_are_unknown_if_not_all_of_them_are_listed_until_the_next_list() {
    let cell = ReflectorCell::new(None);
    for number in 0..MAX_LISTED {
        cell.quarantine(bad(Some(key(&number.to_string()))));
    }
    assert_eq!(cell.undecoded().unwrap().len(), MAX_LISTED);

    cell.quarantine(bad(Some(key("one more"))));
    assert_eq!(cell.undecoded(), None);
    cell.release(|| key("0"));
    assert_eq!(cell.undecoded(), None, "the one that is not listed is still there");

    cell.replace_quarantine(Vec::new());
    assert_eq!(cell.undecoded(), Some(Vec::new()));
    cell.quarantine(bad(None));
    assert_eq!(cell.undecoded(), None);
}
