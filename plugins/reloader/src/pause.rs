//! Deployments that a roll pauses, so that several changes in a row become one rollout, which begins when the pause ends. All
//! state is in the Deployment, so the pause ends on time after a restart too.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{kind::WorkloadKind, settings::Names, span::Span, subject::Subject};

/// The state of the pause of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// This plugin does not pause the workload.
    None,
    /// The pause ends after this time.
    For(Duration),
    /// The pause is over.
    Over,
}

/// The pause of a workload now. An annotation that does not parse ends the pause; otherwise the pause would never end.
pub(crate) fn state(subject: &mut Subject, names: &Names, now: Timestamp) -> Pause {
    // The plugin pauses only Deployments. A workload of another kind has this annotation if a client copied the annotations of a
    // Deployment.
    if subject.workload.kind != WorkloadKind::Deployment {
        return Pause::None;
    }
    // As in the original, an empty time counts as none.
    let at = subject.annotations.get(&names.paused_at).filter(|at| !at.is_empty());
    let Some(at) = at else { return Pause::None };
    if !is_paused(subject) {
        // A person has resumed it.
        return Pause::Over;
    }
    let Ok(at) = at.parse::<Timestamp>() else {
        subject.problems.push(format!("{}: `{at}` is not a time like 2030-01-31T23:59:00Z", names.paused_at));
        return Pause::Over;
    };
    let Some(period) = period(subject, names) else { return Pause::Over };
    if at.duration_since(now) > period {
        // The clock was set back. The pause would otherwise last until the clock has its earlier time again.
        return Pause::Over;
    }
    let end = at.checked_add(period).unwrap_or(now);
    // A clock that was set back by less than the period extends the pause by less than the period.
    match Duration::try_from(end.duration_since(now).min(period)) {
        Ok(rest) if !rest.is_zero() => Pause::For(rest),
        _ => Pause::Over,
    }
}

/// The patch that begins a pause with a roll. Returns `None` for a workload that is not to be paused, or that is paused already.
pub(crate) fn begin(subject: &mut Subject, names: &Names, now: Timestamp) -> Option<Value> {
    let is_deployment = subject.workload.kind == WorkloadKind::Deployment;
    if !is_deployment || is_paused(subject) {
        return None;
    }
    period(subject, names)?;
    let at = format!("{now:.0}");
    Some(json!({"metadata": {"annotations": {names.paused_at.as_str(): at}}, "spec": {"paused": true}}))
}

/// The patch that ends a pause.
pub(crate) fn end(names: &Names) -> Value {
    json!({"metadata": {"annotations": {names.paused_at.as_str(): null}}, "spec": {"paused": null}})
}

fn is_paused(subject: &Subject) -> bool {
    subject.object.pointer("/spec/paused") == Some(&Value::Bool(true))
}

fn period(subject: &mut Subject, names: &Names) -> Option<SignedDuration> {
    match subject.annotations.get(&names.pause_period)?.parse::<Span>() {
        Ok(Span(period)) => SignedDuration::try_from(period).ok().filter(|period| !period.is_zero()),
        Err(invalid) => {
            subject.problems.push(format!("{}: {invalid}", names.pause_period));
            None
        }
    }
}
