//! informer-runtime.
