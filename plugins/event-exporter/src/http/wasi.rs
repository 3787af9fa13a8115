//! `wasi:http`: the requests of the component.

use wasip2::{
    clocks::monotonic_clock,
    http::{
        outgoing_handler,
        types::{
            ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method, OutgoingBody,
            OutgoingRequest, Scheme,
        },
    },
    io::{
        poll::{Pollable, poll},
        streams::StreamError,
    },
};

use super::{Answer, Post, Request, Verdict};

/// The longest time of an exchange: the connection, the request, and the answer with its body. Without this limit, a receiver that sends a
/// byte now and then would delay the call until its deadline, and calls that miss their deadline lead to quarantine.
const PATIENCE_SECONDS: u64 = 7;

/// The part of an answer that is read. An answer to a batch names each event.
const ANSWER_BYTES: usize = 1 << 20;

/// The host's `wasi:http`.
#[derive(Debug)]
pub(crate) struct Wasi;

/// The time that is left of an exchange.
struct Timer(Pollable);

impl Post for Wasi {
    fn post(&self, request: &Request) -> Result<Answer, Verdict> {
        let timer = Timer::start();
        let response = wait(&send(request, &timer)?, &timer)?;
        let retry_after = response.headers().get("retry-after").into_iter().next();
        Ok(Answer {
            status: response.status(),
            retry_after: retry_after.map(|value| String::from_utf8_lossy(&value).into_owned()),
            body: read(&response, &timer)?,
        })
    }
}

// === impl Timer ===

impl Timer {
    fn start() -> Self {
        Self(monotonic_clock::subscribe_duration(PATIENCE_SECONDS * 1_000_000_000))
    }

    /// Waits until `other` is ready or the time is over. Returns true if the time is over, even if `other` is ready at the same
    /// time: a receiver that sends a byte now and then is ready in each call.
    fn is_over_after(&self, other: &Pollable) -> bool {
        const TIMER: u32 = 1;
        poll(&[other, &self.0]).contains(&TIMER)
    }
}

fn send(request: &Request, timer: &Timer) -> Result<FutureIncomingResponse, Verdict> {
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
    let answer = outgoing_handler::handle(outgoing, None).map_err(|code| failed(&code))?;
    // The answer reports a failure of the body.
    write(body, request.body.as_bytes(), timer).ok();
    Ok(answer)
}

/// Writes the body. The receiver may read it slowly or not at all.
fn write(body: OutgoingBody, bytes: &[u8], timer: &Timer) -> Result<(), StreamError> {
    let stream = body.write().map_err(|()| StreamError::Closed)?;
    let mut left = bytes;
    while !left.is_empty() {
        let room = usize::try_from(stream.check_write()?).unwrap_or(usize::MAX);
        if room > 0 {
            let (now, later) = left.split_at(room.min(left.len()));
            stream.write(now)?;
            left = later;
        } else if timer.is_over_after(&stream.subscribe()) {
            return Err(StreamError::Closed);
        }
    }
    drop(stream);
    OutgoingBody::finish(body, None).map_err(|_| StreamError::Closed)
}

fn wait(answer: &FutureIncomingResponse, timer: &Timer) -> Result<IncomingResponse, Verdict> {
    let mut is_over = false;
    loop {
        match answer.get() {
            None if is_over => {
                let why = format!("there is no answer within {PATIENCE_SECONDS} s");
                return Err(Verdict::Later(why, None));
            }
            None => is_over = timer.is_over_after(&answer.subscribe()),
            Some(Ok(response)) => return response.map_err(|code| failed(&code)),
            Some(Err(())) => return Err(Verdict::Later("there is no answer".to_owned(), None)),
        }
    }
}

/// Reads the body of the answer. Returns the part that has arrived if the body breaks off or does not end in time: for most receivers, the
/// status alone decides.
fn read(response: &IncomingResponse, timer: &Timer) -> Result<String, Verdict> {
    let broken = || Verdict::Later("the answer has no body to read".to_owned(), None);
    let body = response.consume().map_err(|()| broken())?;
    let stream = body.stream().map_err(|()| broken())?;
    let mut bytes = Vec::new();
    while bytes.len() < ANSWER_BYTES && !timer.is_over_after(&stream.subscribe()) {
        match stream.read(64 << 10) {
            Ok(more) => bytes.extend(more),
            Err(StreamError::Closed | StreamError::LastOperationFailed(_)) => break,
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
        // The answer to the next attempt would be as long, and the receiver would get the event again in each attempt.
        ErrorCode::HttpResponseBodySize(_) => Verdict::Never(
            "its answer is longer than `http-body` under [plugin.limits] allows, so its verdict is unknown"
                .to_owned(),
        ),
        ErrorCode::HttpRequestDenied => Verdict::Later(
            "the host denied the request: list the receiver in `http` under [plugin.grant]".to_owned(),
            None,
        ),
        _ => Verdict::Later(format!("there is no answer: {name}"), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failure_that_may_pass_leads_to_another_attempt() {
        for code in [
            ErrorCode::HttpRequestBodySize(None),
            ErrorCode::HttpRequestUriInvalid,
            ErrorCode::HttpResponseBodySize(Some(4 << 20)),
        ] {
            assert!(matches!(failed(&code), Verdict::Never(_)), "{code:?}");
        }
        for code in [ErrorCode::ConnectionRefused, ErrorCode::HttpRequestDenied] {
            assert!(matches!(failed(&code), Verdict::Later(_, None)), "{code:?}");
        }
    }
}
