//! What operators see of a reload: log lines, metrics, Events and alerts. A report that fails never repeats a roll.

use std::collections::BTreeSet;

use informer_sdk::{
    client::{self, ObjectEvent},
    log, metrics,
};
use serde_json::{Value, json};

use crate::{
    http,
    kind::Workload,
    marker::Change,
    settings::{Alert, Settings, Sink},
};

/// Reports that the workload was rolled. `how` says what was done, such as `was rolled`.
pub(crate) fn reloaded(settings: &Settings, workload: &Workload, changes: &[Change], how: &str) {
    let why = reasons(changes);
    log::info!("{workload} {how}: {why}");
    count(settings, workload, true);
    counter("reloader_action", &[("action", "reload"), ("kind", workload.kind.plural())]);
    if settings.roll_events {
        record(workload, ObjectEvent::new(workload.gvr(), &workload.key(), "Reloaded", "Reloading"), &why);
    }
    if let Some(alert) = &settings.alert
        && let Err(failed) = http::post(&alert.url, &message(alert, workload, &why))
    {
        log::warn!("no alert about {workload}: {failed}");
    }
}

/// Reports that a roll failed. The plugin tries it again.
pub(crate) fn failed(settings: &Settings, workload: &Workload, changes: &[Change], error: &str) {
    let why = format!("{}, and the roll failed: {error}", reasons(changes));
    count(settings, workload, false);
    let event = ObjectEvent::new(workload.gvr(), &workload.key(), "ReloadFail", "Reloading").warning();
    record(workload, event, &why);
}

/// Reports that the pause of a Deployment has ended.
pub(crate) fn resumed(workload: &Workload) {
    log::info!("{workload} was resumed: its pause is over");
    counter("reloader_action", &[("action", "resume"), ("kind", workload.kind.plural())]);
}

/// Reports that a roll waits or does not happen.
pub(crate) fn skipped(workload: &Workload, changes: &[Change], reason: &'static str) {
    log::debug!("{workload} is not rolled now, {reason}: {}", reasons(changes));
    counter("reloader_skipped", &[("reason", reason)]);
}

/// Counts the workloads that are reconciled because one source changed.
pub(crate) fn matched(workloads: usize) {
    #[expect(clippy::cast_precision_loss, reason = "no namespace has 2^52 workloads")]
    let workloads = workloads as f64;
    // The host logs a metric that it refuses, here and below.
    metrics::counter_add("reloader_workloads_matched", &[], workloads).ok();
}

/// Logs each problem with annotations or data once. A problem with `auto` is in the list twice, because `auto` is read for each
/// kind of source.
pub(crate) fn problems(workload: &Workload, problems: &[String]) {
    for problem in problems.iter().collect::<BTreeSet<_>>() {
        log::warn!("{workload}: {problem}");
    }
}

/// Records an Event about a workload whose `reload` list has too many regular expressions. Only the author of the workload can change the
/// list, and may not see the log.
pub(crate) fn cut(workload: &Workload) {
    let event = ObjectEvent::new(workload.gvr(), &workload.key(), "InvalidAnnotation", "Reloading").warning();
    let note = "a list of sources has too many regular expressions, and the last ones name nothing: join some of them with `|`";
    record(workload, event, note);
}

fn reasons(changes: &[Change]) -> String {
    changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn count(settings: &Settings, workload: &Workload, success: bool) {
    let success = if success { "true" } else { "false" };
    counter("reloader_reload_executed", &[("success", success)]);
    if settings.count_by_namespace {
        let labels = [("success", success), ("namespace", workload.namespace.as_str())];
        counter("reloader_reload_executed_by_namespace", &labels);
    }
}

fn counter(name: &str, labels: &[(&str, &str)]) {
    metrics::counter_add(name, labels, 1.0).ok();
}

fn record(workload: &Workload, event: ObjectEvent, note: &str) {
    // The note of an Event has at most 1 KiB, and a character has at most 4 bytes.
    let note: String = note.chars().take(250).collect();
    if let Err(error) = client::record(&event.note(note)) {
        log::warn!("no Event about {workload}: {error}");
    }
}

fn message(alert: &Alert, workload: &Workload, why: &str) -> Value {
    let Workload { kind, namespace, name } = workload;
    let mut text = format!("Reloaded {kind} {name} in namespace {namespace}: {why}");
    if !alert.additional_info.is_empty() {
        text = format!("{}: {text}", alert.additional_info);
    }
    match alert.sink {
        Sink::Slack | Sink::Gchat => json!({"text": text}),
        Sink::Teams => json!({
            "@type": "MessageCard", "@context": "http://schema.org/extensions", "summary": "Reloader", "text": text,
        }),
        Sink::Webhook => {
            json!({"text": text, "kind": kind.to_string(), "namespace": namespace, "name": name, "changes": why})
        }
    }
}
