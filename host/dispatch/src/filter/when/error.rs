//! Errors of an expression: in its text, and at an evaluation.

use cel::{ExecutionError, parser::ParseErrors};

use super::vocabulary::{MAX_ENTRIES, MAX_WHEN_BYTES};

/// A text that is not a valid condition. Positions are line and column within the expression, from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWhen {
    /// The text is empty or white space.
    #[error("the expression is empty; write for example `object.spec.replicas > 2`, or leave the key out")]
    Empty,
    /// The text is longer than [`MAX_WHEN_BYTES`]. Contains its length in bytes.
    #[error(
        "the expression has {0} bytes; write at most {MAX_WHEN_BYTES}, and decide the rest in the plugin"
    )]
    TooLong(usize),
    /// The parser reports a syntax error.
    #[error(
        "not CEL, at {position} of the expression: {problem}; write for example `object.spec.replicas > 2`"
    )]
    Syntax {
        /// `line:column`
        position: String,
        /// The message of the parser.
        problem: String,
    },
    /// The parser failed.
    #[error("the CEL parser fails on this expression; write it in another way")]
    Unparsable,
    /// A variable does not exist.
    #[error(
        "unknown variable `{name}`, at {position} of the expression; known are `object`, `old`, `event` and `cause`"
    )]
    UnknownVariable {
        /// The name, as written.
        name: String,
        /// `line:column`
        position: String,
    },
    /// A function does not exist in CEL.
    #[error(
        "unknown function `{name}`, at {position} of the expression; known are {}",
        super::vocabulary::functions()
    )]
    UnknownFunction {
        /// The name, as written.
        name: String,
        /// `line:column`
        position: String,
    },
    /// A pattern is not part of the expression, is invalid, or is too expensive.
    #[error("the pattern of `matches`, at {position} of the expression, {problem}; {remedy}")]
    Pattern {
        /// `line:column`
        position: String,
        /// What is wrong with the pattern.
        problem: String,
        /// What would be right.
        remedy: &'static str,
    },
    /// The operations are nested too deep.
    #[error("the operations of the expression are nested too deep; shorten it, or decide in the plugin")]
    TooDeep,
    /// There are too many nested loops.
    #[error(
        "there are more than two loops within one another, or calls that cost as much, at {position} of the expression; decide it in the plugin"
    )]
    TooManyLoops {
        /// `line:column`
        position: String,
    },
    /// The result is not true or false. Contains the type of the result.
    #[error("the expression gives {0}, not true or false; compare it, as in `object.spec.replicas > 2`")]
    NotBool(&'static str),
}

/// Why an expression has no answer. No value of an object is in it: the object may be a Secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhenError {
    /// The object's text cannot be read, which is a bug of the host.
    #[error("the object cannot be read")]
    Unreadable,
    /// A list or map is too long for nested loops. Contains the number of its entries.
    #[error(
        "the object has a list or map of {0} entries, and loops within one another, or calls in one that cost as much, look at {MAX_ENTRIES} at most"
    )]
    TooManyEntries(usize),
    /// The result is not true or false. Contains the type of the result.
    #[error("the expression gives {0}, not true or false")]
    NotBool(String),
    /// A field is missing.
    #[error("there is no `{0}`; ask with `has(...)` first")]
    NoSuchKey(String),
    /// Any other error.
    #[error("{0}")]
    Failed(String),
    /// The interpreter panicked.
    #[error("the CEL interpreter failed")]
    Panicked,
}

// === impl InvalidWhen ===

impl InvalidWhen {
    /// The first error. The errors after it often follow from it.
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
    /// The error of the interpreter, without values of the object. A key is quoted only if the expression `text` contains it.
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
