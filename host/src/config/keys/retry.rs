//! `[plugin.retry]`

use std::time::Duration;

use informer_dispatch::Fate;

use super::workqueue::WAIT;
use crate::config::{
    key::{Key, Section, Shown::ByDefault},
    plugin::Retry,
    value::{Count, Number, Scalar},
};

type K<V> = Key<Retry, V>;

pub(super) static RETRY: Section<Retry> = Section {
    doc: "What follows a failed notification. It is retried after `min`, then after `factor` times as long each time, up to \
          `max`. Each wait is extended by a random share of up to `jitter`.",
    keys: &[
        &K::<Duration> {
            name: "min",
            doc: "The wait after the first failure.",
            shown: ByDefault(|retry| Scalar::shown(&retry.calls.backoff.min)),
            bounds: Some(WAIT),
            set: |retry, it| retry.calls.backoff.min = it.value,
        },
        &K::<Duration> {
            name: "max",
            doc: "The longest wait, before jitter.",
            shown: ByDefault(|retry| Scalar::shown(&retry.calls.backoff.max)),
            bounds: Some(WAIT),
            set: |retry, it| retry.calls.backoff.max = it.value,
        },
        &K::<Number> {
            name: "factor",
            doc: "The ratio of a wait to the one before it.",
            shown: ByDefault(|retry| format!("{:.1}", retry.calls.backoff.factor)),
            bounds: Some((Number(1.0), Number(10.0))),
            set: |retry, it| retry.calls.backoff.factor = it.value.0,
        },
        &K::<Number> {
            name: "jitter",
            doc: "The largest random share of a wait that is added to it.",
            shown: ByDefault(|retry| retry.calls.backoff.jitter.to_string()),
            bounds: Some((Number(0.0), Number(1.0))),
            set: |retry, it| retry.calls.backoff.jitter = it.value.0,
        },
        &K::<Count> {
            name: "attempts",
            doc: "Calls in all, the first included. 0 retries until a call succeeds.",
            shown: ByDefault(|retry| retry.calls.attempts.map_or(0, u32::from).to_string()),
            bounds: None,
            set: |retry, it| retry.calls.attempts = it.value.non_zero(),
        },
        &K::<Number> {
            name: "budget",
            doc: "Retries per first attempt that the plugin may spend, besides a hundred at once and ten per second, so \
                  that a broken service behind the plugin is not flooded. Further retries wait; retries that succeed do \
                  not count. 0 means no limit.",
            shown: ByDefault(|retry| retry.budget.unwrap_or_default().to_string()),
            bounds: Some((Number(0.0), Number(1000.0))),
            set: |retry, it| retry.budget = Some(it.value.0).filter(|budget| *budget > 0.0),
        },
        &K::<Fate> {
            name: "on-exhausted",
            doc: "What happens when the attempts are exhausted. \"dead-letter\": the notification is kept, and `informer \
                  dead-letters` lists it. \"drop\": it is counted and logged. \"quarantine\": it is kept, and the plugin is \
                  put in quarantine. Each plugin logs at most ten such lines at once and then one per second; further \
                  lines are counted.",
            shown: ByDefault(|retry| Scalar::shown(&retry.calls.on_exhausted)),
            bounds: None,
            set: |retry, it| retry.calls.on_exhausted = it.value,
        },
    ],
};
