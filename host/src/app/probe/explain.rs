//! The place of one object, and the newest steps of each stage.

mod plugin;
mod step;

use std::{collections::BTreeMap, sync::Arc};

use informer_cache::{InformerStatus, SharedInformer};
use informer_dispatch::ObjectRef;
use informer_types::{Gvr, ObjectKey, Source, Traced};

use super::resource::{self, Scope};
use crate::{
    admin::types::{ExplainRequest, Explanation, PluginExplanation, Step},
    app::{running_plugin::RunningPlugin, trace::Trace},
    config::nearest,
};

/// Most objects that are searched for a name like the requested one.
const MOST_SEARCHED: usize = 5_000;

/// Returns the explanation, or the reason why it cannot give one. If there are several informers of the resource, the first one serves.
pub(super) fn explain(
    informers: &[SharedInformer],
    plugins: &[Arc<RunningPlugin>],
    trace: Option<&Trace>,
    request: &ExplainRequest,
) -> Result<Explanation, String> {
    let ExplainRequest { gvr: name, key, plugin } = request;
    let mut resources = BTreeMap::new();
    for informer in informers {
        resources.entry(informer.key().gvr.clone()).or_insert(informer);
    }
    let (gvr, informer) = resource::named(&resources, name, Scope::Watched)?;
    if let Some(name) = plugin
        && plugins.iter().all(|plugin| plugin.name() != name)
    {
        return Err(unknown_plugin(plugins, name));
    }
    let requested = |name: &str| plugin.as_deref().is_none_or(|plugin| plugin == name);
    let plugins: Vec<&Arc<RunningPlugin>> =
        plugins.iter().filter(|plugin| requested(plugin.name())).collect();
    let steps = trace.map(|trace| trace.of(gvr, key)).unwrap_or_default();
    let by_name = plugin.is_some();
    let steps = steps.iter().filter(|step| is_about(&step.traced, &plugins, gvr, by_name));
    let steps: Vec<Step> = steps.map(step::step).collect();
    let status = informer.status();
    let cached = informer.lister().get(key);
    let object = ObjectRef { source: Source::new(gvr.clone()), key: key.clone() };
    let (explanations, known): (Vec<PluginExplanation>, Vec<bool>) =
        plugins.iter().filter_map(|one| plugin::explanation(one, &object, cached.is_some(), by_name)).unzip();
    let undecodable = undecodable(&status, key);
    let known = cached.is_some() || undecodable.is_some() || !steps.is_empty() || known.contains(&true);
    let version = cached.as_ref().map(|object| object.resource_version());
    Ok(Explanation {
        gvr: gvr.to_string(),
        key: key.to_string(),
        known,
        watch: status.key.to_string(),
        synced: status.synced,
        version: version.map(str::to_owned),
        uid: cached.as_ref().map(|object| object.uid().to_string()),
        undecodable: undecodable.map(str::to_owned),
        cache: cache(informer, &status, version, key, known),
        plugins: explanations,
        no_steps: steps.is_empty().then(|| no_steps(trace, cached.is_some()).to_owned()),
        steps,
    })
}

/// Returns true if the step is about one of these plugins or about no plugin. A step about a plugin's own key counts if the
/// plugin subscribes to the resource or may read it.
fn is_about(traced: &Traced, plugins: &[&Arc<RunningPlugin>], gvr: &Gvr, by_name: bool) -> bool {
    let Some(name) = &traced.plugin else { return true };
    match plugins.iter().find(|plugin| plugin.name() == &**name) {
        Some(plugin) => traced.source.is_some() || plugin.subscriptions().contains(gvr),
        // The plugin was removed since.
        None => traced.source.is_some() && !by_name,
    }
}

/// The place in the cache, in words.
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
        text += &format!("; the last state that the server sent cannot be decoded: {why}");
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

/// Returns why the last state of the object cannot be decoded (D-2).
fn undecodable<'a>(status: &'a InformerStatus, key: &ObjectKey) -> Option<&'a str> {
    status.reflectors.iter().find_map(|reflector| reflector.quarantined.get(key)).map(String::as_str)
}

fn no_steps(trace: Option<&Trace>, cached: bool) -> &'static str {
    match (trace, cached) {
        (None, _) => "no steps are kept: [host] trace = 0 switches them off",
        (Some(_), true) => {
            "nothing happened to it lately: newer steps of other objects have replaced its own"
        }
        (Some(_), false) => "no stage has seen it lately",
    }
}

/// Returns the same name in another namespace, or a similar key.
fn like(informer: &SharedInformer, key: &ObjectKey) -> Option<String> {
    let cached = informer.cached();
    if let Some(same) = cached.iter().find(|object| object.name() == &*key.name) {
        return Some(same.key().to_string());
    }
    let keys: Vec<String> =
        cached.iter().take(MOST_SEARCHED).map(|object| object.key().to_string()).collect();
    nearest(&key.to_string(), keys.iter().map(String::as_str)).map(str::to_owned)
}

fn unknown_plugin(plugins: &[Arc<RunningPlugin>], name: &str) -> String {
    match nearest(name, plugins.iter().map(|plugin| plugin.name())) {
        Some(like) => format!("there is no plugin `{name}`; did you mean `{like}`?"),
        None => format!("there is no plugin `{name}`"),
    }
}
