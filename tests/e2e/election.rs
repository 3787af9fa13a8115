//! Several hosts with one lease: one calls its plugins, and the others stand by.

use std::{fs, process::Stdio, time::Duration};

use informer::{admin::Dashboard, config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    binary,
    host::{PATIENCE, TestHost},
    metrics::value,
    toml,
};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::{sleep, timeout},
};

use crate::configmaps::ConfigMaps;

/// Lines of `[host]`, with a lease whose end another host awaits.
const LEASE: &str = "lease = \"default/informer\"\nlease-duration = \"3s\"\n";

/// Lines of `[host]`, with a lease that a leader keeps although a busy machine delays its renewals for seconds.
const LONG_LEASE: &str = "lease = \"default/informer\"\nlease-duration = \"15s\"\n";

async fn server() -> DevServer {
    DevServer::start(informer_devserver::Config::default()).await.unwrap()
}

fn plugins() -> String {
    toml::watch("v1/configmaps") + &toml::plugin("echo", &guest("echo"), "v1/configmaps", "")
}

async fn start(server: &DevServer) -> TestHost {
    TestHost::start(&server.url(), &format!("{LONG_LEASE}{}", plugins())).await.unwrap()
}

fn stands_by(status: &Value) -> bool {
    let informers = status["informers"].as_array().unwrap();
    status["election"]["leads"] == false
        && status["election"]["leader"].is_string()
        && informers.iter().all(|informer| informer["synced"] == true)
}

/// The new leader delivers what exists, as after a restart. What came and went while it stood by is not delivered.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_stands_by_calls_no_plugin_until_the_leader_ends() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("one").await;
    let leader = start(&server).await;
    leader.synced().await;
    assert_eq!(leader.status()["election"]["leads"], true);
    let next = start(&server).await;
    next.until("a host that stands by", stands_by).await;
    objects.create("two").await;
    objects.create("three").await;
    leader.lines.said("echo", "add default/three ", "").await;
    objects.delete("two").await;
    leader.lines.said("echo", "delete default/two ", "").await;
    let names = || -> Vec<Value> {
        next.cached("v1/configmaps").iter().map(|object| object["metadata"]["name"].clone()).collect()
    };
    next.until("a complete cache", |_| names() == ["one", "three"]).await;

    assert_eq!(next.unready(), Vec::<String>::new(), "a host that stands by is ready");
    assert_eq!(value(&next.metrics(), "informer_election_leads"), 0.0);
    let page = next.app().probe().overview();
    let shown = page.host.election.map(|election| (election.leads, election.leader.is_some()));
    assert_eq!((shown, page.plugins[0].state), (Some((false, true)), "standing by"));
    assert!(next.lines.of("echo").is_empty(), "{:?}", next.lines.of("echo"));
    leader.stop().await;

    next.synced().await;
    assert_eq!(next.status()["election"]["leads"], true);
    assert_eq!(value(&next.metrics(), "informer_election_leads"), 1.0);
    let received = next.lines.of("echo");
    let calls = received.iter().filter(|line| line.contains(" default/")).count();
    assert_eq!(calls, 2, "{received:?}");
    for object in ["one", "three"] {
        next.lines.said("echo", &format!("add default/{object} "), "").await;
    }
    objects.create("four").await;
    next.lines.said("echo", "add default/four ", "").await;
    next.stop().await;
    server.shutdown().await;
}

/// The calls use all the time of the stop, and end with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_calls_do_not_end_in_time_releases_its_lease_when_it_stops() {
    let server = server().await;
    ConfigMaps::at(&server.url()).await.create("one").await;
    let leases: Api<Lease> = {
        let connection = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap();
        Api::namespaced(connection.client, "default")
    };
    let limits = "[plugin.limits]\ndeadline = \"2m\"\n";
    let plugin = toml::plugin("spin", &guest("spin"), "v1/configmaps", limits);
    let text = format!("{LONG_LEASE}shutdown-timeout = \"500ms\"\n{}{plugin}", toml::watch("v1/configmaps"));
    let leader = TestHost::start(&server.url(), &text).await.unwrap();
    leader.until("a call", |_| leader.plugin("spin")["queue"]["in-flight"] == 1).await;
    assert!(leases.get("informer").await.unwrap().spec.unwrap().holder_identity.is_some());

    let report = leader.stop().await;

    assert_eq!(report.undelivered.len(), 1, "{report:?}");
    let lease = leases.get("informer").await.unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity, None);
    server.shutdown().await;
}

/// A running binary with its log in a file.
struct Process {
    child: Child,
    directory: TempDir,
}

impl Process {
    async fn start(server: &DevServer) -> Self {
        Self::of("run", server).await
    }

    /// Runs this command.
    async fn of(name: &str, server: &DevServer) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("informer.toml");
        let host = format!("[host]\nadmin = \"off\"\nstate-dir = \"off\"\n{LEASE}");
        let cluster = format!("[cluster]\nserver = \"{}\"\n", server.url());
        fs::write(&file, host + &cluster + &plugins()).unwrap();
        let log = fs::File::create(directory.path().join("log")).unwrap();
        let mut command = Command::new(binary::informer().await);
        command.args([name, "--config"]).arg(&file).stdin(Stdio::null()).kill_on_drop(true);
        // With a group of its own, it stays stopped if the shell that began the tests ends meanwhile: then the kernel continues the
        // stopped processes of the group of the tests.
        command.stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        Self { child: command.spawn().unwrap(), directory }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    async fn logs(&self, text: &str) {
        let looking = async {
            while !self.log().contains(text) {
                sleep(Duration::from_millis(20)).await;
            }
        };
        assert!(timeout(PATIENCE, looking).await.is_ok(), "`{text}` is missing:\n{}", self.log());
    }

    async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args([name, &id]).status().await.unwrap().success());
    }

    /// Waits until the process ends by itself because it lost its lease.
    async fn ends(mut self) {
        let status = timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(1), "{}", self.log());
        assert!(self.log().contains("the lease is lost"), "{}", self.log());
    }
}

/// A stopped process notices nothing until it continues. Then another host leads.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_stopped_ends_when_it_continues() {
    let server = server().await;
    let leader = Process::start(&server).await;
    leader.logs("this host leads").await;
    let next = Process::start(&server).await;
    next.logs("another host leads").await;

    leader.signal("-STOP").await;
    next.logs("this host leads").await;
    leader.signal("-CONT").await;

    leader.ends().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_does_not_reach_the_api_server_ends() {
    let server = server().await;
    let leader = Process::start(&server).await;
    leader.logs("this host leads").await;

    server.shutdown().await;

    leader.ends().await;
}

/// No other host uses the embedded API server. A host that lost a lease there would go on without its writes.
#[tokio::test(flavor = "multi_thread")]
async fn dev_takes_part_in_no_election() {
    let server = server().await;
    let dev = Process::of("dev", &server).await;

    dev.logs("plugin loaded").await;

    assert!(!dev.log().contains("competing for the lease"), "{}", dev.log());
    server.shutdown().await;
}
