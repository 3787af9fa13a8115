//! The host's side of the interface, as this crate calls it.

pub(crate) use crate::bindings::informer::plugin::{delivery, lister, log, objects};
