//! What a trap means, in the guest's own words where it has any.

use std::num::NonZeroU32;

use informer_types::{Failure, FailureKind};
use wasmtime::{Trap, WasmBacktrace};

use crate::{guest::Guest, instance::HANDED_OVER_BYTES};

/// Frames shown, those that say nothing left out.
const FRAMES: usize = 8;

/// Where a panic goes through before the guest traps: what the names of such functions begin with.
const MACHINERY: [&str; 6] = ["std::", "core::", "alloc::", "__rustc::", "rust_", "abort"];

/// A longer message is cut: failures are kept as dead letters.
const MESSAGE_BYTES: usize = 4 * 1024;

/// What wasmtime says where a call hands over more than it may; the error has no name.
const TOO_MUCH_HANDED_OVER: &str = "too much data is being copied between the host and the guest";

/// Lines of stderr shown: the end of a Python traceback, or a panic message with its place.
const LINES: usize = 8;

/// The call outlived its deadline.
#[derive(Debug, thiserror::Error)]
#[error("the call outlived its deadline")]
pub(crate) struct DeadlineExceeded;

/// The call runs with grants that are revoked, and has had its time to finish.
#[derive(Debug, thiserror::Error)]
#[error(
    "the call was ended: something that its version was granted is revoked, and calls in hand have had their deadline"
)]
pub(crate) struct GrantsRevoked;

/// The call made more calls to the host than it may.
#[derive(Debug, thiserror::Error)]
#[error("the call made too many calls to the host")]
pub(crate) struct HostCallsExceeded;

/// A failure with a message of bounded length.
pub(crate) fn failure(kind: FailureKind, mut message: String) -> Failure {
    if message.len() > MESSAGE_BYTES {
        let cut = message.floor_char_boundary(MESSAGE_BYTES);
        let more = message.len() - cut;
        message.truncate(cut);
        message.push_str(&format!("... ({more} bytes more)"));
    }
    Failure::new(kind, message)
}

/// Turns what wasmtime says about a failed call into a failure for people.
pub(crate) fn classify(error: &wasmtime::Error, guest: &Guest) -> Failure {
    let kind = kind(error, guest);
    let said = said(&guest.output.last_words());
    let revoked = error.is::<GrantsRevoked>();
    let mut message = match kind {
        FailureKind::Deadline if !revoked => {
            format!("the call took longer than its deadline of {:?}", guest.call.allowed)
        }
        FailureKind::Memory => {
            let limit = guest.config.limits.memory_bytes;
            format!("the guest wanted more memory than its limit of {limit} bytes")
        }
        FailureKind::HostCalls => {
            let most = guest.config.limits.host_calls.map_or(0, NonZeroU32::get);
            format!(
                "the call made more than {most} calls to the host, its limit (`host-calls` under [plugin.limits])"
            )
        }
        _ => trap(error),
    };
    if !said.is_empty() {
        message = format!("{said} ({message})");
    }
    if let Some(frames) = frames(error) {
        message.push_str(&format!("; in {frames}"));
    }
    failure(kind, message)
}

fn trap(error: &wasmtime::Error) -> String {
    let said = error.root_cause().to_string();
    if said.starts_with(TOO_MUCH_HANDED_OVER) {
        format!("the call handed more than {} MiB to the host at once", HANDED_OVER_BYTES >> 20)
    } else {
        said
    }
}

fn kind(error: &wasmtime::Error, guest: &Guest) -> FailureKind {
    if error.is::<DeadlineExceeded>() || error.is::<GrantsRevoked>() {
        FailureKind::Deadline
    } else if error.is::<HostCallsExceeded>() {
        FailureKind::HostCalls
    } else if guest.memory.refused() {
        FailureKind::Memory
    } else if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
        FailureKind::Deadline
    } else {
        FailureKind::Trap
    }
}

/// The last lines of stderr as one line, without Rust's advice to set a variable no guest can see.
fn said(last_words: &str) -> String {
    let lines: Vec<&str> = last_words
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE"))
        .collect();
    lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join(" | ")
}

/// The names of the guest's functions, innermost first, where the component kept them.
fn frames(error: &wasmtime::Error) -> Option<String> {
    let backtrace = error.downcast_ref::<WasmBacktrace>()?;
    let names: Vec<&str> = backtrace
        .frames()
        .iter()
        .filter_map(|frame| frame.func_name())
        .filter(|name| !MACHINERY.iter().any(|machinery| name.starts_with(machinery)))
        .take(FRAMES)
        .collect();
    (!names.is_empty()).then(|| names.join(" < "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_in_one_line_without_the_advice() {
        let panic = "\nthread '<unnamed>' (1) panicked at src/lib.rs:3:5:\nno replicas\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";

        assert_eq!(said(panic), "thread '<unnamed>' (1) panicked at src/lib.rs:3:5: | no replicas");
    }

    #[test]
    fn of_many_lines_the_last_are_told() {
        let lines: Vec<String> = (0..20).map(|line| format!("  line {line}")).collect();

        let said = said(&lines.join("\n"));

        assert!(said.starts_with("line 12 | ") && said.ends_with(" | line 19"), "{said}");
    }

    #[test]
    fn the_guests_own_functions_are_named_innermost_first() {
        let module = r#"(module
            (func $abort unreachable)
            (func $std::panicking::panic call $abort)
            (func $inner call $std::panicking::panic)
            (func $outer (export "f") call $inner))"#;
        let engine = wasmtime::Engine::default();
        let module = wasmtime::Module::new(&engine, module).unwrap();
        let mut store = wasmtime::Store::new(&engine, ());
        let instance = wasmtime::Instance::new(&mut store, &module, &[]).unwrap();
        let function = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();

        let trap = function.call(&mut store, ()).unwrap_err();

        assert_eq!(frames(&trap).unwrap(), "inner < outer");
    }

    #[test]
    fn a_message_without_end_is_cut_between_characters() {
        let failure = failure(FailureKind::Handler, "ä".repeat(MESSAGE_BYTES));

        assert!(failure.message.len() < MESSAGE_BYTES + 40);
        assert!(failure.message.ends_with(&format!("ä... ({MESSAGE_BYTES} bytes more)")), "{failure}");
    }
}
