//! `[cluster]`

use std::{num::NonZeroU32, time::Duration};

use super::Context;
use crate::config::{
    cluster::{Access, BURST, Cluster, IDLE_WATCH_TIMEOUT, QPS},
    problem::Fault,
    raw::{Count, Located, RawCluster},
};

/// Less than a round trip or two would reopen watches for nothing.
const LEAST_IDLE_WATCH: Duration = Duration::from_millis(100);
/// A watch lasts ten minutes at most; a day without a byte is no watch.
const MOST_IDLE_WATCH: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn cluster(raw: RawCluster, context: &mut Context<'_, '_>) -> Cluster {
    let mut at_least_one = |count: Option<&Located<Count>>, default: NonZeroU32| {
        let count = context.within(count, Count(default.get()), (Count(1), Count(u32::MAX)));
        NonZeroU32::new(count.0).unwrap_or(default)
    };
    let page_size = raw.page_size.as_ref().map(|page_size| at_least_one(Some(page_size), NonZeroU32::MIN));
    let qps = at_least_one(raw.qps.as_ref(), QPS);
    let burst = at_least_one(raw.burst.as_ref(), BURST);
    let idle_watch_timeout = context.within(
        raw.idle_watch_timeout.as_ref(),
        IDLE_WATCH_TIMEOUT,
        (LEAST_IDLE_WATCH, MOST_IDLE_WATCH),
    );
    let watch_list = raw.watch_list.as_ref().map(|word| word.value).unwrap_or_default();
    Cluster { access: access(raw, context), page_size, qps, burst, watch_list, idle_watch_timeout }
}

fn access(raw: RawCluster, context: &mut Context<'_, '_>) -> Access {
    let kubeconfig = raw.kubeconfig.map(|path| (path.with(()), context.path(&path)));
    if let Some(server) = raw.server {
        let others = [kubeconfig.map(|(place, _)| place), raw.context.map(|name| name.with(()))];
        for other in others.iter().flatten() {
            let message = "`server` says already where the API server is";
            context.refuse(other, Fault::new(message, "remove one of the two"));
        }
        return Access::Server(server.value.0);
    }
    if kubeconfig.is_none() && raw.context.is_none() {
        return Access::Inferred;
    }
    Access::Kubeconfig {
        path: kubeconfig.and_then(|(_, path)| path),
        context: raw.context.map(|name| name.value.0),
    }
}
