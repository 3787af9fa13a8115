//! informer-tests.
