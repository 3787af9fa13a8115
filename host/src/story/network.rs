//! Answers HTTP requests of the plugin from the story. Nothing leaves this process.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use informer_runtime::capabilities::Wire;
use parking_lot::Mutex;
use tokio::{io::DuplexStream, runtime::Handle};
use tokio_util::sync::CancellationToken;

use super::{
    answer::{Answer, next_answer},
    observed::{Observed, json},
    seen::{Kind, Seen},
};

/// The bytes of a connection that wait to be read.
const PIPE_BYTES: usize = 64 << 10;

/// The network of a story.
pub(super) struct Network {
    answers: Arc<Mutex<Vec<Answer>>>,
    observed: Observed,
    executor: Handle,
    /// Cancelled once the story is over.
    over: CancellationToken,
}

/// A request that the story has no answer for. The connection ends.
#[derive(Debug, thiserror::Error)]
#[error("the story has no answer for it")]
struct NoAnswer;

// === impl Network ===

impl Network {
    /// Must be called within a tokio runtime, which serves the connections.
    pub(super) fn new(answers: Vec<Answer>, observed: Observed, over: CancellationToken) -> Self {
        Self { answers: Arc::new(Mutex::new(answers)), observed, executor: Handle::current(), over }
    }
}

impl Wire for Network {
    fn open(&self, origin: &str) -> DuplexStream {
        let (guest, own) = tokio::io::duplex(PIPE_BYTES);
        let (origin, answers, observed) = (plain(origin), Arc::clone(&self.answers), self.observed.clone());
        let serve = service_fn(move |request| {
            answer(request, origin.clone(), Arc::clone(&answers), observed.clone())
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(own), serve);
        let over = self.over.clone();
        // It ends with the connection, whose other end belongs to a call of the guest.
        self.executor.spawn(over.run_until_cancelled_owned(connection));
        guest
    }
}

async fn answer(
    request: Request<Incoming>,
    origin: String,
    answers: Arc<Mutex<Vec<Answer>>>,
    observed: Observed,
) -> anyhow::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let text = format!("{} {origin}{path}", head.method);
    let answer = next_answer(&mut answers.lock(), &text);
    let headers = head.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let (note, fields) = (if answer.is_some() { "" } else { " (no answer)" }, headers.collect());
    observed.add(Kind::Http, Seen { fields, body: json(&body), ..Seen::text(text + note) });
    let answer = answer.ok_or(NoAnswer)?;
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = StatusCode::from_u16(answer.status)?;
    for (name, value) in &answer.headers {
        response.headers_mut().append(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
    }
    Ok(response)
}

/// The origin without the port that its scheme has anyway.
fn plain(origin: &str) -> String {
    let default = if origin.starts_with("https:") { ":443" } else { ":80" };
    origin.strip_suffix(default).unwrap_or(origin).to_owned()
}
