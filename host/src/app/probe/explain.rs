//! What is known of one object: where it stands now, and the last steps of each stage.

mod plugin;
mod step;

use std::sync::Arc;

use informer_cache::{InformerStatus, SharedInformer};
use informer_types::{ObjectKey, Traced};
use serde_json::{Value, json};

use crate::app::running_plugin::RunningPlugin;
use crate::{app::trace::Trace, commands::explain::Asked, config::nearest};

/// Objects that are looked at for a name like the one that was asked for.
const LIKE: usize = 5_000;

/// The answer, or why there is none. Of several informers of a resource the first serves.
pub(super) fn explain(
    informers: &[SharedInformer],
    units: &[Arc<RunningPlugin>],
    trace: Option<&Trace>,
    asked: &Asked,
) -> Result<Value, String> {
    let Asked { gvr, key, plugin } = asked;
    let informer = informers.iter().find(|informer| informer.key().gvr == *gvr);
    let informer = informer.ok_or_else(|| unwatched(informers, asked))?;
    if let Some(name) = plugin
        && units.iter().all(|unit| unit.name() != name)
    {
        return Err(unknown_plugin(units, name));
    }
    let is_asked = |name: &str| plugin.as_deref().is_none_or(|plugin| plugin == name);
    let units: Vec<&Arc<RunningPlugin>> = units.iter().filter(|unit| is_asked(unit.name())).collect();
    let steps = trace.map(|trace| trace.of(gvr, key)).unwrap_or_default();
    let steps: Vec<Value> =
        steps.iter().filter(|step| is_about(&step.traced, &units, asked)).map(step::step).collect();
    let status = informer.status();
    let cached = informer.lister().get(key);
    let (plugins, stands): (Vec<Value>, Vec<bool>) = units
        .iter()
        .filter_map(|unit| plugin::plugin(unit, asked, cached.is_some(), plugin.is_some()))
        .unzip();
    let undecodable = undecodable(&status, key);
    let known = cached.is_some()
        || undecodable.is_some()
        || !steps.is_empty()
        || stands.into_iter().any(|stands| stands);
    let version = cached.as_ref().map(|object| object.resource_version());
    Ok(json!({
        "gvr": gvr.to_string(),
        "key": key.to_string(),
        "known": known,
        "watch": status.key.to_string(),
        "synced": status.synced,
        "version": version,
        "uid": cached.as_ref().map(|object| object.uid()),
        "undecodable": undecodable,
        "cache": cache(informer, &status, version, key, known),
        "plugins": plugins,
        "no-steps": steps.is_empty().then(|| no_steps(trace, cached.is_some())),
        "steps": steps,
    }))
}

/// Whether the step is for one of these plugins, or for everybody. A key of a plugin's own is taken for that of the object
/// where the plugin hears of the resource, or may read it.
fn is_about(traced: &Traced, units: &[&Arc<RunningPlugin>], asked: &Asked) -> bool {
    let Some(plugin) = &traced.plugin else { return true };
    match units.iter().find(|unit| unit.name() == &**plugin) {
        Some(unit) => traced.source.is_some() || unit.claims(&asked.gvr),
        // It is gone.
        None => traced.source.is_some() && asked.plugin.is_none(),
    }
}

/// Where it stands in the cache, in words.
fn cache(
    informer: &SharedInformer,
    status: &InformerStatus,
    version: Option<&str>,
    key: &ObjectKey,
    known: bool,
) -> String {
    let mut text = match version {
        Some(version) => format!("in the cache at version {version}"),
        None => format!("not in the cache of {}", status.key),
    };
    if let Some(why) = undecodable(status, key) {
        text += &format!("; what the server sent last cannot be decoded: {why}");
    }
    if !status.synced {
        text += &format!("; the cache is not complete: {status}");
    }
    let watched = &status.key.namespaces;
    if !watched.is_empty() && watched.iter().all(|namespace| **namespace != *key.namespace) {
        text += &format!("; namespace `{}` is not watched", key.namespace);
    }
    if !known && let Some(like) = like(informer, key) {
        text += &format!("; did you mean `{like}`?");
    }
    text
}

/// Why the last state of the object cannot be read (D-2).
fn undecodable<'a>(status: &'a InformerStatus, key: &ObjectKey) -> Option<&'a str> {
    status.reflectors.iter().find_map(|reflector| reflector.quarantined.get(key)).map(String::as_str)
}

fn no_steps(trace: Option<&Trace>, cached: bool) -> &'static str {
    match (trace, cached) {
        (None, _) => "no steps are remembered: [host] trace = 0 switches it off",
        (Some(_), true) => {
            "nothing happened to it of late: newer steps of others have taken the place of its last ones"
        }
        (Some(_), false) => "no stage saw it of late",
    }
}

/// The same name in another namespace, or one that looks alike.
fn like(informer: &SharedInformer, key: &ObjectKey) -> Option<String> {
    let cached = informer.cached();
    if let Some(same) = cached.iter().find(|object| object.name() == &*key.name) {
        return Some(same.key().to_string());
    }
    let keys: Vec<String> = cached.iter().take(LIKE).map(|object| object.key().to_string()).collect();
    nearest(&key.to_string(), keys.iter().map(String::as_str)).map(str::to_owned)
}

fn unwatched(informers: &[SharedInformer], asked: &Asked) -> String {
    let gvr = asked.gvr.to_string();
    let watched: Vec<String> = informers.iter().map(|informer| informer.key().gvr.to_string()).collect();
    let remedy = match nearest(&gvr, watched.iter().map(String::as_str)) {
        Some(like) => format!("did you mean `{like}`?"),
        None if watched.is_empty() => "nothing is".to_owned(),
        None => format!("watched are `{}`", watched.join("`, `")),
    };
    format!("`{gvr}` is not watched for any plugin; {remedy}")
}

fn unknown_plugin(units: &[Arc<RunningPlugin>], name: &str) -> String {
    match nearest(name, units.iter().map(|unit| unit.name())) {
        Some(like) => format!("there is no plugin `{name}`; did you mean `{like}`?"),
        None => format!("there is no plugin `{name}`"),
    }
}
