//! The client of the admin endpoint.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use axum::body::{Body, to_bytes};
use bytes::Bytes;
use http::{
    Request, Response, StatusCode,
    header::{CONTENT_TYPE, HOST},
    request, response,
};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use informer_system::HttpAddress;
use informer_types::{excerpt, one_line};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    time::timeout,
};

use super::types::{Failed, Identity};
use crate::{
    cli::AdminArgs,
    config::{self, Components},
};

/// Time for an answer from memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// The path of a reload.
pub(crate) const RELOAD: &str = "/reload";

/// Time for a reload. A component of another language may take ten seconds to compile, and components are compiled one
/// after the other.
const RELOAD_PATIENCE: Duration = Duration::from_secs(120);

/// Most bytes of an answer. A thousand dead letters of the greatest length are a tenth of it.
const MAX_BYTES: usize = 256 << 20;

/// The most bytes shown of a refusal that no host sent.
const SHOWN: usize = 512;

/// Time for an answer of the program that has taken an address.
const IDENTITY_PATIENCE: Duration = Duration::from_secs(2);

/// A running host.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    address: HttpAddress,
    /// The configuration file that names the address, and that the host must run with. `None` accepts any host.
    file: Option<PathBuf>,
}

/// An answer of the host.
pub(crate) struct Answer<T> {
    /// The answer as it came.
    pub(crate) json: Value,
    /// The answer with each text on one line, because plugins choose the texts of failures and the names of keys, and the
    /// terminal of an operator shows them.
    pub(crate) value: T,
}

// === impl Client ===

impl Client {
    /// The host at the given address; or the one that runs with the given configuration, at the address in it.
    ///
    /// # Errors
    /// The configuration cannot be read, or switches the admin endpoint off.
    pub(crate) fn new(args: &AdminArgs) -> anyhow::Result<Self> {
        if let Some(address) = &args.admin {
            return Ok(Self::at(address.clone()));
        }
        let address = config::load(&args.config, Components::Unseen)?.host.admin;
        let address = address.context(
            "the configuration switches the admin endpoint off; set [host] admin = \"127.0.0.1:8080\"",
        )?;
        Ok(Self { address, file: Some(args.config.clone()) })
    }

    /// Any host at this address.
    pub(super) fn at(address: HttpAddress) -> Self {
        Self { address, file: None }
    }

    pub(crate) fn address(&self) -> &HttpAddress {
        &self.address
    }

    /// The host that answers at the address. Returns `None` if none does within two seconds.
    pub(super) async fn identity(&self) -> Option<Identity> {
        let request = self.request(Request::get("/livez"), Bytes::new()).ok()?;
        let (head, _) = timeout(IDENTITY_PATIENCE, self.exchange(request)).await.ok()?.ok()?;
        Identity::read(&head.headers)
    }

    /// Sends a `GET`.
    ///
    /// # Errors
    /// No host answers within ten seconds, the host runs with another configuration file, the host refuses, or the answer has
    /// another form.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Answer<T>> {
        self.send(Request::get(path), Bytes::new(), PATIENCE).await
    }

    /// Sends a `POST` with a JSON body. A reload has two minutes, because it compiles components.
    ///
    /// # Errors
    /// The errors of [`Client::get`].
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<Answer<T>> {
        let request = Request::post(path).header(CONTENT_TYPE, "application/json");
        let within = if path == RELOAD { RELOAD_PATIENCE } else { PATIENCE };
        self.send(request, serde_json::to_vec(body)?.into(), within).await
    }

    /// Like [`Client::post`], but waits this much longer for the answer.
    pub(crate) async fn post_and_wait<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        longest: Duration,
    ) -> anyhow::Result<Answer<T>> {
        let request = Request::post(path).header(CONTENT_TYPE, "application/json");
        self.send(request, serde_json::to_vec(body)?.into(), longest.saturating_add(PATIENCE)).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: request::Builder,
        body: Bytes,
        within: Duration,
    ) -> anyhow::Result<Answer<T>> {
        let address = &self.address;
        let request = self.request(request, body)?;
        let answered = async { timeout(within, self.exchange(request)).await? };
        let (head, text) = answered.await.with_context(|| {
            format!("no host answers at {address}; is `informer run` running, and is this its [host] admin address?")
        })?;
        let host = Identity::read(&head.headers);
        let (is_host, checked) = (host.is_some(), self.check(host));
        let program = if is_host { "host" } else { "program" };
        let refusal = refusal(head.status, &text).map(|why| format!("the {program} at {address} {why}"));
        match (checked, refusal) {
            (Ok(()), None) => {}
            (Ok(()), Some(refusal)) => bail!("{refusal}"),
            // The refusal of a program that is no host, such as a proxy, explains the wrong address.
            (Err(other), Some(refusal)) if !is_host => return Err(other.context(refusal)),
            (Err(other), _) => return Err(other),
        }
        let json: Value =
            serde_json::from_slice(&text).with_context(|| format!("the program at {address} is no host"))?;
        Answer::read(json).with_context(|| {
            format!("the answer of the host at {address} has another form: use the `informer` of its version")
        })
    }

    /// Refuses the answer of a host that runs with another configuration file than the one that names the address.
    fn check(&self, host: Option<Identity>) -> anyhow::Result<()> {
        let Self { address, file } = self;
        let Some(file) = file else { return Ok(()) };
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let Some(host) = host else {
            bail!(
                "the program at {address} does not name its process, so it is no host of this version; free the \
                 address for the host of {}, or read the answer nevertheless with --admin {address}",
                file.display()
            );
        };
        if host.runs_with(&file) {
            return Ok(());
        }
        bail!(
            "another host answers at {address}: {host}, not {}; start the host of that file with another [host] \
             admin address or stop the other host, or read the answer nevertheless with --admin {address}",
            file.display()
        );
    }

    fn request(&self, request: request::Builder, body: Bytes) -> http::Result<Request<Full<Bytes>>> {
        let host = match &self.address {
            HttpAddress::Tcp(address) => address.to_string(),
            HttpAddress::Unix(_) => "localhost".to_owned(),
        };
        request.header(HOST, host).body(Full::new(body))
    }

    /// Sends a request on a connection of its own. The endpoint speaks plain HTTP on this machine: neither certificates nor
    /// proxies are looked for.
    async fn exchange(&self, request: Request<Full<Bytes>>) -> anyhow::Result<(response::Parts, Bytes)> {
        match &self.address {
            HttpAddress::Tcp(address) => exchange(TcpStream::connect(address).await?, request).await,
            HttpAddress::Unix(path) => exchange(UnixStream::connect(path).await?, request).await,
        }
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> anyhow::Result<(response::Parts, Bytes)> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let answering = async move {
        let (head, body) = Response::into_parts(sender.send_request(request).await?);
        anyhow::Ok((head, to_bytes(Body::new(body), MAX_BYTES).await?))
    };
    // If the connection fails, so does the answer.
    let (answered, _) = tokio::join!(answering, connection);
    answered
}

