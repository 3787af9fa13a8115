//! Dead letters: listed, replayed and dropped.

use std::{collections::BTreeSet, sync::Arc, time::SystemTime};

use informer_dispatch::{DeadLetter, workqueue::DroppedKey};
use informer_types::{Gvr, Signal};
use jiff::Timestamp;

use crate::{
    admin::types::{
        self, Chosen, DeadLetters, Dropped, DroppedLetter, LostNotification, Refused, Replayed, Replays,
    },
    app::running_plugin::RunningPlugin,
};

/// The verb of a call with a key.
pub(super) const RECONCILE: &str = "reconcile";

/// Returns why letters are in memory only, one sentence for each plugin.
pub(super) fn problems(plugins: &[Arc<RunningPlugin>]) -> Vec<String> {
    let why = |plugin: &Arc<RunningPlugin>| {
        let why = plugin.letters().problem()?;
        Some(format!("plugin {}: its dead letters are in memory only: {why}", plugin.name()))
    };
    plugins.iter().filter_map(why).collect()
}

/// The resources of the letters. The configuration may no longer watch some of them.
pub(super) fn resources(plugins: &[Arc<RunningPlugin>]) -> BTreeSet<Gvr> {
    let letters = plugins.iter().flat_map(|plugin| plugin.letters().events(&Chosen::default()));
    letters.map(|letter| letter.object.source.gvr().clone()).collect()
}

pub(super) fn dead_letter(letter: &DeadLetter) -> types::DeadLetter {
    types::DeadLetter {
        plugin: None,
        object: letter.object.to_string(),
        verb: letter.verb.to_owned(),
        notification: Some(LostNotification {
            cause: letter.cause.as_str().to_owned(),
            uid: (*letter.uid).to_owned(),
            resource_version: (*letter.resource_version).to_owned(),
        }),
        attempts: letter.attempts,
        failure: letter.failure.to_string(),
        at: shown(letter.at),
    }
}

/// The dead letter of a key.
pub(super) fn dropped_key(dropped: &DroppedKey) -> types::DeadLetter {
    types::DeadLetter {
        plugin: None,
        object: named(&dropped.key),
        verb: RECONCILE.to_owned(),
        notification: None,
        attempts: dropped.attempts,
        failure: dropped.failure.to_string(),
        at: shown(dropped.at),
    }
}

/// The dead letter of a signal.
pub(super) fn signal(dropped: &DroppedKey) -> types::DeadLetter {
    types::DeadLetter {
        object: (*dropped.key).to_owned(),
        verb: signal_verb(dropped).to_owned(),
        ..dropped_key(dropped)
    }
}

/// The function that the plugin is called with.
pub(super) fn signal_verb(dropped: &DroppedKey) -> &'static str {
    dropped.key.parse().map_or("", |signal: Signal| signal.verb())
}

/// The time as RFC 3339 writes it.
pub(super) fn shown(at: SystemTime) -> Option<String> {
    Timestamp::try_from(at).ok().map(|at| at.to_string())
}

/// The text of a key of the plugin's own. The plugin chooses its keys, so a key need not be the name of an object.
fn named(key: &str) -> String {
    format!("key {key}")
}

/// The chosen letters of all plugins, the oldest first.
pub(super) fn list(plugins: &[Arc<RunningPlugin>], chosen: &Chosen) -> DeadLetters {
    let letters = plugins.iter().flat_map(|plugin| {
        let name = Some(plugin.name().to_owned());
        let letters = plugin.letters();
        let events = letters.events(chosen).into_iter().map(|letter| (letter.at, dead_letter(&letter)));
        let keys = letters.keys(chosen).into_iter().map(|dropped| (dropped.at, dropped_key(&dropped)));
        let signals = plugin.signals().letters(chosen).into_iter();
        let signals = signals.map(|dropped| (dropped.at, signal(&dropped)));
        let all = events.chain(keys).chain(signals);
        all.map(|(at, letter)| (at, types::DeadLetter { plugin: name.clone(), ..letter })).collect::<Vec<_>>()
    });
    let mut letters: Vec<_> = letters.collect();
    letters.sort_by_key(|(at, _)| *at);
    let dead_letters = letters.into_iter().map(|(_, letter)| letter).collect();
    DeadLetters { dead_letters, problems: problems(plugins) }
}

pub(super) fn replay(plugins: &[Arc<RunningPlugin>], chosen: &Chosen) -> Replays {
    let mut replays = Replays::default();
    for plugin in plugins {
        let name = plugin.name();
        let mut note = |object: String, replayed: Result<&str, String>| match replayed {
            Ok(verb) => {
                let (plugin, verb) = (name.to_owned(), verb.to_owned());
                replays.replayed.push(Replayed { plugin, object, verb });
            }
            Err(why) => replays.refused.push(Refused { plugin: name.to_owned(), object, why }),
        };
        for letter in plugin.letters().events(chosen) {
            note(
                letter.object.to_string(),
                plugin.subscriptions().replay(&letter).map_err(|why| why.to_string()),
            );
        }
        for dropped in plugin.letters().keys(chosen) {
            let replayed = plugin.replay_key(&dropped).map_err(|why| why.to_string());
            note(named(&dropped.key), replayed.map(|()| RECONCILE));
        }
        for dropped in plugin.signals().letters(chosen) {
            let replayed = plugin.signals().replay(&dropped).map_err(|why| why.to_string());
            note((*dropped.key).to_owned(), replayed.map(|()| signal_verb(&dropped)));
        }
    }
    let Replays { replayed, refused } = &replays;
    tracing::info!(replayed = replayed.len(), refused = refused.len(), "dead letters are replayed");
    replays
}

pub(super) fn drop_chosen(plugins: &[Arc<RunningPlugin>], chosen: &Chosen) -> Dropped {
    let dropped = plugins.iter().flat_map(|plugin| {
        let objects = plugin.letters().drop_events(chosen).into_iter().map(|object| object.to_string());
        let keys = plugin.letters().drop_keys(chosen).into_iter().map(|key| named(&key));
        let dropped = |object| DroppedLetter { plugin: plugin.name().to_owned(), object };
        let signals = plugin.signals().drop_letters(chosen).into_iter().map(|key| (*key).to_owned());
        objects.chain(keys).chain(signals).map(dropped).collect::<Vec<_>>()
    });
    let dropped: Vec<DroppedLetter> = dropped.collect();
    tracing::info!(dropped = dropped.len(), "dead letters are dropped on request");
    Dropped { dropped }
}
