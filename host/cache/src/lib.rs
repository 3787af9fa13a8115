//! informer-cache.
