//! The filter of one subscription.

use informer_dispatch::FilterStats;

use super::family::Family;

pub(super) const FAMILIES: &[Family<FilterStats>] = &[
    Family::counter("informer_filter_passed", "Notifications that passed to the queue", |filter| {
        filter.passed
    }),
    Family::counter(
        "informer_filter_entered",
        "Updates delivered as additions: the object came to match",
        |filter| filter.entered,
    ),
    Family::counter(
        "informer_filter_left",
        "Updates delivered as deletions: the object matches no longer",
        |filter| filter.left,
    ),
    Family::counter("informer_filter_unreadable", "Objects that a condition could not read", |filter| {
        filter.unreadable
    }),
    Family::counters(
        "informer_filter_suppressed",
        "by",
        "Notifications that did not pass, by the first condition that excluded them",
        |FilterStats { suppressed, .. }| {
            let by = [
                ("initial", suppressed.initial),
                ("events", suppressed.events),
                ("namespaces", suppressed.namespaces),
                ("labels", suppressed.labels),
                ("fields", suppressed.fields),
                ("changed", suppressed.changed),
                ("when", suppressed.when),
            ];
            by.map(|(by, count)| (by.to_owned(), count)).to_vec()
        },
    ),
    Family::counter("informer_filter_when_evaluations", "Evaluations of the expression", |filter| {
        filter.when.evaluations
    }),
    Family::counter("informer_filter_when_errors", "Evaluations of the expression that failed", |filter| {
        filter.when.errors
    }),
    Family::total_seconds(
        "informer_filter_when_seconds",
        "Time to evaluate the expression, on the informer's thread",
        |filter| filter.when.time,
    ),
];
