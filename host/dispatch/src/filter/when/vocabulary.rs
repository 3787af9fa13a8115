//! The names and bounds of `when` expressions.

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

/// All functions and macros, for an error message.
pub(super) fn functions() -> String {
    let mut names: Vec<&str> = FUNCTIONS.into_iter().chain(MACROS).collect();
    names.sort_unstable();
    format!("`{}`", names.join("`, `"))
}
