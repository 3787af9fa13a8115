use std::{cell::Cell, future::pending};

use futures::future::join;
use tokio::time::{Instant, timeout};

use super::*;

/// The time limit of a bomb.
const LIMIT: Duration = Duration::from_secs(120);

/// A compilation that never ends by itself.
async fn bomb() -> Result<Duration, NotCompiled> {
    timeout(LIMIT, pending()).await.map_err(|_| NotCompiled::TooLong { limit: LIMIT })
}

/// A compilation that takes this long. Returns the time since `begun`.
async fn takes(time: Duration, begun: Instant) -> Result<Duration, NotCompiled> {
    sleep(time).await;
    Ok(begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_small_component_waits_at_most_one_turn_for_each_bomb() {
    let compiling = Compiling::new(true);
    for bombs in 0..8 {
        let begun = Instant::now();
        let running = futures::future::join_all((0..bombs).map(|_| compiling.run(bomb)));
        let small = compiling.run(|| takes(TURN / 2, begun));

        let (refused, loaded) = join(running, small).await;

        let within = TURN * bombs + TURN / 2;
        assert!(loaded.unwrap() <= within, "{bombs}");
        assert!(refused.iter().all(|refused| matches!(refused, Err(NotCompiled::TooLong { .. }))));
        assert!(begun.elapsed() <= LIMIT * bombs + within + TURN, "every bomb came to its end: {bombs}");
    }
}

/// The plugins of an attacker try again and again.
#[tokio::test(start_paused = true)]
async fn a_large_component_is_compiled_although_others_never_stop() {
    let compiling = Compiling::new(true);
    let begun = Instant::now();
    let again_and_again = || async {
        loop {
            compiling.run(|| takes(TURN / 2, begun)).await.ok();
        }
    };
    let bombs = || async {
        loop {
            compiling.run(bomb).await.ok();
        }
    };
    let large = compiling.run(|| takes(TURN * 4, begun));

    // The others come first.
    let others = async { tokio::join!(again_and_again(), again_and_again(), bombs(), bombs()) };
    let loaded = tokio::select! {
        biased;
        _ = others => panic!("they never stop"),
        loaded = large => loaded.unwrap(),
    };

    assert!(loaded <= TURN * 10 + LIMIT * 3, "{loaded:?}");
}

#[tokio::test(start_paused = true)]
async fn at_most_two_compilations_run_at_a_time() {
    let compiling = Compiling::new(true);
    let (running, most) = (Cell::new(0_usize), Cell::new(0));
    let counted = |time: Duration| {
        let (running, most) = (&running, &most);
        move || async move {
            struct Ends<'a>(&'a Cell<usize>);
            impl Drop for Ends<'_> {
                fn drop(&mut self) {
                    self.0.set(self.0.get() - 1);
                }
            }
            running.set(running.get() + 1);
            most.set(most.get().max(running.get()));
            let _ends = Ends(running);
            sleep(time).await;
            Ok(())
        }
    };

    let all = (0..20).map(|number| compiling.run(counted(TURN / 4 * number)));
    let done = futures::future::join_all(all).await;

    assert!(done.iter().all(Result::is_ok));
    assert_eq!((running.get(), most.get()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_compilation_without_company_is_never_stopped() {
    let compiling = Compiling::new(true);
    let attempts = Cell::new(0);
    let counted = || {
        attempts.set(attempts.get() + 1);
        takes(TURN * 9, Instant::now())
    };

    let (one, other) = join(compiling.run(counted), compiling.run(counted)).await;

    assert_eq!((one.unwrap(), other.unwrap()), (TURN * 9, TURN * 9));
    assert_eq!(attempts.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_compilation_whose_caller_is_gone_leaves_its_place() {
    let compiling = Compiling::new(true);
    let begun = Instant::now();
    for _ in 0..3 {
        // One caller leaves while it waits, the others while theirs run, in a turn or beside the turns.
        let leave = join(
            timeout(TURN * 2, compiling.run(bomb)),
            join(timeout(TURN * 2, compiling.run(bomb)), timeout(TURN / 2, compiling.run(bomb))),
        );
        let (first, (second, third)) = leave.await;
        assert!(first.is_err() && second.is_err() && third.is_err());
    }

    let loaded = compiling.run(|| takes(TURN * 3, begun)).await.unwrap();

    assert_eq!(loaded, TURN * 6 + TURN * 3);
    assert_eq!(compiling.waiting.load(Ordering::SeqCst), 0);
    assert_eq!((compiling.turn.available_permits(), compiling.long.available_permits()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_compilation_that_cannot_be_stopped_keeps_its_turn() {
    let compiling = Compiling::new(false);
    let begun = Instant::now();

    let (long, short) = join(
        compiling.run(|| takes(TURN * 5, begun)),
        compiling.run(|| takes(Duration::from_secs(1), begun)),
    )
    .await;

    assert_eq!((long.unwrap(), short.unwrap()), (TURN * 5, TURN * 5 + Duration::from_secs(1)));
}
