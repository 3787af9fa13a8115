//! A scripted API server: every LIST and every WATCH gets the next answer of the script, and every request is
//! recorded. It is served from memory, for tests under paused time, or over TCP.

mod memory;
mod script;
mod tcp;

use script::Step;
pub(crate) use script::{Answer, Script};
