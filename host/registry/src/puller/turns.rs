//! The turns of layers: how many are pulled at the same time.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::Settings;

/// The most layers that are pulled at the same time: each is in memory until it is compiled.
const AT_ONCE: usize = 4;

/// Each registry has one turn for its first layer. This is the number of further turns, which all registries share. So a registry with
/// many layers has at most two turns, and two registries that send slowly leave a turn for the layers of the others.
const FURTHER: usize = 1;

/// The turns of all registries.
#[derive(Debug)]
pub(super) struct Turns {
    all: Semaphore,
    further: Semaphore,
    /// The turn of each registry for its first layer, by [`Settings::server`].
    first: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

/// The permission to pull one layer. It ends when it is dropped.
pub(super) struct Turn<'a> {
    _all: Option<SemaphorePermit<'a>>,
    _first: Option<OwnedSemaphorePermit>,
    _further: Option<SemaphorePermit<'a>>,
}

// === impl Turns ===

impl Turns {
    /// Waits for a turn of this registry. Different spellings of its host share the turns. The semaphores are never closed.
    pub(super) async fn take(&self, settings: &Settings, registry: &str) -> Turn<'_> {
        let server = settings.server(registry);
        // While a layer waits here, it takes no turn of the other registries.
        let (first, further) = tokio::select! {
            biased;
            first = self.first_of(server).acquire_owned() => (first.ok(), None),
            further = self.further.acquire() => (None, further.ok()),
        };
        let all = self.all.acquire().await.ok();
        Turn { _all: all, _first: first, _further: further }
    }

    fn first_of(&self, server: String) -> Arc<Semaphore> {
        let mut first = self.first.lock();
        // Registries without a layer are forgotten: Plugin objects may name ever new ones.
        first.retain(|_, own| Arc::strong_count(own) > 1);
        let new = || Arc::new(Semaphore::new(1));
        Arc::clone(first.entry(server).or_insert_with(new))
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self { all: Semaphore::new(AT_ONCE), further: Semaphore::new(FURTHER), first: Mutex::default() }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn taken<'a>(turns: &'a Turns, registry: &str) -> Option<Turn<'a>> {
        let settings = Settings::default();
        turns.take(&settings, registry).now_or_never()
    }

    #[test]
    fn two_slow_registries_leave_a_turn_for_the_layers_of_another() {
        let (turns, settings) = (Turns::default(), Settings::default());
        let first = [taken(&turns, "slow.example").unwrap(), taken(&turns, "slow.example").unwrap()];
        let second = taken(&turns, "other.example").unwrap();
        for registry in
            ["slow.example", "SLOW.example", "slow.example:443", "Slow.example:0443", "other.example"]
        {
            assert!(taken(&turns, registry).is_none(), "{registry}");
        }
        let mut waiting = Box::pin(turns.take(&settings, "slow.example"));
        assert!(waiting.as_mut().now_or_never().is_none());

        let third = taken(&turns, "third.example").unwrap();

        assert!(taken(&turns, "fourth.example").is_none(), "all turns are taken");
        drop(first);
        assert!(waiting.as_mut().now_or_never().is_some());
        drop((waiting, second, third));
        drop(taken(&turns, "fourth.example").unwrap());
        assert_eq!(turns.first.lock().len(), 1, "registries without a layer are forgotten");
    }
}
