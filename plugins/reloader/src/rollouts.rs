//! The rollouts that the plugin began and that are not complete, for `rolls-at-a-time`.
//!
//! The rollouts are in the key-value state, because the host runs several instances of the plugin, and each call may reach another
//! instance.

use std::{collections::BTreeMap, time::Duration};

use informer_sdk::{Error, ReconcileError, lister};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    kind::{Workload, WorkloadKind},
    memory::Memory,
    pace::Wait,
    settings::Settings,
    store::{self, Unavailable},
};

/// A rollout counts for at most this time after its roll, whether it makes progress or not.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// The delay before a workload that waits for other rollouts is reconciled again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The key of the rollouts in the key-value state. No workload has this key.
const ROLLOUTS: &str = "rollouts";

/// The rollouts that are not complete, by the keys of their workloads.
type UnderWay = BTreeMap<String, Rollout>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rollout {
    /// The generation of the workload after the roll, or 0 if it is not known.
    generation: u64,
    /// The time of the roll in seconds since 1970.
    since: i64,
}

/// The part of the status of a workload that says how many pods have the new template.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    replicas: u64,
    updated_replicas: u64,
    available_replicas: u64,
    ready_replicas: u64,
    desired_number_scheduled: u64,
    updated_number_scheduled: u64,
    number_available: u64,
    /// The phase of an Argo Rollout; empty for other workloads.
    phase: String,
}

/// A workload as the cache has it.
#[derive(Debug, Default)]
struct State {
    /// True if the controller has seen the newest template.
    is_observed: bool,
    replicas: u64,
    /// The pods of a StatefulSet that keep the old template.
    partition: u64,
    /// True if the update strategy is `OnDelete`: a pod gets the new template only after it is deleted.
    on_delete: bool,
    status: Status,
}

