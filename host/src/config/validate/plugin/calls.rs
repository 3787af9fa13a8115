//! The keys of `[[plugin]]` and `[defaults]` that depend on one another.

use std::{
    num::{NonZeroU32, NonZeroU64},
    time::Duration,
};

use informer_dispatch::{DeliveryMode, QuarantineConfig, Rate};
use informer_runtime::InstancePolicy;

use crate::config::{
    context::{Context, is_default},
    key::Draft,
    keys::{Common, PluginKeys, QueueKeys},
    plugin::{Queue, Retry, Workqueue, default_idle_timeout},
    problem::Fault,
    value::{DeliveryKind, InstanceKind},
};

/// The tables of a plugin whose keys depend on one another.
pub(super) struct Settled {
    pub(super) queue: Queue,
    pub(super) workqueue: Workqueue,
    pub(super) retry: Retry,
    pub(super) quarantine: QuarantineConfig,
}

pub(super) fn settle(common: &Common, context: &mut Context<'_, '_>) -> Settled {
    let mut workqueue = common.workqueue.value.clone();
    workqueue.max = longest(&common.workqueue, (workqueue.min, workqueue.max), context);
    let mut retry = common.retry.value.clone();
    let waits = &mut retry.calls.backoff;
    waits.max = longest(&common.retry, (waits.min, waits.max), context);
    let mut quarantine = common.quarantine.value.clone();
    let waits = &mut quarantine.backoff;
    waits.max = longest(&common.quarantine, (waits.min, waits.max), context);
    Settled { queue: queue(&common.queue, context), workqueue, retry, quarantine }
}

/// The longest wait of a table with `min` and `max`. If only `min` is written, it extends a default that is shorter.
fn longest<T>(table: &Draft<T>, (min, max): (Duration, Duration), context: &mut Context<'_, '_>) -> Duration {
    match (table.written("max"), table.written("min")) {
        (Some(longest), Some(first)) if max < min && is_default(longest) && !is_default(first) => {
            let remedy = "lower `min`, or write `max` too";
            context.refuse(first, Fault::new("`min` is longer than `max` of [defaults]", remedy));
        }
        (Some(longest), first) if max < min => {
            let remedy =
                if first.is_some() { "lower `min` or raise `max`" } else { "write a shorter `min` too" };
            context.refuse(longest, Fault::new("`max` is shorter than `min`", remedy));
        }
        _ => {}
    }
    max.max(min)
}

fn queue(table: &Draft<QueueKeys>, context: &mut Context<'_, '_>) -> Queue {
    let QueueKeys { workers, delivery, capacity, rate, burst } = table.value;
    if delivery == DeliveryKind::Latest {
        let message = "it has no meaning if changes merge: there are never more than objects";
        context.useless(table.written("capacity"), message, "remove it, or write delivery = \"every\"");
    }
    if rate.is_none() {
        let message = "it has no meaning without a rate";
        context.useless(table.written("burst"), message, "remove it, or write `rate` too");
    }
    Queue {
        workers,
        delivery: match delivery {
            DeliveryKind::Latest => DeliveryMode::Latest,
            DeliveryKind::Every => DeliveryMode::Every { capacity },
        },
        rate: rate
            .map(|per_second| Rate { per_second, burst: burst.unwrap_or_else(|| a_second_of(per_second)) }),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between a thousandth and a million"
)]
fn a_second_of(per_second: f64) -> NonZeroU32 {
    NonZeroU32::new(per_second.ceil() as u32).unwrap_or(NonZeroU32::MIN)
}

pub(super) fn instance(keys: &PluginKeys, context: &mut Context<'_, '_>) -> InstancePolicy {
    let PluginKeys { instance, max_calls, idle_timeout, .. } = keys;
    if *instance == Some(InstanceKind::Fresh) {
        let message = "it has no meaning if each call has its own instance";
        let remedy = "remove it, or write instance = \"warm\"";
        context.useless(max_calls.as_ref().map(|key| key.with(())).as_ref(), message, remedy);
        context.useless(idle_timeout.as_ref().map(|key| key.with(())).as_ref(), message, remedy);
        return InstancePolicy::Fresh;
    }
    let idle_timeout = match idle_timeout.as_ref().map(|timeout| timeout.value) {
        None => default_idle_timeout(),
        Some(Duration::ZERO) => Duration::MAX,
        Some(timeout) => timeout,
    };
    let max_calls = max_calls.as_ref().and_then(|calls| calls.value.non_zero()).map(NonZeroU64::from);
    InstancePolicy::Warm { max_calls, idle_timeout }
}
