//! When guests run: fairly by plugin, within their share of the processors, and until their deadline.
//!
//! What a plugin wants done is a future, and each time that is polled is one **slice**: from the start, or from the end
//! of a wait in the host, to the next wait, to the next tick of the epoch or to the end. It is more than the guest's own
//! code: an instance is made and a failed one is taken down in a slice too, or a plugin that traps at once would have more
//! than its share. Before a slice, in this order:
//!
//! 1. [`CpuBudget`](cpu_budget::CpuBudget): a plugin that has used up its `cpu` share waits until it has some again;
//! 2. [`Turnstile`]: as many guests run at a time as there are threads for them, and who waits for a turn gets it by
//!    plugin, one after the other, so that eight spinning workers of one plugin count as much as one of another. A plugin
//!    that ran less than the others does not wait.
//!
//! Neither wait counts against the deadline of the call ([`CallClock`]): the host imposed it, and a retry would only
//! spend the share again. Everything else does, waits in host calls included. A guest that waits in a host call
//! holds no turn.

mod call_clock;
mod cpu_budget;
mod lane;
mod turns;
mod turnstile;

pub(crate) use call_clock::CallClock;
pub(crate) use lane::Lane;
pub(crate) use turns::{by_turns, tick};
pub(crate) use turnstile::{BESIDE, TURN, Turnstile};
