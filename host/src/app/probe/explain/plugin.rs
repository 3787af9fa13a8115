//! The place of an object in one plugin.

use informer_dispatch::{
    DeadLetter, ObjectRef, Standing, Stands,
    workqueue::{DroppedKey, KeyStanding},
};
use informer_types::{Failure, Source};

use crate::{
    admin::types::{self, Chosen, ExplainRequest, Place, millis},
    app::{
        probe::{
            dead_letters::{dead_letter, dropped_key},
            queue::quarantine,
            workqueue::stats,
        },
        running_plugin::{Interest, RunningPlugin},
    },
};

/// The plugin's own key with the name of the object.
#[derive(Default)]
struct OwnKey {
    standing: Option<KeyStanding>,
    letter: Option<DroppedKey>,
    /// The quarantine of the reconciler, in words.
    quarantine: Option<String>,
}

/// Returns the place of the object, and whether the plugin has anything about it. Returns `None` if the plugin has nothing to
/// do with the resource, unless the request names the plugin.
pub(super) fn standing(
    plugin: &RunningPlugin,
    request: &ExplainRequest,
    cached: bool,
    by_name: bool,
) -> Option<(types::Standing, bool)> {
    let ExplainRequest { gvr, key, .. } = request;
    let object = ObjectRef { source: Source::new(gvr.clone()), key: key.clone() };
    let interest = plugin.interest(gvr, key);
    let standing = plugin.queue().standing(&object);
    let chosen = Chosen { gvr: Some(gvr.to_string()), key: Some(key.to_string()), ..Chosen::default() };
    let letter = plugin.letters().events(&chosen).pop();
    let own = if plugin.uses(gvr) { OwnKey::of(plugin, &key.to_string()) } else { OwnKey::default() };
    let known = standing.is_some() || letter.is_some() || own.is_known();
    if interest == Interest::None && !known && !by_name {
        return None;
    }
    let stats = plugin.queue().stats();
    let quarantine = stats.quarantine.as_ref().map(|one| quarantine(one).text);
    let mut words = vec![selected(interest, cached)];
    words.extend(standing.as_ref().map(in_words));
    words.extend(own.standing.as_ref().map(key_in_words));
    if standing.is_none() && own.standing.is_none() {
        words.push("nothing is pending".to_owned());
    }
    words.extend(letter.as_ref().map(|DeadLetter { verb, attempts, failure, .. }| {
        format!("dead letter of {verb} ({attempts} calls): {}", first_line(failure))
    }));
    words.extend(own.letter.as_ref().map(|DroppedKey { attempts, failure, .. }| {
        format!("its key is a dead letter ({attempts} calls): {}", first_line(failure))
    }));
    words.extend(quarantine.clone());
    words.extend(own.quarantine.as_ref().map(|text| format!("its reconciler is {text}")));
    if stats.paused {
        words.push("no calls are made yet: the plugin or a cache that it reads is not ready".to_owned());
    }
    let standing = types::Standing {
        plugin: plugin.name().to_owned(),
        subscribed: interest != Interest::None,
        excluded_by: match interest {
            Interest::Excluded(condition) => Some(condition.to_owned()),
            Interest::None | Interest::Selected => None,
        },
        queue: standing.as_ref().map(place),
        dead_letter: letter.as_ref().map(dead_letter),
        quarantine,
        own_key: types::OwnKey {
            workqueue: own.standing.as_ref().map(key_place),
            dead_letter: own.letter.as_ref().map(dropped_key),
            quarantine: own.quarantine,
        },
        paused: stats.paused,
        stands: words.join("; "),
    };
    Some((standing, known))
}

fn selected(interest: Interest, cached: bool) -> String {
    match interest {
        Interest::None => "does not subscribe to the resource".to_owned(),
        Interest::Excluded(condition) => {
            format!("not selected: its `{condition}` excludes the object in its present state")
        }
        Interest::Selected if cached => "selected".to_owned(),
        Interest::Selected => "subscribed".to_owned(),
    }
}

// === impl OwnKey ===

impl OwnKey {
    fn of(plugin: &RunningPlugin, key: &str) -> Self {
        let chosen = Chosen { key: Some(key.to_owned()), ..Chosen::default() };
        Self {
            standing: plugin.workqueue().standing(key),
            letter: plugin.letters().keys(&chosen).pop(),
            quarantine: stats(plugin).quarantine.as_ref().map(|one| quarantine(one).text),
        }
    }

    fn is_known(&self) -> bool {
        self.standing.is_some() || self.letter.is_some()
    }
}

fn common_place(stands: Stands) -> Place {
    let (place, retry_in_ms, in_hand_ms) = match stands {
        Stands::Ready => ("ready", None, None),
        Stands::Waiting { retry_in } => ("waiting", Some(millis(retry_in)), None),
        Stands::InFlight { lasting } => ("in-hand", None, Some(millis(lasting))),
    };
    Place { place: place.to_owned(), retry_in_ms, in_hand_ms, ..Place::default() }
}

fn key_place(standing: &KeyStanding) -> Place {
    Place { again: Some(standing.again), failed: Some(standing.failed), ..common_place(standing.stands) }
}

fn place(standing: &Standing) -> Place {
    Place {
        pending: Some(standing.pending.iter().map(|verb| (*verb).to_owned()).collect()),
        attempts: Some(standing.attempts),
        since_ms: Some(millis(standing.since)),
        ..common_place(standing.stands)
    }
}

fn key_in_words(standing: &KeyStanding) -> String {
    let KeyStanding { stands, again, failed } = standing;
    let failed = match failed {
        0 => String::new(),
        failed => format!(", after {failed} failed calls"),
    };
    match stands {
        Stands::Ready => format!("its key waits for a worker{failed}"),
        Stands::Waiting { retry_in } => format!("its key is due in {retry_in:.1?}{failed}"),
        Stands::InFlight { lasting } => {
            let again = if *again { ", and will wait again" } else { "" };
            format!("its key is in flight for {lasting:.1?}{failed}{again}")
        }
    }
}

fn in_words(standing: &Standing) -> String {
    let Standing { stands, pending, attempts, since } = standing;
    let pending = pending.join(", ");
    match stands {
        Stands::Ready => format!("{pending} waits for a worker, for {since:.1?}"),
        Stands::Waiting { retry_in } => {
            format!(
                "{pending} failed {attempts} times and is repeated in {retry_in:.1?}; it is pending for {since:.1?}"
            )
        }
        Stands::InFlight { lasting } if pending.is_empty() => format!("in flight for {lasting:.1?}"),
        Stands::InFlight { lasting } => format!("in flight for {lasting:.1?}, and {pending} is pending"),
    }
}

fn first_line(failure: &Failure) -> String {
    failure.to_string().lines().next().unwrap_or_default().to_owned()
}
