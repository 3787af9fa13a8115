//! The place of an object in one plugin.

use informer_dispatch::{ObjectRef, Standing, Stands, workqueue::KeyStanding};
use informer_types::{Gvr, ObjectKey, WorkKey, counted};

use crate::{
    admin::types::{Chosen, DeadLetter, OwnKey, PluginExplanation},
    app::{
        probe::{
            dead_letters::{dead_letter, dropped_key},
            plugin::workqueue,
        },
        running_plugin::{Interest, RunningPlugin},
    },
};

/// Returns the place of the object, and whether the plugin has anything about it. Returns `None` if the plugin has nothing to
/// do with the resource, unless the request names the plugin.
pub(super) fn explanation(
    plugin: &RunningPlugin,
    object: &ObjectRef,
    cached: bool,
    by_name: bool,
) -> Option<(PluginExplanation, bool)> {
    let (gvr, key) = (object.source.gvr(), &object.key);
    let interest = plugin.subscriptions().interest(gvr, key);
    let queue = plugin.queue().standing(object);
    let chosen = Chosen { gvr: Some(gvr.to_string()), key: Some(key.to_string()), ..Chosen::default() };
    let letter = plugin.letters().events(&chosen).pop().as_ref().map(dead_letter);
    let own_key = if plugin.subscriptions().contains(gvr) {
        own_key(plugin, &key_text(plugin, gvr, key))
    } else {
        OwnKey::default()
    };
    let nothing_pending = queue.is_none() && own_key.workqueue.is_none();
    let known = !nothing_pending || letter.is_some() || own_key.dead_letter.is_some();
    if interest == Interest::None && !known && !by_name {
        return None;
    }
    let stats = plugin.queue().stats();
    let quarantine = stats.quarantine.map(|quarantine| quarantine.text);
    let mut words = vec![selected(interest, cached)];
    words.extend(queue.as_ref().map(in_words));
    words.extend(own_key.workqueue.as_ref().map(key_in_words));
    words.extend(nothing_pending.then(|| "nothing is pending".to_owned()));
    words.extend(letter.as_ref().map(|letter| given_up(&format!("dead letter of {}", letter.verb), letter)));
    words.extend(own_key.dead_letter.as_ref().map(|letter| given_up("its key is a dead letter", letter)));
    words.extend(quarantine.clone());
    words.extend(own_key.quarantine.as_ref().map(|text| format!("its reconciler is {text}")));
    if stats.paused {
        words.push("no calls are made yet: the plugin or a cache that it reads is not ready".to_owned());
    }
    let explanation = PluginExplanation {
        plugin: plugin.name().to_owned(),
        subscribed: interest != Interest::None,
        excluded_by: match interest {
            Interest::Excluded(condition) => Some(condition.to_owned()),
            Interest::None | Interest::Selected => None,
        },
        queue,
        dead_letter: letter,
        quarantine,
        own_key,
        paused: stats.paused,
        stands: words.join("; "),
    };
    Some((explanation, known))
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

/// The text of the key of an object in the workqueue.
fn key_text(plugin: &RunningPlugin, gvr: &Gvr, key: &ObjectKey) -> String {
    let config = plugin.config();
    let named = config.subscriptions.iter().any(|on| on.watch == *gvr && on.resource_in_key);
    let of = named.then(|| gvr.to_string().into());
    WorkKey { of, key: key.clone() }.to_string()
}

fn own_key(plugin: &RunningPlugin, key: &str) -> OwnKey {
    let chosen = Chosen { key: Some(key.to_owned()), ..Chosen::default() };
    OwnKey {
        workqueue: plugin.workqueue().standing(key),
        dead_letter: plugin.letters().keys(&chosen).pop().as_ref().map(dropped_key),
        quarantine: workqueue(plugin).quarantine.map(|quarantine| quarantine.text),
    }
}

fn key_in_words(standing: &KeyStanding) -> String {
    let KeyStanding { stands, again, failed } = standing;
    let failed = match failed {
        0 => String::new(),
        failed => format!(", after {}", counted((*failed).into(), "failed call")),
    };
    match stands {
        Stands::Ready => format!("its key waits for a worker{failed}"),
        Stands::Delayed { retry_in } => format!("its key is due in {retry_in:.1?}{failed}"),
        Stands::InFlight { lasting } => {
            let again = if *again { ", and will wait again" } else { "" };
            format!("its key is in flight for {lasting:.1?}{failed}{again}")
        }
    }
}

fn in_words(standing: &Standing) -> String {
    let Standing { stands, pending, attempts, since, quiet_in } = standing;
    let pending = pending.join(", ");
    match stands {
        Stands::Ready => format!("{pending} waits for a worker, for {since:.1?}"),
        Stands::Delayed { .. }
            if let Some(quiet_in) = quiet_in
                && *attempts == 0 =>
        {
            format!(
                "{pending} waits until the object is quiet, which is in {quiet_in:.1?} if it does not change; it is pending for {since:.1?}"
            )
        }
        // A quarantine holds back what was never called; its own sentence follows.
        Stands::Delayed { .. } if *attempts == 0 => {
            format!("{pending} waits for its first call, for {since:.1?}")
        }
        Stands::Delayed { retry_in } => {
            let times = counted((*attempts).into(), "time");
            format!(
                "{pending} failed {times} and is called again in {retry_in:.1?}; it is pending for {since:.1?}"
            )
        }
        Stands::InFlight { lasting } if pending.is_empty() => format!("in flight for {lasting:.1?}"),
        Stands::InFlight { lasting } => format!("in flight for {lasting:.1?}, and {pending} is pending"),
    }
}

fn given_up(what: &str, DeadLetter { attempts, failure, .. }: &DeadLetter) -> String {
    let calls = counted((*attempts).into(), "call");
    format!("{what} ({calls}): {}", failure.lines().next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_object_that_is_not_quiet_yet_is_not_shown_as_failed() {
        let [retry_in, since] = [1300, 2700].map(Duration::from_millis);
        let stands = Stands::Delayed { retry_in };
        let words = |attempts, quiet_in| {
            in_words(&Standing { stands, pending: vec!["update"], attempts, since, quiet_in })
        };

        assert_eq!(
            words(0, Some(retry_in)),
            "update waits until the object is quiet, which is in 1.3s if it does not change; it is pending for 2.7s"
        );
        let failed = "update failed 1 time and is called again in 1.3s; it is pending for 2.7s";
        assert_eq!((words(1, Some(retry_in)).as_str(), words(1, None).as_str()), (failed, failed));
    }

    #[test]
    fn one_failed_call_is_singular() {
        let words = |failed| key_in_words(&KeyStanding { stands: Stands::Ready, again: false, failed });
        let letter = |attempts| {
            let failure = "trap: unreachable\nbacktrace".to_owned();
            given_up("dead letter of add", &DeadLetter { attempts, failure, ..DeadLetter::default() })
        };

        assert_eq!(words(0), "its key waits for a worker");
        assert_eq!(words(1), "its key waits for a worker, after 1 failed call");
        assert_eq!(words(2), "its key waits for a worker, after 2 failed calls");
        assert_eq!(letter(1), "dead letter of add (1 call): trap: unreachable");
        assert_eq!(letter(2), "dead letter of add (2 calls): trap: unreachable");
    }
}
