//! That the measures of `neighbour.rs` can fail: where guests do not take turns, they do.

use std::{num::NonZeroUsize, sync::Arc};

use super::neighbour::{Neighbour, Round, WORKERS, by_count, by_time, calls, engine, is_quiet, turns};
use crate::host::{Setup, component_of};

/// More than there are guests: nobody waits for one.
const NO_TURNS: NonZeroUsize = NonZeroUsize::new(2 * WORKERS).unwrap();

/// Without turns each takes as long as all loops together.
const EVENTS: usize = 5;

/// The judgement of 64 loops, where so many guests run at a time.
async fn loops(turns: Option<NonZeroUsize>, timed: bool) -> Result<(), Vec<Round>> {
    let engine = engine(turns);
    let hostile = Setup::new("{}").engine(&engine).instances(WORKERS).idle().plugin;
    hostile.load(&component_of(&engine, "spin").await).await.unwrap();
    let neighbour = Neighbour::start_on(&engine).await;
    neighbour.judge(timed, EVENTS, &hostile, || calls(Arc::clone(&hostile))).await
}

#[tokio::test]
async fn where_guests_take_no_turns_an_attack_is_noticed_by_count_and_by_time_in_every_round() {
    for timed in [false, true] {
        let rounds = loops(Some(NO_TURNS), timed).await.unwrap_err();

        assert!(!by_count(&rounds), "{rounds:#?}");
        assert!(!by_time(&rounds), "{rounds:#?}");
    }
}

#[tokio::test]
async fn where_guests_take_turns_the_same_attack_is_not() {
    loops(turns(is_quiet()), is_quiet()).await.unwrap();
}
