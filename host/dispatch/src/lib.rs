//! informer-dispatch.
