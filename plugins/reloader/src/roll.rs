//! The writes that replace the pods of a workload.

use informer_sdk::{
    Error, ReconcileError,
    client::{self, ApiCode, Patch, WriteOptions},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    attempt, http,
    kind::WorkloadKind,
    marker::{self, APPLIED},
    memory::Memory,
    pause,
    plan::Plan,
    recreate::{self, Progress},
    settings::{Settings, Strategy},
    subject::Subject,
};

/// The result of a roll.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rolled {
    /// The workload was rolled.
    Done {
        /// What was done.
        how: &'static str,
        /// The generation of the workload since then, if it has a rollout.
        generation: u64,
    },
    /// The workload has changed or is gone. It must be judged again.
    Stale,
    /// The workload has no container to mark.
    NoContainer,
}

/// The generation in the answer to a write.
#[derive(Default, Deserialize)]
struct Generation {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    generation: u64,
}

/// Returns true if a roll can be written from the cache. Such a write names the version that the cache has, so it fails if the
/// API server has another version, and it changes no field besides the markers and the pause.
pub(crate) fn can_be_written_from_the_cache(subject: &Subject, settings: &Settings) -> bool {
    settings.webhook_url.is_none()
        && matches!(
            subject.workload.kind,
            WorkloadKind::Deployment | WorkloadKind::StatefulSet | WorkloadKind::DaemonSet
        )
        && subject.text("/metadata/resourceVersion").is_some_and(|version| !version.is_empty())
}

/// Rolls a workload for all changes of a plan at once.
///
/// Each write names the version or the UID that was judged, or has the same effect when it is repeated. So a roll never overwrites a change
/// of another client, and a roll whose end was not recorded is not made twice.
pub(crate) fn roll(
    subject: &mut Subject,
    plan: &Plan,
    settings: &Settings,
    now: Timestamp,
) -> Result<Rolled, ReconcileError> {
    let attempt = attempt::begin(subject, plan);
    if subject.workload.kind != WorkloadKind::Job || settings.webhook_url.is_some() {
        // For a Job, the memory contains the new Job instead of an attempt.
        let begun = Memory { attempt: Some(attempt.clone()), ..plan.memory.clone() };
        begun.write(&subject.workload, None)?;
    }
    if let Some(url) = &settings.webhook_url {
        http::post(url, &notice(subject, plan))?;
        return Ok(Rolled::Done { how: "was reported to the webhook", generation: 0 });
    }
    if subject.is_restarted(settings) {
        let at = json!({"spec": {"restartAt": format!("{now:.0}")}});
        return patch(subject, vec![at, applied(plan)]);
    }
    let mut template = subject.template();
    let (strategy, namespace) = (settings.reload_strategy, &subject.workload.namespace);
    let Some(part) = marker::mark(&mut template, strategy, namespace, &plan.changes, now) else {
        return Ok(Rolled::NoContainer);
    };
    match subject.workload.kind {
        WorkloadKind::CronJob => {
            run_now(subject, &attempt::job(&attempt, &subject.workload, &plan.memory), &template)
        }
        WorkloadKind::Job => replace(subject, plan, &template),
        kind => {
            // A merge patch replaces the containers of a Rollout, so it needs all their fields.
            let part = if kind == WorkloadKind::Rollout { template } else { part };
            let mut parts = vec![json!({"spec": {"template": part}})];
            if strategy == Strategy::Annotations {
                parts.push(applied(plan));
            }
            parts.extend(pause::begin(subject, &settings.annotations, now));
            patch(subject, parts)
        }
    }
}

/// Ends the pause of a Deployment.
pub(crate) fn resume(subject: &Subject, settings: &Settings) -> Result<Rolled, ReconcileError> {
    patch(subject, vec![pause::end(&settings.annotations)])
}

