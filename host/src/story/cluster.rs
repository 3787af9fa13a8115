//! Changes of the embedded API server, and the names of requests to it.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use http::Method;
use informer_runtime::capabilities::ApiRequest;
use informer_types::{Gvr, ObjectKey};
use k8s_openapi::{api::core::v1::Namespace, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
    discovery::{ApiCapabilities, Scope, pinned_kind},
};
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The namespace of an object that names none.
const NAMESPACE: &str = "default";

/// Makes changes, as kubectl does.
#[derive(Clone)]
pub(super) struct Cluster(Arc<Client>);

// === impl Cluster ===

impl Cluster {
    pub(super) fn new(client: Client) -> Self {
        Self(Arc::new(client))
    }

    pub(super) async fn add(&self, manifest: &Value) -> anyhow::Result<()> {
        let (api, _) = self.of(manifest).await?;
        let object: DynamicObject = serde_json::from_value(manifest.clone())?;
        if let Some(namespace) = manifest.pointer("/metadata/namespace").and_then(Value::as_str) {
            self.add_namespace(namespace).await?;
        }
        api.create(&PostParams::default(), &object).await?;
        if manifest.get("status").is_some() {
            self.set_status(&api, manifest).await?;
        }
        Ok(())
    }

    /// Merges the manifest into the object that exists.
    pub(super) async fn update(&self, manifest: &Value) -> anyhow::Result<()> {
        let (api, has_status) = self.of(manifest).await?;
        let only_status = has_status
            && manifest.get("status").is_some()
            && manifest.as_object().is_some_and(|fields| {
                let names = ["apiVersion", "kind", "metadata", "status"];
                fields.keys().all(|key| names.contains(&key.as_str()))
                    && manifest.pointer("/metadata").and_then(Value::as_object).is_some_and(|metadata| {
                        metadata.keys().all(|key| key == "name" || key == "namespace")
                    })
            });
        if !only_status {
            api.patch(name(manifest), &PatchParams::default(), &Patch::Merge(manifest)).await?;
        }
        if has_status && manifest.get("status").is_some() {
            self.set_status(&api, manifest).await?;
        }
        Ok(())
    }

    pub(super) async fn delete(&self, gvr: &Gvr, key: &ObjectKey) -> anyhow::Result<()> {
        // kubectl sends the same policy. Without a policy, the server would keep the dependents of a Job.
        self.by_key(gvr, key).delete(&key.name, &DeleteParams::background()).await?;
        Ok(())
    }

    /// The object that a manifest names.
    pub(super) async fn get(&self, manifest: &Value) -> anyhow::Result<Option<Value>> {
        let (api, _) = self.of(manifest).await?;
        let found = api.get_opt(name(manifest)).await?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    /// Returns true if the object exists.
    ///
    /// # Errors
    /// Also if no object can have this resource and key.
    pub(super) async fn exists(&self, gvr: &Gvr, key: &ObjectKey) -> anyhow::Result<bool> {
        match self.by_key(gvr, key).get(&key.name).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => match status.details {
                // Only the answer about an object has details.
                Some(_) => Ok(false),
                None => Err(anyhow!(
                    "the API server of the test has no resource {gvr} with a key like {key}: write the plural, and the namespace if \
                     there is one, as in `apps/v1/deployments default/web`"
                )),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// The manifest with the namespace `default`, if its kind has namespaces and it names none.
    pub(super) async fn in_a_namespace(&self, manifest: &Value) -> anyhow::Result<Value> {
        let mut manifest = manifest.clone();
        let (_, capabilities) = self.kind(&manifest).await?;
        if capabilities.scope == Scope::Namespaced
            && let Some(Value::Object(metadata)) = manifest.get_mut("metadata")
        {
            metadata.entry("namespace").or_insert_with(|| NAMESPACE.into());
        }
        Ok(manifest)
    }

    /// Returns true if the API server serves this resource.
    pub(super) async fn serves(&self, gvr: &Gvr) -> anyhow::Result<bool> {
        let path = format!("{}/{}?limit=1", gvr.api_root(), gvr.resource);
        let request = http::Request::get(path).body(Vec::new())?;
        match self.0.request::<Value>(request).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn add_namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.0.as_ref().clone());
        if namespaces.get_opt(name).await?.is_none() {
            let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
            namespaces
                .create(&PostParams::default(), &Namespace { metadata, ..Namespace::default() })
                .await?;
        }
        Ok(())
    }

    async fn set_status(&self, api: &Api<DynamicObject>, manifest: &Value) -> anyhow::Result<()> {
        let status = serde_json::json!({"status": manifest.get("status")});
        api.patch_status(name(manifest), &PatchParams::default(), &Patch::Merge(status)).await?;
        Ok(())
    }

    /// The interface to the objects of a manifest's kind and namespace, and whether the kind has a status.
    async fn of(&self, manifest: &Value) -> anyhow::Result<(Api<DynamicObject>, bool)> {
        let text = |pointer| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (resource, capabilities) = self.kind(manifest).await?;
        let ApiCapabilities { scope, subresources, .. } = capabilities;
        let has_status = subresources.iter().any(|(sub, _)| sub.plural == "status");
        let client = self.0.as_ref().clone();
        let namespace =
            Some(text("/metadata/namespace")).filter(|name| !name.is_empty()).unwrap_or(NAMESPACE);
        let api = match scope {
            Scope::Namespaced => Api::namespaced_with(client, namespace, &resource),
            Scope::Cluster => Api::all_with(client, &resource),
        };
        Ok((api, has_status))
    }

    async fn kind(&self, manifest: &Value) -> anyhow::Result<(ApiResource, ApiCapabilities)> {
        let text = |field| manifest.get(field).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        let (group, plain) = version.rsplit_once('/').unwrap_or(("", version));
        pinned_kind(&self.0, &GroupVersionKind::gvk(group, plain, kind)).await.with_context(|| {
            format!(
                "the API server of the test has no {kind} of {version}: add its CustomResourceDefinition to `objects`"
            )
        })
    }

    fn by_key(&self, gvr: &Gvr, key: &ObjectKey) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: gvr.group.to_string(),
            version: gvr.version.to_string(),
            api_version: gvr.api_version(),
            kind: String::new(),
            plural: gvr.resource.to_string(),
        };
        let client = self.0.as_ref().clone();
        if key.namespace.is_empty() {
            Api::all_with(client, &resource)
        } else {
            Api::namespaced_with(client, &key.namespace, &resource)
        }
    }
}

