//! Requests to the endpoints of the host: any bytes get answers of HTTP or none. Only a request to the admin endpoint that says so
//! changes the host, and none to the health endpoint does.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, LazyLock},
    time::Duration,
};

use futures::future::{BoxFuture, ready};
use informer::admin::{
    Check, Dashboard, Endpoint as Serving, IfTaken, Probe,
    dashboard::{
        ConfigurationInForce, LetterPage, LetterQuery, LinePage, LineQuery, Objects, ObjectsQuery, Overview,
        PluginDetail,
    },
    serve_admin, serve_health,
    types::{
        Chosen, DeadLetters, Dropped, ExplainRequest, Explanation, Identity, Queues, RecordRequest,
        Recording, Replays, Report, Status,
    },
};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// The longest time of a connection, on a busy machine too. The server ends a quiet one after ten seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Begins a connection of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// The paths of the requests that changed the host, since it was looked at.
#[derive(Default)]
struct Host(Mutex<Vec<&'static str>>);

struct Endpoints {
    runtime: Runtime,
    admin: SocketAddr,
    health: SocketAddr,
    host: Arc<Host>,
    _serving: [Serving; 2],
}

static ENDPOINTS: LazyLock<Endpoints> = LazyLock::new(|| {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    // A program in Rust survives a write to a closed connection, and libFuzzer does not, because it has a `main` of its own.
    let _handled = runtime.block_on(async { signal(SignalKind::pipe()) }).unwrap();
    let host = Arc::new(Host::default());
    let (stop, any): (_, SocketAddr) = (CancellationToken::new(), "127.0.0.1:0".parse().unwrap());
    let admin = serve_admin(any.into(), IfTaken::Fail, Arc::clone(&host) as _, stop.clone());
    let admin = runtime.block_on(admin).unwrap();
    let health = runtime.block_on(serve_health(any, Arc::clone(&host) as _, None, stop)).unwrap();
    let address = |serving: &Serving| serving.address().tcp().unwrap();
    let (to_admin, to_health) = (address(&admin), address(&health));
    Endpoints { runtime, admin: to_admin, health: to_health, host, _serving: [admin, health] }
});

/// What a client sends on one connection.
pub(crate) fn run(input: &[u8]) {
    let Endpoints { runtime, admin, health, host, .. } = &*ENDPOINTS;
    let answer = runtime.block_on(exchange(*health, input));
    assert!(host.0.lock().is_empty(), "the health endpoint changed the host");
    if !input.starts_with(PREFACE) {
        is_http(&answer, input);
    }
    let answer = runtime.block_on(exchange(*admin, input));
    let changed = std::mem::take(&mut *host.0.lock());
    if input.starts_with(PREFACE) {
        return;
    }
    is_http(&answer, input);
    let text = String::from_utf8_lossy(input).to_ascii_lowercase();
    for path in changed {
        let asked = text.contains(&format!("post {path}")) || text.contains("post http");
        assert!(asked && text.contains("application/json"), "{path} was called by {text:?}");
        let alone = text.matches(" http/1.").count() == 1;
        assert!(!(alone && text.contains("\norigin:")), "{path} was called by a page: {text:?}");
    }
}

/// Sends the bytes and returns the answer. The connection ends by a reset, which leaves no trace in the system.
async fn exchange(address: SocketAddr, input: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_zero_linger().unwrap();
    let mut answer = Vec::new();
    let exchanged = async {
        // The server may end the connection before it has read everything.
        stream.write_all(input).await?;
        stream.shutdown().await?;
        let goes_on = sends_more_than_live(input);
        while stream.read_buf(&mut answer).await? > 0 {
            if goes_on && has_begun_a_stream(&answer) {
                break;
            }
        }
        io::Result::Ok(())
    };
    assert!(timeout(PATIENCE, exchanged).await.is_ok(), "no end of the connection");
    answer
}

/// Returns true if bytes follow a request for the live view. The server reads them after its answer, which is a stream of events without
/// an end, so it cannot see that the client sends no more. Without such bytes it ends the stream.
fn sends_more_than_live(input: &[u8]) -> bool {
    const LIVE: &[u8] = b"/page/live";
    let requests = input.windows(LIVE.len()).enumerate().filter(|(_, part)| *part == LIVE);
    let mut behind = requests.map(|(at, _)| input.get(at..).unwrap_or_default());
    let is_end = |rest: &[u8]| rest.starts_with(b"\n\r\n") || rest.starts_with(b"\n\n");
    behind.any(|rest| {
        let end = (0..rest.len()).find(|at| rest.get(*at..).is_some_and(is_end));
        end.is_some_and(|end| rest.len() > end + 3)
    })
}

/// Returns true if an answer is a stream of events, and its head is whole.
fn has_begun_a_stream(answer: &[u8]) -> bool {
    const EVENTS: &[u8] = b"text/event-stream";
    let begin = answer.windows(EVENTS.len()).position(|part| part == EVENTS);
    begin.and_then(|at| answer.get(at..)).is_some_and(|rest| contains(rest, b"\r\n\r\n"))
}

/// Reads answers one after the other. The last one may be cut off.
fn is_http(mut answer: &[u8], input: &[u8]) {
    while !answer.is_empty() {
        let head = answer.windows(4).position(|end| end == b"\r\n\r\n");
        let Some(head) = head else { panic!("{:?} is no head", String::from_utf8_lossy(answer)) };
        let text = std::str::from_utf8(&answer[..head]).unwrap();
        let mut lines = text.split("\r\n");
        let status = lines.next().unwrap();
        let code: u16 = status.strip_prefix("HTTP/1.").unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        assert!((100..600).contains(&code) && code != 500, "{status}");
        // Without a length, a body of HTTP/1.0 ends with its connection.
        let mut length = Some(if status.starts_with("HTTP/1.0") { usize::MAX } else { 0 });
        for (name, value) in lines.map(|line| line.split_once(": ").unwrap()) {
            assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()), "{name:?}");
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(value.parse().unwrap());
            }
            if name.eq_ignore_ascii_case("transfer-encoding") {
                assert_eq!(value, "chunked");
                length = None;
            }
        }
        answer = &answer[head + 4..];
        // The answer to HEAD has no body.
        let headless = contains(input, b"HEAD") && (answer.is_empty() || answer.starts_with(b"HTTP/1."));
        if !headless {
            answer =
                length.map_or_else(|| after_chunks(answer), |length| &answer[length.min(answer.len())..]);
        }
    }
}

