//! The ready-made plugin `plugins/event-exporter` in a whole host, with a receiver on the loopback of this machine.

use std::{collections::VecDeque, convert::Infallible, fs, path::Path, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use futures::stream::{Stream, unfold};
use informer::{
    admin::{Probe, types::Chosen},
    config::Access,
    connect::connect,
};
use informer_devserver::{Config, DevServer};
use informer_guests::ready_made;
use informer_tests::host::{PATIENCE, TestHost};
use k8s_openapi::{
    api::core::v1::{Event, Pod},
    jiff::Timestamp,
};
use kube::{
    Client,
    api::{Api, Patch, PatchParams, PostParams},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    net::TcpListener,
    sync::watch,
    time::{interval, timeout},
};

/// A receiver of events. It answers with the given statuses first, and then with 200. It answers 503 to each event whose name begins
/// with `poison`. If the name of an event begins with `endless`, the body of the answer has no end.
#[derive(Clone)]
struct Receiver {
    url: String,
    told: Arc<Told>,
}

struct Told {
    statuses: Mutex<VecDeque<u16>>,
    /// The status of each answer, the header `X-Reason` and the body.
    requests: watch::Sender<Vec<(u16, String, Value)>>,
}

impl Receiver {
    async fn start(statuses: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let statuses = Mutex::new(statuses.iter().copied().collect());
        let told = Arc::new(Told { statuses, requests: watch::Sender::default() });
        let routes = Router::new().route("/events", post(take)).with_state(Arc::clone(&told));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, told }
    }

    /// Waits until the receiver took this event. Returns all events that it took so far, as `name count`.
    async fn took(&self, event: &str) -> Vec<String> {
        let taken = |requests: &Vec<(u16, String, Value)>| -> Vec<String> {
            let good = requests.iter().filter(|(status, ..)| *status == 200);
            good.map(|(_, _, body)| body["event"].as_str().unwrap().to_owned()).collect()
        };
        let mut requests = self.told.requests.subscribe();
        let waiting = requests.wait_for(|requests| taken(requests).iter().any(|own| own == event));
        let seen = timeout(PATIENCE, waiting).await.map(|seen| taken(&seen.unwrap()));
        seen.unwrap_or_else(|_| panic!("`{event}` did not arrive: {:?}", self.requests()))
    }

    fn requests(&self) -> Vec<(u16, String, Value)> {
        self.told.requests.borrow().clone()
    }
}

async fn take(State(told): State<Arc<Told>>, headers: HeaderMap, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap();
    let is = |start: &str| body["event"].as_str().is_some_and(|event| event.starts_with(start));
    let is_endless = is("endless");
    let status = if is("poison") { 503 } else { told.statuses.lock().pop_front().unwrap_or(200) };
    let reason = headers.get("x-reason").map(|value| value.to_str().unwrap().to_owned());
    let request = (status, reason.unwrap_or_default(), body);
    told.requests.send_modify(|requests| requests.push(request));
    let status = StatusCode::from_u16(status).unwrap();
    if is_endless { (status, Body::from_stream(drops())).into_response() } else { status.into_response() }
}

/// A body without an end. It sends a byte every 100 ms, so that no limit on the time between two bytes ends the answer.
fn drops() -> impl Stream<Item = Result<Bytes, Infallible>> {
    unfold(interval(Duration::from_millis(100)), |mut next| async move {
        next.tick().await;
        Some((Ok(Bytes::from_static(b".")), next))
    })
}

/// The fragment of the plugin as it is shipped, with the component that was built for the tests and this receiver.
async fn fragment(receiver: &Receiver) -> String {
    let built = tokio::task::spawn_blocking(|| ready_made("event-exporter")).await.unwrap();
    let text = fs::read_to_string("../plugins/event-exporter/informer.toml").unwrap();
    text.replace("../../target/wasm32-wasip2/plugin/informer_event_exporter.wasm", built.to_str().unwrap())
        .replace("https://hooks.example.com", &receiver.url)
}

async fn start(server: &DevServer, state: &Path, text: &str) -> TestHost {
    let host = TestHost::start_in(&server.url(), state, text).await.unwrap();
    host.synced().await;
    host
}

async fn client(server: &DevServer) -> Client {
    connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client
}

async fn create(client: &Client, name: &str, kind: &str) {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "web"});
    create_about(client, name, kind, &pod).await;
}

