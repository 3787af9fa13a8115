//! Which events are sampled.

use std::sync::Arc;

use informer_types::{EventTrace, SeenEvent, Source};

use crate::{event::Event, outbox::Outbox};

/// Begins the traces of sampled events.
#[derive(Debug)]
pub struct Spans {
    /// A trace is sampled if the lower 64 bits of its number, without the lowest bit, are below this: the rule of OpenTelemetry's
    /// `TraceIdRatioBased`.
    below: u64,
    outbox: Arc<Outbox>,
}

// === impl Spans ===

impl Spans {
    /// Samples this share of the events, from 0 to 1.
    pub(crate) fn new(share: f64, outbox: Arc<Outbox>) -> Self {
        Self { below: bound(share), outbox }
    }

    /// Decides about an event that a watch sends now, and begins its trace if it is sampled.
    pub fn begin(&self, source: &Source, event: &SeenEvent<'_>) -> EventTrace {
        let trace_id = fastrand::u128(1..);
        if !self.samples(trace_id) {
            return EventTrace::default();
        }
        EventTrace::new(Arc::new(Event::begin(trace_id, source, event, Arc::clone(&self.outbox))))
    }

    fn samples(&self, trace_id: u128) -> bool {
        (trace_id as u64) >> 1 < self.below
    }
}

/// The bound of a share: 0 samples nothing, and 1 every number of 63 bits.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the share is between 0 and 1, so the result is below 2^64, and rounding changes it by less than 2^-50"
)]
fn bound(share: f64) -> u64 {
    (share.clamp(0.0, 1.0) * (1u64 << 63) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_sampled_traces_is_the_configured_one_and_the_ends_are_exact() {
        let mut random = fastrand::Rng::with_seed(7);
        let numbers: Vec<u128> = (0..10_000).map(|_| random.u128(1..)).collect();
        for (share, least, most) in [(0.0, 0, 0), (0.01, 60, 140), (0.5, 4_800, 5_200), (1.0, 10_000, 10_000)]
        {
            let spans = Spans::new(share, Arc::new(Outbox::new(1).0));

            let sampled = numbers.iter().filter(|number| spans.samples(**number)).count();

            assert!((least..=most).contains(&sampled), "{share}: {sampled}");
        }
    }

    #[test]
    fn a_trace_that_a_small_share_samples_is_sampled_by_a_larger_one() {
        let (small, large) = (bound(0.1), bound(0.2));

        assert!(small < large && bound(1.0) == 1 << 63);
    }
}