/// The name of a request, like `patch apps/v1/deployments/scale default/web`. A request that the plugin sends to no object has its
/// path.
pub(super) fn request_text(request: &ApiRequest) -> String {
    let applies = request.content_type.is_some_and(|of| of.starts_with("application/apply-patch"));
    let verb = match request.method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH if applies => "apply",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "get",
    };
    let path = request.path.split('?').next().unwrap_or_default();
    match place(path, &request.body) {
        Some(place) => format!("{verb} {place}"),
        None => format!("{verb} {path}"),
    }
}

/// `apps/v1/deployments/scale default/web`, of a path.
fn place(path: &str, body: &[u8]) -> Option<String> {
    let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
    let parts: Vec<String> = path.trim_start_matches('/').split('/').map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ((*version).to_owned(), rest),
        ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
        _ => return None,
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, resource, rest @ ..]
            if *resource != "status" && *resource != "finalize" =>
        {
            (format!("{namespace}/"), [&[*resource], rest].concat())
        }
        rest => (String::new(), rest.to_vec()),
    };
    let named = |body: &[u8]| {
        let body: Value = serde_json::from_slice(body).ok()?;
        let text = |pointer| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        text("/metadata/name").or_else(|| text("/metadata/generateName").map(|prefix| prefix + "*"))
    };
    Some(match rest.as_slice() {
        [resource] => format!("{version}/{resource} {namespace}{}", named(body).unwrap_or_default()),
        [resource, name] => format!("{version}/{resource} {namespace}{name}"),
        [resource, name, subresource] => format!("{version}/{resource}/{subresource} {namespace}{name}"),
        _ => return None,
    })
}

fn name(manifest: &Value) -> &str {
    manifest.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// The error of the API server in one line.
pub(super) fn refusal(error: &anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => anyhow!("{}", status.message),
        _ => anyhow!("{error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_name_of_its_object() {
        for (method, path, content_type, body, name) in [
            (
                Method::PATCH,
                "/apis/apps/v1/namespaces/shop/deployments/web?force=true",
                Some("application/apply-patch+yaml"),
                "",
                "apply apps/v1/deployments shop/web",
            ),
            (
                Method::PATCH,
                "/apis/apps/v1/namespaces/shop/deployments/web/scale",
                Some("application/merge-patch+json"),
                "",
                "patch apps/v1/deployments/scale shop/web",
            ),
            (
                Method::POST,
                "/api/v1/namespaces/shop/configmaps",
                Some("application/json"),
                r#"{"metadata":{"name":"a"}}"#,
                "create v1/configmaps shop/a",
            ),
            (
                Method::POST,
                "/api/v1/namespaces/shop/configmaps",
                Some("application/json"),
                r#"{"metadata":{"generateName":"a-"}}"#,
                "create v1/configmaps shop/a-*",
            ),
            (Method::DELETE, "/api/v1/namespaces/shop", None, "", "delete v1/namespaces shop"),
            (Method::PUT, "/api/v1/namespaces/shop/status", None, "", "update v1/namespaces/status shop"),
            (Method::DELETE, "/version", None, "", "delete /version"),
        ] {
            let request = ApiRequest {
                plugin: "p".into(),
                method,
                path: path.to_owned(),
                content_type,
                body: body.to_owned().into(),
                longest_answer: 0,
            };
            assert_eq!(request_text(&request), name);
        }
    }
}
