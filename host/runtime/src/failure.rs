//! Failures of calls, for people: classified by the type of the error, with the guest's own words if it left any.

use std::num::NonZeroU32;

use informer_types::{Failure, FailureKind};
use wasmtime::{Trap, WasmBacktrace};

use crate::{
    LogLevel,
    debug_info::{Frame, Place},
    guest::Guest,
    interruption::{HANDED_OVER_BYTES, Interruption},
    memory::Refusal,
    output::is_noise,
};

/// The most frames shown.
const FRAMES: usize = 8;

/// Prefixes of functions that no author wrote: what a panic passes before the guest traps, and the SDK for Go, whose compiler gives no
/// lines. These frames are left out.
const MACHINERY: [&str; 12] = [
    "std::",
    "core::",
    "alloc::",
    "__rustc",
    "rust_",
    "abort",
    "<alloc::",
    "<core::",
    "runtime.",
    "wasm_",
    "informer_plugin_",
    "github.com_informer_host_informer_plugins_sdk_go_",
];

/// Prefixes of functions of the language engines that interpret the author's code: no frame is then a function of the author.
const ENGINES: [&str; 4] = ["JS_", "js_", "_Py", "Py"];

/// How Go begins its report of a failure from which nothing recovers, and the stack of each goroutine behind it.
const GO_FAILED: &str = "fatal error: ";
const GO_STACK: &str = "goroutine ";

/// The longest message in bytes. Failures are kept as dead letters.
const MESSAGE_BYTES: usize = 4 * 1024;

/// The most lines of stderr shown: the end of a Python traceback, or a panic message with its location.
const LINES: usize = 8;

/// The text in the first line of a panic in Rust, between the name of the thread and the place.
const PANICKED: &str = " panicked at ";

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

/// The frames in which a call failed, innermost first.
pub(crate) fn backtrace(error: &wasmtime::Error) -> Vec<Frame> {
    let backtrace = error.downcast_ref::<WasmBacktrace>();
    backtrace.map(|backtrace| backtrace.frames().iter().map(Frame::of).collect()).unwrap_or_default()
}

/// Turns the error of a failed call into a failure. `places` are those of its frames, innermost first.
pub(crate) fn classify(error: &wasmtime::Error, places: &[Place], guest: &Guest) -> Failure {
    let interruption = error.downcast_ref::<Interruption>();
    let kind = kind(error, interruption, guest);
    let mut message = match kind {
        FailureKind::Deadline if interruption != Some(&Interruption::GrantsRevoked) => too_long(guest),
        FailureKind::Memory => too_much_memory(guest),
        FailureKind::GuestMemory => ceiling_reached(guest),
        FailureKind::HostCalls => {
            let most = guest.config.limits.host_calls.map_or(0, NonZeroU32::get);
            format!(
                "the call made more than {most} calls to the host, its limit (`host-calls` under [plugin.limits])"
            )
        }
        _ if is_too_much_handed_over(error) => {
            format!("the call handed more than {} MiB to the host at once", HANDED_OVER_BYTES >> 20)
        }
        _ => error.root_cause().to_string(),
    };
    let stderr = one_line(&guest.output.last_words());
    if !stderr.is_empty() {
        let says_nothing = kind == FailureKind::Trap && is_unreachable(error);
        message = if says_nothing { stderr } else { format!("{stderr} ({message})") };
    }
    if let Some(frames) = frames(places) {
        message.push_str(&format!("; in {frames}"));
    }
    failure(kind, message)
}

/// Reports an allocation that was refused in a call that returned. Engines of languages turn it into an error of their own, which does
/// not name the limit.
pub(crate) fn without_memory(guest: &Guest, failure: Option<&mut Failure>) {
    let at_ceiling = guest.memory.refused == Some(Refusal::Ceiling);
    let hint = if at_ceiling { ceiling_reached(guest) } else { too_much_memory(guest) };
    match failure {
        Some(failure) => {
            let line = failure.message.find('\n').unwrap_or(failure.message.len());
            failure.message.insert_str(line, &format!(" ({hint})"));
        }
        None => guest.output.afterwards(LogLevel::Warn, &hint),
    }
}

