//! Hosts that compete for one lease of the embedded API server.

use std::sync::Arc;

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use informer_devserver::DevServer;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::*;
use crate::{config::Access, connect::connect};

/// The shortest duration whose times are whole parts of a second.
const DURATION: Duration = Duration::from_secs(3);

/// Enough for each step on a busy machine.
const SOON: Duration = Duration::from_secs(30);

struct Host {
    leadership: Leadership,
    stop: CancellationToken,
    ended: CancellationToken,
    task: JoinHandle<()>,
}

impl Host {
    async fn start(server: &DevServer, identity: &str) -> Self {
        let timing = Timing::of(DURATION);
        let (elector, leadership) = Elector::new(client(server).await, name(), timing, identity.to_owned());
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let task = tokio::spawn(elector.run(stop.clone(), ended.clone()));
        Self { leadership, stop, ended, task }
    }

    /// The host `a`, which leads, and the host `b`, which stands by.
    async fn pair(server: &DevServer) -> (Self, Self) {
        let first = Self::start(server, "a").await;
        first.leads().await;
        let second = Self::start(server, "b").await;
        second.stands_by("a").await;
        (first, second)
    }

    async fn leads(&self) {
        timeout(SOON, self.leadership.begins()).await.unwrap();
    }

    async fn stands_by(&self, behind: &str) {
        let expected = Role::StandsBy { leader: Some(behind.to_owned()) };
        timeout(SOON, self.leadership.reaches(|role| *role == expected)).await.unwrap();
    }

    async fn stop(self) {
        self.stop.cancel();
        self.ended.cancel();
        timeout(SOON, self.task).await.unwrap().unwrap();
    }
}

fn name() -> LeaseName {
    "default/informer".parse().unwrap()
}

async fn client(server: &DevServer) -> kube::Client {
    connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client
}

async fn server() -> DevServer {
    DevServer::start(informer_devserver::Config::default()).await.unwrap()
}

async fn leases(server: &DevServer) -> Api<Lease> {
    Api::namespaced(client(server).await, "default")
}

async fn spec(server: &DevServer) -> Value {
    let lease = leases(server).await.get("informer").await.unwrap();
    serde_json::to_value(lease.spec.unwrap()).unwrap()
}

/// Waits until the holder renews the lease once more.
async fn renewed(server: &DevServer) {
    let before = spec(server).await["renewTime"].clone();
    let renewing = async {
        while spec(server).await["renewTime"] == before {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, renewing).await.unwrap();
}

/// The first host creates the record (E-4), and a host that ends releases it (E-8). Scenario 126.
#[tokio::test(flavor = "multi_thread")]
async fn one_host_leads_and_the_next_one_follows_when_it_ends() {
    let server = server().await;
    let first = Host::start(&server, "a").await;
    first.leads().await;
    let record = spec(&server).await;
    assert_eq!((&record["holderIdentity"], &record["leaseTransitions"]), (&json!("a"), &json!(0)));
    assert_eq!(record["leaseDurationSeconds"], 3);
    let second = Host::start(&server, "b").await;
    second.stands_by("a").await;
    assert!(first.leadership.holds() && !second.leadership.holds());

    let before = Instant::now();
    first.stop().await;
    second.leads().await;

    assert!(before.elapsed() < DURATION, "the lease was released: {:?}", before.elapsed());
    let record = spec(&server).await;
    assert_eq!((&record["holderIdentity"], &record["leaseTransitions"]), (&json!("b"), &json!(1)));
    second.stop().await;
    assert_eq!(spec(&server).await["holderIdentity"], Value::Null);
    assert_eq!(spec(&server).await["leaseDurationSeconds"], 1);
    server.shutdown().await;
}

/// Its calls end first (E-8). A host that stands by has none, so it takes the lease from no host that goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_stops_keeps_its_lease_until_its_work_has_ended_and_competes_for_none() {
    let server = server().await;
    let (first, second) = Host::pair(&server).await;

    second.stop.cancel();
    first.stop.cancel();

    timeout(SOON, second.leadership.over()).await.unwrap();
    timeout(SOON, second.task).await.unwrap().unwrap();
    renewed(&server).await;
    assert!(first.leadership.holds());
    first.stop().await;
    assert_eq!(spec(&server).await["holderIdentity"], Value::Null);
    server.shutdown().await;
}

