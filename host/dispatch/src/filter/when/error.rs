//! The names and bounds of an expression, and its errors: in its text, and at an evaluation.

use cel::{ExecutionError, parser::ParseErrors};
use informer_types::NotJson;

/// The longest expression, in bytes.
pub const MAX_WHEN_BYTES: usize = 2048;

/// The longest list or map of an object that an expression with a nested loop may evaluate: its loops then run at most a
/// million times.
pub const MAX_ENTRIES: usize = 1000;

/// The functions of CEL, without operators, which have no name.
pub(super) const FUNCTIONS: [&str; 17] = [
    "bool",
    "bytes",
    "contains",
    "double",
    "dyn",
    "endsWith",
    "hasValue",
    "int",
    "matches",
    "or",
    "orValue",
    "size",
    "startsWith",
    "string",
    "type",
    "uint",
    "value",
];

/// The macros of CEL.
const MACROS: [&str; 6] = ["all", "exists", "exists_one", "filter", "has", "map"];

/// The names of types, which are values in CEL.
pub(super) const TYPES: [&str; 10] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// The parser failed.
pub(super) const UNPARSABLE: &str = "the CEL parser fails on this expression; write it in another way";

pub(super) const TOO_DEEP: &str =
    "the operations of the expression are nested too deep; shorten it, or decide in the plugin";

/// A text that is not a valid condition: what is wrong, where, and what would be right. Positions are line and column within the
/// expression, from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidWhen(pub(super) String);

/// Why an expression has no answer. No value of an object is in it: the object may be a Secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhenError {
    /// The object's text cannot be read, which is a bug of the host.
    #[error("the object cannot be read")]
    Unreadable,
    /// A list or map is too long for nested loops. Contains the number of its entries.
    #[error(
        "the object has a list or map of {0} entries; nested loops, and loops around a call that costs as much as a loop, accept {MAX_ENTRIES} at most"
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
        let Some(first) = errors.errors.first() else { return Self(UNPARSABLE.to_owned()) };
        if first.msg.contains("Recursion limit") {
            return Self(TOO_DEEP.to_owned());
        }
        let ((line, column), problem) = (first.pos, &first.msg);
        Self(format!(
            "not CEL, at {line}:{column} of the expression: {problem}; write for example `object.spec.replicas > 2`"
        ))
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
                Self::Failed(format!("`{function}` failed on its arguments"))
            }
            _ => Self::Failed("an operation on values of types that it does not accept".to_owned()),
        }
    }
}

impl From<NotJson> for WhenError {
    fn from(NotJson: NotJson) -> Self {
        Self::Unreadable
    }
}

/// All functions and macros, for an error message.
pub(super) fn functions() -> String {
    let mut names: Vec<&str> = FUNCTIONS.into_iter().chain(MACROS).collect();
    names.sort_unstable();
    format!("`{}`", names.join("`, `"))
}
