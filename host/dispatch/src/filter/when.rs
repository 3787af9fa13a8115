//! `when`: an expression in the Common Expression Language.

mod check;
mod comparisons;
mod error;
mod reads;
mod value;

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    str::FromStr,
    sync::{Arc, LazyLock},
};

use cel::{
    Context, Env, Program, Value,
    common::types::{CelBool, CelNull, CelString},
};
use informer_types::{Cause, Change, JsonText, Judge, Notification, Object, Part, PartTree, Pointer};

pub use error::{InvalidWhen, MAX_ENTRIES, MAX_WHEN_BYTES, WhenError};

use check::{Names, check};
use comparisons::Comparisons;
use error::UNPARSABLE;

/// The stack of the parser's thread. The parser stops at 96 levels, which take up to 16 MiB in a build without optimisation.
const STACK_BYTES: usize = 32 << 20;

/// The operators, functions and macros of CEL's standard library. It has no state.
static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// A compiled condition in the [Common Expression Language](https://cel.dev). Two conditions are equal if their texts are.
///
/// Variables:
/// - `object`: the object, or its last state if it was deleted;
/// - `old`: the state before an update; null on an addition and a deletion;
/// - `event`: `"add"`, `"update"` or `"delete"`;
/// - `cause`: `"live"`, `"initial"`, `"relist"`, `"resync"` or `"replay"`.
///
/// The variables that an expression names define what it is evaluated for:
///
/// | names | evaluated for | deletions |
/// |---|---|---|
/// | at most `object` | each state: which objects belong to the subscription (P-21) | pass if the object belonged |
/// | `old` or `cause`, not `event` | each addition and update, as the handler would receive it | pass |
/// | `event` | every notification, as the handler would receive it | as the expression decides |
///
/// A missing field is an error, and an error counts as true. `has(object.spec.replicas)` and
/// `object.?spec.?replicas.orValue(1)` avoid the error.
///
/// # Bound
/// An expression has at most [`MAX_WHEN_BYTES`], 16 nested operations, and two nested loops (`all`, `exists`, `map`, ...). With two
/// nested loops it fails if a part of the object that it reads has a list or map of more than [`MAX_ENTRIES`]. An operation within a
/// loop counts as one more loop if it reads a whole value that is the same in each round (`x in object.spec.names`, a `+`, a
/// `contains`), and so does `matches`. The cost of an evaluation is therefore bounded by the size of the object. An expression cannot
/// read a clock, so its answer for one state is always the same, unless the expression depends on the order of a map. A loop visits
/// the keys of a map in no particular order, so `object.metadata.labels.map(k, k)[0]` may be another key each time. `in`, `exists` and
/// `all` do not depend on the order.
///
/// The pattern of `matches` is part of the expression, not of the object. It is compiled at each evaluation, in a loop up to
/// [`MAX_ENTRIES`] times, so its compiled size is limited to 256 KiB. `startsWith`, `endsWith`, `contains` and `in` cost far less.
#[derive(Clone)]
pub struct When(Arc<Compiled>);

struct Compiled {
    text: String,
    program: Program,
    names: Names,
    /// The parts that the expression reads of `object` and of `old`.
    wanted: PartTree,
    /// The expression, if it consists of comparisons with texts. Such an expression rarely needs the interpreter.
    comparisons: Option<Comparisons>,
}

/// The subject of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A state of an object.
    Object,
    /// A change, as the handler would receive it. `deletions` includes deletions.
    Change { deletions: bool },
}

/// The variables of an evaluation.
pub(super) struct Occasion<'a> {
    pub(super) object: &'a Arc<Object>,
    pub(super) old: Option<&'a Arc<Object>>,
    pub(super) event: &'static str,
    pub(super) cause: Cause,
}

// === impl When ===

