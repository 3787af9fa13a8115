//! The answers of the server and the requests that it received.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) query: HashMap<String, String>,
    /// The accepted media types. Empty over TCP.
    pub(crate) accept: String,
    /// The time of the request on the test's clock.
    pub(crate) at: tokio::time::Instant,
}

/// One piece of an answer's body.
#[derive(Debug)]
pub(crate) enum Step {
    Bytes(Vec<u8>),
    /// The body ends normally.
    End,
    /// The connection breaks.
    Reset,
    /// The client's code panics.
    Panic,
}

/// One answer.
pub(crate) enum Answer {
    /// The connection is refused.
    Refused,
    /// The request is accepted and never answered.
    Silent,
    Http {
        status: u16,
        headers: Vec<(String, String)>,
        body: mpsc::UnboundedReceiver<Step>,
    },
}

/// Writes the body of an answer from the test. Dropping it leaves the body open.
#[derive(Clone)]
pub(crate) struct Live(mpsc::UnboundedSender<Step>);

/// The scripted answers and the recorded requests.
#[derive(Clone, Default)]
pub(crate) struct Script(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lists: VecDeque<Answer>,
    watches: VecDeque<Answer>,
    fixed: HashMap<String, VecDeque<Answer>>,
    served: HashMap<String, Value>,
    /// Requests other than lists and watches.
    asked: Vec<String>,
    requests: Vec<Request>,
    /// Keeps the bodies open that no test writes to.
    open: Vec<Live>,
}

// === impl Answer ===

impl Answer {
    pub(crate) fn status(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let (live, answer) = Self::live(status);
        live.bytes(body);
        live.end();
        answer
    }

    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::status(200, body)
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::ok(body.to_string())
    }

    /// An error as the API server sends it.
    pub(crate) fn error(status: u16, reason: &str, message: &str) -> Self {
        let body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": status,
        });
        Self::status(status, body.to_string())
    }

    pub(crate) fn live(status: u16) -> (Live, Self) {
        let (sender, body) = mpsc::unbounded_channel();
        (Live(sender), Self::Http { status, headers: Vec::new(), body })
    }

    /// A list without a continue token.
    pub(crate) fn list(version: &str, items: &[Value]) -> Self {
        Self::page(version, "", items)
    }

    pub(crate) fn page(version: &str, token: &str, items: &[Value]) -> Self {
        Self::json(&json!({
            "kind": "PodList",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": version, "continue": token},
            "items": items,
        }))
    }

    /// A watch that sends these frames and ends.
    pub(crate) fn watch(frames: &[Value]) -> Self {
        let (live, answer) = Self::live(200);
        frames.iter().for_each(|frame| live.frame(frame));
        live.end();
        answer
    }

    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        if let Self::Http { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

// === impl Live ===

impl Live {
    pub(crate) fn bytes(&self, bytes: impl Into<Vec<u8>>) {
        let _ = self.0.send(Step::Bytes(bytes.into()));
    }

    pub(crate) fn frame(&self, frame: &Value) {
        self.bytes(format!("{frame}\n"));
    }

    pub(crate) fn event(&self, kind: &str, object: &Value) {
        self.frame(&json!({"type": kind, "object": object}));
    }

    pub(crate) fn end(&self) {
        let _ = self.0.send(Step::End);
    }

    pub(crate) fn reset(&self) {
        let _ = self.0.send(Step::Reset);
    }

    pub(crate) fn panic(&self) {
        let _ = self.0.send(Step::Panic);
    }

    /// Returns true once the client has dropped the answer.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

// === impl Script ===

impl Script {
    /// A server with pods, nodes and, in `apps/v1`, deployments.
    pub(crate) fn new() -> Self {
        let script = Self::default();
        let resource = |name: &str, kind: &str, namespaced: bool| {
            json!({"name": name, "singularName": kind.to_lowercase(), "kind": kind, "namespaced": namespaced,
                   "verbs": ["get", "list", "watch"]})
        };
        let core = json!({"resources": [resource("pods", "Pod", true), resource("nodes", "Node", false),
            json!({"name": "bindings", "kind": "Binding", "namespaced": true, "verbs": ["create"]})]});
        script.path("/api/v1", Answer::json(&core));
        let apps = json!({"resources": [resource("deployments", "Deployment", true)]});
        script.path("/apis/apps/v1", Answer::json(&apps));
        script
    }

    /// Scripts the answer to the next list.
    pub(crate) fn list(&self, answer: Answer) {
        self.0.lock().lists.push_back(answer);
    }

    /// Scripts the answer to the next watch. Without an answer, a watch stays open and silent.
    pub(crate) fn watch(&self, answer: Answer) {
        self.0.lock().watches.push_back(answer);
    }

    /// Scripts the next watch, which the test writes.
    pub(crate) fn live_watch(&self) -> Live {
        let (live, answer) = Answer::live(200);
        self.watch(answer);
        live
    }

    /// Scripts the answer to the next request for exactly this path, before any earlier answer.
    pub(crate) fn path(&self, path: &str, answer: Answer) {
        self.0.lock().fixed.entry(path.to_owned()).or_default().push_front(answer);
    }

    /// Sets the answer to all further requests for exactly this path that have no scripted answer. `None` means 404.
    pub(crate) fn always(&self, path: &str, answer: Option<Value>) {
        let mut state = self.0.lock();
        state.fixed.remove(path);
        match answer {
            Some(answer) => state.served.insert(path.to_owned(), answer),
            None => state.served.remove(path),
        };
    }

    /// Removes the scripted answers to lists.
    pub(crate) fn forget_lists(&self) {
        self.0.lock().lists.clear();
    }

    /// The number of requests for this path without a query.
    pub(crate) fn asked(&self, path: &str) -> usize {
        self.0.lock().asked.iter().filter(|asked| *asked == path).count()
    }

    /// All lists and watches, in their order.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.0.lock().requests.clone()
    }

    pub(crate) fn lists(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| !request.is_watch()).collect()
    }

    pub(crate) fn watches(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_watch).collect()
    }

    /// Records the request and returns its answer.
    pub(crate) fn answer(&self, target: &str, accept: &str) -> Answer {
        // A list without parameters still has the `?`.
        let plain = !target.contains('?');
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut state = self.0.lock();
        if plain {
            state.asked.push(path.to_owned());
        }
        if let Some(answer) = state.fixed.get_mut(path).and_then(VecDeque::pop_front) {
            return answer;
        }
        if let Some(answer) = state.served.get(path).filter(|_| plain) {
            return Answer::json(answer);
        }
        if plain && path == "/apis" {
            // Every API server lists its groups.
            return Answer::json(&json!({"groups": []}));
        }
        if plain {
            return Answer::status(404, "404 page not found");
        }
        let query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let accept = accept.to_owned();
        let request = Request { path: path.to_owned(), query, accept, at: tokio::time::Instant::now() };
        let is_watch = request.is_watch();
        state.requests.push(request);
        if !is_watch {
            let unscripted = || Answer::error(500, "InternalError", "the script has no more lists");
            return state.lists.pop_front().unwrap_or_else(unscripted);
        }
        state.watches.pop_front().unwrap_or_else(|| {
            let (live, answer) = Answer::live(200);
            state.open.push(live);
            answer
        })
    }
}

// === impl Request ===

impl Request {
    pub(crate) fn is_watch(&self) -> bool {
        self.get("watch") == "true"
    }

    /// A parameter of the query; empty if it was not sent.
    pub(crate) fn get(&self, parameter: &str) -> &str {
        self.query.get(parameter).map_or("", String::as_str)
    }
}
