//! The objects of the load, and their changes.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Namespace, Secret},
};
use kube::{
    Client,
    api::{Api, ListParams, Patch, PatchParams, PostParams},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// Requests at the same time.
const AT_ONCE: usize = 16;

/// The size of the data of a Secret and of a ConfigMap.
const BYTES: usize = 2048;

/// How long a change may take to have its effect.
const PATIENCE: Duration = Duration::from_secs(300);

/// Namespaces, ConfigMaps, Secrets and Deployments. Each Deployment refers to a ConfigMap of its own.
pub(crate) struct Objects {
    pub(crate) client: Client,
    pub(crate) namespaces: usize,
    pub(crate) workloads: usize,
    pub(crate) configmaps: usize,
    pub(crate) secrets: usize,
    /// How often the ConfigMap of each Deployment was changed.
    pub(crate) changed: Mutex<BTreeMap<usize, i64>>,
}

/// How the Deployments were rolled since [`Objects::generations`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rolls {
    /// One for each change of a ConfigMap.
    pub(crate) right: i64,
    /// More than there were changes.
    pub(crate) surplus: i64,
    /// Fewer than there were changes.
    pub(crate) missing: i64,
}

// === impl Objects ===

impl Objects {
    pub(crate) async fn create(&self) -> Result<()> {
        let spaces: Api<Namespace> = Api::all(self.client.clone());
        let name = |number: usize| json!({"metadata": {"name": self.namespace(number)}});
        let all = (0..self.namespaces).map(name).chain([json!({"metadata": {"name": "shop"}})]);
        at_once(all, |object| put(spaces.clone(), object)).await?;
        let map = |number: usize| {
            let object =
                json!({"metadata": {"name": format!("map-{number}")}, "data": {"key": filler(number)}});
            (self.namespace(number), object)
        };
        at_once((0..self.configmaps).map(map), |(namespace, object)| {
            put(Api::<ConfigMap>::namespaced(self.client.clone(), &namespace), object)
        })
        .await?;
        let secret = |number: usize| {
            let object = json!({"metadata": {"name": format!("secret-{number}")}, "stringData": {"key": filler(number)}});
            (self.namespace(number), object)
        };
        at_once((0..self.secrets).map(secret), |(namespace, object)| {
            put(Api::<Secret>::namespaced(self.client.clone(), &namespace), object)
        })
        .await?;
        at_once(0..self.workloads, |number| {
            put(
                Api::<Deployment>::namespaced(self.client.clone(), &self.namespace(number)),
                deployment(number),
            )
        })
        .await?;
        let annotations = json!({"replicator.v1.mittwald.de/replicate-to": "ns-.*"});
        let original =
            json!({"metadata": {"name": "registry", "annotations": annotations}, "stringData": {"key": "0"}});
        put(Api::<Secret>::namespaced(self.client.clone(), "shop"), original).await
    }

    fn namespace(&self, number: usize) -> String {
        format!("ns-{}", number % self.namespaces)
    }