impl When {
    /// The text of the expression.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    pub(super) fn subject(&self) -> Subject {
        let Names { old, event, cause, .. } = self.0.names;
        if old || event || cause { Subject::Change { deletions: event } } else { Subject::Object }
    }

    /// Pointers to all that the expression reads of `object` and `old`. Returns `None` if it reads one of them as a whole.
    pub fn reads(&self) -> Option<Vec<Pointer>> {
        reads::reads(self.0.program.expression())
    }

    /// Returns true if the expression is about the state of an object: it names `object` and no other variable.
    pub fn is_about_states(&self) -> bool {
        self.subject() == Subject::Object
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// [`WhenError`] if it has no answer.
    pub(super) fn holds(&self, occasion: &Occasion<'_>) -> Result<bool, WhenError> {
        // A panic of the interpreter is handled as an error of the expression (D-9).
        catch_unwind(AssertUnwindSafe(|| self.evaluate(occasion))).unwrap_or(Err(WhenError::Panicked))
    }

    fn evaluate(&self, occasion: &Occasion<'_>) -> Result<bool, WhenError> {
        let names = &self.0.names;
        let read = |object: &Arc<Object>| object.json().map_err(|_| WhenError::Unreadable);
        let object: Option<JsonText> = names.object.then(|| read(occasion.object)).transpose()?;
        let old = occasion.old.filter(|_| names.old).map(read).transpose()?;
        self.evaluate_texts(object.as_deref(), old.as_deref(), (occasion.event, occasion.cause))
    }

    /// Evaluates the expression for objects with these texts.
    fn evaluate_texts(
        &self,
        object: Option<&str>,
        old: Option<&str>,
        (event, cause): (&'static str, Cause),
    ) -> Result<bool, WhenError> {
        let Compiled { text, program, names, wanted, comparisons } = &*self.0;
        if let (Some(comparisons), Some(json)) = (comparisons, object)
            && let Some(answer) = comparisons.holds(json)
        {
            return Ok(answer);
        }
        let mut context = Context::with_env(Arc::clone(&ENV));
        let objects = [("object", names.object, object), ("old", names.old, old)];
        for (name, _, json) in objects.into_iter().filter(|(_, is_named, _)| *is_named) {
            match json {
                Some(json) => {
                    context.add_variable_as_val(name, value::parse(json, wanted, names.nested_loops)?);
                }
                None => context.add_variable_as_val(name, Box::new(CelNull)),
            }
        }
        if names.event {
            context.add_variable_as_val("event", Box::new(CelString::from(event)));
        }
        if names.cause {
            context.add_variable_as_val("cause", Box::new(CelString::from(cause.as_str())));
        }
        let answer = Value::resolve_val(program.expression(), &context)
            .map_err(|error| WhenError::of(&error, text))?;
        match answer.downcast_ref::<CelBool>() {
            Some(answer) => Ok(*answer.inner()),
            None => Err(WhenError::NotBool(answer.get_type().name().to_owned())),
        }
    }
}

impl Judge for When {
    fn text(&self) -> &str {
        Self::text(self)
    }

    fn holds(&self, json: &str) -> bool {
        let state = || self.evaluate_texts(Some(json), None, ("", Cause::Live));
        // A panic of the interpreter is handled as an error of the expression (D-9), and an error counts as true.
        catch_unwind(AssertUnwindSafe(state)).unwrap_or(Err(WhenError::Panicked)).unwrap_or(true)
    }
}

impl FromStr for When {
    type Err = InvalidWhen;

    fn from_str(text: &str) -> Result<Self, InvalidWhen> {
        if text.trim().is_empty() {
            return Err(InvalidWhen(
                "the expression is empty; write for example `object.spec.replicas > 2`, or leave the key out"
                    .to_owned(),
            ));
        }
        if text.len() > MAX_WHEN_BYTES {
            return Err(InvalidWhen(format!(
                "the expression has {} bytes; write at most {MAX_WHEN_BYTES}, and decide the rest in the plugin",
                text.len()
            )));
        }
        // The parser is recursive and may panic, so it has a thread of its own.
        std::thread::scope(|scope| {
            let parser = std::thread::Builder::new().name("cel".to_owned()).stack_size(STACK_BYTES);
            let parsed = parser.spawn_scoped(scope, || Compiled::parse(text));
            let parsed = parsed.ok().and_then(|parsed| parsed.join().ok());
            parsed.unwrap_or_else(|| Err(InvalidWhen(UNPARSABLE.to_owned())))
        })
        .map(|compiled| Self(Arc::new(compiled)))
    }
}

impl PartialEq for When {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for When {}

impl fmt::Debug for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "When({})", self.text())
    }
}

// === impl Compiled ===

impl Compiled {
    fn parse(text: &str) -> Result<Self, InvalidWhen> {
        let program = ENV.compile(text).map_err(|errors| InvalidWhen::syntax(&errors))?;
        let names = check(&program)?;
        let read = reads::reads(program.expression()).unwrap_or_else(|| vec![Pointer::default()]);
        let wanted = PartTree::new(read.into_iter().map(Part::from));
        let comparisons = Comparisons::new(program.expression());
        Ok(Self { text: text.to_owned(), program, names, wanted, comparisons })
    }
}

// === impl Occasion ===

impl<'a> Occasion<'a> {
    /// The variables of an expression about states: only the state.
    pub(super) fn state(object: &'a Arc<Object>) -> Self {
        Self { object, old: None, event: "", cause: Cause::Live }
    }

    /// The variables of an expression about changes, as the handler would receive the change.
    pub(super) fn change(notification: &'a Notification) -> Self {
        let Notification { change, cause, .. } = notification;
        let old = match change {
            Change::Updated { old, .. } => Some(old),
            Change::Added { .. } | Change::Deleted { .. } => None,
        };
        Self { object: change.object(), old, event: change.verb(), cause: *cause }
    }
}

#[cfg(test)]
mod tests;
