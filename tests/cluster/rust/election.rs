//! Leader election with client-go's: our hosts and a process with client-go compete for the same lease of the real kube-apiserver.

use std::{path::Path, process::Stdio, time::Duration};

use informer::connect::Connection;
use informer_guests::guest;
use informer_tests::{
    cluster::{Options, RealCluster, User, oracle},
    host::{PATIENCE, TestHost},
    toml,
};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Api;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    task::spawn_blocking,
    time::{Instant, sleep, timeout},
};

/// The duration of the lease on both sides. A busy machine may keep a leader from renewing for seconds.
const DURATION: Duration = Duration::from_secs(15);

/// A process with client-go's leader election.
struct ClientGo {
    process: Child,
    commands: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl ClientGo {
    async fn start(kubeconfig: &Path, identity: &str) -> Self {
        let program = spawn_blocking(oracle).await.unwrap().unwrap();
        let mut command = Command::new(program);
        command.arg("-kubeconfig").arg(kubeconfig).args(["-lease", "default/informer"]);
        command.args(["-lease-duration", &format!("{}s", DURATION.as_secs()), "-identity", identity]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().unwrap();
        let commands = process.stdin.take().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, commands, lines }
    }

    /// The next line that the process prints.
    async fn next(&mut self) -> Value {
        let line = timeout(PATIENCE, self.lines.next_line()).await.expect("client-go prints nothing");
        serde_json::from_str(&line.unwrap().expect("client-go has ended")).unwrap()
    }

    /// Waits until the process leads. It prints in no order that it does and that it is the leader.
    async fn leads(&mut self, identity: &str) {
        let mut lines = [self.next().await, self.next().await];
        lines.sort_by_key(|line| line["leads"].is_boolean());
        assert_eq!(lines, [json!({"leader": identity}), json!({"leads": true})]);
    }

    /// Ends the process, which releases the lease.
    async fn stop(mut self) {
        drop(self.commands);
        assert!(timeout(PATIENCE, self.process.wait()).await.unwrap().unwrap().success());
    }
}

async fn host(cluster: &RealCluster) -> TestHost {
    let connection = Connection::new(cluster.client(User::Admin).await.unwrap(), cluster.url());
    let plugin = toml::plugin("echo", &guest("echo"), "v1/configmaps", "");
    let lease = format!("lease = \"default/informer\"\nlease-duration = \"{}s\"\n", DURATION.as_secs());
    TestHost::start_with(connection, &format!("{lease}{}{plugin}", toml::watch("v1/configmaps")))
        .await
        .unwrap()
}

/// Waits until the host stands by behind this leader.
async fn stands_by(host: &TestHost, leader: &str) {
    let expected = json!({"lease": "default/informer", "leads": false, "leader": leader});
    host.until("a host that stands by", |status| status["election"] == expected).await;
}

async fn spec(leases: &Api<Lease>) -> LeaseSpec {
    leases.get("informer").await.unwrap().spec.unwrap()
}

/// Waits until the holder renews the lease once more. Returns a time shortly before this renewal.
async fn renewed(leases: &Api<Lease>) -> Instant {
    let mut before = Instant::now();
    let first = spec(leases).await.renew_time;
    let renewing = async {
        loop {
            let requested = Instant::now();
            if spec(leases).await.renew_time != first {
                return before;
            }
            before = requested;
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, renewing).await.expect("the lease is not renewed")
}

/// Each side takes the lease from the other one when it is free, and never before (E-3, E-4, E-8).
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn our_hosts_and_client_go_compete_for_one_lease() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    std::fs::write(&kubeconfig, cluster.kubeconfig(User::Admin)).unwrap();
    let leases: Api<Lease> = Api::namespaced(cluster.client(User::Admin).await.unwrap(), "default");
    let first = host(&cluster).await;
    first.synced().await;

    // client-go waits for our host, and follows when the host releases the lease.
    let mut go = ClientGo::start(&kubeconfig, "go-1").await;
    let leader = go.next().await["leader"].as_str().unwrap().to_owned();
    assert!(leader.contains('_'), "the identity of our host: {leader}");
    first.stop().await;
    assert_ne!(spec(&leases).await.holder_identity, Some(leader), "the lease is released");
    go.leads("go-1").await;

    // Our host waits for client-go, and follows when client-go releases the lease.
    let second = host(&cluster).await;
    stands_by(&second, "go-1").await;
    assert!(second.lines.of("echo").is_empty());
    go.stop().await;
    second.synced().await;
    assert_eq!(second.status()["election"]["leads"], true);

    // client-go vanishes while it leads: our host follows after the duration of the lease.
    let mut go = ClientGo::start(&kubeconfig, "go-2").await;
    go.next().await;
    second.stop().await;
    go.leads("go-2").await;
    let third = host(&cluster).await;
    stands_by(&third, "go-2").await;
    let renewed = renewed(&leases).await;
    go.process.kill().await.unwrap();
    third.synced().await;
    assert!(renewed.elapsed() >= DURATION, "the lease was still valid: {:?}", renewed.elapsed());
    third.stop().await;
}
