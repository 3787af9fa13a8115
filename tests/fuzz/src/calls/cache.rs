//! The caches of the host: three resources, each with objects of three namespaces.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use informer_runtime::capabilities::{CacheState, IndexPage, ListError, ListerQuery, ListerSource};
use informer_types::{Body, Gvr, Header, Object, ObjectKey};
use serde_json::Value;

use super::marks::{self, Origin};

/// What is watched.
pub(super) const RESOURCES: [&str; 3] = ["v1/pods", "v1/secrets", "apps/v1/deployments"];

/// Each namespace has an object of each name.
pub(super) const NAMESPACES: [&str; 3] = ["default", "kube-system", "shop"];
pub(super) const NAMES: [&str; 2] = ["credentials", "web"];

pub(super) struct Cache;

/// An object as the cache holds it.
pub(super) fn cached(object: &Value) -> Arc<Object> {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let header = Header {
        namespace: text("namespace").into(),
        name: text("name").into(),
        uid: text("uid").into(),
        resource_version: text("resourceVersion").into(),
        labels: vec![("app".into(), "web".into())],
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw(object.to_string().into())).unwrap())
}

fn objects(gvr: &Gvr) -> Result<Vec<Arc<Object>>, ListError> {
    if !RESOURCES.contains(&gvr.to_string().as_str()) {
        return Err(ListError::UnknownResource(gvr.clone()));
    }
    let keys = NAMESPACES.iter().flat_map(|namespace| NAMES.iter().map(move |name| (namespace, name)));
    Ok(keys.map(|(namespace, name)| cached(&marks::object(Origin::Cache, gvr, namespace, name))).collect())
}

impl ListerSource for Cache {
    fn get(&self, gvr: &Gvr, key: &ObjectKey) -> Result<Option<Arc<Object>>, ListError> {
        Ok(objects(gvr)?.into_iter().find(|object| object.key() == *key))
    }

    fn list(&self, gvr: &Gvr, query: &ListerQuery<'_>) -> Result<Vec<Arc<Object>>, ListError> {
        if let Some((index, _)) = query.index.filter(|(index, _)| *index != "app") {
            return Err(ListError::UnknownIndex(format!("no index {index}")));
        }
        let mut found = objects(gvr)?;
        found.retain(|object| {
            query.namespace.is_none_or(|namespace| namespace == object.namespace())
                && query.labels.selects(object)
        });
        Ok(found)
    }

    fn index_values(&self, gvr: &Gvr, page: &IndexPage<'_>) -> Result<Vec<(String, usize)>, ListError> {
        if page.index != "app" {
            return Err(ListError::UnknownIndex(format!("no index {}", page.index)));
        }
        let readable =
            objects(gvr)?.into_iter().filter(|object| page.namespaces.contains(object.namespace()));
        // A value shows a namespace in which an object counts.
        let value = |object: Arc<Object>| (marks::index(gvr, object.namespace()), 1);
        Ok(readable.map(value).take(page.limit).collect())
    }

    fn state(&self, gvr: &Gvr) -> Result<CacheState, ListError> {
        objects(gvr).map(|_| CacheState { synced: true, ..CacheState::default() })
    }

    fn has_synced(&self, gvr: &Gvr) -> Result<bool, ListError> {
        objects(gvr).map(|_| true)
    }

    fn wait_until<'a>(
        &'a self,
        gvr: &'a Gvr,
        _namespace: Option<&'a str>,
        resource_version: &'a str,
    ) -> BoxFuture<'a, Result<(), ListError>> {
        let known = objects(gvr).and_then(|_| match resource_version.parse::<u64>() {
            Ok(_) => Ok(()),
            Err(_) => Err(ListError::InvalidVersion("not a number".to_owned())),
        });
        Box::pin(ready(known))
    }
}
