use super::{memory::Memory, *};

fn seen(count: u64, at: &str) -> Seen {
    Seen {
        uid: "u".to_owned(),
        occurrence: Occurrence { count, at: at.parse().unwrap() },
        done: Some(Vec::new()),
    }
}

fn queued(disk: &Memory, name: &str, mark: &Seen, receivers: &[&str]) -> State {
    let state = State::new(Box::new(disk.clone()));
    let record = Record::new(json!({"metadata": {"name": name}}));
    let event = ObjectKey::new("shop", name);
    state.judged(&[], Some((&event, mark, &record, receivers))).unwrap();
    state
}

#[test]
fn a_queue_holds_the_events_of_its_receiver_in_the_order_of_time() {
    let disk = Memory::default();
    queued(&disk, "second", &seen(1, "2026-05-01T12:00:01Z"), &["a", "a-b", "b"]);
    queued(&disk, "first", &seen(9, "2026-05-01T12:00:00.999Z"), &["a-b", "a"]);
    let state = queued(&disk, "third", &seen(1, "2026-05-02T00:00:00Z"), &["a"]);

    let names = |receiver: &str, most| -> Vec<String> {
        let keys = state.queue(receiver, most).unwrap();
        keys.iter().map(|key| state.load(key).unwrap().unwrap().text("/metadata/name").to_owned()).collect()
    };
    assert_eq!(names("a", 10), ["first", "second", "third"]);
    assert_eq!(names("a", 2), ["first", "second"]);
    assert_eq!(
        (names("a-b", 10), names("b", 10)),
        (vec!["first".into(), "second".into()], vec!["second".into()])
    );
    assert_eq!(names("c", 10), [""; 0]);
    assert_eq!(state.waiting_receivers().unwrap(), ["a-b", "a", "b"]);
    assert_eq!(state.kept().unwrap().0.len(), 3);
}

/// The time of an Event has no fractions of a second, so an Event may occur several times at one time.
#[test]
fn occurrences_of_one_second_are_in_the_order_of_their_counts() {
    let disk = Memory::default();
    for count in [9, 10, 99, 100, 2_000_000_000] {
        queued(&disk, "x", &seen(count, "2026-05-01T12:00:00Z"), &["a"]);
    }
    let state = queued(&disk, "x", &seen(1, "2026-05-01T12:00:01Z"), &["a"]);

    let counts: Vec<u64> = state
        .queue("a", 10)
        .unwrap()
        .iter()
        .map(|key| key.split(['-', '/']).nth(3).unwrap().parse().unwrap())
        .collect();
    assert_eq!(counts, [9, 10, 99, 100, 2_000_000_000, 1]);
}

#[test]
fn a_mark_that_was_written_is_read_and_any_other_text_is_no_mark() {
    let mark = seen(7, "2026-05-01T12:00:00.123456Z");

    for done in [None, Some(Vec::new()), Some(vec!["on call".to_owned(), "b".to_owned()])] {
        let mark = Seen { done, ..mark.clone() };
        assert_eq!(Seen::parse(mark.to_string().as_bytes()), Some(mark));
    }
    for odd in [
        &b""[..],
        b"u",
        b"u 1",
        b"u x 1",
        b"u 1 x",
        b"u 1 99999999999999999999999999999999999999999",
        b"\xff 1 1",
    ] {
        assert_eq!(Seen::parse(odd), None);
    }
}

#[test]
fn damaged_values_are_as_if_they_were_not_there() {
    let disk = Memory::default();
    let state = State::new(Box::new(disk.clone()));
    for key in
        ["since", "pause/a", "out/a/1/shop/x", "undelivered/a/1/shop/x", "seen/shop/x", "stuck/a", "turn/a"]
    {
        disk.entries.borrow_mut().insert(key.to_owned(), b"\xff{".to_vec());
    }
    let now: Timestamp = "2026-05-01T12:00:00Z".parse().unwrap();

    let later = "2026-05-01T13:00:00Z".parse().unwrap();
    assert_eq!((state.since(now), state.since(later)), (Ok(now), Ok(now)));
    assert_eq!((state.paused("a"), state.load("out/a/1/shop/x")), (Ok(None), Ok(None)));
    assert_eq!(state.seen(&ObjectKey::new("shop", "x")), Ok(None));
    assert!(state.refused("undelivered/a/1/shop/x").unwrap().is_none());
    assert_eq!((state.stuck("a"), state.turn("a")), (Ok(None), Ok(0)));
}

#[test]
fn an_event_that_fails_is_counted_without_more_room_on_the_disk() {
    let disk = Memory::default();
    let state = State::new(Box::new(disk.clone()));
    let size = || disk.entries.borrow()["stuck/a"].len();
    let once = Stuck { key: "out/a/1/shop/x y".to_owned(), attempts: 1, others_pass: false };
    state.set_stuck("a", &once).unwrap();
    let first = size();
    assert_eq!((state.stuck("a"), state.stuck("b")), (Ok(Some(once.clone())), Ok(None)));

    let often = Stuck { attempts: 4_000_000_000, others_pass: true, ..once };
    state.set_stuck("a", &often).unwrap();
    assert_eq!((state.stuck("a"), size()), (Ok(Some(often)), first));
}

#[test]
fn a_crash_while_a_refused_event_moves_neither_loses_nor_repeats_it() {
    let disk = Memory::default();
    let state = queued(&disk, "x", &seen(1, "2026-05-01T12:00:00Z"), &["a"]);
    let key = state.queue("a", 1).unwrap().remove(0);
    let record = state.load(&key).unwrap().unwrap();

    let now: Timestamp = "2026-05-01T12:00:01Z".parse().unwrap();
    let moved = state.refuse(&key, &record, "why", now).unwrap();
    assert_eq!(state.unreported(&[key.clone(), moved.clone()]), Ok(vec![(moved.clone(), Some(now))]));
    // An entry that a crash in the middle of the move leaves behind is not sent again.
    disk.entries.borrow_mut().insert(key.clone(), Vec::new());
    assert_eq!(state.load(&key), Ok(None));

    let refused = state.refused(&moved).unwrap().unwrap();
    state.reported(&moved, &refused).unwrap();
    assert_eq!(state.unreported(&[moved]), Ok(Vec::new()));
}

#[test]
fn a_first_start_in_the_future_is_corrected_for_good() {
    let state = State::new(Box::new(Memory::default()));
    let [ahead, now, later] = ["2030-01-01T00:00:00Z", "2026-05-01T12:00:00Z", "2026-05-01T13:00:00Z"]
        .map(|text| text.parse::<Timestamp>().unwrap());

    assert_eq!([ahead, now, later].map(|at| state.since(at)), [Ok(ahead), Ok(now), Ok(now)]);
}
