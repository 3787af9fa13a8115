//! Requests to webhooks. A component sends them through `wasi:http`; native tests collect them in a thread-local list.

#[cfg(target_family = "wasm")]
use component as own;
#[cfg(not(target_family = "wasm"))]
use native as own;
use serde_json::Value;

/// The request was not sent, or was not answered with a success.
#[derive(Debug, thiserror::Error)]
#[error("POST {place}: {why}")]
pub(crate) struct Failed {
    /// Scheme and host. The path of a webhook is often a secret.
    place: String,
    why: String,
}

/// A URL in the parts of a request.
struct Url<'a> {
    scheme: &'a str,
    authority: &'a str,
    path: &'a str,
}

/// Sends a JSON body. Every status of 2xx is a success.
pub(crate) fn post(url: &str, body: &Value) -> Result<(), Failed> {
    let parts = parse(url).ok_or_else(|| Failed {
        place: "a URL of [plugin.config]".to_owned(),
        why: "it does not begin with `http://` or `https://` and a host".to_owned(),
    })?;
    let place = format!("{}://{}", parts.scheme, parts.authority);
    match own::send(&parts, body.to_string().as_bytes()) {
        Ok(200..300) => Ok(()),
        Ok(status) => Err(Failed { place, why: format!("status {status}") }),
        Err(why) => Err(Failed { place, why }),
    }
}

/// Returns true if the text is a URL that a request can be sent to.
pub(crate) fn is_url(text: &str) -> bool {
    parse(text).is_some()
}

fn parse(url: &str) -> Option<Url<'_>> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let fits = matches!(scheme, "http" | "https") && !authority.is_empty() && !authority.contains('@');
    fits.then_some(Url { scheme, authority, path: if path.is_empty() { "/" } else { path } })
}

#[cfg(target_family = "wasm")]
mod component {
    use wasip2::http::{
        outgoing_handler,
        types::{Fields, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme},
    };

    use super::Url;

    /// The most bytes that the interface takes at once.
    const CHUNK: usize = 4096;

    /// The longest wait for an answer. A receiver that never answers must not use up the deadline of the call: several such calls
    /// in a row would end in a quarantine, and then nothing is rolled.
    const PATIENCE_NANOS: u64 = 8_000_000_000;

    pub(super) fn send(url: &Url<'_>, body: &[u8]) -> Result<u16, String> {
        let fields = Fields::new();
        let shown = |error: &dyn std::fmt::Debug| format!("{error:?}");
        fields.append("content-type", b"application/json").map_err(|error| shown(&error))?;
        let length = body.len().to_string();
        fields.append("content-length", length.as_bytes()).map_err(|error| shown(&error))?;
        let request = OutgoingRequest::new(fields);
        let refused = |what: &'static str| move |()| format!("the {what} is refused");
        let scheme = if url.scheme == "https" { Scheme::Https } else { Scheme::Http };
        request.set_method(&Method::Post).map_err(refused("method"))?;
        request.set_scheme(Some(&scheme)).map_err(refused("scheme"))?;
        request.set_authority(Some(url.authority)).map_err(refused("host"))?;
        request.set_path_with_query(Some(url.path)).map_err(refused("path"))?;
        let outgoing = request.body().map_err(refused("body"))?;
        let options = RequestOptions::new();
        options.set_first_byte_timeout(Some(PATIENCE_NANOS)).map_err(refused("timeout"))?;
        let answer = outgoing_handler::handle(request, Some(options)).map_err(|code| shown(&code))?;
        let stream = outgoing.write().map_err(refused("body"))?;
        let written = body.chunks(CHUNK).try_for_each(|chunk| stream.blocking_write_and_flush(chunk));
        drop(stream);
        // The answer reports a failure of the body, too.
        if written.is_ok() {
            OutgoingBody::finish(outgoing, None).ok();
        }
        loop {
            match answer.get() {
                None => answer.subscribe().block(),
                Some(Ok(response)) => return response.map(|ok| ok.status()).map_err(|code| shown(&code)),
                Some(Err(())) => return Err("the answer was taken before".to_owned()),
            }
        }
    }
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod native {
    use std::cell::RefCell;

    use super::Url;

    thread_local! {
        static SENT: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
    }

    /// Answers 200, or 500 to a host with the name `broken`.
    #[expect(clippy::unnecessary_wraps, reason = "a real request may fail")]
    pub(super) fn send(url: &Url<'_>, body: &[u8]) -> Result<u16, String> {
        let place = format!("{}://{}{}", url.scheme, url.authority, url.path);
        SENT.with_borrow_mut(|sent| sent.push((place, String::from_utf8_lossy(body).into_owned())));
        Ok(if url.authority == "broken" { 500 } else { 200 })
    }

    #[cfg(test)]
    pub(crate) fn reset() {
        SENT.with_borrow_mut(Vec::clear);
    }

    /// The requests of this thread so far: URLs and bodies.
    #[cfg(test)]
    pub(crate) fn sent() -> Vec<(String, String)> {
        SENT.with_borrow(Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_url_needs_a_scheme_and_a_host() {
        let parts = |url| parse(url).map(|url| (url.scheme, url.authority, url.path));
        assert_eq!(parts("https://a.example:8443/b?c"), Some(("https", "a.example:8443", "/b?c")));
        assert_eq!(parts("http://a"), Some(("http", "a", "/")));
        assert_eq!(parts("http://a?b"), Some(("http", "a", "?b")));
        for url in ["", "a.example", "ftp://a", "https://", "https:///x", "https://user:word@a/"] {
            assert!(!is_url(url), "{url}");
        }
    }

    #[test]
    fn a_failure_names_the_host_and_not_the_path() {
        post("http://a/secret", &json!({})).unwrap();
        let failed = post("http://broken/secret", &json!({})).unwrap_err();
        assert_eq!(failed.to_string(), "POST http://broken: status 500");
    }
}
