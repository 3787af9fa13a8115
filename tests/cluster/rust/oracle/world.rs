//! One real cluster that many runs share.

use std::sync::Arc;

use http::Method;
use informer_tests::{
    cluster::{Options, RealCluster, User},
    host::PATIENCE,
};
use kube::Client;
use serde_json::json;
use tokio::{
    sync::{Barrier, Mutex, RwLock},
    time::{Instant, timeout},
};

use super::{
    resource::{Resource, definition},
    writer::{Gate, request},
};

/// A cluster with the definition of [`Resource::Gadgets`].
pub(super) struct World {
    pub(super) cluster: Mutex<RealCluster>,
    pub(super) gate: Gate,
    pub(super) watch_cache: bool,
}

/// A group of concurrent runs. A restart of the API server affects all of them.
pub(super) struct Round {
    pub(super) world: Arc<World>,
    barrier: Barrier,
    rng: parking_lot::Mutex<fastrand::Rng>,
}

// === impl World ===

impl World {
    pub(super) async fn start(watch_cache: bool) -> Self {
        let cluster = RealCluster::start(Options { watch_cache, ..Options::default() }).await.unwrap();
        let client = cluster.client(User::Admin).await.unwrap();
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        request(&client, Method::POST, path, &definition()).await.unwrap();
        served(&client).await;
        Self { cluster: Mutex::new(cluster), gate: Arc::new(RwLock::new(client)), watch_cache }
    }

    pub(super) async fn create_namespace(&self, name: &str) {
        let client = self.gate.read().await;
        let namespace = json!({"metadata": {"name": name}});
        request(&client, Method::POST, "/api/v1/namespaces", &namespace).await.unwrap();
    }

    pub(super) async fn compact(&self) {
        self.cluster.lock().await.compact().await.unwrap();
    }

    /// Restarts the API server. The caller must prevent writes meanwhile.
    async fn restart(&self, kill: bool, compact: bool) {
        let mut client = self.gate.write().await;
        let mut cluster = self.cluster.lock().await;
        if kill {
            cluster.kill_apiserver();
        } else {
            cluster.stop_apiserver().await.unwrap();
        }
        if compact {
            cluster.compact().await.unwrap();
        }
        cluster.start_apiserver().await.unwrap();
        *client = cluster.client(User::Admin).await.unwrap();
        served(&client).await;
    }
}

// === impl Round ===

impl Round {
    pub(super) fn new(world: Arc<World>, seed: u64, runs: usize) -> Self {
        Self {
            world,
            barrier: Barrier::new(runs),
            rng: parking_lot::Mutex::new(fastrand::Rng::with_seed(seed)),
        }
    }

    /// Waits for the other runs, restarts the API server once for all of them, and returns when it serves requests.
    pub(super) async fn restart(&self) {
        if self.barrier.wait().await.is_leader() {
            let [kill, compact] = [(); 2].map(|()| self.rng.lock().bool());
            self.world.restart(kill, compact).await;
        }
        self.barrier.wait().await;
    }
}

/// Waits until all resources can be listed. A ready server may not have loaded its definitions yet.
async fn served(client: &Client) {
    let started = Instant::now();
    let listed = async {
        for resource in Resource::ALL {
            let path = resource.path("default");
            while request(client, Method::GET, &path, &json!({})).await.is_err() {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    };
    let waited = timeout(PATIENCE, listed).await;
    assert!(waited.is_ok(), "the API server does not serve everything after {:?}", started.elapsed());
}
