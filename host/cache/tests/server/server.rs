//! A scripted API server: every LIST and every WATCH gets the next answer of the script, and every request is
//! recorded. It is served from memory, for tests under paused time, or over TCP.

mod memory;
mod script;
mod tcp;

#[allow(unused_imports, reason = "not every test that includes this file writes to answers")]
pub(crate) use script::Live;
use script::Step;
pub(crate) use script::{Answer, Script};