/// Describes the refusal of a request. Returns `None` if the request succeeded. A host sends its reason as JSON. Another program, such as a
/// proxy, sends another text. That text is shown with the status.
fn refusal(status: StatusCode, body: &[u8]) -> Option<String> {
    if status.is_success() {
        return None;
    }
    if let Ok(Failed { error }) = serde_json::from_slice(body) {
        return Some(format!("refuses: {}", one_line(&error)));
    }
    let text = String::from_utf8_lossy(body);
    Some(match text.trim() {
        "" => format!("answers {status} and gives no reason"),
        text => format!("answers {status}: {}", one_line(&excerpt(text, SHOWN).to_string())),
    })
}

// === impl Answer ===

impl<T: DeserializeOwned> Answer<T> {
    pub(crate) fn read(json: Value) -> serde_json::Result<Self> {
        Ok(Self { value: serde_json::from_value(on_one_line(&json))?, json })
    }
}

fn on_one_line(json: &Value) -> Value {
    match json {
        Value::String(text) => one_line(text).to_string().into(),
        Value::Array(entries) => entries.iter().map(on_one_line).collect(),
        Value::Object(entries) => {
            entries.iter().map(|(key, entry)| (key.clone(), on_one_line(entry))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => json.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;
    use crate::admin::types::Status;

    /// What a command shows about this answer of some program. `file` is the configuration that names the address.
    async fn shown(status: &str, body: &str, file: Option<&str>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let answering = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
        };
        let client = Client { address: address.into(), file: file.map(PathBuf::from) };
        let (answered, ()) = tokio::join!(client.get::<Status>("/status"), answering);
        format!("{:#}", answered.err().unwrap()).replace(&address.to_string(), "ADDRESS")
    }

    #[tokio::test]
    async fn a_refusal_that_no_host_sent_is_shown_with_its_status_and_its_text() {
        for (status, body, expected) in [
            ("401 Unauthorized", "log in\nfirst\n", r"answers 401 Unauthorized: log in\nfirst"),
            ("404 Not Found", r#"{"kind": "Status"}"#, r#"answers 404 Not Found: {"kind": "Status"}"#),
            ("502 Bad Gateway", "", "answers 502 Bad Gateway and gives no reason"),
            ("403 Forbidden", r#"{"error": "no"}"#, "refuses: no"),
        ] {
            assert_eq!(shown(status, body, None).await, format!("the program at ADDRESS {expected}"));
        }
        let long = shown("500 Internal Server Error", &"x".repeat(10_000), None).await;
        assert!(long.len() < 1000 && long.ends_with("x... (10000 bytes)"), "{long}");
    }

    #[tokio::test]
    async fn a_refusal_that_no_host_sent_is_shown_before_the_advice_about_the_address() {
        let shown = shown("403 Forbidden", "not here", Some("informer.toml")).await;

        let start = "the program at ADDRESS answers 403 Forbidden: not here: the program at ADDRESS does not name its process";
        assert!(shown.starts_with(start), "{shown}");
    }

    #[test]
    fn no_text_of_an_answer_spans_two_lines_or_moves_the_cursor() {
        let answer = json!({"plugins": [{"failure": "a\nb\u{1b}[2J", "calls": 3, "ok": true, "rate": null}]});

        let shown = json!({"plugins": [{"failure": r"a\nb\u{1b}[2J", "calls": 3, "ok": true, "rate": null}]});
        assert_eq!(on_one_line(&answer), shown);
    }

    #[test]
    fn an_answer_of_another_version_is_read_as_far_as_it_has_the_same_form() {
        let answer = Answer::<Status>::read(json!({"version": "9.9.9", "novelty": 1})).unwrap();
        assert_eq!((answer.value.version.as_str(), answer.value.is_well()), ("9.9.9", true));

        assert!(Answer::<Status>::read(json!({"plugins": "none"})).is_err());
    }
}