/// Returns the time to wait before this workload may be rolled, or `None` if it may be rolled now.
pub(crate) fn wait(
    workload: &Workload,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<Wait>, ReconcileError> {
    let most = usize::try_from(settings.rolls_at_a_time).unwrap_or(usize::MAX);
    if most == 0 {
        // Without a limit the plugin records no roll. The record of an earlier configuration would become wrong.
        if store::get(ROLLOUTS)?.is_some() {
            store::delete(ROLLOUTS)?;
        }
        return Ok(None);
    }
    let kept = kept()?;
    let mut under_way = match &kept {
        Some(kept) => kept.clone(),
        None => rolled_before(now)?,
    };
    let mut over = Vec::new();
    for (rolled, rollout) in &under_way {
        if !rollout.is_under_way(rolled, now)? {
            over.push(rolled.clone());
        }
    }
    for rolled in over {
        under_way.remove(&rolled);
    }
    if kept.as_ref() != Some(&under_way) {
        keep(&under_way)?;
    }
    let own = workload.to_string();
    let others = under_way.keys().filter(|other| **other != own).count();
    Ok((others >= most).then_some(Wait { time: LOOK_AGAIN, why: "`rolls-at-a-time` is reached" }))
}

/// Records that the workload was rolled. `generation` is the generation after the roll.
pub(crate) fn began(
    workload: &Workload,
    generation: u64,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), Unavailable> {
    if settings.rolls_at_a_time == 0 {
        return Ok(());
    }
    // If there is no record, the limit is new. The next call of `wait` then records each workload that was ever rolled.
    let Some(mut under_way) = kept()? else { return Ok(()) };
    under_way.insert(workload.to_string(), Rollout { generation, since: now.as_second() });
    keep(&under_way)
}

/// The rollouts in the key-value state. Returns `None` if the state has none, because the limit is new.
fn kept() -> Result<Option<UnderWay>, Unavailable> {
    Ok(store::get(ROLLOUTS)?.and_then(|kept| serde_json::from_slice(&kept).ok()))
}

fn keep(under_way: &UnderWay) -> Result<(), Unavailable> {
    store::set(ROLLOUTS, &serde_json::to_vec(under_way).unwrap_or_default())
}

/// The workloads that were rolled at any time.
fn rolled_before(now: Timestamp) -> Result<UnderWay, ReconcileError> {
    let mut rolled = UnderWay::new();
    for key in store::keys()? {
        if let Ok(workload) = key.parse::<Workload>()
            && Memory::read(&workload)?.is_some_and(|memory| memory.rolls > 0)
        {
            rolled.insert(key, Rollout { generation: 0, since: now.as_second() });
        }
    }
    Ok(rolled)
}

// === impl Rollout ===

impl Rollout {
    fn is_under_way(&self, workload: &str, now: Timestamp) -> Result<bool, Error> {
        let Ok(workload) = workload.parse::<Workload>() else { return Ok(false) };
        let passed = SignedDuration::from_secs(now.as_second().saturating_sub(self.since));
        let is_recent = (SignedDuration::ZERO..LONGEST).contains(&passed);
        // A roll of these kinds makes a new Job.
        let has_rollout = !matches!(workload.kind, WorkloadKind::CronJob | WorkloadKind::Job);
        if !is_recent || !has_rollout {
            return Ok(false);
        }
        let state = State::cached(&workload, self.generation)?;
        Ok(state.is_some_and(|state| !state.is_complete(workload.kind)))
    }
}

// === impl State ===

impl State {
    /// Reads a workload from the cache, which may not have this generation yet. Returns `None` if it is gone.
    fn cached(workload: &Workload, generation: u64) -> Result<Option<Self>, Error> {
        let pointers = [
            "/metadata/generation",
            "/spec/replicas",
            "/spec/updateStrategy/rollingUpdate/partition",
            "/spec/updateStrategy/type",
            "/status/observedGeneration",
            "/status",
        ];
        let Some([newest, replicas, partition, kind, observed, status]) =
            lister::get_fields(workload.gvr(), &workload.key(), pointers)?
        else {
            return Ok(None);
        };
        // An Argo Rollout writes the number as a text.
        let observed = observed.parse::<serde_json::Value>()?.unwrap_or_default();
        let observed = observed.as_u64().or_else(|| observed.as_str()?.parse().ok());
        Ok(Some(Self {
            is_observed: observed.unwrap_or(0) >= newest.parse()?.unwrap_or(0).max(generation),
            replicas: replicas.parse()?.unwrap_or(1),
            partition: partition.parse()?.unwrap_or(0),
            on_delete: kind.parse::<String>()?.is_some_and(|kind| kind == "OnDelete"),
            status: status.parse()?.unwrap_or_default(),
        }))
    }

    /// Returns true if all pods that get the new template have it and are ready, as `kubectl rollout status` decides.
    fn is_complete(&self, kind: WorkloadKind) -> bool {
        let Self { status, .. } = self;
        let has_pods = match kind {
            WorkloadKind::Deployment => {
                status.updated_replicas >= self.replicas
                    && status.replicas <= status.updated_replicas
                    && status.available_replicas >= status.updated_replicas
            }
            WorkloadKind::StatefulSet => {
                status.updated_replicas >= self.replicas.saturating_sub(self.partition)
                    && status.ready_replicas >= self.replicas
            }
            WorkloadKind::DaemonSet => {
                status.updated_number_scheduled >= status.desired_number_scheduled
                    && status.number_available >= status.desired_number_scheduled
            }
            // A Rollout that is paused or degraded waits for a person, so no other roll waits for it.
            WorkloadKind::Rollout => !status.phase.is_empty() && status.phase != "Progressing",
            WorkloadKind::CronJob | WorkloadKind::Job => true,
        };
        self.is_observed && (has_pods || self.on_delete)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn state(replicas: u64, status: Value) -> State {
        State {
            is_observed: true,
            replicas,
            status: serde_json::from_value(status).unwrap(),
            ..State::default()
        }
    }

    #[test]
    fn a_rollout_is_complete_when_all_pods_have_the_template_and_are_ready() {
        use WorkloadKind::{DaemonSet, Deployment, Rollout, StatefulSet};
        let sets = json!({"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 2});
        for (kind, status, is_complete) in [
            (Deployment, json!({"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}), true),
            (Deployment, json!({"replicas": 3, "updatedReplicas": 2, "availableReplicas": 2}), false),
            (Deployment, json!({"replicas": 2, "updatedReplicas": 1, "availableReplicas": 2}), false),
            (Deployment, json!({"replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}), false),
            (Deployment, json!({}), false),
            (StatefulSet, json!({"updatedReplicas": 2, "readyReplicas": 2}), true),
            (StatefulSet, json!({"updatedReplicas": 1, "readyReplicas": 2}), false),
            (StatefulSet, json!({"updatedReplicas": 2, "readyReplicas": 1}), false),
            (DaemonSet, sets, true),
            (DaemonSet, json!({"desiredNumberScheduled": 2, "updatedNumberScheduled": 2}), false),
            (DaemonSet, json!({"desiredNumberScheduled": 2, "numberAvailable": 2}), false),
            (Rollout, json!({"phase": "Healthy"}), true),
            (Rollout, json!({"phase": "Degraded"}), true),
            (Rollout, json!({"phase": "Progressing"}), false),
            (Rollout, json!({}), false),
        ] {
            let mut state = state(2, status.clone());
            assert_eq!(state.is_complete(kind), is_complete, "{kind} {status}");
            state.is_observed = false;
            assert!(!state.is_complete(kind), "{kind} {status}");
        }
    }

    #[test]
    fn pods_that_keep_the_old_template_are_not_waited_for() {
        let one = json!({"updatedReplicas": 1, "readyReplicas": 2});
        assert!(State { partition: 1, ..state(2, one) }.is_complete(WorkloadKind::StatefulSet));
        assert!(State { on_delete: true, ..state(2, json!({})) }.is_complete(WorkloadKind::DaemonSet));
    }
}
