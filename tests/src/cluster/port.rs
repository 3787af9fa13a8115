//! A port that stays reserved while nothing listens on it.

pub(crate) use informer_faults::ReservedPort;
