//! The turns of layers: how many are pulled at the same time.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// The most layers that are pulled at the same time: each is in memory until it is compiled.
const AT_ONCE: usize = 4;

/// The most of them from one registry, so that a registry that sends slowly does not delay the layers of other registries.
const OF_A_REGISTRY: usize = 2;

/// The turns of all registries.
#[derive(Debug)]
pub(super) struct Turns {
    all: Semaphore,
    by_registry: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

/// The permission to pull one layer. It ends when it is dropped.
pub(super) struct Turn<'a> {
    _all: Option<SemaphorePermit<'a>>,
    _own: Option<OwnedSemaphorePermit>,
}

// === impl Turns ===

impl Turns {
    /// Waits for a turn of this registry. The semaphores are never closed.
    pub(super) async fn take(&self, registry: &str) -> Turn<'_> {
        // The registry's own turn comes first: while a layer waits for it, the layer takes no turn of the other registries.
        let own = self.of(registry).acquire_owned().await.ok();
        let all = self.all.acquire().await.ok();
        Turn { _all: all, _own: own }
    }

    fn of(&self, registry: &str) -> Arc<Semaphore> {
        let mut by_registry = self.by_registry.lock();
        // Registries without a layer are forgotten: Plugin objects may name ever new ones.
        by_registry.retain(|_, own| Arc::strong_count(own) > 1);
        let new = || Arc::new(Semaphore::new(OF_A_REGISTRY));
        Arc::clone(by_registry.entry(registry.to_ascii_lowercase()).or_insert_with(new))
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self { all: Semaphore::new(AT_ONCE), by_registry: Mutex::default() }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn the_layers_of_one_registry_leave_turns_for_the_layers_of_another() {
        let turns = Turns::default();
        let taken = |registry: &'static str, number: usize| {
            (0..number).map(|_| turns.take(registry).now_or_never().unwrap()).collect::<Vec<_>>()
        };
        let slow = taken("slow.example", OF_A_REGISTRY);
        let mut waiting = Box::pin(turns.take("SLOW.example"));
        assert!(waiting.as_mut().now_or_never().is_none());

        let other = taken("other.example", AT_ONCE - OF_A_REGISTRY);

        assert!(turns.take("third.example").now_or_never().is_none(), "all turns are taken");
        drop(slow);
        assert!(waiting.as_mut().now_or_never().is_some());
        drop((waiting, other));
        drop(taken("third.example", 1));
        assert_eq!(turns.by_registry.lock().len(), 1, "registries without a layer are forgotten");
    }
}