/// A missed deadline, with the remedy. The time for `stop` is fixed.
fn too_long(guest: &Guest) -> String {
    let (allowed, limit) = (guest.call.allowed, guest.config.limits.deadline);
    let remedy = if allowed == limit { " (`deadline` under [plugin.limits])" } else { "" };
    format!("the call took longer than its deadline of {allowed:?}{remedy}")
}

/// The remedy for a refused allocation.
fn too_much_memory(guest: &Guest) -> String {
    let limit = guest.config.limits.memory_bytes;
    format!("the guest wanted more memory than its limit of {limit} bytes (`memory` under [plugin.limits])")
}

/// The remedy for an allocation that was refused at the ceiling of all plugins.
fn ceiling_reached(guest: &Guest) -> String {
    let ceiling = guest.memory.ceiling_bytes();
    format!(
        "this plugin does not fit into the memory of all guests together, {ceiling} bytes: raise `guest-memory` under [host], or lower `memory` or `instances` under [plugin.limits]"
    )
}

/// Returns true if the guest ended itself, as each language does after it has printed why.
fn is_unreachable(error: &wasmtime::Error) -> bool {
    error.downcast_ref::<Trap>() == Some(&Trap::UnreachableCodeReached)
}

fn kind(error: &wasmtime::Error, interruption: Option<&Interruption>, guest: &Guest) -> FailureKind {
    match interruption {
        Some(Interruption::Deadline | Interruption::GrantsRevoked) => FailureKind::Deadline,
        Some(Interruption::HostCalls) => FailureKind::HostCalls,
        Some(Interruption::NotExported(_)) => FailureKind::Host,
        None | Some(Interruption::Memory) if guest.memory.refused == Some(Refusal::Ceiling) => {
            FailureKind::GuestMemory
        }
        None if guest.memory.refused.is_some() => FailureKind::Memory,
        Some(Interruption::Memory) => FailureKind::Memory,
        None if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) => FailureKind::Deadline,
        None => FailureKind::Trap,
    }
}

/// Returns true if a call handed more than [`HANDED_OVER_BYTES`] to the host. wasmtime has no public type for this error.
fn is_too_much_handed_over(error: &wasmtime::Error) -> bool {
    let text = error.root_cause().to_string();
    text.starts_with("too much data is being copied between the host and the guest")
}

/// The last lines of stderr as one line, without those that are no help.
fn one_line(last_words: &str) -> String {
    let lines: Vec<&str> = last_words.lines().map(str::trim).filter(|line| !is_noise(line)).collect();
    if lines.iter().any(|line| line.starts_with(GO_STACK) && line.ends_with("]:")) {
        // Only the stacks of the runtime follow. The first line may be too far from the end.
        let failed = lines.iter().find(|line| line.starts_with(GO_FAILED));
        return failed.copied().unwrap_or_default().to_owned();
    }
    let lines = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
    match lines {
        // The message of a panic stands behind its place.
        [place, message @ ..] if place.ends_with(':') && place.contains(PANICKED) => {
            let (_, place) = place.split_once(PANICKED).unwrap_or_default();
            format!("panicked at {place} {}", message.join(" | ")).trim_end().to_owned()
        }
        lines => lines.join(" | "),
    }
}

