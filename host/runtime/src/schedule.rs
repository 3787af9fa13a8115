//! When guests run: in turns by plugin, within the processor share of their plugin, and until the deadline of their call.
//!
//! The work of a plugin is a future. Each poll of this future is one **slice** of work. A slice starts at the start of the work
//! or at the end of a wait in the host. It ends at the next wait, at the next tick of the epoch (1 ms), or at the end of the
//! work. Making an instance and taking down a failed one is work too; otherwise a plugin that traps at once would run more
//! than its share.
//!
//! Before a slice the work waits for two things, in this order:
//!
//! 1. **Its share** ([`CpuBudget`](cpu_budget::CpuBudget)): if the plugin has used up its `cpu` limit, the work waits until the
//!    budget has refilled. The time of [`blocking_work()`] counts, too.
//! 2. **A turn** ([`Turnstile`]): a turn is the permission to run one slice. There are as many turns as threads that run
//!    guests. If no turn is free, the work waits in the **lane** of its plugin, and free turns go round the lanes. So eight
//!    workers of one plugin get as many turns as one worker of another. A plugin that ran less than the others runs at once.
//!
//! Neither wait counts against the deadline of the call ([`CallClock`]), because the host imposed it. Waits in host calls
//! count. Work that waits in a host call holds no turn.

mod blocking_work;
mod call_clock;
mod cpu_budget;
mod lane;
mod turns;
mod turnstile;

pub use blocking_work::blocking_work;
pub(crate) use call_clock::{CallClock, tick};
pub(crate) use lane::Lane;
pub(crate) use turns::by_turns;
pub(crate) use turnstile::{BESIDE, TURN, Turnstile};
