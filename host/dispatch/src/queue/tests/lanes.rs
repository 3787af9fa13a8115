use super::*;

/// Names of what is delivered, in order.
fn names(queue: &Queue) -> String {
    deliver_all(queue).iter().map(|seen| seen.split(':').next().unwrap()).collect()
}

#[test]
fn live_changes_go_first_but_one_turn_in_five_is_for_the_others() {
    let queue = queue();
    for name in ["1", "2", "3"] {
        queue.offer(added(name, "a1", Cause::Initial));
    }
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        queue.offer(added(name, "a1", Cause::Live));
    }

    assert_eq!(names(&queue), "abcd1efgh2i3");
}

#[test]
fn every_cause_but_live_waits_behind_live() {
    let queue = queue();
    for (name, cause) in
        [("1", Cause::Initial), ("2", Cause::Relist), ("3", Cause::Resync), ("4", Cause::Replay)]
    {
        queue.offer(updated(name, "a1", "a2", cause));
    }
    queue.offer(updated("a", "a1", "a2", Cause::Live));

    assert_eq!(names(&queue), "a1234");
}

#[test]
fn live_turns_taken_while_the_backlog_was_empty_do_not_count() {
    let queue = queue();
    for name in ["a", "b", "c", "d"] {
        queue.offer(added(name, "a1", Cause::Live));
    }
    assert_eq!(names(&queue), "abcd");

    queue.offer(added("1", "a1", Cause::Initial));
    queue.offer(added("e", "a1", Cause::Live));
    assert_eq!(names(&queue), "e1");
}

#[test]
fn a_listed_object_that_changes_live_moves_to_the_live_lane() {
    let queue = queue();
    for name in ["1", "2", "3"] {
        queue.offer(added(name, "a1", Cause::Initial));
    }
    queue.offer(updated("2", "a1", "a2", Cause::Live));

    assert_eq!(names(&queue), "213");
}

#[test]
fn a_live_object_is_not_moved_back_by_a_resync() {
    let queue = queue();
    queue.offer(added("1", "a1", Cause::Initial));
    queue.offer(updated("a", "a1", "a2", Cause::Live));
    queue.offer(updated("a", "a2", "a2", Cause::Resync));

    assert_eq!(names(&queue), "a1");
}

#[test]
fn the_order_of_one_object_wins_over_the_lanes() {
    let queue = queue();
    queue.offer(added("1", "a1", Cause::Initial));
    queue.offer(Notification { cause: Cause::Relist, ..deleted("2", "a1", false) });
    queue.offer(added("2", "b1", Cause::Live));

    assert_eq!(deliver_all(&queue), ["2: -a1?", "2: +b1", "1: +a1"]);
}

#[test]
fn leaving_a_lane_from_anywhere_keeps_the_others_in_order() {
    let names = ["a", "b", "c", "d"];
    for gone in names {
        let queue = queue();
        for name in names {
            queue.offer(added(name, "a1", Cause::Live));
        }
        queue.offer(deleted(gone, "a1", true));
        queue.offer(added("e", "a1", Cause::Live));

        assert_eq!(self::names(&queue), "abcde".replace(gone, ""));
    }
}

#[test]
fn the_end_of_a_pause_sorts_all_but_live_changes_if_the_clock_is_stopped() {
    for (stopped, expected) in [(true, "ba123"), (false, "ba312")] {
        let queue = queue();
        if stopped {
            queue.stop_clock();
        }
        queue.pause();
        for name in ["3", "1", "2"] {
            queue.offer(added(name, "a1", Cause::Initial));
        }
        for name in ["b", "a"] {
            queue.offer(added(name, "a1", Cause::Live));
        }

        queue.resume();

        assert_eq!(names(&queue), expected);
    }
}
