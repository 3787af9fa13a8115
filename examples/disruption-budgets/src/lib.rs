//! Keeps a PodDisruptionBudget for each Deployment with at least two replicas: a drain of nodes then evicts one pod of the Deployment
//! at a time.
//!
//! The reconciler compares the budget that a Deployment needs with the budget in the cache, and writes only if they differ. The
//! Deployment is the controller of its budget. A budget of the same name with another controller, or without one, is foreign: the
//! reconciler neither changes nor deletes a foreign budget, even if the cache does not have the foreign budget yet.

use informer_sdk::{
    Config, Error, ObjectKey, ReconcileError, ReconcileResult, Reconciled, Reconciler,
    client::{self, ApiCode, DeleteOptions, Patch, WriteOptions},
    lister, log, metrics,
};
use k8s_openapi::{
    Resource,
    api::{
        apps::v1::Deployment,
        policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
    },
    apimachinery::pkg::{
        apis::meta::v1::{ObjectMeta, OwnerReference},
        util::intstr::IntOrString,
    },
};

const DEPLOYMENTS: &str = "apps/v1/deployments";
const BUDGETS: &str = "policy/v1/poddisruptionbudgets";

/// The plugin. It has no state of its own: the two caches have it all.
#[derive(Debug)]
pub struct Budgets;

informer_sdk::export_reconciler!(Budgets);

// === impl Budgets ===

impl Reconciler for Budgets {
    fn start(_config: Config) -> Result<Self, String> {
        Ok(Self)
    }

    fn reconcile(&mut self, key: &str) -> ReconcileResult {
        let key: ObjectKey = key.parse()?;
        let needed = lister::get::<Deployment>(DEPLOYMENTS, &key)?.and_then(needed_by);
        let found = lister::get::<PodDisruptionBudget>(BUDGETS, &key)?;
        match (needed, found) {
            (Some(_), Some(found)) if !belongs_to(&found, &key) => {
                log::warn!("the budget {key} is not ours: delete it to get ours");
            }
            (Some(needed), None) => create(&key, &needed)?,
            // The Deployment was created again. The deletion of the old budget adds the key, and the next call creates a new budget.
            (Some(needed), Some(found)) if !has_owner_of(&found, &needed) => delete(&key, found)?,
            (Some(needed), Some(found)) if differs(&found, &needed) => apply(&key, &needed)?,
            (None, Some(found)) if belongs_to(&found, &key) => delete(&key, found)?,
            _ => {}
        }
        Ok(Reconciled::Done)
    }
}

/// The budget that a Deployment needs. Returns `None` if it needs none.
fn needed_by(deployment: Deployment) -> Option<PodDisruptionBudget> {
    let (metadata, spec) = (deployment.metadata, deployment.spec?);
    if metadata.deletion_timestamp.is_some() || spec.replicas.unwrap_or(1) < 2 {
        return None;
    }
    let owner = OwnerReference {
        api_version: Deployment::API_VERSION.to_owned(),
        kind: Deployment::KIND.to_owned(),
        name: metadata.name.clone()?,
        uid: metadata.uid?,
        controller: Some(true),
        block_owner_deletion: None,
    };
    Some(PodDisruptionBudget {
        metadata: ObjectMeta {
            namespace: metadata.namespace,
            name: metadata.name,
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(spec.selector),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    })
}

/// The owner that the metadata of a budget marks as the controller.
fn controller(budget: &PodDisruptionBudget) -> Option<&OwnerReference> {
    budget.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Returns true if the controller of a budget is the Deployment with this key, or an earlier Deployment with this key.
fn belongs_to(budget: &PodDisruptionBudget, key: &ObjectKey) -> bool {
    controller(budget).is_some_and(|owner| {
        owner.api_version == Deployment::API_VERSION
            && owner.kind == Deployment::KIND
            && owner.name == key.name
    })
}

/// Returns true if the owners of both budgets have the same UID. A Deployment that is deleted and created again has another UID.
fn has_owner_of(found: &PodDisruptionBudget, needed: &PodDisruptionBudget) -> bool {
    controller(found).map(|owner| &owner.uid) == controller(needed).map(|owner| &owner.uid)
}

/// Compares the fields that the plugin applies, and no others: further fields may belong to other clients.
fn differs(found: &PodDisruptionBudget, needed: &PodDisruptionBudget) -> bool {
    let (Some(has), Some(needs)) = (&found.spec, &needed.spec) else { return true };
    has.max_unavailable != needs.max_unavailable || has.selector != needs.selector
}

/// Creates a budget. The cache may not have an existing budget yet, because an installer may create the Deployment and a foreign budget at
/// the same time. The API server then refuses the request, and the host calls again later. An apply would change the foreign budget.
fn create(key: &ObjectKey, budget: &PodDisruptionBudget) -> Result<(), ReconcileError> {
    client::create(BUDGETS, &key.namespace, budget, &WriteOptions::new())?;
    log::info!("created the budget {key}");
    Ok(count("created")?)
}

/// Applies a budget that the cache has. With `force` the plugin takes its fields back from a client that has changed them.
fn apply(key: &ObjectKey, budget: &PodDisruptionBudget) -> Result<(), ReconcileError> {
    let body = Patch::apply(serde_json::to_value(budget)?);
    client::patch(BUDGETS, key, &body, &WriteOptions::new().force())?;
    log::info!("applied the budget {key}");
    Ok(count("applied")?)
}

/// Deletes the budget that the cache has, and no newer one of the same name.
fn delete(key: &ObjectKey, budget: PodDisruptionBudget) -> Result<(), ReconcileError> {
    let options = budget.metadata.uid.map_or_else(DeleteOptions::new, |uid| DeleteOptions::new().uid(uid));
    match client::delete(BUDGETS, key, &options) {
        Err(error) if error.api_code() == Some(ApiCode::NotFound) => return Ok(()),
        deleted => deleted?,
    }
    log::info!("deleted the budget {key}");
    Ok(count("deleted")?)
}

/// The host serves this counter as `informer_plugin_budgets_written_total`.
fn count(how: &str) -> Result<(), Error> {
    metrics::counter_add("budgets_written", &[("how", how)], 1.0)
}

#[cfg(test)]
mod tests;
