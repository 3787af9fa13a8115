//! What can be wrong with an expression: with its text, and when it is asked.

use cel::{ExecutionError, parser::ParseErrors};

use super::{MAX_ENTRIES, MAX_WHEN_BYTES};

/// A text that is no condition. Positions are line and column within the expression, from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWhen {
    /// Nothing but white space.
    #[error("the expression is empty; write for example `object.spec.replicas > 2`, or leave the key out")]
    Empty,
    /// Longer than [`MAX_WHEN_BYTES`]; how long.
    #[error(
        "the expression has {0} bytes; write at most {MAX_WHEN_BYTES}, and decide the rest in the plugin"
    )]
    TooLong(usize),
    /// The parser's own words.
    #[error(
        "not CEL, at {position} of the expression: {problem}; write for example `object.spec.replicas > 2`"
    )]
    Syntax {
        /// `line:column`
        position: String,
        /// What the parser says.
        problem: String,
    },
    /// The parser failed on it.
    #[error("the CEL parser fails on this expression; write it in another way")]
    Unparsable,
    /// A name that nothing has.
    #[error(
        "unknown variable `{name}`, at {position} of the expression; known are `object`, `old`, `event` and `cause`"
    )]
    UnknownVariable {
        /// As written.
        name: String,
        /// `line:column`
        position: String,
    },
    /// A function that CEL does not have.
    #[error(
        "unknown function `{name}`, at {position} of the expression; known are {}",
        super::check::functions()
    )]
    UnknownFunction {
        /// As written.
        name: String,
        /// `line:column`
        position: String,
    },
    /// A pattern that is not part of the expression, is none, or costs too much.
    #[error("the pattern of `matches`, at {position} of the expression, {problem}; {remedy}")]
    Pattern {
        /// `line:column`
        position: String,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        remedy: &'static str,
    },
    /// Too deep.
    #[error("the operations of the expression are nested too deep; shorten it, or decide in the plugin")]
    TooDeep,
    /// Too many loops within one another.
    #[error(
        "there are more than two loops within one another, or calls that cost as much, at {position} of the expression; decide it in the plugin"
    )]
    TooManyLoops {
        /// `line:column`
        position: String,
    },
    /// It gives something else than true or false.
    #[error("the expression gives {0}, not true or false; compare it, as in `object.spec.replicas > 2`")]
    NotBool(&'static str),
}

/// Why an expression has no answer. No value of an object is in it: the object may be a Secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhenError {
    /// The object's text cannot be read: a bug of the host.
    #[error("the object cannot be read")]
    Unreadable,
    /// For two loops within one another; how many entries.
    #[error(
        "the object has a list or map of {0} entries, and loops within one another, or calls in one that cost as much, look at {MAX_ENTRIES} at most"
    )]
    TooManyEntries(usize),
    /// The type that it gave.
    #[error("the expression gives {0}, not true or false")]
    NotBool(String),
    /// A field that is not there.
    #[error("there is no `{0}`; ask with `has(...)` first")]
    NoSuchKey(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
    /// A defect of the interpreter.
    #[error("the CEL interpreter failed")]
    Panicked,
}

// === impl InvalidWhen ===

impl InvalidWhen {
    /// The first error; those after it are often no more than its echo.
    pub(super) fn syntax(errors: &ParseErrors) -> Self {
        let Some(first) = errors.errors.first() else { return Self::Unparsable };
        if first.msg.contains("Recursion limit") {
            return Self::TooDeep;
        }
        let (line, column) = first.pos;
        Self::Syntax { position: format!("{line}:{column}"), problem: first.msg.clone() }
    }
}

// === impl WhenError ===

impl WhenError {
    /// The interpreter's error, with what it quotes of the object left out. A key is quoted where it is one that the
    /// expression, `text`, writes.
    pub(super) fn of(error: &ExecutionError, text: &str) -> Self {
        match error {
            ExecutionError::NoSuchKey(key) if text.contains(key.as_str()) => Self::NoSuchKey(key.to_string()),
            ExecutionError::NoSuchKey(_) => Self::Failed("a computed key that is not there".to_owned()),
            ExecutionError::NoSuchOverload(overload) => Self::Failed(overload.to_string()),
            ExecutionError::ValuesNotComparable(..) => {
                Self::Failed("values that cannot be compared".to_owned())
            }
            ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
                Self::Failed("a division by zero".to_owned())
            }
            ExecutionError::Overflow(operator, ..) => Self::Failed(format!("an overflow of `{operator}`")),
            ExecutionError::IndexOutOfBounds(_) => {
                Self::Failed("an index beyond the end of a list".to_owned())
            }
            ExecutionError::FunctionError { function, .. } => {
                Self::Failed(format!("`{function}` failed on what it was given"))
            }
            _ => Self::Failed("an operation on values that it is not made for".to_owned()),
        }
    }
}
