//! A controller: the host calls `reconcile` with the key of each Deployment that changed.

use informer_sdk::{Config, ObjectKey, ReconcileResult, Reconciled, Reconciler, lister, log};

const DEPLOYMENTS: &str = "apps/v1/deployments";

struct Plugin;

informer_sdk::export_reconciler!(Plugin);

impl Reconciler for Plugin {
    fn start(_config: Config) -> Result<Self, String> {
        Ok(Self)
    }

    /// Makes the world match the object. An error is retried with a growing delay.
    fn reconcile(&mut self, key: &str) -> ReconcileResult {
        let pointers = ["/spec/replicas", "/spec/template/spec/containers/0/image"];
        let Some([replicas, image]) = lister::get_fields(DEPLOYMENTS, &key.parse::<ObjectKey>()?, pointers)?
        else {
            log::info!("{key} is gone");
            return Ok(Reconciled::Done);
        };
        log::info!("reconciled {key}: {}", line(replicas.parse()?, image.parse::<String>()?.as_deref()));
        Ok(Reconciled::Done)
    }
}

fn line(replicas: Option<u32>, image: Option<&str>) -> String {
    format!("{} x {}", replicas.unwrap_or(1), image.unwrap_or("nothing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_without_replicas_wants_one() {
        assert_eq!(line(None, Some("nginx")), "1 x nginx");
    }
}