    /// Changes a ConfigMap. The first ones have a Deployment.
    async fn set_map(&self, number: usize, value: &str) -> Result<()> {
        if number < self.workloads {
            *self.changed.lock().entry(number).or_default() += 1;
        }
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace(number));
        let patch = Patch::Merge(json!({"data": {"changed": value}}));
        api.patch(&format!("map-{number}"), &PatchParams::default(), &patch).await?;
        Ok(())
    }

    async fn set_secret(&self, number: usize, value: &str) -> Result<()> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace(number));
        let patch = Patch::Merge(json!({"stringData": {"changed": value}}));
        api.patch(&format!("secret-{number}"), &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Makes this number of changes. One in twenty is about a ConfigMap with a Deployment.
    pub(crate) async fn change(&self, changes: usize, round: &str) -> Result<()> {
        at_once(0..changes, |change| async move {
            let value = format!("change {change} of {round}");
            let (maps, others) = (self.workloads, self.configmaps - self.workloads);
            match change % 20 {
                0 => self.set_map(change / 20 % maps, &value).await,
                1..8 => self.set_map(maps + change % others, &value).await,
                _ => self.set_secret(change % self.secrets, &value).await,
            }
        })
        .await
    }

    /// The generation of the Deployment that refers to a ConfigMap.
    async fn generation(&self, number: usize) -> Result<i64> {
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), &self.namespace(number));
        let found = api.get_metadata(&format!("web-{number}")).await?;
        found.metadata.generation.context("a Deployment without a generation")
    }

    /// The generation of each Deployment. From now on the changes of ConfigMaps are counted.
    pub(crate) async fn generations(&self) -> Result<Vec<i64>> {
        self.changed.lock().clear();
        self.generations_now().await
    }

    async fn generations_now(&self) -> Result<Vec<i64>> {
        stream::iter((0..self.workloads).map(|number| self.generation(number)))
            .buffered(AT_ONCE)
            .try_collect()
            .await
    }

    /// How the Deployments were rolled since they had these generations.
    pub(crate) async fn rolls_since(&self, before: &[i64]) -> Result<Rolls> {
        let now = self.generations_now().await?;
        let changed = self.changed.lock();
        let mut rolls = Rolls::default();
        for (number, (before, now)) in before.iter().zip(now).enumerate() {
            let (rolled, wanted) = (now - before, changed.get(&number).copied().unwrap_or_default());
            rolls.right += rolled.min(wanted);
            rolls.surplus += (rolled - wanted).max(0);
            rolls.missing += (wanted - rolled).max(0);
        }
        Ok(rolls)
    }

    /// Changes a ConfigMap, and waits until its Deployment is rolled. Returns the time between.
    pub(crate) async fn roll(&self, number: usize, value: &str) -> Result<Duration> {
        let before = self.generation(number).await?;
        self.set_map(number, value).await?;
        let start = Instant::now();
        while self.generation(number).await? == before {
            anyhow::ensure!(start.elapsed() < PATIENCE, "web-{number} is not rolled");
            sleep(Duration::from_millis(5)).await;
        }
        Ok(start.elapsed())
    }

    /// Changes the Secret that is copied, and waits until each namespace has the copy. Returns the time between.
    pub(crate) async fn copy(&self, value: &str) -> Result<Duration> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), "shop");
        let patch = Patch::Merge(json!({"stringData": {"key": value}}));
        api.patch("registry", &PatchParams::default(), &patch).await?;
        let start = Instant::now();
        while self.copies(value).await? < self.namespaces {
            anyhow::ensure!(start.elapsed() < PATIENCE, "not every namespace has the copy");
            sleep(Duration::from_millis(200)).await;
        }
        Ok(start.elapsed())
    }

    async fn copies(&self, value: &str) -> Result<usize> {
        let api: Api<Secret> = Api::all(self.client.clone());
        let list = api.list(&ListParams::default().fields("metadata.name=registry")).await?;
        let is_right = |copy: &&Secret| {
            let key = copy.data.as_ref().and_then(|data| data.get("key"));
            copy.metadata.namespace.as_deref() != Some("shop")
                && key.is_some_and(|key| key.0 == value.as_bytes())
        };
        Ok(list.items.iter().filter(is_right).count())
    }
}

async fn at_once<T, F>(items: impl IntoIterator<Item = T>, each: impl Fn(T) -> F) -> Result<()>
where
    F: Future<Output = Result<()>>,
{
    stream::iter(items.into_iter().map(each)).buffer_unordered(AT_ONCE).try_collect().await
}

async fn put<K>(api: Api<K>, object: Value) -> Result<()>
where
    K: kube::Resource + serde::Serialize + serde::de::DeserializeOwned + Clone + std::fmt::Debug,
{
    api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

/// Text that does not compress well, as keys and certificates are.
fn filler(seed: usize) -> String {
    let mut rng = fastrand::Rng::with_seed(seed as u64);
    (0..BYTES).map(|_| rng.alphanumeric()).collect()
}

fn deployment(number: usize) -> Value {
    let (name, labels) = (format!("web-{number}"), json!({"app": format!("web-{number}")}));
    let container = json!({
        "name": "main", "image": "web:1", "envFrom": [{"configMapRef": {"name": format!("map-{number}")}}],
    });
    json!({
        "metadata": {"name": name, "annotations": {"reloader.stakater.com/auto": "true"}},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    })
}
