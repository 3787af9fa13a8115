//! The JavaScript and Python examples: the same story as the Rust example, the same lines.
//!
//! Run by `cargo xtask test --all`; builds the components with the scripts that the examples' READMEs name.

fn main() {}