async fn create_about(client: &Client, name: &str, kind: &str, involved: &Value) {
    let events: Api<Event> = Api::namespaced(client.clone(), "default");
    let event = json!({
        "metadata": {"name": name}, "type": kind, "reason": "BackOff", "message": "Back-off restarting", "count": 1,
        "firstTimestamp": Timestamp::now(), "lastTimestamp": Timestamp::now(),
        "involvedObject": involved,
        "source": {"component": "kubelet"},
    });
    events.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
}

async fn raise(client: &Client, name: &str, count: u32) {
    let events: Api<Event> = Api::namespaced(client.clone(), "default");
    let patch = Patch::Merge(json!({"count": count, "lastTimestamp": Timestamp::now()}));
    events.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

async fn create_pod(client: &Client) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let pod = json!({
        "metadata": {"name": "web", "labels": {"app": "shop"}},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
}

/// Each occurrence arrives once: the first one, a raised count, and one while the host is down. A restart repeats nothing, and a dropped
/// event does not arrive.
#[tokio::test(flavor = "multi_thread")]
async fn an_occurrence_arrives_once_across_a_restart_and_a_dropped_one_never() {
    let (server, state) = (DevServer::start(Config::default()).await.unwrap(), TempDir::new().unwrap());
    let (client, receiver) = (client(&server).await, Receiver::start(&[]).await);
    create_pod(&client).await;
    let text = fragment(&receiver).await;
    let host = start(&server, state.path(), &text).await;

    create(&client, "quiet", "Normal").await;
    create(&client, "a", "Warning").await;
    assert_eq!(receiver.took("a 1").await, ["a 1"]);
    raise(&client, "a", 2).await;
    assert_eq!(receiver.took("a 2").await, ["a 1", "a 2"]);
    host.stop().await;

    create(&client, "while-down", "Warning").await;
    let host = start(&server, state.path(), &text).await;
    receiver.took("while-down 1").await;
    create(&client, "last", "Warning").await;
    assert_eq!(receiver.took("last 1").await, ["a 1", "a 2", "while-down 1", "last 1"]);

    let (_, reason, body) = receiver.requests().remove(0);
    assert_eq!(reason, "BackOff");
    let object = json!({"kind": "Pod", "name": "web", "app": "shop"});
    let expected =
        json!({"cluster": "production", "event": "a 1", "message": "Back-off restarting", "object": object});
    assert_eq!(body, expected);
    host.stop().await;
}

/// The configuration is a mounted `config.yaml` of the original with a Secret, and the watch has the events of `events.k8s.io`.
#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_down_gets_the_event_later_and_a_refused_one_is_a_dead_letter() {
    let (server, state) = (DevServer::start(Config::default()).await.unwrap(), TempDir::new().unwrap());
    let (client, receiver) = (client(&server).await, Receiver::start(&[503, 503, 200, 400]).await);
    let mounted = TempDir::new().unwrap();
    let yaml = format!(
        "route:\n  routes:\n    - match:\n        - type: \"^Warn\"\n          component: kubelet\n          receiver: hook\n\
         receivers:\n  - name: hook\n    webhook:\n      endpoint: \"{}/events\"\n      headers:\n        \
         X-Reason: \"${{API_KEY}}\"\n      layout:\n        event: \"{{{{ .Name }}}} {{{{ .Count }}}}\"\n",
        receiver.url
    );
    fs::write(mounted.path().join("config.yaml"), yaml).unwrap();
    fs::write(mounted.path().join("API_KEY"), "s3cret\n").unwrap();
    let text = fragment(&receiver).await;
    let text = text.split("  [plugin.config]").next().unwrap();
    let files = format!("\nconfig-files = [{:?}]\n\n  [[plugin.on]]", mounted.path());
    let text = text.replace("\n  [[plugin.on]]", &files).replace("v1/events", "events.k8s.io/v1/events");
    let host = start(&server, state.path(), &text).await;

    create(&client, "a", "Warning").await;
    receiver.took("a 1").await;
    create(&client, "refused", "Warning").await;
    host.until("a dead letter", |status| status.to_string().contains("it answered 400")).await;
    create(&client, "b", "Warning").await;
    receiver.took("b 1").await;

    let requests: Vec<(u16, String)> = receiver
        .requests()
        .iter()
        .map(|(status, _, body)| (*status, body["event"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [(503, "a 1"), (503, "a 1"), (200, "a 1"), (400, "refused 1"), (200, "b 1")];
    assert_eq!(requests, expected.map(|(status, event)| (status, event.to_owned())));
    assert_eq!(receiver.requests()[0].1, "s3cret");

    host.app().probe().replay(&Chosen { all: true, ..Chosen::default() });
    assert_eq!(receiver.took("refused 1").await, ["a 1", "b 1", "refused 1"]);
    let sent =
        "informer_plugin_event_exporter_events_sent_total{plugin=\"event-exporter\",receiver=\"hook\"} 3";
    host.until("three events sent", |_| host.metrics().contains(sent)).await;
    host.stop().await;
}

/// The receiver works, and never accepts one of the events. That event does not keep the others back.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_the_receiver_never_accepts_becomes_a_dead_letter_and_the_next_ones_arrive() {
    let (server, state) = (DevServer::start(Config::default()).await.unwrap(), TempDir::new().unwrap());
    let (client, receiver) = (client(&server).await, Receiver::start(&[]).await);
    let text = fragment(&receiver).await;
    let text = text.replace("min = \"1s\"", "min = \"10ms\"").replace("max = \"1m\"", "max = \"50ms\"");
    let host = start(&server, state.path(), &text).await;

    create(&client, "poison", "Warning").await;
    create(&client, "x", "Warning").await;
    assert_eq!(receiver.took("x 1").await, ["x 1"]);
    let why = "it answered 503; it accepts other Events";
    host.until("a dead letter", |status| status.to_string().contains(why)).await;
    create(&client, "y", "Warning").await;
    assert_eq!(receiver.took("y 1").await, ["x 1", "y 1"]);
    host.stop().await;
}

/// A template that would run for ever fails, and keeps no other receiver from its events.
#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_loops_makes_a_dead_letter_and_the_other_receivers_get_the_event() {
    let (server, state) = (DevServer::start(Config::default()).await.unwrap(), TempDir::new().unwrap());
    let (client, receiver) = (client(&server).await, Receiver::start(&[]).await);
    let loops =
        "{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}x{{ end }}{{ end }}{{ end }}";
    let hostile = format!(
        "\n    [[plugin.config.receivers]]\n    name = \"loops\"\n\n      [plugin.config.receivers.webhook]\n      \
         endpoint = \"{}/events\"\n      layout = {{ event = \"{loops}\" }}\n",
        receiver.url
    );
    let text = fragment(&receiver).await;
    let text =
        text.replace("[{ receiver = \"alerts\" }]", "[{ receiver = \"loops\" }, { receiver = \"alerts\" }]");
    let host = start(&server, state.path(), &(text + &hostile)).await;

    create(&client, "a", "Warning").await;
    assert_eq!(receiver.took("a 1").await, ["a 1"]);
    host.until("a dead letter", |status| status.to_string().contains("the template takes too many steps"))
        .await;
    create(&client, "b", "Warning").await;
    assert_eq!(receiver.took("b 1").await, ["a 1", "b 1"]);
    host.stop().await;
}

/// If a receiver never ends its answer, the call must still end before its deadline. The host repeats a call that misses its deadline, and
/// each repeated call would send the event again.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_an_end_counts_by_its_status_and_delays_the_next_event_by_seconds() {
    let (server, state) = (DevServer::start(Config::default()).await.unwrap(), TempDir::new().unwrap());
    let (client, receiver) = (client(&server).await, Receiver::start(&[]).await);
    let text = fragment(&receiver).await;
    let host = start(&server, state.path(), &text).await;

    create(&client, "endless", "Warning").await;
    create(&client, "next", "Warning").await;

    assert_eq!(receiver.took("next 1").await, ["endless 1", "next 1"]);
    let statuses: Vec<u16> = receiver.requests().into_iter().map(|(status, ..)| status).collect();
    assert_eq!(statuses, [200, 200], "no event is sent twice");
    host.stop().await;
}

/// A client may write any texts into its events.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_about_an_object_that_no_resource_has_arrives_without_labels() {
    let (server, state) = (DevServer::start(Config::default()).await.unwrap(), TempDir::new().unwrap());
    let (client, receiver) = (client(&server).await, Receiver::start(&[]).await);
    let text = fragment(&receiver).await;
    let host = start(&server, state.path(), &text).await;

    for (name, involved) in [
        ("empty", json!({})),
        ("odd", json!({"apiVersion": "a/b/c", "kind": "Odd Kind", "namespace": "default", "name": "web"})),
        (
            "unserved",
            json!({"apiVersion": "example.com/v1", "kind": "Gizmo", "namespace": "default", "name": "web"}),
        ),
    ] {
        create_about(&client, name, "Warning", &involved).await;
        receiver.took(&format!("{name} 1")).await;
    }

    for (_, _, body) in receiver.requests() {
        assert_eq!(body["object"]["app"], "none", "{body}");
    }
    assert_eq!(receiver.requests().len(), 3);
    host.stop().await;
}
