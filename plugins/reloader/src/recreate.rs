//! Jobs: their pods cannot change, so a Job is deleted and created anew. The new Job is in the memory before the old one is
//! deleted, so that a crash between both requests loses nothing.

use std::{collections::BTreeMap, time::Duration};

use informer_sdk::{
    Error,
    client::{self, ApiCode, DeleteOptions, Propagation, WriteOptions},
    lister,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    kind::{SourceId, Workload},
    marker::{self, Change},
    memory::Memory,
    source::NOTHING,
    subject::Subject,
};

/// The longest time to wait until the cache has the new Job. The Event about it needs the UID that the cache has.
const PATIENCE: Duration = Duration::from_secs(1);

/// Labels that the API server sets from the UID or the name of a Job.
const OWN_LABELS: [&str; 4] =
    ["controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"];

/// How far the creation of the new Job is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The new Job exists. This call or an earlier one created it.
    Created,
    /// The old Job still exists because its deletion was not sent, another Job has its name, or its namespace is gone.
    Other,
    /// The old Job waits for its finalizers.
    Wait,
}

#[derive(Deserialize)]
struct Live {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: String,
    deletion_timestamp: Option<String>,
    annotations: Option<BTreeMap<String, String>>,
}

// === impl Live ===

impl Live {
    /// Returns true if the object has the hashes of the new Job, which no other client writes.
    fn has_marks_of(&self, job: &Value) -> bool {
        let own = self.metadata.annotations.as_ref().and_then(|all| all.get(marker::APPLIED));
        let marks = job.pointer("/metadata/annotations").and_then(|all| all.get(marker::APPLIED));
        own.is_some_and(|own| marks.and_then(Value::as_str) == Some(own.as_str()))
    }
}

/// The Job that replaces this one, with the template of its pods.
pub(crate) fn successor(subject: &Subject, template: &Value) -> Value {
    let mut spec = subject.object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let is_manual = spec.get("manualSelector") == Some(&Value::Bool(true));
    let mut template = template.clone();
    if !is_manual {
        spec.remove("selector");
        without_own_labels(template.pointer_mut("/metadata/labels"));
    }
    spec.insert("template".to_owned(), template);
    let mut metadata = Map::new();
    for field in ["name", "namespace", "labels", "annotations", "ownerReferences"] {
        if let Some(value) = subject.object.get("metadata").and_then(|metadata| metadata.get(field)) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    without_own_labels(metadata.get_mut("labels"));
    without_blocks(metadata.get_mut("ownerReferences"));
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
}

fn without_own_labels(labels: Option<&mut Value>) {
    if let Some(labels) = labels.and_then(Value::as_object_mut) {
        OWN_LABELS.iter().for_each(|own| drop(labels.remove(*own)));
    }
}

/// Removes `blockOwnerDeletion`. Some API servers, such as those of OpenShift, accept `true` only from a client that may change the
/// finalizers of the owner. The old Job would be deleted, and the new one would be refused. The garbage collector deletes the Job with its
/// owner also without this field.
fn without_blocks(owners: Option<&mut Value>) {
    let owners = owners.and_then(Value::as_array_mut).into_iter().flatten();
    owners.filter_map(Value::as_object_mut).for_each(|owner| drop(owner.remove("blockOwnerDeletion")));
}

/// Deletes the Job that was judged, and no other of its name.
pub(crate) fn delete(subject: &Subject) -> Result<(), Error> {
    let exactly = DeleteOptions::new().uid(subject.uid()).propagation(Propagation::Background);
    match client::delete(subject.workload.gvr(), &subject.workload.key(), &exactly) {
        Err(error) if error.api_code() == Some(ApiCode::NotFound) => Ok(()),
        deleted => deleted,
    }
}

/// Creates the new Job of the memory, if its place is free.
pub(crate) fn create(workload: &Workload, memory: &Memory, job: &Value) -> Result<Progress, Error> {
    match client::get::<Live>(workload.gvr(), &workload.key()) {
        Ok(live) if live.metadata.uid != memory.uid => {
            // An earlier call created the new Job, and then the host ended, or the answer was lost.
            return Ok(if live.has_marks_of(job) { Progress::Created } else { Progress::Other });
        }
        Ok(live) if live.metadata.deletion_timestamp.is_some() => return Ok(Progress::Wait),
        Ok(_) => return Ok(Progress::Other),
        Err(error) if error.api_code() == Some(ApiCode::NotFound) => {}
        Err(error) => return Err(error),
    }
    match client::create(workload.gvr(), &workload.namespace, job, &WriteOptions::new()) {
        Ok(new) => {
            // A cache that stays behind costs the Event, and nothing else.
            let (namespace, version) = (Some(workload.namespace.as_str()), new.resource_version());
            lister::wait_until(workload.gvr(), namespace, version, PATIENCE).ok();
            Ok(Progress::Created)
        }
        // Another client has created the Job, or the namespace is gone.
        Err(error) if matches!(error.api_code(), Some(ApiCode::AlreadyExists | ApiCode::NotFound)) => {
            Ok(Progress::Other)
        }
        Err(error) => Err(error),
    }
}

/// The changes that the new Job is created for: the hashes that mark it, as far as the memory has others.
pub(crate) fn changes(memory: &Memory, job: &Value) -> Vec<Change> {
    let is_new = |(source, hash): &(SourceId, String)| memory.hashes.get(source) != Some(hash);
    let change = |(source, hash): (SourceId, String)| {
        let hash = Some(hash).filter(|hash| hash != NOTHING);
        Change { source, hash, container: 0 }
    };
    marker::applied_of(job).into_iter().filter(is_new).map(change).collect()
}
