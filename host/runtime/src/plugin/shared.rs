//! What the versions of a plugin share.

use std::sync::Arc;

use super::{counters::CallCounters, slots::Slots};
use crate::{PluginConfig, Sources, counters::Counters, revocation::Revocation, schedule::Lane};

/// The parts of a plugin that outlive its versions, with the configuration of one version.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) config: Arc<PluginConfig>,
    pub(super) sources: Sources,
    pub(super) calls: Arc<CallCounters>,
    pub(super) counters: Arc<Counters>,
    pub(super) slots: Arc<Slots>,
    pub(super) lane: Arc<Lane>,
    /// The end of the grants in `config`.
    pub(super) revocation: Arc<Revocation>,
}
