//! The keys of the configuration in force, and the results of the newest reloads, for the page of the admin endpoint.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::{
    admin::{
        dashboard::{ConfigurationInForce, CurrentKey, PastReload},
        types::{Report, Verdict},
    },
    config::{Written, WrittenKey},
};

/// The most reloads that are kept.
const RELOADS: usize = 20;

/// The most changes of one reload that are kept.
const CHANGES: usize = 100;

/// The configuration in force. Cheap to clone; all clones share one state.
#[derive(Clone, Default)]
pub(super) struct InForce(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    applied: Option<Timestamp>,
    now: Written,
    /// The keys in force before the newest change.
    before: Option<Written>,
    needs_restart: Vec<String>,
    past: VecDeque<PastReload>,
    reloads: u64,
}

// === impl InForce ===

impl InForce {
    /// Notes a configuration that was applied.
    pub(super) fn applied(&self, written: &Written, report: &Report) {
        let mut state = self.0.lock();
        let restart = report.changes.iter().filter(|change| change.verdict == Verdict::NeedsRestart);
        state.needs_restart = restart.map(|change| change.name.clone()).collect();
        if state.now.keys() != written.keys() {
            let before = std::mem::replace(&mut state.now, written.clone());
            // The start has nothing before it.
            state.before = state.applied.map(|_| before);
        }
        state.applied = Some(Timestamp::now());
    }

    /// Notes a reload, if it did something.
    pub(super) fn reloaded(&self, report: &Report) {
        if report.changes.is_empty() && report.problems.is_empty() {
            return;
        }
        let mut report = report.clone();
        report.changes.truncate(CHANGES);
        report.problems.truncate(CHANGES);
        let mut state = self.0.lock();
        state.reloads += 1;
        state.past.push_front(PastReload { at: Timestamp::now().to_string(), report });
        state.past.truncate(RELOADS);
    }

    /// The keys that wait for the next start of the host.
    pub(super) fn needs_restart(&self) -> Vec<String> {
        self.0.lock().needs_restart.clone()
    }

    /// The number of reloads that did something since the start.
    pub(super) fn reloads(&self) -> u64 {
        self.0.lock().reloads
    }

    /// Returns the whole view. `refused` has the problems of the present content of the file.
    pub(super) fn view(&self, refused: Option<Vec<String>>) -> ConfigurationInForce {
        let state = self.0.lock();
        let keys = match &state.before {
            Some(before) => compared(before.keys(), state.now.keys()),
            None => state.now.keys().iter().map(|key| current(key, None, None)).collect(),
        };
        ConfigurationInForce {
            applied: state.applied.map(|at| at.to_string()),
            refused,
            needs_restart: state.needs_restart.clone(),
            keys,
            reloads: state.past.iter().cloned().collect(),
        }
    }
}

/// The keys of both, each with its change. Removed keys come last.
fn compared(before: &[WrittenKey], now: &[WrittenKey]) -> Vec<CurrentKey> {
    let named = |key: &WrittenKey| (key.section.clone(), key.key.clone());
    let earlier: BTreeMap<_, _> = before.iter().map(|key| (named(key), key)).collect();
    let names: BTreeSet<_> = now.iter().map(named).collect();
    let kept = now.iter().map(|key| match earlier.get(&named(key)) {
        None => current(key, None, Some("added")),
        Some(old) if old.value == key.value => current(key, None, None),
        Some(old) => current(key, Some(&old.value), Some("changed")),
    });
    let removed = before.iter().filter(|key| !names.contains(&named(key)));
    let removed =
        removed.map(|key| CurrentKey { value: None, ..current(key, Some(&key.value), Some("removed")) });
    kept.chain(removed).collect()
}

fn current(key: &WrittenKey, before: Option<&str>, change: Option<&'static str>) -> CurrentKey {
    CurrentKey {
        section: key.section.clone(),
        key: key.key.clone(),
        value: Some(key.value.clone()),
        before: before.map(str::to_owned),
        change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Components, Environment, Place, parse};

    fn written(host: &str) -> Written {
        let text = format!(
            "[host]\n{host}\n[[watch]]\ngvr = \"v1/pods\"\n[[plugin]]\nname = \"p\"\nsource = \"p.wasm\"\n[[plugin.on]]\nwatch = \"v1/pods\"\n"
        );
        let place = Place { file: "f".as_ref(), base: "/".as_ref(), environment: &Environment::default() };
        parse(&text, &place, Components::Unseen).unwrap().written
    }

    fn changes(in_force: &InForce) -> Vec<(String, Option<String>, Option<String>, &'static str)> {
        let keys = in_force.view(None).keys.into_iter();
        keys.filter_map(|key| Some((key.key, key.before, key.value, key.change?))).collect()
    }

    #[test]
    fn a_key_shows_what_the_newest_change_did_to_it() {
        let in_force = InForce::default();
        let text = |text: &str| Some(format!("{text:?}"));
        in_force.applied(&written("log = \"info\"\ntrace = 0"), &Report::default());
        assert!(changes(&in_force).is_empty(), "the start changes nothing");

        in_force.applied(&written("log = \"warn\"\nshutdown-timeout = \"9s\""), &Report::default());
        let expected = [
            ("log".to_owned(), text("info"), text("warn"), "changed"),
            ("shutdown-timeout".to_owned(), None, text("9s"), "added"),
            ("trace".to_owned(), Some("0".to_owned()), None, "removed"),
        ];
        assert_eq!(changes(&in_force), expected);

        in_force.applied(&written("log = \"warn\"\nshutdown-timeout = \"9s\""), &Report::default());
        assert_eq!(changes(&in_force), expected, "the same file again changes nothing");
    }

    #[test]
    fn a_key_that_needs_a_restart_is_kept_until_it_has_its_first_value_again() {
        let in_force = InForce::default();
        let mut report = Report::default();
        report.note("key", "[host] admin", Verdict::NeedsRestart, "");
        report.note("plugin", "p", Verdict::Changed, "");

        in_force.applied(&written("log = \"info\""), &report);
        assert_eq!(in_force.needs_restart(), ["[host] admin"]);

        in_force.applied(&written("log = \"info\""), &Report::default());
        assert!(in_force.needs_restart().is_empty());
    }

    #[test]
    fn the_newest_reloads_that_did_something_are_kept() {
        let in_force = InForce::default();
        in_force.reloaded(&Report::default());
        for number in 0..30 {
            let mut report = Report::default();
            report.note("plugin", &format!("p{number}"), Verdict::Changed, "");
            in_force.reloaded(&report);
        }

        let view = in_force.view(Some(vec!["line 1: no".to_owned()]));
        assert_eq!((view.reloads.len(), in_force.reloads()), (RELOADS, 30));
        assert_eq!(view.reloads[0].report.changes[0].name, "p29");
        assert_eq!(view.refused.unwrap().len(), 1);
    }
}
