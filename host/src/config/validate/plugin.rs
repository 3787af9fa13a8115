//! `[[plugin]]`

mod calls;
mod grants;
mod subscription;

use std::path::PathBuf;

use super::watch::Watched;
use crate::config::{
    context::{Components, Context},
    key::Draft,
    keys::{Common, PluginKeys},
    plugin::{CONFIG_JSON, Plugin},
    problem::Fault,
    table::Located,
    value::{Name, PathText},
};

/// Judges `[defaults]` by itself.
pub(super) fn defaults(common: &Common, context: &mut Context<'_, '_>) {
    calls::settle(common, context);
}

pub(super) fn plugins(
    written: Vec<Draft<PluginKeys>>,
    watched: &Watched,
    context: &mut Context<'_, '_>,
) -> Vec<Plugin> {
    let mut seen: Vec<Located<Name>> = Vec::new();
    let mut plugins = Vec::with_capacity(written.len());
    for draft in written {
        if let Some(name) = &draft.value.name {
            if let Some(earlier) = seen.iter().find(|earlier| earlier.value == name.value) {
                let line = context.problems.line(earlier.at);
                let message = format!("a plugin on line {line} is named `{}` already", name.value.0);
                context.refuse(name, Fault::new(message, "give each its own name"));
            }
            seen.push(name.clone());
        }
        plugins.extend(plugin(draft, watched, context));
    }
    plugins
}

/// Returns `None` if the name or the source is missing, which is noted. The other keys are judged nevertheless.
fn plugin(mut draft: Draft<PluginKeys>, watched: &Watched, context: &mut Context<'_, '_>) -> Option<Plugin> {
    let subscriptions = subscription::subscriptions(&mut draft, watched, context);
    let keys = draft.value;
    let instance = calls::instance(&keys, context);
    let source = keys.source.and_then(|text| source(&text, context));
    let calls::Settled { queue, workqueue, retry, quarantine } = calls::settle(&keys.common, context);
    let config_files = keys.config_files.iter().filter_map(|path| context.path(path)).collect();
    let grants = grants::grants(keys.grant.value, watched, context);
    Some(Plugin {
        name: keys.name?.value.0,
        source: source?,
        instance,
        subscriptions,
        queue,
        workqueue,
        retry,
        quarantine,
        reload: keys.common.reload.value,
        on_reload: keys.on_reload,
        limits: keys.common.limits.value,
        grants,
        config_files,
        log_level: keys.log_level,
        config_json: keys.config_json.unwrap_or_else(|| CONFIG_JSON.to_owned()),
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
