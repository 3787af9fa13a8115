//! `[plugin.workqueue]`

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use super::{Context, calls::short};
use crate::config::{
    plugin::{Workqueue, workqueue::MAX},
    raw::{Count, Located, RawWorkqueue},
};

/// The resolution of the timer, and a day.
const WAIT: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(24 * 60 * 60));
/// Each worker keeps an instance: at the default limit these may hold 16 GiB.
const MOST_WORKERS: u32 = 256;
/// Of keys of 1 KiB each, ten million take 10 GiB.
const MOST_KEYS: u32 = 10_000_000;
/// More than any API server is asked.
const MOST_QPS: u32 = 100_000;

pub(super) fn workqueue(raw: &RawWorkqueue, context: &mut Context<'_, '_>) -> Workqueue {
    let default = Workqueue::default();
    let min = context.within(raw.min.as_ref(), default.min, WAIT);
    // A longer `min` alone lengthens the longest wait too, instead of contradicting a default nobody wrote.
    let max = context.within(raw.max.as_ref(), MAX.max(min), WAIT);
    if let Some(written) = raw.max.as_ref().filter(|_| max < min) {
        short(written, raw.min.is_some(), context);
    }
    let mut count = |value: &Option<Located<Count>>, default: NonZeroU32, most: u32| {
        let Count(count) = context.within(value.as_ref(), Count(default.get()), (Count(1), Count(most)));
        NonZeroU32::new(count).unwrap_or(default)
    };
    let sized = |count: NonZeroU32| NonZeroUsize::try_from(count).unwrap_or(NonZeroUsize::MIN);
    let as_count = |size: NonZeroUsize| NonZeroU32::try_from(size).unwrap_or(NonZeroU32::MAX);
    Workqueue {
        workers: sized(count(&raw.workers, as_count(default.workers), MOST_WORKERS)),
        capacity: sized(count(&raw.capacity, as_count(default.capacity), MOST_KEYS)),
        attempts: raw.attempts.as_ref().and_then(|count| NonZeroU32::new(count.value.0)),
        min,
        max,
        qps: count(&raw.qps, default.qps, MOST_QPS),
        burst: count(&raw.burst, default.burst, MOST_QPS),
    }
}
