//! What the filters of a plugin's subscriptions did.

use informer_dispatch::FilterStats;
use informer_types::Gvr;

use super::Exposition;

const SUPPRESSED: &str = "Notifications that did not go on, by the condition that was the first to say so";

pub(super) fn filter(plugin: &str, gvr: &Gvr, stats: &FilterStats, into: &mut Exposition) {
    let watch = gvr.to_string();
    let labels = [("plugin", plugin), ("watch", watch.as_str())];
    for (name, help, value) in [
        ("informer_filter_passed", "Notifications that went on to the queue", stats.passed),
        ("informer_filter_entered", "Updates told as additions: the object came to match", stats.entered),
        ("informer_filter_left", "Updates told as deletions: the object matches no longer", stats.left),
        ("informer_filter_unreadable", "Objects that a condition could not read", stats.unreadable),
        ("informer_filter_when_evaluations", "Times that an expression was asked", stats.when.evaluations),
        ("informer_filter_when_errors", "Times that an expression had no answer", stats.when.errors),
    ] {
        into.counter(name, help, &labels, value);
    }
    let suppressed = &stats.suppressed;
    for (by, value) in [
        ("initial", suppressed.initial),
        ("events", suppressed.events),
        ("namespaces", suppressed.namespaces),
        ("labels", suppressed.labels),
        ("fields", suppressed.fields),
        ("changed", suppressed.changed),
        ("when", suppressed.when),
    ] {
        let labels = [("plugin", plugin), ("watch", watch.as_str()), ("by", by)];
        into.counter("informer_filter_suppressed", SUPPRESSED, &labels, value);
    }
    let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let help = "Time that an expression took, on the informer's thread";
    let taken = stats.when.time.as_secs_f64();
    into.sum("informer_filter_when_seconds", help, labels, taken);
}
