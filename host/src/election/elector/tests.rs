//! Hosts that compete for one lease of the embedded API server, or of one in memory if the test needs paused time.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use informer_devserver::DevServer;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{sync::Notify, task::JoinHandle};

use super::*;
use crate::{config::Access, connect::connect};

/// The default duration. A busy machine may keep a leader of the embedded API server from renewing for seconds.
const DURATION: Duration = Duration::from_secs(15);

/// Enough for each step on a busy machine.
const SOON: Duration = Duration::from_secs(30);

struct Host {
    leadership: Leadership,
    stop: CancellationToken,
    ended: CancellationToken,
    task: JoinHandle<()>,
}

impl Host {
    fn start(client: kube::Client, identity: &str) -> Self {
        let timing = Timing::of(DURATION);
        let (elector, leadership) = Elector::new(client, name(), timing, identity.to_owned());
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let task = tokio::spawn(elector.run(stop.clone(), ended.clone()));
        Self { leadership, stop, ended, task }
    }

    /// The host `a`, which leads, and the host `b`, which stands by.
    async fn pair(client: kube::Client) -> (Self, Self) {
        let first = Self::start(client.clone(), "a");
        first.leads().await;
        let second = Self::start(client, "b");
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

/// An API server without a connection, for tests with paused time. It has at most one lease.
#[derive(Clone, Default)]
struct InMemory {
    lease: Arc<Mutex<Option<Value>>>,
    /// The methods of the requests, in order.
    methods: Arc<Mutex<Vec<Method>>>,
    /// If true, it refuses every request.
    is_down: Arc<AtomicBool>,
    /// If true, it answers no request.
    is_silent: Arc<AtomicBool>,
    /// If true, the server executes each write and does not answer it.
    answers_no_write: Arc<AtomicBool>,
    /// Notified after each request that the server has executed or refused.
    handled: Arc<Notify>,
}

impl InMemory {
    fn client(&self) -> kube::Client {
        let own = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let own = own.clone();
            async move {
                if own.is_silent.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                let (head, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let (code, document) = own.answer(&head.method, &body);
                own.handled.notify_one();
                if head.method != Method::GET && own.answers_no_write.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                let answer = Response::builder().status(code);
                answer.body(Body::from(document.to_string().into_bytes())).map_err(kube::Error::HttpError)
            }
        });
        kube::Client::new(service, "default")
    }

    /// The status and the body of an answer.
    fn answer(&self, method: &Method, body: &[u8]) -> (u16, Value) {
        let failure = |code: u16, reason: &str| {
            (code, json!({"kind": "Status", "code": code, "reason": reason, "message": "a failure"}))
        };
        self.methods.lock().push(method.clone());
        if self.is_down.load(Ordering::SeqCst) {
            return failure(503, "ServiceUnavailable");
        }
        let mut lease = self.lease.lock();
        if *method == Method::GET {
            return lease.clone().map_or_else(|| failure(404, "NotFound"), |lease| (200, lease));
        }
        let mut written: Value = serde_json::from_slice(body).unwrap();
        let read = written["metadata"]["resourceVersion"].clone();
        if lease.as_ref().is_some_and(|lease| lease["metadata"]["resourceVersion"] != read) {
            return failure(409, "Conflict");
        }
        let next = read.as_str().map_or(0, |version| version.parse::<u64>().unwrap()) + 1;
        written["metadata"]["resourceVersion"] = next.to_string().into();
        *lease = Some(written.clone());
        (200, written)
    }

    /// Waits until a request has led to this state of the server.
    async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !is_so(self) {
                self.handled.notified().await;
            }
        };
        timeout(SOON, waiting).await.unwrap();
    }

    fn spec(&self) -> Value {
        self.lease.lock().as_ref().unwrap()["spec"].clone()
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

/// Waits until the holder renews the lease once more. `spec` reads the lease.
async fn renewed(spec: impl AsyncFn() -> Value) {
    let before = spec().await["renewTime"].clone();
    let renewing = async {
        while spec().await["renewTime"] == before {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, renewing).await.unwrap();
}

/// The first host creates the record (E-4), and a host that ends releases it (E-8). Scenario 126.
#[tokio::test(flavor = "multi_thread")]
async fn one_host_leads_and_the_next_one_follows_when_it_ends() {
    let server = server().await;
    let first = Host::start(client(&server).await, "a");
    first.leads().await;
    let record = spec(&server).await;
    assert_eq!((&record["holderIdentity"], &record["leaseTransitions"]), (&json!("a"), &json!(0)));
    assert_eq!(record["leaseDurationSeconds"], DURATION.as_secs());
    let second = Host::start(client(&server).await, "b");
    second.stands_by("a").await;
    assert!(first.leadership.holds() && !second.leadership.holds());

    first.stop().await;
    assert_ne!(spec(&server).await["holderIdentity"], "a", "the lease is released");
    second.leads().await;

    let record = spec(&server).await;
    assert_eq!((&record["holderIdentity"], &record["leaseTransitions"]), (&json!("b"), &json!(1)));
    second.stop().await;
    assert_eq!(spec(&server).await["holderIdentity"], Value::Null);
    assert_eq!(spec(&server).await["leaseDurationSeconds"], 1);
    server.shutdown().await;
}

/// It does not wait until the lease ends (E-8).
#[tokio::test(start_paused = true)]
async fn a_host_that_stands_by_leads_at_its_next_attempt_after_a_release() {
    let (first, second) = Host::pair(InMemory::default().client()).await;

    let before = Instant::now();
    first.stop().await;
    second.leads().await;

    // Timers have a resolution of a millisecond.
    let latest = Timing::of(DURATION).pause(1.0) + Duration::from_millis(1);
    assert!(before.elapsed() <= latest, "{:?}", before.elapsed());
    second.stop().await;
}

/// Its calls end first (E-8). A host that stands by has none, so it takes the lease from no host that goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_stops_keeps_its_lease_until_its_work_has_ended_and_competes_for_none() {
    let server = server().await;
    let (first, second) = Host::pair(client(&server).await).await;

    second.stop.cancel();
    first.stop.cancel();

    timeout(SOON, second.leadership.over()).await.unwrap();
    timeout(SOON, second.task).await.unwrap().unwrap();
    renewed(async || spec(&server).await).await;
    assert!(first.leadership.holds());
    first.stop().await;
    assert_eq!(spec(&server).await["holderIdentity"], Value::Null);
    server.shutdown().await;
}

/// If the host kept the lease, no host would lead before the lease ends (E-8).
#[tokio::test(start_paused = true)]
async fn a_host_that_stops_before_it_leads_frees_a_lease_that_it_acquired_without_an_answer() {
    let server = InMemory::default();
    server.answers_no_write.store(true, Ordering::SeqCst);
    let host = Host::start(server.client(), "a");
    server.until(|server| server.lease.lock().is_some()).await;

    // The attempt ends without an answer, and the host stops before the next attempt.
    host.stop.cancel();
    server.answers_no_write.store(false, Ordering::SeqCst);
    timeout(SOON, host.task).await.unwrap().unwrap();

    assert!(!host.leadership.leads());
    assert_eq!(server.spec()["holderIdentity"], Value::Null);
}

/// Such a host cannot hold the lease. A request to a server that does not answer would delay the stop.
#[tokio::test(start_paused = true)]
async fn a_host_that_stops_and_has_written_no_lease_sends_no_further_request() {
    let server = InMemory::default();
    server.is_down.store(true, Ordering::SeqCst);
    let host = Host::start(server.client(), "a");
    server.until(|server| !server.methods.lock().is_empty()).await;

    host.stop.cancel();
    timeout(SOON, host.task).await.unwrap().unwrap();

    assert_eq!(*server.methods.lock(), [Method::GET]);
}

/// The record must not change for the duration that it states, by the clock of the host that waits (E-3). Scenario 126.
#[tokio::test(start_paused = true)]
async fn a_host_that_vanished_is_followed_after_the_duration_of_the_lease_and_not_before() {
    let server = InMemory::default();
    let (first, second) = Host::pair(server.client()).await;

    first.task.abort();
    let renewed = server.spec()["renewTime"].clone();
    let seen = Instant::now();
    second.leads().await;

    // The second host may have seen the last renewal one pause and its jitter before.
    let earliest = DURATION - Timing::of(DURATION).pause(1.0);
    assert!(seen.elapsed() >= earliest, "{:?}", seen.elapsed());
    assert_ne!(server.spec()["renewTime"], renewed);
    second.stop().await;
}

/// If an operator removes the role for the lease, the leader ends, and no other host can lead. The status names the reason.
#[tokio::test(start_paused = true)]
async fn a_host_that_cannot_follow_one_that_vanished_names_no_leader_and_has_the_failure() {
    let server = InMemory::default();
    let (first, second) = Host::pair(server.client()).await;
    assert_eq!(second.leadership.failure(), None);
    server.is_down.store(true, Ordering::SeqCst);
    first.task.abort();

    sleep(2 * DURATION).await;

    assert_eq!(second.leadership.role(), Role::StandsBy { leader: None });
    assert_eq!(second.leadership.failure().as_deref(), Some("a failure"));

    server.is_down.store(false, Ordering::SeqCst);
    second.leads().await;
    assert_eq!(second.leadership.failure(), None);
    second.stop().await;
}

/// A leader renews while the API server answers (E-6). It loses the lease before another host may take it. Scenario 126.
#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_ends_before_the_lease_does() {
    for is_silent in [false, true] {
        let server = InMemory::default();
        let host = Host::start(server.client(), "a");
        host.leads().await;
        let first = server.spec();
        renewed(async || server.spec()).await;
        let record = server.spec();
        assert_eq!(record["acquireTime"], first["acquireTime"], "renewing is no acquisition (E-4)");
        assert_eq!(record["leaseTransitions"], 0);

        let fault = if is_silent { &server.is_silent } else { &server.is_down };
        fault.store(true, Ordering::SeqCst);
        let before = Instant::now();
        timeout(DURATION, host.leadership.ends()).await.unwrap();

        assert!(!host.leadership.holds() && before.elapsed() < DURATION);
        timeout(SOON, host.task).await.unwrap().unwrap();
    }
}

/// Another client wrote the lease although it was valid.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_lease_has_another_holder_ends_at_once() {
    let server = server().await;
    let host = Host::start(client(&server).await, "a");
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

        let host = Host::start(client(&server).await, "a");
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
    let server = InMemory::default();
    let host = Host::start(server.client(), "a");

    sleep(3 * DURATION).await;

    assert!(host.leadership.holds());
    host.task.abort();
    let methods = server.methods.lock();
    assert_eq!(methods[..2], [Method::GET, Method::POST]);
    let renewals = &methods[2..];
    assert!(renewals.len() > 15 && renewals.iter().all(|method| *method == Method::PUT), "{methods:?}");
}

/// A process that was stopped and continues must not act, although it has not noticed yet that its lease is over (E-9).
#[tokio::test(start_paused = true)]
async fn a_host_that_has_not_renewed_in_time_holds_nothing() {
    let role = watch::Sender::new(Role::Leads { until: Some(Instant::now() + DURATION) });
    let leadership = Leadership::new(&role, name(), &Failure::default());
    assert!(leadership.holds());

    tokio::time::advance(DURATION).await;

    assert!(!leadership.holds());
    assert!(leadership.leads(), "it has not noticed yet: the version in service stays");
}
