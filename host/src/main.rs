//! The `informer` binary.
fn main() {}
