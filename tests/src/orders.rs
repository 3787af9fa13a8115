//! A custom resource that is created and deleted: `orders.shop.example.com`.

use std::time::Duration;

use anyhow::{Context, bail};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Client,
    api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::json;
use tokio::time::{Instant, sleep};

/// The resource, as in `informer.toml`.
pub const GVR: &str = "shop.example.com/v1/orders";

const DEFINITION: &str = "orders.shop.example.com";

/// How long a server may take to start or to stop serving a resource.
const PATIENCE: Duration = Duration::from_secs(60);

/// The orders of the namespace `default` on one server.
pub struct Orders {
    definitions: Api<CustomResourceDefinition>,
    orders: Api<DynamicObject>,
}

impl Orders {
    /// Makes no request yet.
    #[must_use]
    pub fn at(client: Client) -> Self {
        let kind = GroupVersionKind::gvk("shop.example.com", "v1", "Order");
        let resource = ApiResource::from_gvk_with_plural(&kind, "orders");
        Self {
            definitions: Api::all(client.clone()),
            orders: Api::namespaced_with(client, "default", &resource),
        }
    }

    /// Creates the CRD, and waits until the resource is served.
    ///
    /// # Errors
    /// Fails if the server refuses, or if it takes too long.
    pub async fn install(&self) -> anyhow::Result<()> {
        let definition = serde_json::from_value(json!({
            "metadata": {"name": DEFINITION},
            "spec": {
                "group": "shop.example.com", "scope": "Namespaced",
                "names": {"plural": "orders", "singular": "order", "kind": "Order", "listKind": "OrderList"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                }],
            },
        }))?;
        self.definitions.create(&PostParams::default(), &definition).await.context("define the resource")?;
        self.until(true).await
    }

    /// Deletes the CRD and with it every order, and waits until the resource is no longer served.
    ///
    /// # Errors
    /// Fails if the server refuses, or if it takes too long.
    pub async fn uninstall(&self) -> anyhow::Result<()> {
        self.definitions
            .delete(DEFINITION, &DeleteParams::default())
            .await
            .context("delete the definition")?;
        self.until(false).await
    }

    /// Creates an order.
    ///
    /// # Errors
    /// Fails if the server refuses.
    pub async fn create(&self, name: &str) -> anyhow::Result<()> {
        let order = serde_json::from_value(json!({
            "apiVersion": "shop.example.com/v1", "kind": "Order",
            "metadata": {"name": name}, "spec": {"items": 1},
        }))?;
        self.orders.create(&PostParams::default(), &order).await.context("create an order")?;
        Ok(())
    }

    async fn until(&self, served: bool) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while self.orders.list(&kube::api::ListParams::default()).await.is_ok() != served
            || self.definitions.get_opt(DEFINITION).await?.is_some() != served
        {
            if Instant::now() > deadline {
                bail!("within {PATIENCE:?}, {GVR} was not {}", if served { "served" } else { "gone" });
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}
