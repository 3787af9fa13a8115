//! informer-sdk.
