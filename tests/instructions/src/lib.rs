//! Counts the instructions of hot paths with callgrind, so that a change that makes one of them longer fails the gate.
//!
//! A test of the crate that owns a hot path prepares its data and then repeats the path:
//!
//! ```text
//! #[test]
//! #[ignore = "needs valgrind"]
//! fn a_frame_is_decoded_within_its_instructions() {
//!     let (decoder, frame) = prepared();
//!     for _ in 0..informer_instructions::rounds("decode::tests::a_frame_is_decoded_within_its_instructions", 100, 80_000) {
//!         decoder.event(&frame);
//!     }
//! }
//! ```
//!
//! `cargo xtask test --all` runs these tests. Their programs are the test binaries, which are hardly optimised, so a count says
//! how a commit compares with the one before it. `cargo xtask bench` measures optimised programs.
#![forbid(unsafe_code)]

use std::{
    env,
    process::{Command, Stdio},
};

/// Tells a process under callgrind the number of rounds.
const ROUNDS: &str = "INFORMER_COUNTED_ROUNDS";

/// The count may be larger than expected by this part of it (one part in N): hash tables have random seeds, and another version of
/// glibc copies in other ways.
const TOLERANCE: u64 = 20;

/// Returns the number of times that the caller must repeat its hot path.
///
/// In the process of a test this function starts the test binary twice under callgrind, with the one test of this name: without
/// a round and with `rounds` rounds. The difference of their instructions on all threads, divided by `rounds`, is the count of a
/// round. Then it returns 0. In a process under callgrind it returns 0 or `rounds`. The expected counts are those of x86-64, so on
/// other processors nothing is counted.
///
/// # Panics
/// If a round takes a twentieth more instructions than `expected`, if the binary has no such test or it fails, or if valgrind
/// does not run.
#[must_use]
#[expect(clippy::panic, clippy::print_stdout, reason = "it fails or explains a test")]
pub fn rounds(test: &str, rounds: u32, expected: u64) -> u32 {
    if let Ok(text) = env::var(ROUNDS) {
        return text.parse().unwrap_or_else(|_| panic!("{ROUNDS} is a number, not `{text}`"));
    }
    if !cfg!(target_arch = "x86_64") {
        println!("{test}: not counted, because the expected count is that of x86-64");
        return 0;
    }
    let (without, with) = (instructions(test, 0), instructions(test, rounds));
    let counted = with.saturating_sub(without) / u64::from(rounds.max(1));
    println!("{test}: {counted} instructions a round");
    assert!(counted > 0, "no round of `{test}` was counted: is this the path of the test?");
    assert!(
        counted <= expected + expected / TOLERANCE,
        "{test} takes {counted} instructions a round and took {expected}. If this is intended, say why in the commit and \
         change the number in the test. To see where they go: {ROUNDS}={rounds} valgrind --tool=callgrind {} \
         --ignored --exact {test}, and then callgrind_annotate",
        env::args().next().unwrap_or_default()
    );
    0
}

/// The instructions of this test binary with one test.
#[expect(clippy::panic, reason = "it fails a test")]
fn instructions(test: &str, rounds: u32) -> u64 {
    let program = env::current_exe().unwrap_or_else(|error| panic!("cannot find this program: {error}"));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--include-ignored", "--exact", test, "--test-threads=1"])
        .env(ROUNDS, rounds.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("valgrind does not run ({error}); run `apt-get install valgrind`"));
    let report = String::from_utf8_lossy(&output.stderr);
    let collected =
        report.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count.trim());
    match collected.and_then(|count| count.parse().ok()) {
        Some(count) if output.status.success() => count,
        _ => panic!("{test} failed under callgrind:\n{}\n{report}", String::from_utf8_lossy(&output.stdout)),
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    const TEST: &str = "tests::the_instructions_of_a_round_are_counted_and_more_are_refused";

    #[test]
    #[ignore = "needs valgrind"]
    fn the_instructions_of_a_round_are_counted_and_more_are_refused() {
        let add = || (0..1_000_u64).fold(0, |sum, number| black_box(sum + number));
        for _ in 0..super::rounds(TEST, 10, 200_000) {
            black_box(add());
        }
        let refused = std::panic::catch_unwind(|| super::rounds(TEST, 10, 100));
        if std::env::var_os(super::ROUNDS).is_none() {
            let message = *refused.unwrap_err().downcast::<String>().unwrap();
            assert!(message.contains("instructions a round and took 100"), "{message}");
        }
    }
}
