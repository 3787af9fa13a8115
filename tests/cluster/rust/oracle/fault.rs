//! The faults of a run and their times, which follow from the seed.

use std::fmt;

use fastrand::Rng;

/// The number of changes while a fault lasts.
pub(super) const LASTS: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// All connections are reset.
    Reset,
    /// Each connection is reset after this number of bytes, usually within a frame.
    ResetAfter { bytes: u64 },
    /// All connections stall for a while. Then the waiting bytes arrive, or are lost if `reset` is set.
    Stall { reset: bool },
    /// All connections are reset, and new ones are refused for a while.
    Refuse,
    /// All connections stall, and etcd is compacted meanwhile.
    Compact,
    /// The API server restarts for all runs of the round at once.
    Restart { refuse: bool },
}

/// The faults in order, each with the number of changes at which it strikes.
pub(super) fn schedule(seed: u64, changes: usize, watch_cache: bool) -> Vec<(usize, Fault)> {
    // Use other random numbers than the changes do.
    let mut rng = Rng::with_seed(!seed);
    let mut faults = vec![Fault::Reset; 10];
    for _ in 0..3 {
        faults.push(Fault::ResetAfter { bytes: rng.u64(6_000..40_000) });
        faults.push(Fault::Stall { reset: rng.bool() });
    }
    faults.push(Fault::Refuse);
    // A compaction has no effect on a server with a watch cache before its restart.
    let second = if watch_cache { Fault::Stall { reset: true } } else { Fault::Compact };
    faults.extend([second, second]);
    rng.shuffle(&mut faults);
    // client-go waits longer after each failure, so faults that make all requests fail come late.
    faults.push(Fault::Restart { refuse: rng.bool() });
    faults.extend([Fault::Reset, Fault::Stall { reset: rng.bool() }, Fault::Reset]);
    let apart = changes / (faults.len() + 1);
    let at = |place| apart * (place + 1) + rng.usize(..apart.saturating_sub(LASTS).max(1));
    (0..faults.len()).map(at).zip(faults).collect()
}

impl Fault {
    /// The name of the counter for this fault.
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
