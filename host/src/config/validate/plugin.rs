//! `[[plugin]]`

mod calls;
mod grants;
mod queue;
mod subscription;
mod workqueue;

use std::path::PathBuf;

use super::{Context, watch::Watched};
use crate::config::{
    Components,
    plugin::{CONFIG_JSON, Plugin},
    problem::Fault,
    raw::{Located, Name, PathText, RawPlugin},
};

pub(super) fn plugins(raw: Vec<RawPlugin>, watched: &Watched, context: &mut Context<'_, '_>) -> Vec<Plugin> {
    let mut seen: Vec<Located<Name>> = Vec::new();
    let mut plugins = Vec::with_capacity(raw.len());
    for raw in raw {
        if let Some(name) = &raw.name {
            if let Some(earlier) = seen.iter().find(|earlier| earlier.value == name.value) {
                let line = context.problems.line(earlier.at);
                let message = format!("a plugin on line {line} is named `{}` already", name.value.0);
                context.refuse(name, Fault::new(message, "give each its own name"));
            }
            seen.push(name.clone());
        }
        plugins.extend(plugin(raw, watched, context));
    }
    plugins
}

/// None where the name or the source is missing, which is noted by then; the rest is judged all the same.
fn plugin(raw: RawPlugin, watched: &Watched, context: &mut Context<'_, '_>) -> Option<Plugin> {
    let source = raw.source.and_then(|text| source(&text, context));
    let instance = calls::instance(raw.instance, context);
    let subscriptions = subscription::subscriptions(raw.on, &raw.place, watched, context);
    let queue = queue::queue(&raw.queue, context);
    let workqueue = workqueue::workqueue(&raw.workqueue, context);
    let retry = calls::retry(&raw.retry, context);
    let quarantine = queue::quarantine(&raw.quarantine, context);
    let reload = calls::reload(&raw.reload, context);
    let limits = calls::limits(&raw.limits, context);
    let config_files = raw.config_files.into_iter().flat_map(|files| files.value);
    let config_files = config_files.filter_map(|path| context.path(&path)).collect();
    let grants = grants::grants(raw.grant, watched, context);
    Some(Plugin {
        name: raw.name?.value.0,
        source: source?,
        instance,
        subscriptions,
        queue,
        workqueue,
        retry,
        quarantine,
        reload,
        on_reload: raw.on_reload.map(|word| word.value).unwrap_or_default(),
        limits,
        grants,
        config_files,
        log_level: raw.log_level.map(|level| level.value),
        config_json: raw.config_json.unwrap_or_else(|| CONFIG_JSON.to_owned()),
    })
}

fn source(text: &Located<PathText>, context: &mut Context<'_, '_>) -> Option<PathBuf> {
    let path = context.path(text)?;
    if context.components == Components::Present && !path.is_file() {
        let message = format!("there is no file at {}", path.display());
        context.refuse(text, Fault::new(message, "build the component, or correct the path"));
    }
    Some(path)
}
