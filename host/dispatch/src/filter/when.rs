//! `when`: an expression in the Common Expression Language.

mod check;
mod cost;
mod error;
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
use informer_types::{Cause, Change, JsonText, Notification, Object};

pub use error::{InvalidWhen, WhenError};

use check::{Names, check};

/// The longest expression, in bytes.
pub const MAX_WHEN_BYTES: usize = 2048;

/// The most entries that a list or map of an object may have for an expression with a loop in a loop to look at it:
/// the loops then go round a million times at most.
pub const MAX_ENTRIES: usize = 1000;

/// The parser gives up at 96 levels, which take up to 16 MiB in a build without optimisation.
const STACK_BYTES: usize = 32 << 20;

/// The operators, functions and macros of CEL's standard library; made once, it holds no state.
static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// A condition in the [Common Expression Language](https://cel.dev), compiled. It equals another of the same text.
///
/// It may name
/// - `object`: the object, or its last state where it was deleted;
/// - `old`: the state before an update; null on an addition and a deletion;
/// - `event`: `"add"`, `"update"` or `"delete"`;
/// - `cause`: `"live"`, `"initial"`, `"relist"`, `"resync"` or `"replay"`.
///
/// What it names says what it is about:
///
/// | names | is asked of | deletions |
/// |---|---|---|
/// | at most `object` | each state: which objects belong to the subscription (P-21) | told if the object belonged |
/// | `old` or `cause`, not `event` | each addition and update, as it would be told | told, without asking |
/// | `event` | everything, as it would be told | as it says |
///
/// A field that is not there is an error, and an error is a yes; `has(object.spec.replicas)` asks first, and so does
/// `object.?spec.?replicas.orValue(1)`.
///
/// # Bound
/// At most [`MAX_WHEN_BYTES`] long, 16 nested operations deep and two loops (`all`, `exists`, `map`, ...) within one
/// another; those that have two look only at objects without a list or map of more than [`MAX_ENTRIES`]. In a loop, what
/// looks at all of something that is the same in each round (`x in object.spec.names`, a `+`, a `contains`) counts as one
/// more loop, and so does `matches`. So what one evaluation may cost is bounded by the size of the object; there is no
/// clock in it, so the answer for one state is always the same.
///
/// The pattern of `matches` is part of the expression and not of the object. It is compiled each time it is asked, in
/// a loop up to [`MAX_ENTRIES`] times, and so it is bounded: compiled it has 256 KiB at most. Where `startsWith`, `endsWith`, `contains` or `in` say the same, they cost far less.
#[derive(Clone)]
pub struct When(Arc<Compiled>);

struct Compiled {
    text: String,
    program: Program,
    names: Names,
}

/// What an expression is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A state of an object.
    Object,
    /// A change, as the handler would be told of it; of deletions too if it says so.
    Change { deletions: bool },
}

/// What an expression is asked about.
pub(super) struct Occasion<'a> {
    object: &'a Object,
    old: Option<&'a Object>,
    event: &'static str,
    cause: Cause,
}

// === impl When ===

impl When {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    pub(super) fn subject(&self) -> Subject {
        let Names { old, event, cause, .. } = self.0.names;
        if old || event || cause { Subject::Change { deletions: event } } else { Subject::Object }
    }

    /// The answer.
    ///
    /// # Errors
    /// [`WhenError`] where it has none.
    pub(super) fn holds(&self, occasion: &Occasion<'_>) -> Result<bool, WhenError> {
        // D-9: a defect of the interpreter is contained like one of the expression.
        catch_unwind(AssertUnwindSafe(|| self.evaluate(occasion))).unwrap_or(Err(WhenError::Panicked))
    }

    fn evaluate(&self, occasion: &Occasion<'_>) -> Result<bool, WhenError> {
        let Compiled { text, program, names } = &*self.0;
        let read = |object: &Object| object.json().map_err(|_| WhenError::Unreadable);
        let object: Option<JsonText> = names.object.then(|| read(occasion.object)).transpose()?;
        let old = occasion.old.filter(|_| names.old).map(read).transpose()?;
        let mut context = Context::with_env(Arc::clone(&ENV));
        for (name, json) in [("object", &object), ("old", &old)] {
            match json {
                Some(json) => context.add_variable_as_val(name, value::parse(json, names.nested_loops)?),
                None => context.add_variable_as_val(name, Box::new(CelNull)),
            }
        }
        context.add_variable_as_val("event", Box::new(CelString::from(occasion.event)));
        context.add_variable_as_val("cause", Box::new(CelString::from(occasion.cause.as_str())));
        let answer = Value::resolve_val(program.expression(), &context)
            .map_err(|error| WhenError::of(&error, text))?;
        match answer.downcast_ref::<CelBool>() {
            Some(answer) => Ok(*answer.inner()),
            None => Err(WhenError::NotBool(answer.get_type().name().to_owned())),
        }
    }
}

impl FromStr for When {
    type Err = InvalidWhen;

    fn from_str(text: &str) -> Result<Self, InvalidWhen> {
        if text.trim().is_empty() {
            return Err(InvalidWhen::Empty);
        }
        if text.len() > MAX_WHEN_BYTES {
            return Err(InvalidWhen::TooLong(text.len()));
        }
        // On a thread of its own: the parser is recursive, and its defects end there.
        std::thread::scope(|scope| {
            let parser = std::thread::Builder::new().name("cel".to_owned()).stack_size(STACK_BYTES);
            let parsed = parser.spawn_scoped(scope, || Compiled::parse(text));
            parsed.map_or(Err(InvalidWhen::Unparsable), |parsed| {
                parsed.join().unwrap_or(Err(InvalidWhen::Unparsable))
            })
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
        Ok(Self { text: text.to_owned(), program, names })
    }
}

// === impl Occasion ===

impl<'a> Occasion<'a> {
    /// An expression that is about states sees nothing but the state.
    pub(super) fn state(object: &'a Object) -> Self {
        Self { object, old: None, event: "", cause: Cause::Live }
    }

    /// As the handler would be told.
    pub(super) fn change(notification: &'a Notification) -> Self {
        let Notification { change, cause, .. } = notification;
        let old = match change {
            Change::Updated { old, .. } => Some(&**old),
            Change::Added { .. } | Change::Deleted { .. } => None,
        };
        Self { object: change.object(), old, event: change.verb(), cause: *cause }
    }
}

#[cfg(test)]
mod tests;
