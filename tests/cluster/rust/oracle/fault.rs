//! What goes wrong in a run, and when: it follows from the seed too.

use std::fmt;

use fastrand::Rng;

/// How many changes are made while a fault lasts.
pub(super) const LASTS: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// Every connection is reset.
    Reset,
    /// Connections are reset wherever so many bytes end: in the middle of a frame.
    ResetAfter { bytes: u64 },
    /// Nothing moves for a while; then everything, or, if reset, nothing of what waited.
    Stall { reset: bool },
    /// Connections are reset, and refused for a while.
    Refuse,
    /// etcd forgets what happened while nothing moved.
    Compact,
    /// The API server restarts, for all runs of the round at once.
    Restart { refuse: bool },
}

/// Faults in order, each with the number of changes at which it strikes.
pub(super) fn schedule(seed: u64, changes: usize, watch_cache: bool) -> Vec<(usize, Fault)> {
    // Not the numbers that drew the changes.
    let mut rng = Rng::with_seed(!seed);
    let mut faults = vec![Fault::Reset; 10];
    for _ in 0..3 {
        faults.push(Fault::ResetAfter { bytes: rng.u64(6_000..40_000) });
        faults.push(Fault::Stall { reset: rng.bool() });
    }
    faults.push(Fault::Refuse);
    // A server with a watch cache does not feel it before it restarts.
    let second = if watch_cache { Fault::Stall { reset: true } } else { Fault::Compact };
    faults.extend([second, second]);
    rng.shuffle(&mut faults);
    // client-go waits longer after each failure, so what makes everybody fail comes late.
    faults.push(Fault::Restart { refuse: rng.bool() });
    faults.extend([Fault::Reset, Fault::Stall { reset: rng.bool() }, Fault::Reset]);
    let apart = changes / (faults.len() + 1);
    let at = |place| apart * (place + 1) + rng.usize(..apart.saturating_sub(LASTS).max(1));
    (0..faults.len()).map(at).zip(faults).collect()
}

impl Fault {
    /// What it is counted as.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::ResetAfter { .. } => "reset after n bytes",
            Self::Stall { reset: false } => "stall",
            Self::Stall { reset: true } => "stall and reset",
            Self::Refuse => "refuse",
            Self::Compact => "compact",
            Self::Restart { .. } => "restart",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}
