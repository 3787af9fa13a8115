//! A plugin: the host calls the handlers when a Deployment is added, updated or deleted.

use informer_sdk::lister::{self, Selector};
use informer_sdk::{Cause, Config, Event, Handler, Result, Update, keyvalue, log};

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
        let (bucket, key) = (keyvalue::open("changes")?, object.key().to_string());
        let changes: u64 = bucket.get(&key)?.unwrap_or_default();
        bucket.delete(&key)?;
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
    let key = object.key().to_string();
    let changes = keyvalue::open("changes")?.increment(&key, 1)?;
    let (neighbours, namespace) = (neighbours?.len(), object.namespace());
    log::info!(rv = object.resource_version(); "{what} {key}: {wants}, {neighbours} in {namespace}, change {changes}");
    Ok(())
}

fn line(replicas: Option<u32>, image: Option<&str>) -> String {
    format!("{} x {}", replicas.unwrap_or(1), image.unwrap_or("nothing"))
}

#[cfg(test)]
mod tests {
    use informer_sdk::testing::TestHost;
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_counted_until_the_deployment_is_deleted() {
        let host = TestHost::new();
        let web = json!({"metadata": {"namespace": "default", "name": "web"}, "spec": {"replicas": 2}});
        host.store(DEPLOYMENTS, web.clone());

        for _ in 0..2 {
            Plugin.on_add(host.event(DEPLOYMENTS, web.clone()), Cause::Live).unwrap();
        }
        Plugin.on_delete(host.event(DEPLOYMENTS, web), true).unwrap();

        let lines: Vec<String> = host.log().into_iter().map(|line| line.message).collect();
        let wanted = "added default/web: 2 x nothing, 1 in default, change";
        assert_eq!(lines, [format!("{wanted} 1"), format!("{wanted} 2"), "deleted default/web after 2 changes".to_owned()]);
    }
}
