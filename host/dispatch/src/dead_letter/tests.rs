use std::{num::NonZeroUsize, time::Instant};

use informer_types::FailureKind;

use super::*;
use crate::{letters::LetterBox, testing::updated};

fn letter(name: &str, rv: &str, message: &str) -> DeadLetter {
    let notification = updated(name, "a0", rv, Cause::Relist);
    let key = notification.key();
    let (source, mut entry) = Entry::new(notification, Instant::now());
    entry.attempts = 4;
    DeadLetter::new(ObjectRef { source, key }, &entry, Failure::new(FailureKind::Trap, message))
}

fn letters(capacity: usize) -> LetterBox<DeadLetter> {
    LetterBox::new(NonZeroUsize::new(capacity).unwrap())
}

fn states(letters: &LetterBox<DeadLetter>) -> Vec<String> {
    letters
        .list()
        .into_iter()
        .map(|letter| format!("{}@{}", letter.object.key.name, letter.resource_version))
        .collect()
}

#[test]
fn a_letter_names_the_object_its_state_and_the_failure() {
    let letter = letter("web", "a1", "unreachable");

    assert_eq!(letter.object.to_string(), "v1/pods shop/web");
    assert_eq!((letter.verb, letter.cause, &*letter.uid), ("update", Cause::Relist, "a"));
    assert_eq!((&*letter.resource_version, letter.attempts), ("a1", 4));
    assert_eq!(letter.failure.to_string(), "trap: unreachable");
}

#[test]
fn a_newer_letter_of_an_object_replaces_the_older_one() {
    let letters = letters(3);
    for (name, rv) in [("web", "a1"), ("db", "a1"), ("web", "a2")] {
        letters.keep(letter(name, rv, ""));
    }

    assert_eq!(states(&letters), ["db@a1", "web@a2"]);
    assert_eq!(letters.counts().1, 0);
}

#[test]
fn a_full_list_evicts_the_oldest_letter_and_counts_it() {
    let letters = letters(2);
    for name in ["a", "b", "c", "d"] {
        letters.keep(letter(name, "a1", ""));
    }

    assert_eq!(states(&letters), ["c@a1", "d@a1"]);
    assert_eq!(letters.counts(), (2, 2));
}

#[test]
fn withdrawing_a_letter_keeps_those_of_other_objects() {
    let letters = letters(2);
    letters.keep(letter("web", "a1", ""));
    letters.keep(letter("db", "a1", ""));

    letters.withdraw(&letter("web", "a9", "").object);
    letters.withdraw(&letter("none", "a9", "").object);

    assert_eq!(states(&letters), ["db@a1"]);
}

#[test]
fn a_long_message_is_cut_at_a_character() {
    let letter = letter("web", "a1", &"ß".repeat(4096));

    assert_eq!(letter.failure.message, "ß".repeat(2048));
}
