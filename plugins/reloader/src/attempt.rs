//! Rolls whose outcome is not known, because the host ended or the API server did not answer.
//!
//! The memory of the workload contains such a roll until its outcome is known. If the source gets its earlier content back in the
//! meantime, the plugin compares that content with what the pods have read after the roll, and not with what they had before it.

use informer_sdk::{
    Error, ObjectKey,
    client::{self, ApiCode},
};
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::{
    kind::{SourceId, Workload, WorkloadKind},
    marker::digest,
    memory::{Attempt, Memory, UNKNOWN},
    plan::Plan,
    settings::Settings,
    source::NOTHING,
    subject::Subject,
};

/// What became of a roll.
enum End {
    Rolled,
    /// The workload has the pods that it had.
    NotRolled,
    /// Another client has changed the pods, before the roll or after it.
    Unknown,
}

/// The roll of a workload for the changes of a plan.
pub(crate) fn begin(subject: &Subject, plan: &Plan) -> Attempt {
    let changes = plan.changes.iter().map(|change| (change.source.clone(), change.hash.clone()));
    Attempt { changes: changes.collect(), template: digest([subject.template().to_string()]) }
}

/// The name of the Job that runs a CronJob for these changes. The name contains a digest of the changes, of the number of earlier
/// rolls, and of the time at which the memory began. A second attempt after a crash therefore finds the Job of the first one, and
/// the next change gets another name.
pub(crate) fn job(attempt: &Attempt, workload: &Workload, memory: &Memory) -> String {
    let changes = attempt
        .changes
        .iter()
        .map(|(source, hash)| format!("{source} {}", hash.as_deref().unwrap_or(NOTHING)));
    let since = memory.since.map(|since| since.to_string());
    let before = [memory.uid.clone(), memory.rolls.to_string()].into_iter().chain(since);
    let mark = digest(before.chain(changes));
    // The name of a Job has at most 63 characters.
    let start: String = workload.name.chars().take(52).collect();
    format!("{}-{}", start, mark.get(..10).unwrap_or_default())
}

fn end(attempt: &Attempt, workload: &Workload, memory: &Memory, settings: &Settings) -> Result<End, Error> {
    if settings.webhook_url.is_some() {
        // A request to a webhook leaves no trace.
        return Ok(End::Unknown);
    }
    if workload.kind == WorkloadKind::CronJob {
        let job = ObjectKey::new(&workload.namespace, job(attempt, workload, memory));
        return match live::<IgnoredAny>(WorkloadKind::Job.gvr(), &job) {
            Ok(found) => Ok(if found.is_some() { End::Rolled } else { End::NotRolled }),
            // The permission to create Jobs is enough for a CronJob. A second attempt finds the Job of the first by its name.
            Err(error) if matches!(error.api_code(), Some(ApiCode::NotGranted | ApiCode::Forbidden)) => {
                Ok(End::Unknown)
            }
            Err(error) => Err(error),
        };
    }
    let Some(object) = live(workload.gvr(), &workload.key())? else { return Ok(End::NotRolled) };
    let mut subject = Subject::live(workload.clone(), object, settings);
    let template = subject.template();
    let markers = subject.markers(&template, settings);
    let is_marked = |(source, hash): (&SourceId, &Option<String>)| {
        markers.of(source).contains(&hash.as_deref().unwrap_or(NOTHING))
    };
    if digest([template.to_string()]) == attempt.template {
        // The restart of a Rollout leaves its template as it is.
        let restarted =
            subject.workload.kind == WorkloadKind::Rollout && attempt.changes.iter().all(is_marked);
        return Ok(if restarted { End::Rolled } else { End::NotRolled });
    }
    Ok(if attempt.changes.iter().all(is_marked) { End::Rolled } else { End::Unknown })
}

/// Finds out how the roll in the memory ended, and returns the memory with the result and without the roll.
pub(crate) fn settle(workload: &Workload, memory: Memory, settings: &Settings) -> Result<Memory, Error> {
    let Some(attempt) = &memory.attempt else { return Ok(memory) };
    let mut settled = match end(attempt, workload, &memory, settings)? {
        End::Rolled => memory.rolled(attempt.changes.iter().map(|(source, hash)| (source, hash.as_ref()))),
        End::NotRolled => memory.clone(),
        End::Unknown => {
            let mut memory = memory.clone();
            let changed = attempt.changes.iter().filter(|(_, hash)| hash.is_some());
            memory.hashes.extend(changed.map(|(source, _)| (source.clone(), UNKNOWN.to_owned())));
            memory
        }
    };
    settled.attempt = None;
    Ok(settled)
}

/// An object as the API server has it. Returns `None` if it does not exist.
fn live<T: DeserializeOwned>(gvr: &str, key: &ObjectKey) -> Result<Option<T>, Error> {
    match client::get(gvr, key) {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.api_code() == Some(ApiCode::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}
