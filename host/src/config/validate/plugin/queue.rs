//! `[plugin.queue]` and `[plugin.quarantine]`.

use std::num::{NonZeroU32, NonZeroUsize};

use super::{
    Context,
    calls::{MOST_WAIT, TICK, short},
};
use crate::config::{
    plugin::{
        CAPACITY, Delivery, QUARANTINE_AFTER, QUARANTINE_MAX, QUARANTINE_MIN, Quarantine, Queue, Rate,
        WORKERS,
    },
    problem::Fault,
    raw::{Count, DeliveryKind, Number, RawQuarantine, RawQueue},
};

/// Each worker keeps an instance: at the default limit these may hold 16 GiB.
const WORKER_COUNT: (Count, Count) = (Count(1), Count(256));
/// Each waiting event may hold a state of an object of its own.
const CAPACITY_COUNT: (Count, Count) = (Count(1), Count(1_000_000));
/// A call in a quarter of an hour, and more than any plugin makes.
const PER_SECOND: (Number, Number) = (Number(0.001), Number(1_000_000.0));
const BURST: (Count, Count) = (Count(1), Count(1_000_000));

pub(super) fn queue(raw: &RawQueue, context: &mut Context<'_, '_>) -> Queue {
    let Count(workers) = context.within(raw.workers.as_ref(), Count(1), WORKER_COUNT);
    Queue { workers: number(workers, WORKERS), delivery: delivery(raw, context), rate: rate(raw, context) }
}

fn delivery(raw: &RawQueue, context: &mut Context<'_, '_>) -> Delivery {
    let kind = raw.delivery.as_ref().map(|kind| kind.value).unwrap_or_default();
    match (kind, &raw.capacity) {
        (DeliveryKind::Latest, None) => Delivery::Latest,
        (DeliveryKind::Latest, Some(capacity)) => {
            let message = "it has no meaning where changes merge: there are never more than objects";
            context.refuse(capacity, Fault::new(message, "remove it, or write delivery = \"every\""));
            Delivery::Latest
        }
        (DeliveryKind::Every, None) => Delivery::Every { capacity: CAPACITY },
        (DeliveryKind::Every, written) => {
            let Count(capacity) = context.within(written.as_ref(), Count(1), CAPACITY_COUNT);
            Delivery::Every { capacity: number(capacity, CAPACITY) }
        }
    }
}

fn rate(raw: &RawQueue, context: &mut Context<'_, '_>) -> Option<Rate> {
    let Some(written) = &raw.rate else {
        if let Some(burst) = &raw.burst {
            let message = "it has no meaning without a rate";
            context.refuse(burst, Fault::new(message, "remove it, or write `rate` too"));
        }
        return None;
    };
    let Number(per_second) = context.within(Some(written), Number(1.0), PER_SECOND);
    // A second's worth.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between a thousandth and a million"
    )]
    let default = Count(per_second.ceil() as u32);
    let Count(burst) = context.within(raw.burst.as_ref(), default, BURST);
    Some(Rate { per_second, burst: NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN) })
}

pub(super) fn quarantine(raw: &RawQuarantine, context: &mut Context<'_, '_>) -> Quarantine {
    let min = context.within(raw.min.as_ref(), QUARANTINE_MIN, (TICK, MOST_WAIT));
    let max = context.within(raw.max.as_ref(), QUARANTINE_MAX.max(min), (TICK, MOST_WAIT));
    if let Some(written) = raw.max.as_ref().filter(|_| max < min) {
        short(written, raw.min.is_some(), context);
    }
    let after = raw.after.as_ref().map_or(Some(QUARANTINE_AFTER), |count| NonZeroU32::new(count.value.0));
    Quarantine { after, min, max }
}

fn number(count: u32, default: NonZeroUsize) -> NonZeroUsize {
    usize::try_from(count).ok().and_then(NonZeroUsize::new).unwrap_or(default)
}
