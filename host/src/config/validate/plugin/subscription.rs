//! `[[plugin.on]]`

use std::collections::BTreeSet;

use informer_types::{FieldSelector, Gvr, Pointer};

use crate::config::{
    context::Context,
    key::Draft,
    keys::{OnKeys, PluginKeys},
    plugin::{Events, Subscription},
    problem::Fault,
    table::Located,
    validate::watch::{Kept, Watched, kept, outside, resync},
    value::{EventKind, Name},
    watch::Watch,
};

pub(super) fn subscriptions(
    plugin: &mut Draft<PluginKeys>,
    watched: &Watched,
    context: &mut Context<'_, '_>,
) -> Vec<Subscription> {
    let written = std::mem::take(&mut plugin.value.on);
    if let Some(place) = plugin.place.as_ref().filter(|_| written.is_empty() && !plugin.is_refused("on")) {
        let remedy = "add [[plugin.on]] with watch = \"apps/v1/deployments\", or another resource";
        context.refuse(place, Fault::new("it subscribes to nothing and would never be called", remedy));
    }
    let mut seen: Vec<Located<Gvr>> = Vec::new();
    let mut subscriptions = Vec::with_capacity(written.len());
    for Draft { value: mut keys, .. } in written {
        let Some(gvr) = keys.watch.take() else { continue };
        if let Some(earlier) = seen.iter().find(|earlier| earlier.value == gvr.value) {
            let line = context.problems.line(earlier.at);
            let message = format!("it is subscribed to `{}` already on line {line}", gvr.value);
            context.refuse(&gvr, Fault::new(message, "remove one: each event would be delivered twice"));
        }
        subscriptions.push(subscription(&gvr, keys, watched, context));
        seen.push(gvr);
    }
    subscriptions
}

fn subscription(
    gvr: &Located<Gvr>,
    keys: OnKeys,
    watched: &Watched,
    context: &mut Context<'_, '_>,
) -> Subscription {
    let watch = watched.find(gvr, context);
    let kept = watch.map(|watch| kept(&watch.keep, &watch.drop, watch.metadata_only));
    let inherited = watch.and_then(|watch| watch.resync);
    let events = keys.events.map_or(Events::ALL, |list| events(list, context));
    Subscription {
        watch: gvr.value.clone(),
        events,
        namespaces: keys.namespaces.map(|list| namespaces(list, watch, context)).unwrap_or_default(),
        labels: keys.labels,
        fields: keys.fields.map(|selector| fields(selector, kept.as_ref(), context)).unwrap_or_default(),
        when: keys.when,
        changed: keys.changed.map(|list| changed(list, events, kept.as_ref(), context)).unwrap_or_default(),
        resync: keys.resync.map_or(inherited, |period| resync(&period, context)),
        relist: keys.relist,
        initial: keys.initial,
        enqueue: keys.enqueue,
    }
}

/// An object of a namespace that is not watched would never arrive.
fn namespaces(
    list: Located<Vec<Located<Name>>>,
    watch: Option<&Watch>,
    context: &mut Context<'_, '_>,
) -> BTreeSet<String> {
    for namespace in &list.value {
        if let Some(fault) = watch.and_then(|watch| outside(watch, &namespace.value.0)) {
            context.refuse(namespace, fault);
        }
    }
    let names = context.some_distinct(list, "all that the watch covers", |name| name.0.clone());
    names.into_iter().map(|name| name.0).collect()
}

/// A field that is not kept would be the empty text in every object.
fn fields(
    selector: Located<FieldSelector>,
    kept: Option<&Kept<'_>>,
    context: &mut Context<'_, '_>,
) -> FieldSelector {
    for pointer in selector.value.pointers() {
        not_kept(&selector.with(pointer), kept, context);
    }
    selector.value
}

fn changed(
    list: Located<Vec<Located<Pointer>>>,
    events: Events,
    kept: Option<&Kept<'_>>,
    context: &mut Context<'_, '_>,
) -> Vec<Pointer> {
    if !events.update {
        let message = "it is about updates, which `events` leaves out";
        context.refuse(&list, Fault::new(message, "add \"update\" to `events`, or remove it"));
    }
    for pointer in &list.value {
        if pointer.value.tokens().is_empty() {
            let remedy = "leave `changed` out, for each update has its own resourceVersion";
            context.refuse(pointer, Fault::new("\"\" is the whole object", remedy));
        } else {
            not_kept(pointer, kept, context);
        }
    }
    context.some_distinct(list, "every update", Pointer::to_string)
}

fn not_kept(pointer: &Located<Pointer>, kept: Option<&Kept<'_>>, context: &mut Context<'_, '_>) {
    if let Some(remedy) = kept.and_then(|kept| kept.without(&pointer.value)) {
        let message = format!("nothing is at \"{}\" in what is kept of the objects", pointer.value);
        context.refuse(pointer, Fault::new(message, remedy));
    }
}

fn events(list: Located<Vec<Located<EventKind>>>, context: &mut Context<'_, '_>) -> Events {
    let kinds = context.some_distinct(list, "all three", |kind| format!("{kind:?}").to_lowercase());
    Events {
        add: kinds.contains(&EventKind::Add),
        update: kinds.contains(&EventKind::Update),
        delete: kinds.contains(&EventKind::Delete),
    }
}
