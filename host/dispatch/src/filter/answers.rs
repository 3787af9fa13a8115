//! The condition of a filter, and the answers that filters with the same condition share.
//!
//! The cache offers its changes to one listener after the other. If several filters have the same condition, the first filter
//! evaluates it for a state or change, and the others find the answer here. If only one filter has a condition, its answers are
//! not kept.

use std::{
    collections::BTreeMap,
    hash::{Hash, Hasher},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use hashbrown::HashMap;
use informer_types::{Cause, Object};
use parking_lot::Mutex;

use super::when::{Occasion, Subject, When, WhenError};

/// The number of answers in a generation. The cache offers at most this number of changes to one listener before it offers them to
/// the next listener, so two generations contain the answers to all these changes.
const GENERATION: usize = 256;

/// The conditions of all filters, by their texts.
static ALL: Mutex<BTreeMap<String, Weak<Answers>>> = Mutex::new(BTreeMap::new());

/// The condition of one filter. It shares its answers with the filters whose condition has the same text.
///
/// # Bound
/// If several filters have a condition, it keeps at most 512 answers. Each answer keeps the allocation of one or two objects,
/// without their texts.
#[derive(Debug)]
pub(super) struct SharedWhen(Arc<Answers>);

/// True if the condition holds.
type Answer = Result<bool, WhenError>;

#[derive(Debug)]
struct Answers {
    when: When,
    /// The lock is not held while the condition is evaluated.
    recent: Mutex<Recent>,
}

/// The answers of the last two generations.
#[derive(Debug, Default)]
struct Recent {
    newer: HashMap<Asked, Answer>,
    older: HashMap<Asked, Answer>,
}

/// Everything on which an answer depends.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Asked {
    object: State,
    old: Option<State>,
    event: &'static str,
    cause: Cause,
}

/// The identity of one state of an object. A `Weak` keeps the allocation, so no later state gets the same address.
#[derive(Debug)]
struct State(Weak<Object>);

// === impl SharedWhen ===

impl SharedWhen {
    /// The condition of a new filter.
    pub(super) fn new(when: &When) -> Self {
        let mut all = ALL.lock();
        all.retain(|_, answers| answers.strong_count() > 0);
        let known = all.get(when.text()).and_then(Weak::upgrade);
        Self(known.unwrap_or_else(|| {
            let answers = Arc::new(Answers { when: when.clone(), recent: Mutex::default() });
            all.insert(when.text().to_owned(), Arc::downgrade(&answers));
            answers
        }))
    }

    pub(super) fn text(&self) -> &str {
        self.0.when.text()
    }

    pub(super) fn subject(&self) -> Subject {
        self.0.when.subject()
    }

    /// Returns the answer and the time of the evaluation. The time is zero if the evaluation for another filter gave the answer.
    pub(super) fn answer(&self, occasion: &Occasion<'_>) -> (Answer, Duration) {
        let Answers { when, recent } = &*self.0;
        let asked = (Arc::strong_count(&self.0) > 1).then(|| Asked::of(occasion));
        let known = asked.as_ref().and_then(|asked| recent.lock().get(asked));
        if let Some(answer) = known {
            return (answer, Duration::ZERO);
        }
        let started = Instant::now();
        let answer = when.holds(occasion);
        let took = started.elapsed();
        if let Some(asked) = asked {
            recent.lock().insert(asked, answer.clone());
        }
        (answer, took)
    }
}

impl Drop for SharedWhen {
    /// A condition that only one filter has uses no kept answers, and this may be such a condition from now on. If several filters
    /// still share the condition, it keeps new answers.
    fn drop(&mut self) {
        *self.0.recent.lock() = Recent::default();
    }
}

// === impl Recent ===

impl Recent {
    fn get(&self, asked: &Asked) -> Option<Answer> {
        self.newer.get(asked).or_else(|| self.older.get(asked)).cloned()
    }

