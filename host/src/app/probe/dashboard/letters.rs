//! Dead letters, some at a time: a thousand plugins may have a million.

use std::sync::Arc;

use informer_dispatch::workqueue::DroppedKey;

use super::super::dead_letters::{RECONCILE, problems, shown, signal_verb};
use crate::{
    admin::{
        dashboard::{Letter, LetterPage, LetterQuery},
        types::Chosen,
    },
    app::running_plugin::RunningPlugin,
};

/// The most letters of an answer.
const LETTERS: usize = 200;

pub(super) fn page(plugins: &[Arc<RunningPlugin>], query: &LetterQuery) -> LetterPage {
    let LetterQuery { plugin, offset, limit } = query;
    let limit = (*limit).clamp(1, LETTERS);
    let mut page = LetterPage { problems: problems(plugins), ..LetterPage::default() };
    for one in plugins.iter().filter(|one| plugin.as_deref().is_none_or(|name| name == one.name())) {
        let keys = one.workqueue().stats().dropped_keys + one.signals().queue().stats().dropped_keys;
        let count = one.queue().stats().dead_letters + keys;
        let (before, missing) = (page.total, limit - page.letters.len());
        page.total += count;
        if page.total > *offset && missing > 0 {
            let skipped = offset.saturating_sub(before);
            page.letters.extend(letters(one).into_iter().skip(skipped).take(missing));
        }
    }
    page
}

/// The letters of one plugin, those of notifications first.
fn letters(plugin: &RunningPlugin) -> Vec<Letter> {
    let name = || plugin.name().to_owned();
    let all = Chosen::default();
    let events = plugin.letters().events(&all).into_iter().map(|letter| Letter {
        plugin: name(),
        gvr: Some(letter.object.source.to_string()),
        key: letter.object.key.to_string(),
        verb: letter.verb.to_owned(),
        attempts: letter.attempts,
        failure: letter.failure.to_string(),
        at: shown(letter.at),
    });
    let key = |dropped: DroppedKey, verb: &str| Letter {
        plugin: name(),
        gvr: None,
        key: (*dropped.key).to_owned(),
        verb: verb.to_owned(),
        attempts: dropped.attempts,
        failure: dropped.failure.to_string(),
        at: shown(dropped.at),
    };
    let keys = plugin.letters().keys(&all).into_iter().map(|dropped| key(dropped, RECONCILE));
    let signals = plugin.signals().letters(&all).into_iter().map(|dropped| {
        let verb = signal_verb(&dropped);
        key(dropped, verb)
    });
    events.chain(keys).chain(signals).collect()
}
