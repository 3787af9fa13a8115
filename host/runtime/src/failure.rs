//! What a trap means, in the guest's own words where it has any.

use informer_types::{Failure, FailureKind};
use wasmtime::{Trap, WasmBacktrace};

use crate::guest::Guest;

/// Frames shown; the guest's own panic machinery takes some of them.
const FRAMES: usize = 12;

/// The call outlived its deadline.
#[derive(Debug, thiserror::Error)]
#[error("the call outlived its deadline")]
pub(crate) struct DeadlineExceeded;

/// Turns what wasmtime says about a failed call into a failure for people.
pub(crate) fn classify(error: &wasmtime::Error, guest: &Guest) -> Failure {
    let kind = kind(error, guest);
    let mut message = match kind {
        FailureKind::Deadline => {
            format!("the call took longer than its deadline of {:?}", guest.limits.deadline)
        }
        FailureKind::Memory => {
            format!("the guest wanted more memory than its limit of {} bytes", guest.limits.memory_bytes)
        }
        _ => error.root_cause().to_string(),
    };
    let last_words = guest.output.last_words();
    if !last_words.is_empty() {
        message = format!("{message}; the guest said: {last_words}");
    }
    if let Some(frames) = frames(error) {
        message = format!("{message}; in {frames}");
    }
    Failure::new(kind, message)
}

fn kind(error: &wasmtime::Error, guest: &Guest) -> FailureKind {
    if error.downcast_ref::<DeadlineExceeded>().is_some() {
        FailureKind::Deadline
    } else if guest.memory.refusals() > 0 {
        FailureKind::Memory
    } else if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
        FailureKind::Deadline
    } else {
        FailureKind::Trap
    }
}

/// The names of the guest's functions, innermost first, where the component kept them.
fn frames(error: &wasmtime::Error) -> Option<String> {
    let backtrace = error.downcast_ref::<WasmBacktrace>()?;
    let names: Vec<&str> =
        backtrace.frames().iter().filter_map(|frame| frame.func_name()).take(FRAMES).collect();
    (!names.is_empty()).then(|| names.join(" < "))
}
