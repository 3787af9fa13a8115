//! `[plugin.retry]`

use std::{sync::LazyLock, time::Duration};

use informer_dispatch::{Fate, QueueConfig, RetryConfig};

use super::workqueue::WAIT;
use crate::config::{
    key::{Key, Section},
    value::{Choice, Count, Number},
};

/// How failed notifications are retried.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Attempts, and the waits between them.
    pub calls: RetryConfig,
    /// Retries per first attempt, besides a hundred at once and ten per second; `None` means no limit.
    pub budget: Option<f64>,
}

type K<V> = Key<Retry, V>;

pub(super) static RETRY: LazyLock<Section<Retry>> = LazyLock::new(|| Section {
    doc: "How a failed notification is retried: after `min`, then after `factor` times as long each time, up \
          to `max`. Each wait is extended by a random share of up to `jitter`.",
    keys: vec![
        K::<Duration>::new("min", |retry| &mut retry.calls.backoff.min)
            .within(WAIT)
            .doc("The wait after the first failure."),
        K::<Duration>::new("max", |retry| &mut retry.calls.backoff.max)
            .within(WAIT)
            .doc("The longest wait, before jitter."),
        K::<Number>::new("factor", |retry| &mut retry.calls.backoff.factor)
            .within((Number(1.0), Number(10.0)))
            .default("2.0")
            .doc("The ratio of a wait to the previous wait."),
        K::<Number>::new("jitter", |retry| &mut retry.calls.backoff.jitter)
            .within((Number(0.0), Number(1.0)))
            .doc("The largest random share of a wait that is added to it."),
        K::<Count>::new("attempts", |retry| &mut retry.calls.attempts)
            .doc("Calls in all, the first included. 0 retries until a call succeeds."),
        K::<Number>::new("budget", |retry| &mut retry.budget).within((Number(0.0), Number(1000.0))).doc(
            "The retry budget: this number of retries per first attempt, besides a hundred at once and ten \
             per second. It protects a broken service behind the plugin from a flood of retries. Further \
             retries wait; retries that succeed do not count. 0 means no limit.",
        ),
        K::<Fate>::new("on-exhausted", |retry| &mut retry.calls.on_exhausted).doc(
            "What happens when the attempts are exhausted. \"dead-letter\": the notification is kept, and \
             `informer dead-letters` lists it. \"drop\": it is counted and logged. \"quarantine\": it is \
             kept, and the plugin is put in quarantine. Each plugin logs at most ten such lines at once \
             and then one per second; further lines are counted.",
        ),
    ],
});

// === impl Retry ===

impl Default for Retry {
    fn default() -> Self {
        Self { calls: RetryConfig::default(), budget: QueueConfig::default().retry_budget }
    }
}

// === impl Fate ===

impl Choice for Fate {
    const WORDS: &'static [(&'static str, Self)] =
        &[("dead-letter", Self::DeadLetter), ("drop", Self::Drop), ("quarantine", Self::Quarantine)];
}
