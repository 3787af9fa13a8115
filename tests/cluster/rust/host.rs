//! The whole host with the Rust example and the real kube-apiserver, under faults of the connection, the server and its
//! history. No change is lost or out of order, and the cache equals a fresh list at the end.

mod history;
mod writer;

use informer::connect::Connection;
use informer_guests::deployments_rust;
use informer_tests::{
    cluster::{Options, RealCluster, User},
    host::TestHost,
    proxy::{FaultProxy, Mode},
};

use history::History;
use writer::Writer;

const PLUGIN: &str = "example";

/// A real server, a host that connects through a proxy, and a writer that connects directly.
struct World {
    cluster: RealCluster,
    proxy: FaultProxy,
    writer: Writer,
    host: TestHost,
}

impl World {
    /// Starts everything. Ten deployments exist before the host starts.
    async fn start(options: Options) -> Self {
        let cluster = RealCluster::start(options).await.unwrap();
        let proxy = FaultProxy::start(cluster.address()).unwrap();
        let mut writer = Writer::new(cluster.client(User::Admin).await.unwrap());
        for index in 0..10 {
            writer.create(&format!("before-{index}")).await;
        }
        let client = cluster.client_through(User::Admin, proxy.address()).await.unwrap();
        let connection = Connection::new(client, cluster.url());
        let component = deployments_rust();
        let toml = format!(
            "[[watch]]\ngvr = \"apps/v1/deployments\"\n\
             [[plugin]]\nname = \"{PLUGIN}\"\nsource = {component:?}\n\
             [[plugin.on]]\nwatch = \"apps/v1/deployments\"\n\
             [plugin.grant]\nread = [\"apps/v1/deployments\"]\n"
        );
        let host = TestHost::start_with(connection, &toml).await.unwrap();
        host.synced().await;
        Self { cluster, proxy, writer, host }
    }

    /// Waits until the component has received the final state of each object.
    async fn received_all(&self) {
        let finals = self.writer.finals();
        self.host
            .lines
            .until(PLUGIN, "the final state of everything", |lines| History::of(lines).ends_as(&finals))
            .await;
    }

    /// Waits until the component has received the final states, and then compares notifications and cache with the
    /// writer's record.
    async fn judge(&self) {
        self.received_all().await;
        let lines = self.host.lines.of(PLUGIN);
        History::of(&lines).check(self.writer.versions());
        let fresh = self.writer.list().await;
        self.host.until("a cache equal to a fresh list", |_| self.cached() == fresh).await;
    }

    /// The objects in the cache, in the form of [`Writer::list`].
    fn cached(&self) -> Vec<serde_json::Value> {
        let mut objects = self.host.cached("apps/v1/deployments");
        objects.iter_mut().for_each(writer::plain);
        objects
    }

    fn counter(&self, name: &str) -> u64 {
        self.host.status()["informers"][0]["counters"][name].as_u64().unwrap()
    }

    async fn end(self) {
        let report = self.host.stop().await;
        assert!(report.undelivered.is_empty(), "{report:?}");
        self.cluster.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn no_change_is_lost_while_the_watch_is_cut_repeatedly() {
    let mut world = World::start(Options::default()).await;

    for round in 0..8 {
        world.writer.create(&format!("cut-{round}")).await;
        world.writer.scale("before-0", round + 2).await;
        world.proxy.cut().await;
        world.writer.delete(&format!("cut-{round}")).await;
        world.writer.create(&format!("cut-{round}")).await;
        world.writer.scale("before-1", round + 2).await;
        // Wait, so that each cut hits a watch with events. A watch that ends at once without an event counts as a
        // failure and leads to a list.
        world.received_all().await;
    }
    // A gap: changes while no connection is possible.
    world.proxy.set(Mode::Refuse).await.unwrap();
    world.proxy.cut().await;
    world.writer.recreate("before-2").await;
    world.writer.delete("before-3").await;
    world.writer.scale("before-4", 7).await;
    world.proxy.set(Mode::Pass).await.unwrap();

    world.judge().await;
    assert_eq!(world.counter("relists"), 0, "the watch is resumed where it ended (R-18, R-21)");
    assert!(world.counter("watches") > 8);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn no_change_is_lost_while_the_api_server_restarts() {
    let mut world = World::start(Options::default()).await;

    world.writer.scale("before-0", 3).await;
    world.cluster.kill_apiserver();
    world.cluster.start_apiserver().await.unwrap();
    world.writer.reconnect(world.cluster.client(User::Admin).await.unwrap());
    world.writer.recreate("before-0").await;
    world.writer.scale("before-1", 4).await;
    world.cluster.restart_apiserver().await.unwrap();
    world.writer.reconnect(world.cluster.client(User::Admin).await.unwrap());
    world.writer.delete("before-2").await;
    world.writer.create("after").await;

    world.judge().await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn after_a_compaction_a_relist_notifies_the_difference() {
    let mut world = World::start(Options { watch_cache: false, ..Options::default() }).await;

    world.proxy.set(Mode::Refuse).await.unwrap();
    world.proxy.cut().await;
    world.writer.recreate("before-0").await;
    world.writer.delete("before-1").await;
    world.writer.scale("before-2", 5).await;
    world.writer.create("while-away").await;
    world.cluster.compact().await.unwrap();
    world.proxy.set(Mode::Pass).await.unwrap();

    world.judge().await;
    assert!(world.counter("relists") >= 1, "resuming fails with 410, so the informer lists again (R-33)");
    let lines = world.host.lines.of(PLUGIN);
    let about = |name: &str| -> Vec<&String> {
        let key = format!("default/{name} ");
        lines.iter().filter(|line| line.contains(&key)).collect()
    };
    let gone = about("before-1");
    assert!(gone[1].starts_with("deleted") && gone[1].ends_with("final state unknown)"), "{gone:?}");
    let recreated = about("before-0");
    assert!(
        recreated[1].ends_with("final state unknown)"),
        "another UID is another object (D-6): {recreated:?}"
    );
    assert!(recreated[2].starts_with("added") && recreated[2].ends_with("relist)"), "{recreated:?}");
    assert!(about("before-2")[1].ends_with("relist)"));
    assert_eq!(about("before-3").len(), 1, "an unchanged object is not notified again (D-5)");
    world.end().await;
}
