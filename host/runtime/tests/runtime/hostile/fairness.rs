//! That the measures of `neighbour.rs` can fail: where guests do not take turns, they do.

use std::{num::NonZeroUsize, sync::Arc};

use super::neighbour::{FAIR, FLOOR, Neighbour, Round, WORKERS, calls, engine};
use crate::host::{Setup, component_of};

/// More than there are guests: nobody waits for one.
const NO_TURNS: NonZeroUsize = NonZeroUsize::new(2 * WORKERS).unwrap();

/// Without turns each takes as long as all loops together.
const EVENTS: usize = 5;

/// One round with 64 loops, where so many guests run at a time.
async fn loops(turns: NonZeroUsize) -> Round {
    let engine = engine(turns);
    let hostile = Setup::new("{}").engine(&engine).instances(WORKERS).idle().plugin;
    hostile.load(&component_of(&engine, "spin").await).await.unwrap();
    let neighbour = Neighbour::start_on(&engine).await;
    neighbour.round(EVENTS, &hostile, || calls(Arc::clone(&hostile))).await
}

#[tokio::test]
async fn where_guests_take_no_turns_an_attack_is_noticed_by_count_and_by_time() {
    let (unfair, fair) = (loops(NO_TURNS).await, loops(NonZeroUsize::MIN).await);

    assert!(unfair.share > 4.0 * FAIR, "{unfair:?}");
    assert!(fair.share <= FAIR, "{fair:?}");
    assert!(unfair.attacked >= (2 * unfair.alone).max(FLOOR), "{unfair:?}");
}