/// The record must not change for the duration that it states, by the clock of the host that waits (E-3). Scenario 126.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_vanished_is_followed_after_the_duration_of_the_lease_and_not_before() {
    let server = server().await;
    let (first, second) = Host::pair(&server).await;

    first.task.abort();
    let renewed = spec(&server).await["renewTime"].clone();
    let seen = Instant::now();
    second.leads().await;

    // The second host may have seen the last renewal one pause and its jitter before.
    let earliest = DURATION - Timing::of(DURATION).pause(1.0);
    assert!(seen.elapsed() >= earliest, "{:?}", seen.elapsed());
    assert_ne!(spec(&server).await["renewTime"], renewed);
    second.stop().await;
    server.shutdown().await;
}

/// A leader renews while the API server answers (E-6). It loses the lease before another host may take it. Scenario 126.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_cannot_renew_ends_before_the_lease_does() {
    let server = server().await;
    let host = Host::start(&server, "a").await;
    host.leads().await;
    let first = spec(&server).await;
    renewed(&server).await;
    let record = spec(&server).await;
    assert_eq!(record["acquireTime"], first["acquireTime"], "renewing is no acquisition (E-4)");
    assert_eq!(record["leaseTransitions"], 0);

    server.shutdown().await;
    let before = Instant::now();
    timeout(DURATION, host.leadership.ends()).await.unwrap();

    assert!(!host.leadership.holds() && before.elapsed() < DURATION);
    timeout(SOON, host.task).await.unwrap().unwrap();
}

/// Another client wrote the lease although it was valid.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_lease_has_another_holder_ends_at_once() {
    let server = server().await;
    let host = Host::start(&server, "a").await;
    host.leads().await;

    let leases = leases(&server).await;
    loop {
        let mut lease = leases.get("informer").await.unwrap();
        lease.spec.as_mut().unwrap().holder_identity = Some("thief".to_owned());
        if leases.replace("informer", &PostParams::default(), &lease).await.is_ok() {
            break;
        }
    }

    timeout(SOON, host.leadership.ends()).await.unwrap();
    timeout(SOON, host.task).await.unwrap().unwrap();
    assert_eq!(spec(&server).await["holderIdentity"], "thief", "the lease of another host is not released");
    server.shutdown().await;
}

/// A record without a holder, or without a duration, is free (E-4). Scenario 126.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_without_a_holder_or_a_duration_is_free() {
    for spec_before in
        [json!({}), json!({"holderIdentity": ""}), json!({"holderIdentity": "x", "leaseTransitions": 7})]
    {
        let server = server().await;
        let lease = json!({"metadata": {"name": "informer"}, "spec": spec_before});
        let lease = serde_json::from_value(lease).unwrap();
        leases(&server).await.create(&PostParams::default(), &lease).await.unwrap();

        let host = Host::start(&server, "a").await;
        host.leads().await;

        let transitions = spec_before["leaseTransitions"].as_i64().unwrap_or_default() + 1;
        assert_eq!(spec(&server).await["leaseTransitions"], transitions, "{spec_before}");
        host.stop().await;
        server.shutdown().await;
    }
}

/// Reads would double the requests of a leader (E-5). Scenario 126.
#[tokio::test(start_paused = true)]
async fn a_leader_renews_without_reading() {
    let methods = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&methods);
    let absent =
        json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "absent"}).to_string();
    let server = tower::service_fn(move |request: Request<Body>| {
        let (head, body) = request.into_parts();
        seen.lock().push(head.method.clone());
        let absent = absent.clone();
        async move {
            let body = body.collect().await?.to_bytes();
            let answer = match head.method {
                Method::GET => Response::builder().status(404).body(Body::from(absent.into_bytes())),
                _ => Response::builder().body(Body::from(body.to_vec())),
            };
            answer.map_err(kube::Error::HttpError)
        }
    });
    let client = kube::Client::new(server, "default");
    let (elector, leadership) = Elector::new(client, name(), Timing::of(DURATION), "a".to_owned());
    let task = tokio::spawn(elector.run(CancellationToken::new(), CancellationToken::new()));

    sleep(3 * DURATION).await;

    assert!(leadership.holds());
    task.abort();
    let methods = methods.lock();
    assert_eq!(methods[..2], [Method::GET, Method::POST]);
    let renewals = &methods[2..];
    assert!(renewals.len() > 15 && renewals.iter().all(|method| *method == Method::PUT), "{methods:?}");
}

/// A process that was stopped and continues must not act, although it has not noticed yet that its lease is over (E-9).
#[tokio::test(start_paused = true)]
async fn a_host_that_has_not_renewed_in_time_holds_nothing() {
    let role = watch::Sender::new(Role::Leads { until: Some(Instant::now() + DURATION) });
    let leadership = Leadership::new(&role, name());
    assert!(leadership.holds());

    tokio::time::advance(DURATION).await;

    assert!(!leadership.holds());
    assert!(leadership.leads(), "it has not noticed yet: the version in service stays");
}
