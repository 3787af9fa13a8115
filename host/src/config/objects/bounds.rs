//! Limits the plugin of an object to the values that `[tenancy]` allows.

use std::{num::NonZeroUsize, time::Duration};

use informer_dispatch::DeliveryMode;

use crate::config::{
    Plugin, Tenancy, Watch,
    plugin::{Limits, PluginKeys},
    value::{Scalar, Share, Size},
};

/// The shortest `poll` of an object. A tag is looked up with the credentials of the host, and registries limit such requests.
const POLL: Duration = Duration::from_secs(60);

/// The capacity of a queue with `delivery = "every"`, unless `[defaults]` has another value.
const QUEUE_CAPACITY: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// The shortest `resync` of an object. A resync visits every cached object of the resource, also those of other namespaces.
const RESYNC: Duration = Duration::from_secs(60);

/// One key of `[plugin.limits]`.
struct Bound {
    key: &'static str,
    /// Returns true if the first limits allow more than the second ones.
    exceeds: fn(&Limits, &Limits) -> bool,
    /// Takes the value of the second limits.
    lower: fn(&mut Limits, &Limits),
    shown: fn(&Limits) -> String,
}

/// A limit that is a number.
macro_rules! most {
    ($key:literal, $($field:ident).+, $shown:expr) => {
        Bound {
            key: $key,
            exceeds: |own, most| own.$($field).+ > most.$($field).+,
            lower: |own, most| own.$($field).+ = most.$($field).+,
            shown: |most| $shown(most.$($field).+),
        }
    };
}

/// A limit that is a number, or `None` for no limit.
macro_rules! most_or_none {
    ($key:literal, $($field:ident).+, $shown:expr) => {
        Bound {
            key: $key,
            exceeds: |own, most| {
                most.$($field).+.is_some_and(|most| own.$($field).+.is_none_or(|own| own > most))
            },
            lower: |own, most| own.$($field).+ = most.$($field).+,
            shown: |most| most.$($field).+.map_or_else(String::new, $shown),
        }
    };
}

/// Every key of `[plugin.limits]`.
const BOUNDS: [Bound; 13] = [
    most!("memory", calls.memory_bytes, size),
    most!("deadline", calls.deadline, |most: Duration| Scalar::shown(&most)),
    most_or_none!("cpu", calls.cpu, |most| Scalar::shown(&Share(most))),
    most_or_none!("host-calls", calls.host_calls, |most| most.to_string()),
    most_or_none!("instances", instances, |most| most.to_string()),
    most!("log", calls.log_bytes, size),
    most_or_none!("log-lines", calls.log_lines, |most| most.to_string()),
    most!("response", calls.response_bytes, size),
    most!("requests", calls.requests, |most: std::num::NonZeroU32| most.to_string()),
    most!("keyvalue-writes", calls.keyvalue_writes, |most: std::num::NonZeroU32| most.to_string()),
    most!("http-requests", calls.http_requests, |most: usize| most.to_string()),
    most!("http-body", calls.http_body_bytes, size),
    most!("metric-series", calls.metric_series, |most: usize| most.to_string()),
];

/// The limits that the object itself names.
#[derive(Debug, Default)]
pub(super) struct Explicit {
    limits: Vec<&'static str>,
    poll: Option<Duration>,
}

/// Returns the limits that the object itself names.
pub(super) fn explicit(keys: &PluginKeys) -> Explicit {
    let written = BOUNDS.iter().map(|bound| bound.key).filter(|key| keys.has_limit(key));
    Explicit { limits: written.collect(), poll: keys.poll() }
}

/// Lowers the values that the object does not name itself, and returns the faults of those that it names.
pub(super) fn bound(
    plugin: &mut Plugin,
    explicit: &Explicit,
    tenancy: &Tenancy,
    watches: &[Watch],
) -> Vec<String> {
    let mut faults = limits(&mut plugin.limits, explicit, tenancy);
    faults.extend(queues(plugin, tenancy));
    if let Some(wanted) = plugin.grants.keyvalue
        && tenancy.keyvalue.is_none_or(|most| wanted > most)
    {
        let most = tenancy.keyvalue.and_then(|most| usize::try_from(most).ok());
        let most = most.map_or_else(|| "nothing".to_owned(), size);
        faults.push(format!("spec.grant.keyvalue: [tenancy] allows at most {most}"));
    }
    if explicit.poll.is_some_and(|poll| !poll.is_zero() && poll < POLL) {
        faults.push("spec.poll: it is too often; write at least 1m".to_owned());
    }
    for on in &plugin.subscriptions {
        let usual = watches.iter().find(|watch| watch.gvr == on.watch).and_then(|watch| watch.resync);
        if on.resync != usual && on.resync.is_some_and(|period| period < RESYNC) {
            faults.push(format!("spec.on of `{}`: resync is too often; write at least 1m", on.watch));
        }
    }
    faults
}

fn limits(limits: &mut Limits, explicit: &Explicit, tenancy: &Tenancy) -> Vec<String> {
    let mut faults = Vec::new();
    for bound in &BOUNDS {
        if !(bound.exceeds)(limits, &tenancy.limits) {
            continue;
        }
        if explicit.limits.contains(&bound.key) {
            let most = (bound.shown)(&tenancy.limits);
            let key = bound.key;
            faults.push(format!("spec.limits.{key}: [tenancy.limits] allows at most {most}"));
        } else {
            (bound.lower)(limits, &tenancy.limits);
        }
    }
    faults
}

fn queues(plugin: &Plugin, tenancy: &Tenancy) -> Vec<String> {
    let mut faults = Vec::new();
    let mut most = |key: &str, own: NonZeroUsize, most: NonZeroUsize| {
        if own > most {
            faults.push(format!("spec.{key}: at most {most} is allowed"));
        }
    };
    let defaults = tenancy.defaults.plugin();
    most("queue.workers", plugin.queue.workers, tenancy.workers.max(defaults.queue.workers));
    most("workqueue.workers", plugin.workqueue.workers, tenancy.workers.max(defaults.workqueue.workers));
    most("workqueue.capacity", plugin.workqueue.capacity, defaults.workqueue.capacity);
    if let DeliveryMode::Every { capacity } = plugin.queue.delivery {
        let most_changes = match defaults.queue.delivery {
            DeliveryMode::Every { capacity } => capacity,
            DeliveryMode::Latest => QUEUE_CAPACITY,
        };
        most("queue.capacity", capacity, most_changes);
    }
    faults
}

fn size(bytes: usize) -> String {
    Scalar::shown(&Size(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::plugin::LIMITS;

    #[test]
    fn every_limit_has_a_bound() {
        let bounded: Vec<&str> = BOUNDS.iter().map(|bound| bound.key).collect();

        assert_eq!(LIMITS.names(), bounded);
    }

    #[test]
    fn an_unlimited_value_exceeds_every_limit() {
        let (most, none) = (Limits::default(), Limits::default());
        let host_calls = BOUNDS.iter().find(|bound| bound.key == "host-calls").unwrap();
        let mut unlimited = none;
        unlimited.calls.host_calls = None;

        assert!((host_calls.exceeds)(&unlimited, &most) && !(host_calls.exceeds)(&most, &unlimited));
        (host_calls.lower)(&mut unlimited, &most);
        assert_eq!(unlimited, most);
    }
}
