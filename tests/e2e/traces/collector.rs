//! A collector that receives spans by OTLP, over gRPC and over HTTP at one port.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{Router, body::Body, response::Response, routing::post};
use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::StreamBody;
use hyper::body::Frame;
use informer_tests::host::PATIENCE;
use opentelemetry_proto::tonic::{
    collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse},
    common::v1::{KeyValue, any_value::Value},
    trace::v1::{Span as Sent, status::StatusCode},
};
use parking_lot::Mutex;
use prost::Message;

/// The protocol of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Protocol {
    Grpc,
    Http,
}

/// A span as it was received. Numbers of traces and spans are lower-case hex.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty if it has no parent.
    pub(crate) parent: String,
    pub(crate) name: String,
    pub(crate) kind: i32,
    pub(crate) about: BTreeMap<String, String>,
    /// Nanoseconds since 1970.
    pub(crate) begun: u64,
    pub(crate) ended: u64,
    pub(crate) failed: bool,
}

#[derive(Debug, Default)]
struct Received {
    spans: Vec<Span>,
    resource: BTreeMap<String, String>,
}

pub(crate) struct Collector {
    pub(crate) url: String,
    received: Arc<Mutex<Received>>,
}

// === impl Protocol ===

impl Protocol {
    /// The word in the configuration.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
        }
    }
}

// === impl Collector ===

impl Collector {
    pub(crate) async fn start() -> Self {
        let received = Arc::new(Mutex::new(Received::default()));
        let (by_grpc, by_http) = (Arc::clone(&received), Arc::clone(&received));
        let routes = Router::new()
            .route(
                "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
                // Five bytes before the message: whether it is compressed, and its length.
                post(|body: Bytes| async move {
                    assert_eq!(body[0], 0, "not compressed");
                    by_grpc.lock().add(&body[5..]);
                    grpc_answer()
                }),
            )
            .route(
                "/v1/traces",
                post(|body: Bytes| async move {
                    by_http.lock().add(&body);
                    ExportTraceServiceResponse::default().encode_to_vec()
                }),
            );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, received }
    }

    /// The spans so far, by their starts.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let mut spans = self.received.lock().spans.clone();
        spans.sort_by_key(|span| span.begun);
        spans
    }

    /// The attributes of the program that sent them.
    pub(crate) fn resource(&self) -> BTreeMap<String, String> {
        self.received.lock().resource.clone()
    }

    /// Waits until the spans satisfy the condition, and returns them.
    pub(crate) async fn until(&self, what: &str, condition: impl Fn(&[Span]) -> bool) -> Vec<Span> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let spans = self.spans();
            if condition(&spans) {
                return spans;
            }
            assert!(tokio::time::Instant::now() < deadline, "{what} did not arrive: {spans:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The answer of a gRPC server that accepted everything: an empty message, and the status in the trailers.
fn grpc_answer() -> Response {
    let mut message = BytesMut::new();
    message.put_u8(0);
    message.put_u32(0);
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().unwrap());
    let frames = [Ok::<_, std::io::Error>(Frame::data(message.freeze())), Ok(Frame::trailers(trailers))];
    let body = Body::new(StreamBody::new(futures::stream::iter(frames)));
    Response::builder().header("content-type", "application/grpc").body(body).unwrap()
}

// === impl Received ===

impl Received {
    fn add(&mut self, message: &[u8]) {
        let request = ExportTraceServiceRequest::decode(message).unwrap();
        for resource in request.resource_spans {
            self.resource = attributes(resource.resource.unwrap_or_default().attributes);
            let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            self.spans.extend(spans.map(Span::from));
        }
    }
}

// === impl Span ===

impl Span {
    /// Returns true if an attribute has this value.
    pub(crate) fn is(&self, key: &str, value: &str) -> bool {
        self.about.get(key).is_some_and(|own| own == value)
    }
}

impl From<Sent> for Span {
    fn from(sent: Sent) -> Self {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self {
            trace: hex(&sent.trace_id),
            id: hex(&sent.span_id),
            parent: hex(&sent.parent_span_id),
            name: sent.name,
            kind: sent.kind,
            about: attributes(sent.attributes),
            begun: sent.start_time_unix_nano,
            ended: sent.end_time_unix_nano,
            failed: sent.status.is_some_and(|status| status.code == StatusCode::Error as i32),
        }
    }
}

fn attributes(pairs: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |value| match value {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    pairs.into_iter().map(|pair| (pair.key, text(pair.value.and_then(|value| value.value)))).collect()
}
