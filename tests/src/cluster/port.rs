//! A port that stays ours while nothing listens on it.

pub(crate) use informer_faults::ReservedPort;
