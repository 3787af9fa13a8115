//! informer-guests.
