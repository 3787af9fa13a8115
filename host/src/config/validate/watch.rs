//! `[[watch]]`

mod part;

use std::time::Duration;

use informer_types::Gvr;

pub(super) use part::{Kept, kept};
use part::{drop, indexes, keep};

use crate::config::{
    context::{Context, suggestion},
    key::Draft,
    keys::WatchKeys,
    problem::Fault,
    table::Located,
    value::outside as out_of_bounds,
    watch::{COMPRESSION, LEAST_RESYNC, Watch},
};

/// A longer period would be as good as never, which is written "0s".
const RESYNC: (Duration, Duration) = (LEAST_RESYNC, Duration::from_secs(7 * 24 * 60 * 60));

/// The watches of a file.
pub(super) struct Watched {
    pub(super) watches: Vec<Watch>,
    /// No watch is missing because it cannot be read. Otherwise a reference cannot be judged.
    complete: bool,
}

/// `None` stands for a `watch` that is no array of tables.
pub(super) fn watches(written: Option<Vec<Draft<WatchKeys>>>, context: &mut Context<'_, '_>) -> Watched {
    let Some(written) = written else { return Watched { watches: Vec::new(), complete: false } };
    if written.is_empty() {
        let remedy = "add [[watch]] with gvr = \"apps/v1/deployments\", or another resource";
        context.problems.add(0, "", Fault::new("nothing is watched", remedy));
    }
    let mut watched = Watched { watches: Vec::with_capacity(written.len()), complete: !written.is_empty() };
    let mut seen: Vec<Located<Gvr>> = Vec::new();
    for Draft { value: mut keys, .. } in written {
        let Some(gvr) = keys.gvr.take() else {
            watched.complete = false;
            continue;
        };
        if let Some(earlier) = seen.iter().find(|earlier| earlier.value == gvr.value) {
            let line = context.problems.line(earlier.at);
            let remedy = "remove one: all plugins share one watch, and namespaces are listed in it";
            let message = format!("`{}` is watched already on line {line}", gvr.value);
            context.refuse(&gvr, Fault::new(message, remedy));
        }
        watched.watches.push(watch(gvr.value.clone(), keys, context));
        seen.push(gvr);
    }
    watched
}

fn watch(gvr: Gvr, keys: WatchKeys, context: &mut Context<'_, '_>) -> Watch {
    let namespaces = keys.namespaces.map(|list| {
        let list = context.some_distinct(list, "all namespaces", |namespace| namespace.0.clone());
        list.into_iter().map(|namespace| namespace.0).collect()
    });
    let metadata_only = keys.metadata_only;
    let dropped = keys.drop.as_ref().map(|drop| drop.at);
    let keep = keep(keys.keep, dropped, metadata_only, context);
    let drop = drop(keys.drop, context);
    let indexes = indexes(keys.index, &kept(&keep, &drop, metadata_only), context);
    Watch {
        gvr,
        namespaces: namespaces.unwrap_or_default(),
        labels: keys.labels,
        fields: keys.fields,
        resync: keys.resync.and_then(|period| resync(&period, context)),
        drop,
        keep,
        metadata_only,
        compression: keys.compression.unwrap_or(COMPRESSION),
        indexes,
    }
}

/// The period. Returns `None` for zero, which means never (P-9).
pub(super) fn resync(period: &Located<Duration>, context: &mut Context<'_, '_>) -> Option<Duration> {
    if period.value.is_zero() {
        return None;
    }
    if let Some(fault) = out_of_bounds(&period.value, &RESYNC) {
        context.refuse(period, fault);
    }
    Some(period.value)
}

/// The fault of a reference to a namespace that the watch does not cover; `None` if the watch covers it.
pub(super) fn outside(watch: &Watch, namespace: &str) -> Option<Fault> {
    if watch.covers(namespace) {
        return None;
    }
    let message = format!("`{}` is not watched in namespace `{namespace}`", watch.gvr);
    let remedy = format!("add \"{namespace}\" to `namespaces` of its [[watch]], or remove it here");
    Some(Fault::new(message, remedy))
}

// === impl Watched ===

impl Watched {
    /// The watch of this resource. A resource without a watch is noted.
    pub(super) fn find(&self, gvr: &Located<Gvr>, context: &mut Context<'_, '_>) -> Option<&Watch> {
        let found = self.watches.iter().find(|watch| watch.gvr == gvr.value);
        if found.is_none() && self.complete {
            let known: Vec<String> = self.watches.iter().map(|watch| watch.gvr.to_string()).collect();
            let otherwise = format!("add [[watch]] with gvr = \"{}\"", gvr.value);
            let remedy = suggestion(&gvr.value.to_string(), &known, &otherwise);
            context.refuse(gvr, Fault::new(format!("`{}` is not watched", gvr.value), remedy));
        }
        found
    }
}
