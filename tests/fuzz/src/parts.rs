//! Inputs of several parts.

/// Splits an input at its first `N - 1` blank lines. Missing parts are empty. Returns `None` if the input is not UTF-8.
pub(crate) fn texts<const N: usize>(input: &[u8]) -> Option<[&str; N]> {
    let mut parts = std::str::from_utf8(input).ok()?.splitn(N, "\n\n");
    Some(std::array::from_fn(|_| parts.next().unwrap_or_default()))
}