    fn insert(&mut self, asked: Asked, answer: Answer) {
        if self.newer.len() >= GENERATION {
            std::mem::swap(&mut self.newer, &mut self.older);
            self.newer.clear();
        }
        self.newer.insert(asked, answer);
    }
}

// === impl Asked ===

impl Asked {
    fn of(occasion: &Occasion<'_>) -> Self {
        let Occasion { object, old, event, cause } = *occasion;
        Self { object: State::of(object), old: old.map(State::of), event, cause }
    }
}

// === impl State ===

impl State {
    fn of(object: &Arc<Object>) -> Self {
        Self(Arc::downgrade(object))
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    /// The condition of a filter. The tests of a process share conditions, so no two tests use the same text.
    fn condition(text: &str) -> SharedWhen {
        SharedWhen::new(&text.parse().unwrap())
    }

    fn kept(when: &SharedWhen) -> usize {
        let recent = when.0.recent.lock();
        recent.newer.len() + recent.older.len()
    }

    fn is_evaluated(when: &SharedWhen, object: &Arc<Object>) -> bool {
        let (answer, took) = when.answer(&Occasion::state(object));
        assert_eq!(answer, Ok(true));
        took > Duration::ZERO
    }

    #[test]
    fn only_a_condition_that_several_filters_have_keeps_answers() {
        let one = condition("!has(object.several)");
        let web = object("web", "a1");
        assert!(is_evaluated(&one, &web) && is_evaluated(&one, &web));
        assert_eq!(kept(&one), 0);

        let (other, unlike) = (condition("!has(object.several)"), condition("!has(object.unlike)"));
        assert!(is_evaluated(&one, &web) && !is_evaluated(&other, &web) && !is_evaluated(&one, &web));
        assert!(is_evaluated(&unlike, &web));
        assert_eq!((kept(&one), kept(&unlike)), (1, 0));

        drop(other);
        assert_eq!(kept(&one), 0);
        assert!(is_evaluated(&one, &web));
    }

    #[test]
    fn the_answers_to_the_last_256_states_are_kept_and_at_most_512() {
        let (one, other) = (condition("!has(object.bounded)"), condition("!has(object.bounded)"));
        let states: Vec<Arc<Object>> = (0..1_100).map(|n| object(&format!("web-{n}"), "a1")).collect();

        for batch in states.chunks(GENERATION) {
            assert!(batch.iter().all(|state| is_evaluated(&one, state)));
            assert!(batch.iter().all(|state| !is_evaluated(&other, state)));
            assert!(kept(&one) <= 2 * GENERATION);
        }
    }

    /// The allocator gives the memory of a dropped object to a later one.
    #[test]
    fn no_state_receives_the_answer_of_an_earlier_one() {
        let (one, other) = (condition("!has(object.earlier)"), condition("!has(object.earlier)"));
        for _ in 0..1_000 {
            let state = object("web", "a1");
            assert!(is_evaluated(&one, &state) && !is_evaluated(&other, &state));
        }
    }

    #[test]
    fn an_answer_depends_on_the_states_the_event_and_the_cause() {
        let text = "old != null && cause == 'live' && event == 'update'";
        let (one, other) = (condition(text), condition(text));
        let (old, new) = (object("web", "a1"), object("web", "a2"));
        let occasion = |old, event, cause| Occasion { object: &new, old, event, cause };

        for (occasion, holds) in [
            (occasion(Some(&old), "update", Cause::Live), true),
            (occasion(None, "update", Cause::Live), false),
            (occasion(Some(&old), "update", Cause::Relist), false),
            (occasion(Some(&old), "delete", Cause::Live), false),
        ] {
            assert!(
                matches!(one.answer(&occasion), (Ok(answer), took) if answer == holds && !took.is_zero())
            );
            assert_eq!(other.answer(&occasion), (Ok(holds), Duration::ZERO));
        }
    }
}
