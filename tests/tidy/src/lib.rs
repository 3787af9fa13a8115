//! Reads the repository as text, so that tests can check what the compiler does not: module cycles, rule codes, the length of
//! functions, and the prose. The checks are in `tests/tidy`.
#![forbid(unsafe_code)]

pub mod items;
pub mod modules;
pub mod prose;
pub mod rules;
pub mod rust;
pub mod tree;
