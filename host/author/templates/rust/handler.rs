//! A plugin: the host calls the handlers when a Deployment is added, updated or deleted.

use informer_sdk::lister::{self, Selector};
use informer_sdk::wasi::keyvalue::store::{self, Bucket, Error};
use informer_sdk::{Cause, Config, Event, Failure, Handler, Result, Update, log};

const DEPLOYMENTS: &str = "apps/v1/deployments";

struct Plugin;

informer_sdk::export!(Plugin);

impl Handler for Plugin {
    fn start(_config: Config) -> std::result::Result<Self, String> {
        Ok(Self)
    }

    fn on_add(&mut self, object: Event, _cause: Cause) -> Result {
        report("added", &object)
    }

    fn on_update(&mut self, update: Update, _cause: Cause) -> Result {
        report("updated", &update.new)
    }

    fn on_delete(&mut self, object: Event, _final_state_known: bool) -> Result {
        let (bucket, key) = (bucket()?, object.key().to_string());
        let changes = count(&bucket, &key)?;
        bucket.delete(&key).map_err(later)?;
        log::info!(rv = object.resource_version(); "deleted {key} after {changes} changes");
        Ok(())
    }
}

/// Logs two fields of the object, the number of objects in its namespace, and how often it has changed.
fn report(what: &str, object: &Event) -> Result {
    let [replicas, image] = object.get_many(["/spec/replicas", "/spec/template/spec/containers/0/image"])?;
    let (replicas, image): (Option<u32>, Option<String>) = (replicas.parse()?, image.parse()?);
    let wants = line(replicas, image.as_deref());
    let selector = Selector::all().namespace(object.namespace());
    let neighbours: std::result::Result<Vec<_>, _> = lister::list_meta(DEPLOYMENTS, &selector).collect();
    // Values in a bucket are on the disk of the host: they survive restarts.
    let (bucket, key) = (bucket()?, object.key().to_string());
    let changes = count(&bucket, &key)? + 1;
    bucket.set(&key, changes.to_string().as_bytes()).map_err(later)?;
    let (neighbours, namespace) = (neighbours?.len(), object.namespace());
    log::info!(rv = object.resource_version(); "{what} {key}: {wants}, {neighbours} in {namespace}, change {changes}");
    Ok(())
}

fn line(replicas: Option<u32>, image: Option<&str>) -> String {
    format!("{} x {}", replicas.unwrap_or(1), image.unwrap_or("nothing"))
}

fn bucket() -> Result<Bucket> {
    store::open("changes").map_err(later)
}

fn count(bucket: &Bucket, key: &str) -> Result<u32> {
    let kept = bucket.get(key).map_err(later)?;
    Ok(kept.and_then(|kept| String::from_utf8(kept).ok()?.parse().ok()).unwrap_or(0))
}

/// Asks for another delivery.
fn later(error: Error) -> Failure {
    Failure::retry(format!("{error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_without_replicas_wants_one() {
        assert_eq!(line(None, Some("nginx")), "1 x nginx");
    }
}