/// Reads a body of chunks and returns what follows it. The body of a stream of events ends with its connection, at any byte.
fn after_chunks(mut body: &[u8]) -> &[u8] {
    while let Some(end) = body.windows(2).position(|end| end == b"\r\n") {
        let size = std::str::from_utf8(&body[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap_or_else(|error| panic!("size {size:?}: {error}"));
        let rest = &body[end + 2..];
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        if chunk.len() < size {
            return &[];
        }
        assert!(b"\r\n".starts_with(&after[..after.len().min(2)]), "a chunk is longer than its size says");
        body = &after[after.len().min(2)..];
        if size == 0 {
            return body;
        }
    }
    &[]
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|found| found == word)
}

impl Dashboard for Host {
    fn overview(&self) -> Overview {
        Overview::default()
    }

    fn plugin_detail(&self, name: &str) -> Option<PluginDetail> {
        self.has_plugin(name).then(PluginDetail::default)
    }

    fn letters(&self, _query: &LetterQuery) -> LetterPage {
        LetterPage::default()
    }

    fn objects(&self, query: &ObjectsQuery) -> Result<Objects, String> {
        if query.gvr == "v1/pods" { Ok(Objects::default()) } else { Err("not watched".to_owned()) }
    }

    fn lines(&self, _query: &LineQuery) -> LinePage {
        LinePage::default()
    }

    fn configuration(&self) -> ConfigurationInForce {
        ConfigurationInForce::default()
    }
}

impl Probe for Host {
    fn identity(&self) -> Identity {
        Identity::default()
    }

    fn liveness(&self) -> Vec<Check> {
        Vec::new()
    }

    fn readiness(&self) -> Vec<Check> {
        Vec::new()
    }

    fn unready(&self) -> Vec<String> {
        Vec::new()
    }

    fn degraded(&self) -> Vec<String> {
        vec!["a watch fails".to_owned()]
    }

    fn status(&self) -> Status {
        Status::default()
    }

    fn reload(&self, _plugin: Option<String>) -> BoxFuture<'_, Result<Report, String>> {
        self.0.lock().push("/reload");
        Box::pin(ready(Err("no reload".to_owned())))
    }

    fn set_log_level(&self, _plugin: Option<&str>, level: &str) -> Result<(), String> {
        self.0.lock().push("/log-level");
        if level == "debug" { Ok(()) } else { Err("no such level".to_owned()) }
    }

    fn queues(&self) -> Queues {
        Queues::default()
    }

    fn resource(&self, name: &str) -> Result<String, String> {
        Ok(name.to_owned())
    }

    fn dead_letters(&self, _chosen: &Chosen) -> DeadLetters {
        DeadLetters::default()
    }

    fn replay(&self, chosen: &Chosen) -> Replays {
        assert!(chosen.all || chosen.key.is_some());
        self.0.lock().push("/dead-letters/replay");
        Replays::default()
    }

    fn drop_dead_letters(&self, chosen: &Chosen) -> Dropped {
        assert!(chosen.all || chosen.key.is_some());
        self.0.lock().push("/dead-letters/drop");
        Dropped::default()
    }

    fn explain(&self, _request: &ExplainRequest) -> Result<Explanation, String> {
        Ok(Explanation::default())
    }

    fn record(&self, _request: RecordRequest) -> BoxFuture<'_, Result<Recording, String>> {
        self.0.lock().push("/record");
        Box::pin(ready(Ok(Recording::default())))
    }

    fn has_plugin(&self, name: &str) -> bool {
        name == "ttl"
    }

    fn metrics(&self) -> String {
        "# EOF\n".to_owned()
    }
}
