//! The time from the server's write of an event until the handler has seen it.

use anyhow::{Result, ensure};

/// Quantiles of the latency, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Half of the events were faster.
    pub p50_ms: f64,
    /// All but one event in a hundred were faster.
    pub p99_ms: f64,
}

// === impl Latency ===

impl Latency {
    /// Compares the times at which events were sent with those at which they arrived, both in nanoseconds and in the order of
    /// the watch.
    ///
    /// # Errors
    /// There are no events, or the numbers of sent and arrived events differ.
    pub(super) fn of(sent: &[u64], arrived: &[u64]) -> Result<Self> {
        ensure!(
            !sent.is_empty() && sent.len() == arrived.len(),
            "{} paced events were sent and {} arrived",
            sent.len(),
            arrived.len()
        );
        let mut times: Vec<u64> =
            sent.iter().zip(arrived).map(|(sent, arrived)| arrived.saturating_sub(*sent)).collect();
        times.sort_unstable();
        let quantile = |percent: usize| {
            let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
            times.get(at).copied().unwrap_or_default() as f64 / 1e6
        };
        Ok(Self { p50_ms: quantile(50), p99_ms: quantile(99) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_differences() {
        let sent: Vec<u64> = (0..100).map(|event| event * 1_000_000).collect();
        let arrived: Vec<u64> = (0..100).map(|event| event * 1_000_000 + (100 - event) * 10_000).collect();

        assert_eq!(Latency::of(&sent, &arrived).unwrap(), Latency { p50_ms: 0.5, p99_ms: 0.99 });
    }

    #[test]
    fn a_missing_arrival_is_an_error() {
        let error = Latency::of(&[1, 2], &[3]).unwrap_err();

        assert_eq!(error.to_string(), "2 paced events were sent and 1 arrived");
        assert!(Latency::of(&[], &[]).is_err());
    }
}
