//! The ceiling over the memory of the guests of all plugins.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use informer_system::memory::memory_eighths;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use slab::Slab;

use crate::counter::Counter;

/// The ceiling divided by this number is kept for the plugins in equal shares, so a plugin that takes much leaves the others
/// their shares.
const KEPT: u64 = 4;

/// The most linear memories of all plugins. Each takes seven mappings; Linux allows a process 65,530 (`vm.max_map_count`). They
/// reserve 33 TiB of address space, of 128.
const MEMORIES: u64 = 8192;

/// The memory of the guests of all plugins, and its limit.
pub(crate) struct Ceiling {
    most: Amount,
    state: Mutex<State>,
    refusals: Counter,
}

#[derive(Default)]
struct State {
    used: Amount,
    plugins: Slab<Amount>,
}

/// The memory of the guests of one plugin, over all its versions. Dropping it removes the plugin from the ceiling.
pub(crate) struct Account {
    ceiling: Arc<Ceiling>,
    plugin: usize,
    /// Number of times that a guest of the plugin was refused memory, at its own limit or at the ceiling.
    pub(crate) refusals: Counter,
    /// Bytes of linear memories, which are a part of what the guests take.
    linear: AtomicU64,
}

/// Bytes of the host, and linear memories, each of which reserves address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) bytes: u64,
    pub(crate) memories: u64,
}

/// The memory of the guests of all plugins, and its ceiling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct GuestMemory {
    /// Bytes that are charged to living instances.
    pub used_bytes: u64,
    /// The most bytes. `None` means that there is no ceiling.
    pub ceiling_bytes: Option<u64>,
    /// Number of times that a guest was refused memory at the ceiling.
    pub refusals: u64,
}

// === impl Ceiling ===

impl Ceiling {
    /// A ceiling in bytes. `None` means a quarter of [`memory_bytes`](informer_system::memory::memory_bytes).
    pub(crate) fn new(bytes: Option<u64>) -> Self {
        let bytes = bytes.or_else(|| memory_eighths(2)).unwrap_or(u64::MAX);
        let most = Amount { bytes, memories: MEMORIES };
        Self { most, state: Mutex::default(), refusals: Counter::default() }
    }

    /// Adds a plugin.
    pub(crate) fn account(self: &Arc<Self>) -> Account {
        let plugin = self.state.lock().plugins.insert(Amount::default());
        Account { ceiling: Arc::clone(self), plugin, refusals: Counter::default(), linear: AtomicU64::new(0) }
    }

    /// The most bytes. `None` means that there is no ceiling.
    pub(crate) fn bytes(&self) -> Option<u64> {
        Some(self.most.bytes).filter(|bytes| *bytes < u64::MAX)
    }

    pub(crate) fn snapshot(&self) -> GuestMemory {
        GuestMemory {
            used_bytes: self.state.lock().used.bytes,
            ceiling_bytes: self.bytes(),
            refusals: self.refusals.get(),
        }
    }
}

// === impl Account ===

impl Account {
    /// Takes this much more. Returns false, and takes nothing, if it does not fit.
    pub(crate) fn take(&self, more: Amount) -> bool {
        let mut state = self.ceiling.state.lock();
        let fits = state.fits(self.plugin, more, self.ceiling.most);
        if fits {
            state.used = state.used.plus(more);
            if let Some(own) = state.plugins.get_mut(self.plugin) {
                *own = own.plus(more);
            }
        } else {
            self.ceiling.refusals.increment();
        }
        fits
    }

    pub(crate) fn give_back(&self, amount: Amount) {
        let mut state = self.ceiling.state.lock();
        state.used = state.used.minus(amount);
        if let Some(own) = state.plugins.get_mut(self.plugin) {
            *own = own.minus(amount);
        }
    }

    /// Bytes that the guests of the plugin take.
    pub(crate) fn bytes(&self) -> u64 {
        self.ceiling.state.lock().plugins.get(self.plugin).map_or(0, |own| own.bytes)
    }