/// Sends the parts as one patch of exactly this version of the object. A custom resource has no strategic merge.
fn patch(subject: &Subject, parts: Vec<Value>) -> Result<Rolled, ReconcileError> {
    let version = subject.text("/metadata/resourceVersion").unwrap_or_default();
    let mut body = json!({"metadata": {"uid": subject.uid(), "resourceVersion": version}});
    parts.into_iter().for_each(|part| marker::merge(&mut body, &part));
    let workload = &subject.workload;
    let patch = match workload.kind {
        WorkloadKind::Rollout => Patch::merge(body),
        _ => Patch::strategic_merge(body),
    };
    let sent = client::patch(workload.gvr(), &workload.key(), &patch, &WriteOptions::new());
    let generation = sent.as_ref().ok().and_then(|object| object.parse::<Generation>().ok());
    unless_stale(sent.map(drop), "was rolled", generation.unwrap_or_default().metadata.generation)
}

/// Creates a Job of a CronJob now, under a name that a second attempt has too.
fn run_now(subject: &Subject, name: &str, template: &Value) -> Result<Rolled, ReconcileError> {
    let workload = &subject.workload;
    let part = |pointer: &str| {
        let found = subject.object.pointer("/spec/jobTemplate").and_then(|job| job.pointer(pointer));
        found.cloned().unwrap_or_else(|| json!({}))
    };
    let (mut spec, mut annotations) = (part("/spec"), part("/metadata/annotations"));
    marker::merge(&mut annotations, &json!({"cronjob.kubernetes.io/instantiate": "manual"}));
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("template".to_owned(), template.clone());
    }
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": workload.namespace,
            "labels": part("/metadata/labels"),
            "annotations": annotations,
            // `recreate::without_blocks` has the reason why `blockOwnerDeletion` is missing.
            "ownerReferences": [{
                "apiVersion": "batch/v1", "kind": "CronJob", "name": workload.name, "uid": subject.uid(),
                "controller": true,
            }],
        },
        "spec": spec,
    });
    let jobs = WorkloadKind::Job.gvr();
    match client::create(jobs, &workload.namespace, &job, &WriteOptions::new()) {
        Err(error) if error.api_code() == Some(ApiCode::AlreadyExists) => {
            Ok(Rolled::Done { how: "has its Job", generation: 0 })
        }
        created => unless_stale(created.map(drop), "was run", 0),
    }
}

/// Deletes a Job and creates it anew.
fn replace(subject: &Subject, plan: &Plan, template: &Value) -> Result<Rolled, ReconcileError> {
    let mut job = recreate::successor(subject, template);
    // The new Job has another UID, which the memory does not know: all its sources are marked, not only those that changed.
    marker::merge(&mut job, &applied(plan));
    let memory = Memory { recreate: Some(job.clone()), ..plan.memory.clone() };
    memory.write(&subject.workload, None)?;
    if let Rolled::Stale = unless_stale(recreate::delete(subject), "", 0)? {
        return Ok(Rolled::Stale);
    }
    match recreate::create(&subject.workload, &memory, &job)? {
        Progress::Created => Ok(Rolled::Done { how: "was replaced", generation: 0 }),
        Progress::Other | Progress::Wait => Ok(Rolled::Stale),
    }
}

/// A conflict and a missing object are no failures: the object is read and judged again.
fn unless_stale(
    sent: Result<(), Error>,
    how: &'static str,
    generation: u64,
) -> Result<Rolled, ReconcileError> {
    match sent {
        Ok(()) => Ok(Rolled::Done { how, generation }),
        Err(error) if matches!(error.api_code(), Some(ApiCode::Conflict | ApiCode::NotFound)) => {
            Ok(Rolled::Stale)
        }
        Err(error) => Err(error.into()),
    }
}

fn applied(plan: &Plan) -> Value {
    json!({"metadata": {"annotations": {APPLIED: marker::applied(&plan.hashes())}}})
}

/// The body of the original, and what it is about.
fn notice(subject: &Subject, plan: &Plan) -> Value {
    let workload = &subject.workload;
    json!({
        "webhook": "update successful",
        "kind": workload.kind.to_string(),
        "namespace": workload.namespace,
        "name": workload.name,
        "changes": plan.changes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
