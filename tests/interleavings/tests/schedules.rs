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

#[test]
fn every_final_state_is_delivered_w2_w4() {
    explore(queueing::every_final_state_is_delivered);
}

#[test]
fn failed_and_dropped_attempts_come_back() {
    explore(queueing::failed_and_dropped_attempts_come_back);
}

#[test]
fn who_goes_wakes_who_stays() {
    explore(queueing::who_goes_wakes_who_stays);
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

#[test]
fn every_last_state_is_seen_w2_w3() {
    explore(keying::every_last_state_is_seen);
}

#[test]
fn who_waits_for_room_gets_it() {
    explore(keying::who_waits_for_room_gets_it);
}

#[test]
fn a_drain_ends_and_leaves_nothing_behind_w4_w5() {
    explore(keying::a_drain_ends_and_leaves_nothing_behind);
}

/// Scenario 81.
#[test]
fn who_joins_hears_everything_once_and_who_left_nothing_c10_p11_p14() {
    explore(listening::who_joins_hears_everything_once_and_who_left_nothing);
}

/// Scenario 107.
#[test]
fn a_listener_syncs_when_the_informer_did_and_its_tokens_are_gone_c12_p16() {
    explore(listening::a_listener_syncs_when_the_informer_did_and_its_tokens_are_gone);
}

#[test]
fn a_stop_wakes_whoever_waits_for_a_sync_p13() {
    explore(listening::a_stop_wakes_whoever_waits_for_a_sync);
}

/// Scenario 79.
#[test]
fn the_timer_finds_a_listener_that_joins_p10() {
    explore(listening::the_timer_finds_a_listener_that_joins);
}

/// Scenarios 58 and 118.
#[test]
fn a_full_queue_delivers_everything_and_then_ends_q8_q20() {
    explore(listening::a_full_queue_delivers_everything_and_then_ends);
}

#[test]
fn producers_end_when_the_consumer_has_gone_q8() {
    explore(listening::producers_end_when_the_consumer_has_gone);
}
