//! What a command prints.

/// Prints the answer to a command.
#[expect(clippy::print_stdout, reason = "the answer to the command")]
pub(crate) fn print(text: &str) {
    print!("{text}");
}
