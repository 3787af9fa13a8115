//! `[[watch]]`

mod part;

use std::time::Duration;

use informer_types::Gvr;

pub(in crate::config::validate) use part::{Kept, kept};
use part::{drop, indexes, keep};

use super::{Context, suggestion};
use crate::config::{
    problem::Fault,
    raw::{Located, RawWatch},
    watch::{LEAST_RESYNC, Watch},
};

/// Longer is as good as never, and never is written "0s".
const MOST_RESYNC: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The watches of a file, and whether these are all: where one cannot be read, a reference to it cannot be judged.
pub(super) struct Watched {
    pub(super) watches: Vec<Watch>,
    complete: bool,
}

pub(super) fn watches(raw: Option<Vec<RawWatch>>, context: &mut Context<'_, '_>) -> Watched {
    let Some(raw) = raw else { return Watched { watches: Vec::new(), complete: false } };
    if raw.is_empty() {
        let remedy = "add [[watch]] with gvr = \"apps/v1/deployments\", or another resource";
        context.problems.add(0, "", Fault::new("nothing is watched", remedy));
    }
    let mut watched = Watched { watches: Vec::with_capacity(raw.len()), complete: !raw.is_empty() };
    let mut seen: Vec<Located<Gvr>> = Vec::new();
    for mut raw in raw {
        let Some(gvr) = raw.gvr.take() else {
            watched.complete = false;
            continue;
        };
        if let Some(earlier) = seen.iter().find(|earlier| earlier.value == gvr.value) {
            let line = context.problems.line(earlier.at);
            let remedy = "remove one: all plugins share one watch, and namespaces are listed in it";
            let message = format!("`{}` is watched already on line {line}", gvr.value);
            context.refuse(&gvr, Fault::new(message, remedy));
        }
        watched.watches.push(watch(gvr.value.clone(), raw, context));
        seen.push(gvr);
    }
    watched
}

fn watch(gvr: Gvr, raw: RawWatch, context: &mut Context<'_, '_>) -> Watch {
    let namespaces = raw.namespaces.map(|list| {
        let list = context.some_distinct(list, "all namespaces", |namespace| namespace.0.clone());
        list.into_iter().map(|namespace| namespace.0).collect()
    });
    let metadata_only = raw.metadata_only.is_some_and(|metadata_only| metadata_only.value);
    let dropped = raw.drop.as_ref().map(|drop| drop.at);
    let keep = keep(raw.keep, dropped, metadata_only, context);
    let drop = drop(raw.drop, context);
    let indexes = indexes(raw.index, &kept(&keep, &drop, metadata_only), context);
    Watch {
        gvr,
        namespaces: namespaces.unwrap_or_default(),
        labels: raw.labels.map(|labels| labels.value).unwrap_or_default(),
        fields: raw.fields.map(|fields| fields.value).unwrap_or_default(),
        resync: raw.resync.and_then(|period| resync(&period, context)),
        drop,
        keep,
        metadata_only,
        compression: raw.compression.map(|compression| compression.value).unwrap_or_default(),
        indexes,
    }
}

/// The period meant: none for zero, which is how never is written (P-9).
pub(super) fn resync(period: &Located<Duration>, context: &mut Context<'_, '_>) -> Option<Duration> {
    if period.value.is_zero() {
        return None;
    }
    Some(context.within(Some(period), LEAST_RESYNC, (LEAST_RESYNC, MOST_RESYNC)))
}

/// The fault of a reference to a namespace that the watch does not cover; `None` if the watch covers it.
pub(super) fn outside(watch: &Watch, namespace: &str) -> Option<Fault> {
    if watch.namespaces.is_empty() || watch.namespaces.iter().any(|of| of == namespace) {
        return None;
    }
    let message = format!("`{}` is not watched in namespace `{namespace}`", watch.gvr);
    let remedy = format!("add \"{namespace}\" to `namespaces` of its [[watch]], or remove it here");
    Some(Fault::new(message, remedy))
}

// === impl Watched ===

impl Watched {
    /// The watch of this resource. A reference to none is noted.
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