    /// Bytes of the linear memories of the plugin's guests.
    pub(crate) fn linear_bytes(&self) -> u64 {
        self.linear.load(Relaxed)
    }

    /// Counts linear memory that was taken.
    pub(super) fn linear_grew(&self, bytes: u64) {
        self.linear.fetch_add(bytes, Relaxed);
    }

    /// Counts linear memory that is given back.
    pub(super) fn linear_ended(&self, bytes: u64) {
        self.linear.fetch_sub(bytes, Relaxed);
    }

    pub(crate) fn ceiling(&self) -> &Ceiling {
        &self.ceiling
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.ceiling.state.lock().plugins.try_remove(self.plugin);
    }
}

// === impl State ===

impl State {
    /// Returns true if the plugin may take this much more, so that every other plugin can still take its share.
    fn fits(&self, plugin: usize, more: Amount, most: Amount) -> bool {
        let plugins = self.plugins.len().max(1) as u64;
        let others = || self.plugins.iter().filter(|(other, _)| *other != plugin).map(|(_, own)| own);
        let fits = |of: fn(&Amount) -> u64| {
            let share = of(&most) / KEPT / plugins;
            let kept: u64 = others().map(|own| share.saturating_sub(of(own))).sum();
            of(&self.used).saturating_add(of(&more)).saturating_add(kept) <= of(&most)
        };
        fits(|amount| amount.bytes) && fits(|amount| amount.memories)
    }
}

// === impl Amount ===

impl Amount {
    pub(crate) fn plus(self, more: Self) -> Self {
        let Self { bytes, memories } = more;
        Self { bytes: self.bytes.saturating_add(bytes), memories: self.memories.saturating_add(memories) }
    }

    fn minus(self, less: Self) -> Self {
        let Self { bytes, memories } = less;
        Self { bytes: self.bytes.saturating_sub(bytes), memories: self.memories.saturating_sub(memories) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn bytes(bytes: u64) -> Amount {
        Amount { bytes, memories: 0 }
    }

    #[test]
    fn one_plugin_alone_may_take_the_whole_ceiling_and_what_it_gives_back_is_free_again() {
        let ceiling = Arc::new(Ceiling::new(Some(100)));
        let only = ceiling.account();

        assert!(only.take(bytes(100)) && !only.take(bytes(1)));
        only.give_back(bytes(30));
        assert!(!only.take(bytes(31)) && only.take(bytes(30)));

        let expected = GuestMemory { used_bytes: 100, ceiling_bytes: Some(100), refusals: 2 };
        assert_eq!((ceiling.snapshot(), only.bytes()), (expected, 100));
    }

    #[test]
    fn a_plugin_that_takes_all_it_can_leaves_every_other_plugin_its_share() {
        let ceiling = Arc::new(Ceiling::new(Some(4000)));
        let greedy = ceiling.account();
        let others: Vec<Account> = (0..9).map(|_| ceiling.account()).collect();

        while greedy.take(bytes(1)) {}
        assert_eq!(greedy.bytes(), 3100, "a tenth of a quarter is kept for each of the nine others");
        for other in &others {
            assert!(other.take(bytes(100)) && !other.take(bytes(1)), "it takes its share and no more");
        }
        assert_eq!(ceiling.snapshot().used_bytes, 4000);
    }

    #[test]
    fn the_share_of_a_plugin_that_was_removed_is_free_for_the_others() {
        let ceiling = Arc::new(Ceiling::new(Some(800)));
        let (stays, goes) = (ceiling.account(), ceiling.account());
        assert!(!stays.take(bytes(701)));

        drop(goes);

        assert!(stays.take(bytes(800)));
    }

    #[test]
    fn the_number_of_memories_has_a_ceiling_too() {
        let ceiling = Arc::new(Ceiling::new(None));
        let only = ceiling.account();

        assert!(only.take(Amount { bytes: 0, memories: MEMORIES }));
        assert!(!only.take(Amount { bytes: 0, memories: 1 }));
    }
}
