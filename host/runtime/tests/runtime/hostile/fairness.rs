//! Shows that the measures of `neighbour.rs` detect an unfair host: without turns they fail.

use std::{num::NonZeroUsize, sync::Arc};

use super::neighbour::{Neighbour, Round, WORKERS, by_count, by_time, calls, engine, is_quiet, turns};
use crate::host::{Setup, component_of};

/// More turns than guests, so no guest waits.
const NO_TURNS: NonZeroUsize = NonZeroUsize::new(2 * WORKERS).unwrap();

/// Without turns each event takes as long as all loops together.
const EVENTS: usize = 5;

/// The judgement of 64 loops on an engine with this many turns.
async fn loops(turns: Option<NonZeroUsize>, timed: bool) -> Result<(), Vec<Round>> {
    let engine = engine(turns);
    let hostile = Setup::new("{}").engine(&engine).instances(WORKERS).idle().plugin;
    hostile.load(&component_of(&engine, "spin").await).await.unwrap();
    let neighbour = Neighbour::start_on(&engine).await;
    neighbour.judge(timed, EVENTS, &hostile, || calls(Arc::clone(&hostile))).await
}

#[tokio::test]
async fn without_turns_every_round_is_unfair_by_count_and_by_time() {
    for timed in [false, true] {
        let rounds = loops(Some(NO_TURNS), timed).await.unwrap_err();

        assert!(!by_count(&rounds), "{rounds:#?}");
        assert!(!by_time(&rounds), "{rounds:#?}");
    }
}

#[tokio::test]
async fn with_turns_the_same_attack_is_fair() {
    loops(turns(is_quiet()), is_quiet()).await.unwrap();
}