/// The functions of the guest, innermost first: those of the author with their lines, if any are known. Otherwise the functions
/// that have a name, without those of [`MACHINERY`] and without exports. Returns `None` if there are none, or if a language
/// engine ran the author's code.
fn frames(places: &[Place]) -> Option<String> {
    let mut shown: Vec<&Place> = places.iter().filter(|place| place.is_of_the_author()).collect();
    if shown.is_empty() {
        let starts =
            |place: &Place, names: &[&str]| names.iter().any(|name| place.function.starts_with(name));
        if places.iter().any(|place| starts(place, &ENGINES)) {
            return None;
        }
        // The name of an export is the name of its interface, `#`, and the name of the function. A place with a line is not the author's.
        let known =
            |place: &&Place| !place.has_line() && !place.function.contains('#') && !starts(place, &MACHINERY);
        shown = places.iter().filter(known).collect();
    }
    shown.dedup();
    let shown: Vec<String> = shown.into_iter().take(FRAMES).map(ToString::to_string).collect();
    (!shown.is_empty()).then(|| shown.join(" < "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_shown_in_one_line_without_the_hint_to_set_rust_backtrace() {
        let panic = "\nthread '<unnamed>' (1) panicked at src/lib.rs:3:5:\nno replicas\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";

        assert_eq!(one_line(panic), "panicked at src/lib.rs:3:5: no replicas");
    }

    #[test]
    fn a_crash_of_go_is_shown_by_its_first_line() {
        let crash = "fatal error: out of memory\n\nruntime stack:\nruntime.throw(...)\n\ngoroutine 1 [running]:\nmain.eat()\n";
        assert_eq!(one_line(crash), "fatal error: out of memory");

        let end = "runtime.throw(...)\n\ngoroutine 1 gp=0x1 m=0 [running]:\nmain.eat()\n";
        assert_eq!(one_line(end), "");
    }

    #[test]
    fn only_the_last_lines_of_stderr_are_shown() {
        let lines: Vec<String> = (0..20).map(|line| format!("  line {line}")).collect();

        let shown = one_line(&lines.join("\n"));

        assert!(shown.starts_with("line 12 | ") && shown.ends_with(" | line 19"), "{shown}");
    }

    #[test]
    fn functions_of_the_guest_are_named_innermost_first() {
        let module = r#"(module
            (func $abort unreachable)
            (func $std::panicking::panic call $abort)
            (func $inner call $std::panicking::panic)
            (func $outer (export "f") call $inner))"#;
        let engine = wasmtime::Engine::default();
        let module = wasmtime::Module::new(&engine, wat::parse_str(module).unwrap()).unwrap();
        let mut store = wasmtime::Store::new(&engine, ());
        let instance = wasmtime::Instance::new(&mut store, &module, &[]).unwrap();
        let function = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();

        let trap = function.call(&mut store, ()).unwrap_err();

        let places: Vec<Place> = backtrace(&trap).iter().filter_map(Frame::named).collect();
        assert_eq!(frames(&places).unwrap(), "inner < outer");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let failure = failure(FailureKind::Handler, "ä".repeat(MESSAGE_BYTES));

        assert!(failure.message.len() < MESSAGE_BYTES + 40);
        assert!(failure.message.ends_with(&format!("ä... ({MESSAGE_BYTES} bytes more)")), "{failure}");
    }

    /// wasmtime has no public type for this error, so the classification rests on its text.
    #[test]
    fn wasmtime_still_reports_too_large_arguments_in_the_expected_words() {
        let component = r#"(component
            (import "take" (func $take (param "text" string)))
            (core module $memory (memory (export "memory") 1))
            (core instance $memory (instantiate $memory))
            (core func $take (canon lower (func $take) (memory (core memory $memory "memory"))))
            (core module $caller
                (import "" "take" (func $take (param i32 i32)))
                (func (export "f") (call $take (i32.const 0) (i32.const 100))))
            (core instance $caller (instantiate $caller
                (with "" (instance (export "take" (func $take))))))
            (func (export "f") (canon lift (core func $caller "f"))))"#;
        let engine = wasmtime::Engine::default();
        let component = wat::parse_str(component).unwrap();
        let component = wasmtime::component::Component::new(&engine, component).unwrap();
        let mut linker = wasmtime::component::Linker::<()>::new(&engine);
        linker.root().func_wrap("take", |_, (_,): (String,)| Ok(())).unwrap();
        let mut store = wasmtime::Store::new(&engine, ());
        store.set_hostcall_fuel(10);
        let instance = linker.instantiate(&mut store, &component).unwrap();
        let function = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();

        let error = function.call(&mut store, ()).unwrap_err();

        assert!(is_too_much_handed_over(&error), "{error:?}");
    }
}
