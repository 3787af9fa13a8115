//! The program that libFuzzer drives. `cargo xtask fuzz` builds and runs it; the variable `INFORMER_FUZZ` names the target.
#![no_main]

use std::{panic, process, sync::LazyLock};

use informer_fuzz::{TARGETS, Target};
use libfuzzer_sys::{Corpus, fuzz_target};

static TARGET: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::var("INFORMER_FUZZ").unwrap_or_default();
    abort_on_panics();
    TARGETS
        .iter()
        .find(|target| target.name == name)
        .unwrap_or_else(|| panic!("INFORMER_FUZZ names no target: {name:?}"))
});

fuzz_target!(|input: &[u8]| -> Corpus {
    if input.len() > TARGET.longest {
        return Corpus::Reject;
    }
    (TARGET.run)(input);
    Corpus::Keep
});

/// Ends the process at a panic on any thread, as libFuzzer does, except for panics of the CEL library: the host handles them.
fn abort_on_panics() {
    drop(panic::take_hook());
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or("", |place| place.file());
        if !["/cel-", "/antlr4rust-"].iter().any(|library| place.contains(library)) {
            report(panic);
            process::abort();
        }
    }));
}
