//! Numbers in sentences.

/// A number with its noun, which gets an `s` unless the number is one: `1 object`, `2 objects`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_thing_is_singular() {
        let shown = [0, 1, 2].map(|count| counted(count, "failed call"));

        assert_eq!(shown, ["0 failed calls", "1 failed call", "2 failed calls"]);
    }
}
