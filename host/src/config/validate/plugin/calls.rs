//! What surrounds the calls of a plugin: `instance`, `[plugin.retry]`, `[plugin.limits]`.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use super::Context;
use crate::config::{
    plugin::{
        ATTEMPTS, BUDGET, DEADLINE, FACTOR, HOST_CALLS, HTTP_BODY_BYTES, HTTP_REQUESTS, IDLE_TIMEOUT,
        Instance, JITTER, LOG_BYTES, LOG_LINES, Limits, MAX, MEMORY_BYTES, METRIC_SERIES, MIN, REQUESTS,
        RESPONSE_BYTES, RETURN_AFTER, Reload, Retry, TRIAL,
    },
    problem::Fault,
    raw::{Count, InstanceKind, Located, Number, RawInstance, RawLimits, RawReload, RawRetry, Share, Size},
};

/// The resolution of the timer.
pub(super) const TICK: Duration = Duration::from_millis(1);
/// The queue waits no longer than a day, whoever asks for it.
pub(super) const MOST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
/// A guest is interrupted every millisecond, and a busy machine is late; less cannot be kept.
const LEAST_DEADLINE: Duration = Duration::from_millis(10);
/// After so many calls a version is no longer new.
const MOST_TRIAL: u32 = 10_000;
/// One call holds a worker, and a shutdown waits for it.
const MOST_DEADLINE: Duration = Duration::from_secs(60 * 60);
/// One page of WebAssembly, and all that 32-bit addresses reach.
const MEMORY: (Size, Size) = (Size(64 << 10), Size(4 << 30));
/// The text of one call stays in memory until it is written.
const LOG: (Size, Size) = (Size(0), Size(64 << 20));
/// One small object fits; the guest has to take it all into its own memory.
const RESPONSE: (Size, Size) = (Size(1 << 10), Size(1 << 30));
/// Each is a connection of this process.
const MOST_HTTP_REQUESTS: u32 = 1024;
/// All of them are written at each scrape.
const MOST_METRIC_SERIES: u32 = 100_000;

/// The API server's own share for all of one program is in the hundreds.
const MOST_REQUESTS: u32 = 10_000;
/// A plugin with less would wait longer for its share than it takes to use it up in one tick; and more than a machine has
/// is no limit.
const CPU: (Share, Share) = (Share(Duration::from_millis(10)), Share(Duration::from_secs(1_000)));
/// As many as there may be workers: at the default memory limit these may hold 16 GiB.
const INSTANCES: (Count, Count) = (Count(1), Count(256));

pub(super) fn instance(raw: RawInstance, context: &mut Context<'_, '_>) -> Instance {
    if raw.kind.is_some_and(|kind| kind.value == InstanceKind::Fresh) {
        let useless = [raw.max_calls.map(|key| key.with(())), raw.idle_timeout.map(|key| key.with(()))];
        for key in useless.iter().flatten() {
            let message = "it has no meaning where each call has its own instance";
            context.refuse(key, Fault::new(message, "remove it, or write instance = \"warm\""));
        }
        return Instance::Fresh;
    }
    let idle_timeout = match raw.idle_timeout {
        None => Some(IDLE_TIMEOUT),
        Some(never) if never.value.is_zero() => None,
        Some(period) => Some(period.value),
    };
    Instance::Warm { max_calls: raw.max_calls.and_then(|count| NonZeroU32::new(count.value.0)), idle_timeout }
}

