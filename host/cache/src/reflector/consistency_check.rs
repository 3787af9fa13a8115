//! A test mode that compares each streaming list with a plain list.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use informer_types::{Object, ObjectKey};
use serde_json::Value;

use super::target::{ReflectorError, Target};
use crate::{
    decode::{ListPage, Undecodable},
    error_class::ErrorClass,
    request::ListOptions,
};

/// The number of attempts to fetch the plain list, and the time between two of them.
const TRIES: u32 = 10;
const SPACING: Duration = Duration::from_secs(1);

/// The number of objects of each kind of difference that are named.
const NAMED: usize = 10;

/// The content of a streaming list, kept for the comparison.
pub(super) struct ConsistencyCheck {
    resource_version: String,
    objects: Vec<Arc<Object>>,
    undecodable: BTreeSet<ObjectKey>,
}

// === impl ConsistencyCheck ===

impl ConsistencyCheck {
    pub(super) fn new(streamed: &ListPage) -> Self {
        Self {
            resource_version: streamed.resource_version.clone(),
            objects: streamed.objects.clone(),
            undecodable: keys(&streamed.undecodable),
        }
    }

    /// Lists at exactly the resource version of the end mark and compares. If the server cannot serve that version any
    /// more, there is no result.
    pub(super) async fn run(&self, target: &Target) -> Result<(), ReflectorError> {
        let resource_version = self.resource_version.as_str();
        if resource_version == "0" {
            return Ok(());
        }
        for _ in 0..TRIES {
            let options = ListOptions { resource_version, exact: true, ..ListOptions::default() };
            match target.list_watch.whole(options, &target.decoder).await {
                Ok(listed) => {
                    let Some(difference) = self.difference(&listed) else {
                        target.cell.consistent();
                        return Ok(());
                    };
                    let resource_version = resource_version.to_owned();
                    return Err(ReflectorError::Inconsistent {
                        resource: target.resource(),
                        resource_version,
                        difference,
                    });
                }
                Err(error) if error.class() == ErrorClass::Expired => break,
                Err(error) => {
                    tracing::debug!(resource = %target.resource(), error = %error, "consistency check failed, trying again");
                }
            }
            tokio::time::sleep(SPACING).await;
        }
        tracing::warn!(resource = %target.resource(), rv = resource_version, "streaming list not checked");
        Ok(())
    }

    /// The differences between the lists, by key and with both resource versions. Returns `None` if there are none.
    /// Objects that did not decode in one of them are left out.
    fn difference(&self, listed: &ListPage) -> Option<String> {
        let mut left_out = keys(&listed.undecodable);
        left_out.extend(self.undecodable.iter().cloned());
        let by_key = |objects: &[Arc<Object>]| -> BTreeMap<ObjectKey, Arc<Object>> {
            let keyed = objects.iter().map(|object| (object.key(), Arc::clone(object)));
            keyed.filter(|(key, _)| !left_out.contains(key)).collect()
        };
        let (streamed, mut listed) = (by_key(&self.objects), by_key(&listed.objects));
        let (mut only_streamed, mut unlike) = (Vec::new(), Vec::new());
        for (key, object) in &streamed {
            match listed.remove(key) {
                None => only_streamed.push(format!("{key}@{}", object.resource_version())),
                Some(other) if content(object) == content(&other) => {}
                Some(other) => unlike.push(format!(
                    "{key} (streamed @{}, listed @{})",
                    object.resource_version(),
                    other.resource_version()
                )),
            }
        }
        let only_listed = listed.iter().map(|(key, object)| format!("{key}@{}", object.resource_version()));
        let parts: Vec<String> =
            [("only streamed", only_streamed), ("only listed", only_listed.collect()), ("unlike", unlike)]
                .into_iter()
                .filter(|(_, found)| !found.is_empty())
                .map(|(what, found)| format!("{what}: {}", named(&found)))
                .collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

fn keys(undecodable: &[Undecodable]) -> BTreeSet<ObjectKey> {
    let key = |undecodable: &Undecodable| match undecodable {
        Undecodable::Quarantined { key, .. } => key.clone(),
        _ => None,
    };
    undecodable.iter().filter_map(key).collect()
}

/// The content is compared, not the text, because the order of fields has no meaning: the decoder puts `kind` and `apiVersion`
/// at the start of an item of a list.
fn content(object: &Object) -> Option<Value> {
    serde_json::from_str(&object.json().ok()?).ok()
}

fn named(found: &[String]) -> String {
    let more = found.len().saturating_sub(NAMED);
    let names = found.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{names} and {more} more") } else { names }
}
