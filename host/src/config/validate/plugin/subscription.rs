//! `[[plugin.on]]`

use informer_types::Gvr;

use super::{Context, Watched};
use crate::config::{
    plugin::{Events, Subscription},
    problem::Fault,
    raw::{EventKind, Located, RawOn},
    validate::watch::resync,
};

pub(super) fn subscriptions(
    raw: Option<Vec<RawOn>>,
    plugin: &Located<()>,
    watched: &Watched,
    context: &mut Context<'_, '_>,
) -> Vec<Subscription> {
    let Some(raw) = raw else { return Vec::new() };
    if raw.is_empty() {
        let remedy = "add [[plugin.on]] with watch = \"apps/v1/deployments\", or another resource";
        context.refuse(plugin, Fault::new("it subscribes to nothing and would never be called", remedy));
    }
    let mut seen: Vec<Located<Gvr>> = Vec::new();
    let mut subscriptions = Vec::with_capacity(raw.len());
    for mut raw in raw {
        let Some(gvr) = raw.watch.take() else { continue };
        if let Some(earlier) = seen.iter().find(|earlier| earlier.value == gvr.value) {
            let line = context.problems.line(earlier.at);
            let message = format!("it is subscribed to `{}` already on line {line}", gvr.value);
            context.refuse(&gvr, Fault::new(message, "remove one: each event would be delivered twice"));
        }
        subscriptions.push(subscription(&gvr, raw, watched, context));
        seen.push(gvr);
    }
    subscriptions
}

fn subscription(
    gvr: &Located<Gvr>,
    raw: RawOn,
    watched: &Watched,
    context: &mut Context<'_, '_>,
) -> Subscription {
    let inherited = watched.find(gvr, context).and_then(|watch| watch.resync);
    Subscription {
        watch: gvr.value.clone(),
        events: raw.events.map_or(Events::ALL, |list| events(list, context)),
        resync: raw.resync.map_or(inherited, |period| resync(&period, context)),
        relist: raw.relist.map(|relist| relist.value).unwrap_or_default(),
        initial: raw.initial.map(|initial| initial.value).unwrap_or_default(),
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
