//! `wasi:http`: the requests of the component.

use wasip2::{
    http::{
        outgoing_handler,
        types::{
            ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method, OutgoingBody,
            OutgoingRequest, RequestOptions, Scheme,
        },
    },
    io::streams::StreamError,
};

use super::{Answer, Post, Request, Verdict};

/// The longest wait for an answer. Without one, the request is sent again later. This time is shorter than the deadline of a
/// call.
const PATIENCE_NANOS: u64 = 8_000_000_000;

/// The part of an answer that is read. An answer to a batch names each event.
const ANSWER_BYTES: usize = 1 << 20;

/// A piece of a body.
const CHUNK_BYTES: usize = 4096;

/// The host's `wasi:http`.
#[derive(Debug)]
pub(crate) struct Wasi;

impl Post for Wasi {
    fn post(&self, request: &Request) -> Result<Answer, Verdict> {
        let response = wait(&send(request)?)?;
        let retry_after = response.headers().get("retry-after").into_iter().next();
        Ok(Answer {
            status: response.status(),
            retry_after: retry_after.map(|value| String::from_utf8_lossy(&value).into_owned()),
            body: read(&response)?,
        })
    }
}

fn send(request: &Request) -> Result<FutureIncomingResponse, Verdict> {
    let refused = |what: &str| Verdict::Never(format!("the {what} cannot be sent"));
    let fields = Fields::new();
    for (name, value) in &request.headers {
        fields.append(name, value.as_bytes()).map_err(|_| refused(&format!("header {name}")))?;
    }
    let length = request.body.len().to_string();
    fields.append("content-length", length.as_bytes()).map_err(|_| refused("length"))?;
    let outgoing = OutgoingRequest::new(fields);
    let scheme = if request.url.https { Scheme::Https } else { Scheme::Http };
    outgoing.set_method(&Method::Post).map_err(|()| refused("method"))?;
    outgoing.set_scheme(Some(&scheme)).map_err(|()| refused("scheme"))?;
    outgoing.set_authority(Some(&request.url.authority)).map_err(|()| refused("host"))?;
    outgoing.set_path_with_query(Some(&request.url.path)).map_err(|()| refused("path"))?;
    let body = outgoing.body().map_err(|()| refused("body"))?;
    let options = RequestOptions::new();
    options.set_first_byte_timeout(Some(PATIENCE_NANOS)).map_err(|()| refused("timeout"))?;
    options.set_between_bytes_timeout(Some(PATIENCE_NANOS)).map_err(|()| refused("timeout"))?;
    let answer = outgoing_handler::handle(outgoing, Some(options)).map_err(|code| failed(&code))?;
    // The answer reports a failure of the body.
    write(body, request.body.as_bytes()).ok();
    Ok(answer)
}

fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), StreamError> {
    let stream = body.write().map_err(|()| StreamError::Closed)?;
    for chunk in bytes.chunks(CHUNK_BYTES) {
        stream.blocking_write_and_flush(chunk)?;
    }
    drop(stream);
    OutgoingBody::finish(body, None).map_err(|_| StreamError::Closed)
}

fn wait(answer: &FutureIncomingResponse) -> Result<IncomingResponse, Verdict> {
    loop {
        match answer.get() {
            None => answer.subscribe().block(),
            Some(Ok(response)) => return response.map_err(|code| failed(&code)),
            Some(Err(())) => return Err(Verdict::Later("there is no answer".to_owned(), None)),
        }
    }
}

fn read(response: &IncomingResponse) -> Result<String, Verdict> {
    let broken = || Verdict::Later("the answer has no body to read".to_owned(), None);
    let body = response.consume().map_err(|()| broken())?;
    let stream = body.stream().map_err(|()| broken())?;
    let mut bytes = Vec::new();
    while bytes.len() < ANSWER_BYTES {
        match stream.blocking_read(64 << 10) {
            Ok(more) => bytes.extend(more),
            Err(StreamError::Closed) => break,
            // The status is enough for most receivers: after a success they have the events, even if the body breaks off.
            Err(StreamError::LastOperationFailed(_)) => break,
        }
    }
    drop(stream);
    drop(IncomingBody::finish(body));
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The verdict without an answer. The log of the host has the details.
fn failed(code: &ErrorCode) -> Verdict {
    let shown = format!("{code:?}");
    let name = shown.strip_prefix("ErrorCode::").unwrap_or(&shown);
    match code {
        ErrorCode::HttpRequestBodySize(_) | ErrorCode::HttpRequestUriInvalid => {
            Verdict::Never(format!("the request was not sent: {name}"))
        }
        ErrorCode::HttpRequestDenied => Verdict::Later(
            "the host denied the request: list the receiver in `http` under [plugin.grant]".to_owned(),
            None,
        ),
        _ => Verdict::Later(format!("there is no answer: {name}"), None),
    }
}
