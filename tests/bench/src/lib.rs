//! informer-bench.
