//! Values that are one of a few words.

use informer_cache::{Compression, WatchListMode};
use informer_dispatch::Fate;
use informer_runtime::LogLevel;

use super::scalar::Choice;
use crate::{
    config::plugin::{Enqueue, Initial, OnReload, Relist},
    logging::LEVELS,
    logging::LogFormat,
};

/// An element of `events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Add,
    Update,
    Delete,
}

/// The value of `instance`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstanceKind {
    Warm,
    Fresh,
}

/// The value of `delivery`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DeliveryKind {
    #[default]
    Latest,
    Every,
}

// === impl Choice ===

impl Choice for EventKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("add", Self::Add), ("update", Self::Update), ("delete", Self::Delete)];
}

impl Choice for InstanceKind {
    const WORDS: &'static [(&'static str, Self)] = &[("warm", Self::Warm), ("fresh", Self::Fresh)];
}

impl Choice for DeliveryKind {
    const WORDS: &'static [(&'static str, Self)] = &[("latest", Self::Latest), ("every", Self::Every)];
}

impl Choice for Relist {
    const WORDS: &'static [(&'static str, Self)] = &[("changed", Self::Changed), ("all", Self::All)];
}

impl Choice for Compression {
    const WORDS: &'static [(&'static str, Self)] = &[("zstd", Self::Zstd), ("off", Self::Off)];
}

impl Choice for WatchListMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("on", Self::On), ("off", Self::Off)];
}

impl Choice for Initial {
    const WORDS: &'static [(&'static str, Self)] = &[("deliver", Self::Deliver), ("skip", Self::Skip)];
}

impl Choice for Enqueue {
    const WORDS: &'static [(&'static str, Self)] =
        &[("object", Self::Object), ("controller", Self::Controller)];
}

impl Choice for Fate {
    const WORDS: &'static [(&'static str, Self)] =
        &[("dead-letter", Self::DeadLetter), ("drop", Self::Drop), ("quarantine", Self::Quarantine)];
}

impl Choice for OnReload {
    const WORDS: &'static [(&'static str, Self)] = &[("keep", Self::Keep), ("replay", Self::Replay)];
}

impl Choice for LogLevel {
    const WORDS: &'static [(&'static str, Self)] = &LEVELS;
}

impl Choice for LogFormat {
    const WORDS: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}
