//! Facts about the slice that runs on this thread.

use std::{cell::Cell, time::Duration};

thread_local! {
    /// How long the work waited before the slice.
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// True if the epoch interrupted the slice.
    static TICKED: Cell<bool> = const { Cell::new(false) };
}

/// Begins a slice whose work waited this long for its turn and its share.
pub(super) fn begin(waited: Duration) {
    WAITED.set(waited);
    TICKED.set(false);
}

/// To be called when the epoch interrupts the guest on this thread.
pub(crate) fn tick() {
    TICKED.set(true);
}

/// Returns true if the epoch interrupted the slice.
pub(super) fn ticked() -> bool {
    TICKED.get()
}

/// How long the work waited before the slice. Returns zero from the second call on.
pub(super) fn take_waited() -> Duration {
    WAITED.take()
}
