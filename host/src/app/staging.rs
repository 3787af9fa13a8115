//! Stand-ins for the outside world, for tests of plugins.

use std::sync::Arc;

use informer_runtime::{WallClock, capabilities::Wire};

use crate::{
    connect::KubeClient,
    wiring::{Witness, WitnessSlot, WitnessedClient},
};

/// Stand-ins for the outside world. The queues of the plugins have a clock that only
/// `App::advance` moves.
pub struct Staging {
    /// Receives the calls and requests of the plugins.
    pub witness: Box<dyn Witness>,
    /// Answers HTTP requests.
    pub wire: Arc<dyn Wire>,
    /// The wall clock of the guests.
    pub wall_clock: Arc<dyn WallClock>,
}

/// The stage of a host: empty, unless a test started it.
#[derive(Clone, Default)]
pub(super) struct Stage {
    pub(super) witness: WitnessSlot,
    pub(super) wire: Option<Arc<dyn Wire>>,
    pub(super) wall_clock: Option<Arc<dyn WallClock>>,
}

// === impl Stage ===

impl Stage {
    pub(super) fn new(staging: Option<Staging>) -> Self {
        staging.map_or_else(Self::default, |staging| Self {
            witness: WitnessSlot::with(staging.witness),
            wire: Some(staging.wire),
            wall_clock: Some(staging.wall_clock),
        })
    }

    /// The client of a plugin, with the witness beside it.
    pub(super) fn witnessed(&self, client: &KubeClient) -> WitnessedClient {
        WitnessedClient { client: client.clone(), witness: self.witness.clone() }
    }

    /// Returns true if the clocks of queues are stopped.
    pub(super) fn stops_clocks(&self) -> bool {
        self.wall_clock.is_some()
    }
}