pub(super) fn retry(raw: &RawRetry, context: &mut Context<'_, '_>) -> Retry {
    let min = context.within(raw.min.as_ref(), MIN, (TICK, MOST_WAIT));
    // A longer `min` alone lengthens the longest wait too, instead of contradicting a default nobody wrote.
    let max = context.within(raw.max.as_ref(), MAX.max(min), (TICK, MOST_WAIT));
    if let Some(written) = raw.max.as_ref().filter(|_| max < min) {
        short(written, raw.min.is_some(), context);
    }
    let Number(factor) = context.within(raw.factor.as_ref(), Number(FACTOR), (Number(1.0), Number(10.0)));
    let Number(jitter) = context.within(raw.jitter.as_ref(), Number(JITTER), (Number(0.0), Number(1.0)));
    let Number(budget) = context.within(raw.budget.as_ref(), Number(BUDGET), (Number(0.0), Number(1000.0)));
    Retry {
        min,
        max,
        factor,
        jitter,
        attempts: raw.attempts.as_ref().map_or(Some(ATTEMPTS), |count| NonZeroU32::new(count.value.0)),
        budget: (budget > 0.0).then_some(budget),
        on_exhausted: raw.on_exhausted.as_ref().map(|fate| fate.value).unwrap_or_default(),
    }
}

pub(super) fn short(max: &Located<Duration>, min_is_written: bool, context: &mut Context<'_, '_>) {
    let remedy = if min_is_written { "lower `min` or raise `max`" } else { "write a shorter `min` too" };
    context.refuse(max, Fault::new("`max` is shorter than `min`", remedy));
}

pub(super) fn reload(raw: &RawReload, context: &mut Context<'_, '_>) -> Reload {
    let share = (Number(0.0), Number(1.0));
    let Number(return_after) = context.within(raw.return_after.as_ref(), Number(RETURN_AFTER), share);
    let Count(trial) = context.within(raw.trial.as_ref(), Count(TRIAL), (Count(0), Count(MOST_TRIAL)));
    Reload { return_after, trial }
}

pub(super) fn limits(raw: &RawLimits, context: &mut Context<'_, '_>) -> Limits {
    let Count(requests) =
        context.within(raw.requests.as_ref(), Count(REQUESTS.get()), (Count(1), Count(MOST_REQUESTS)));
    let mut size = |value: &Option<Located<Size>>, default, bounds| {
        context.within(value.as_ref(), Size(default), bounds).0
    };
    Limits {
        memory_bytes: size(&raw.memory, MEMORY_BYTES, MEMORY),
        log_bytes: size(&raw.log, LOG_BYTES, LOG),
        log_lines: NonZeroU32::new(raw.log_lines.as_ref().map_or(LOG_LINES, |most| most.value.0)),
        response_bytes: size(&raw.response, RESPONSE_BYTES, RESPONSE),
        http_body_bytes: size(&raw.http_body, HTTP_BODY_BYTES, RESPONSE),
        http_requests: http_requests(raw.http_requests.as_ref(), context),
        metric_series: metric_series(raw.metric_series.as_ref(), context),
        deadline: context.within(raw.deadline.as_ref(), DEADLINE, (LEAST_DEADLINE, MOST_DEADLINE)),
        requests: NonZeroU32::new(requests).unwrap_or(REQUESTS),
        cpu: raw.cpu.as_ref().map(|share| context.within(Some(share), CPU.1, CPU).0),
        host_calls: NonZeroU32::new(raw.host_calls.as_ref().map_or(HOST_CALLS, |most| most.value.0)),
        instances: raw.instances.as_ref().and_then(|most| {
            let Count(most) = context.within(Some(most), INSTANCES.1, INSTANCES);
            usize::try_from(most).ok().and_then(NonZeroUsize::new)
        }),
    }
}

fn http_requests(raw: Option<&Located<Count>>, context: &mut Context<'_, '_>) -> usize {
    let Some(raw) = raw else { return HTTP_REQUESTS };
    let Count(most) = context.within(Some(raw), Count(1), (Count(1), Count(MOST_HTTP_REQUESTS)));
    usize::try_from(most).unwrap_or(HTTP_REQUESTS)
}

fn metric_series(raw: Option<&Located<Count>>, context: &mut Context<'_, '_>) -> usize {
    let Some(raw) = raw else { return METRIC_SERIES };
    let Count(most) = context.within(Some(raw), Count(0), (Count(0), Count(MOST_METRIC_SERIES)));
    usize::try_from(most).unwrap_or(METRIC_SERIES)
}
