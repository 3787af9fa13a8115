//! Each scenario under thousands of schedules, half of them random, half of them with few preemptions, which
//! find deep races sooner. A failure prints the schedule that leads to it; `shuttle::replay` plays it again.

use informer_interleavings::{keying, listening, queueing};
use shuttle::{check_pct, check_random};

const SCHEDULES: usize = 1_000;

/// Preemptions of a schedule of the second kind.
const DEPTH: usize = 3;

fn explore(scenario: fn()) {
    check_random(scenario, SCHEDULES);
    check_pct(scenario, SCHEDULES, DEPTH);
}

/// The final state of every object is delivered (W-2, W-4).
#[test]
fn every_final_state_is_delivered() {
    explore(queueing::every_final_state_is_delivered);
}

#[test]
fn failed_and_dropped_attempts_come_back() {
    explore(queueing::failed_and_dropped_attempts_come_back);
}

#[test]
fn a_worker_that_ends_wakes_one_that_stays() {
    explore(queueing::a_worker_that_ends_wakes_one_that_stays);
}

#[test]
fn a_pause_loses_nothing() {
    explore(queueing::a_pause_loses_nothing);
}

#[test]
fn a_quarantine_loses_nothing() {
    explore(queueing::a_quarantine_loses_nothing);
}

#[test]
fn a_close_ends_every_worker_and_releases_every_token() {
    explore(queueing::a_close_ends_every_worker_and_releases_every_token);
}

/// After the last add of a key, a worker reads the last state, and never two workers at once (W-2, W-3).
#[test]
fn every_last_state_is_seen() {
    explore(keying::every_last_state_is_seen);
}

#[test]
fn a_full_queue_has_room_again_once_a_key_is_done() {
    explore(keying::a_full_queue_has_room_again_once_a_key_is_done);
}

/// A drain ends, every worker ends with it, and no key is left (W-4, W-5).
#[test]
fn a_drain_ends_and_leaves_nothing_behind() {
    explore(keying::a_drain_ends_and_leaves_nothing_behind);
}

/// A listener that joins receives everything once, and one that left receives nothing (C-10, P-11, P-14).
///
/// Scenario 81.
#[test]
fn a_listener_that_joins_receives_everything_once_and_one_that_left_receives_nothing() {
    explore(listening::who_joins_hears_everything_once_and_who_left_nothing);
}

/// A listener has synced once its informer has and its sync tokens are released (C-12, P-16).
///
/// Scenario 107.
#[test]
fn a_listener_has_synced_once_the_informer_has_and_its_tokens_are_released() {
    explore(listening::a_listener_syncs_when_the_informer_did_and_its_tokens_are_gone);
}

/// A stop wakes every caller that waits for a sync (P-13).
#[test]
fn a_stop_wakes_every_caller_that_waits_for_a_sync() {
    explore(listening::a_stop_wakes_whoever_waits_for_a_sync);
}

/// The resync timer finds a listener that joins (P-10).
///
/// Scenario 79.
#[test]
fn the_timer_finds_a_listener_that_joins() {
    explore(listening::the_timer_finds_a_listener_that_joins);
}

/// A full delta queue delivers everything and then ends.
///
/// Scenarios 58 and 118.
#[test]
fn a_full_queue_delivers_everything_and_then_ends() {
    explore(listening::a_full_queue_delivers_everything_and_then_ends);
}

/// Producers end once the consumer of a delta queue is gone.
#[test]
fn producers_end_once_the_consumer_is_gone() {
    explore(listening::producers_end_when_the_consumer_has_gone);
}
