//! The client of the admin endpoint.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use axum::body::{Body, to_bytes};
use bytes::Bytes;
use http::{
    Method, Request, Response, StatusCode,
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
    time::{error::Elapsed, timeout},
};

use super::types::{Failed, Identity};
use crate::{
    cli::AdminArgs,
    config::{self, Components, LoadError},
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
    /// The mistakes of the configuration file, or why it cannot be read. A running host refuses such a file, and keeps the
    /// configuration in force.
    mistakes: Option<Arc<LoadError>>,
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
    /// Returns a client of the host at the given address. Without an address, the client reaches the host that runs with the given
    /// configuration file, at the address in this file. If the file has mistakes or cannot be read, the client uses the address that
    /// [`config::admin`] finds.
    ///
    /// # Errors
    /// The configuration file switches the admin endpoint off. If the file also has mistakes, the error has the mistakes.
    pub(crate) fn new(args: &AdminArgs) -> anyhow::Result<Self> {
        if let Some(address) = &args.admin {
            return Ok(Self::at(address.clone()));
        }
        let (address, mistakes) = match config::load(&args.config, Components::Unseen) {
            Ok(config) => (config.host.admin, None),
            Err(mistakes) => match config::admin(&args.config) {
                Some(address) => (Some(address), Some(Arc::new(mistakes))),
                None => return Err(mistakes.into()),
            },
        };
        let address = address.context(
            "the configuration switches the admin endpoint off; set [host] admin = \"127.0.0.1:8080\"",
        )?;
        Ok(Self { address, file: Some(args.config.clone()), mistakes })
    }

    /// Any host at this address.
    pub(super) fn at(address: HttpAddress) -> Self {
        Self { address, file: None, mistakes: None }
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
    /// another form. If the file has mistakes or cannot be read, and no host with this file answers, the error says what is wrong
    /// with the file, because no host starts with this file.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Answer<T>> {
        self.send(Request::get(path), Bytes::new(), PATIENCE).await
    }

    /// Sends a `POST` with a JSON body. A reload has two minutes, because it compiles components. A host that runs with another
    /// configuration file does not get the request.
    ///
    /// # Errors
    /// The errors of [`Client::get`].
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<Answer<T>> {
        let within = if path == RELOAD { RELOAD_PATIENCE } else { PATIENCE };
        self.post_within(path, body, within).await
    }

    /// Like [`Client::post`], but waits this much longer for the answer.
    pub(crate) async fn post_and_wait<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        longest: Duration,
    ) -> anyhow::Result<Answer<T>> {
        self.post_within(path, body, longest.saturating_add(PATIENCE)).await
    }

    async fn post_within<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        within: Duration,
    ) -> anyhow::Result<Answer<T>> {
        if self.file.is_some() {
            // Another host must not carry out the request.
            self.answer(Request::get("/livez"), Bytes::new(), PATIENCE).await?;
        }
        let request = Request::post(path).header(CONTENT_TYPE, "application/json");
        self.send(request, serde_json::to_vec(body)?.into(), within).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: request::Builder,
        body: Bytes,
        within: Duration,
    ) -> anyhow::Result<Answer<T>> {
        let address = &self.address;
        let (text, refusal) = self.answer(request, body, within).await?;
        if let Some(refusal) = refusal {
            bail!("{refusal}");
        }
        let json: Value =
            serde_json::from_slice(&text).with_context(|| format!("the program at {address} is no host"))?;
        Answer::read(json).with_context(|| {
            format!("the answer of the host at {address} has another form: use the `informer` of its version")
        })
    }

    /// Returns the body of the answer, and the reason if the host refuses the request.
    ///
    /// # Errors
    /// No host answers in time, or the host that answers runs with another configuration file.
    async fn answer(
        &self,
        request: request::Builder,
        body: Bytes,
        within: Duration,
    ) -> anyhow::Result<(Bytes, Option<String>)> {
        let address = &self.address;
        let request = self.request(request, body)?;
        let changes = request.method() == Method::POST;
        let answered = async { timeout(within, self.exchange(request)).await? };
        let (head, text) = answered.await.map_err(|error| self.unanswered(error, within, changes))?;
        let host = Identity::read(&head.headers);
        let (is_host, checked) = (host.is_some(), self.check(host));
        let program = if is_host { "host" } else { "program" };
        let refusal = refusal(head.status, &text).map(|why| format!("the {program} at {address} {why}"));
        match (checked, &self.mistakes, refusal) {
            (Ok(()), _, refusal) => Ok((text, refusal)),
            (Err(_), Some(mistakes), _) => Err(mistakes.clone().into()),
            // The refusal of a program that is no host, such as a proxy, explains the wrong address.
            (Err(other), None, Some(refusal)) if !is_host => Err(other.context(refusal)),
            (Err(other), None, _) => Err(other),
        }
    }

    /// Returns the error of a request without an answer. If the program listens and is late, the error does not call the host missing. A
    /// late program may still carry out a request that `changes` something. If the file has mistakes or cannot be read, the error says
    /// what is wrong with the file.
    fn unanswered(&self, error: anyhow::Error, within: Duration, changes: bool) -> anyhow::Error {
        let Self { address, mistakes, .. } = self;
        let is_late = error.is::<Elapsed>();
        let cause = mistakes.clone().map_or(error, anyhow::Error::from);
        if is_late {
            let still = if changes { ", and it may still do what was requested" } else { "" };
            let seconds = within.as_secs();
            return cause.context(format!(
                "the program at {address} has not answered within {seconds} s; it may be busy{still}"
            ));
        }
        if mistakes.is_some() {
            return cause;
        }
        cause.context(format!(
            "no host answers at {address}; is `informer run` running, and is this its [host] admin address?"
        ))
    }

    /// Refuses the answer of a host that runs with another configuration file than the one that names the address.
    fn check(&self, host: Option<Identity>) -> anyhow::Result<()> {
        let Self { address, file, .. } = self;
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
    use std::{fs, net::SocketAddr, path::Path};

    use serde_json::json;
    use tempfile::TempDir;
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
        let client = Client { address: address.into(), file: file.map(PathBuf::from), mistakes: None };
        let (answered, ()) = tokio::join!(client.get::<Status>("/status"), answering);
        format!("{:#}", answered.err().unwrap()).replace(&address.to_string(), "ADDRESS")
    }

    /// Returns a client for a file with this admin address and with a mistake in line 4.
    fn with_mistake(directory: &TempDir, admin: SocketAddr) -> Client {
        let config = directory.path().join("informer.toml");
        fs::write(&config, format!("[host]\nadmin = \"{admin}\"\n[[watch]]\ngvr = 3\n")).unwrap();
        Client::new(&AdminArgs { config, admin: None }).unwrap()
    }

    /// Returns the answer of a host that runs with this file.
    fn answer_of(file: &Path) -> String {
        format!(
            "HTTP/1.1 200 OK\r\ninformer-process: 7\r\ninformer-configuration: {}\r\ncontent-length: 2\r\n\r\n{{}}",
            file.display()
        )
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

    #[tokio::test(start_paused = true)]
    async fn a_host_that_is_late_is_not_reported_as_missing() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();

        let error = Client::at(address.into()).get::<Status>("/status").await.err().unwrap();

        let text = format!("the program at {address} has not answered within 10 s; it may be busy");
        assert_eq!(error.to_string(), text, "{error:#}");

        // Another program may use the address. The mistakes then explain why no host runs.
        let directory = TempDir::new().unwrap();
        let error = with_mistake(&directory, address).get::<Status>("/status").await.err().unwrap();

        assert_eq!(error.to_string(), text, "{error:#}");
        assert!(format!("{error:#}").contains("informer.toml:4:7: watch[0].gvr: "), "{error:#}");
    }

    /// A running host keeps the configuration in force while the file has mistakes. An operator needs the commands during this time.
    #[tokio::test]
    async fn the_host_that_refuses_the_file_answers_and_without_it_the_mistakes_are_shown() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("informer.toml");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = with_mistake(&directory, listener.local_addr().unwrap());
        let answering = async {
            for of in [file.as_path(), Path::new("/etc/other.toml")] {
                let (mut stream, _) = listener.accept().await.unwrap();
                assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
                stream.write_all(answer_of(of).as_bytes()).await.unwrap();
            }
            drop(listener);
        };
        let asking = async {
            let own = client.get::<Status>("/status").await;
            (own.map(drop), client.get::<Status>("/status").await.map(drop))
        };

        let ((own, other), ()) = tokio::join!(asking, answering);
        let nobody = client.get::<Status>("/status").await.map(drop);

        assert!(own.is_ok(), "{own:?}");
        for error in [other, nobody].map(Result::unwrap_err) {
            assert!(error.to_string().contains("informer.toml:4:7: watch[0].gvr: "), "{error:#}");
        }
    }

    /// A host whose file is removed runs on. Then the alert `InformerConfigurationRefused` refers to `informer status`.
    #[tokio::test]
    async fn the_host_whose_file_is_missing_answers_and_without_it_the_missing_file_is_named() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("informer.toml");
        let args = AdminArgs { config: file.clone(), admin: None };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().into();
        let client = Client { address, ..Client::new(&args).unwrap() };
        let answering = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
            stream.write_all(answer_of(&file).as_bytes()).await.unwrap();
            drop(listener);
        };

        let (own, ()) = tokio::join!(client.get::<Status>("/status"), answering);
        let unanswered = client.get::<Status>("/status").await.map(drop).unwrap_err().to_string();

        assert_eq!(own.map(|answer| answer.value.version).unwrap(), "");
        let start = format!("there is no configuration at {}; ", file.display());
        assert!(unanswered.starts_with(&start), "{unanswered}");
    }

    /// Another host may listen at the address, above all at the default address, which the command uses if the file has no valid address.
    #[tokio::test]
    async fn another_host_gets_no_request_that_changes_it() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let file = Some(PathBuf::from("/etc/informer.toml"));
        let client = Client { address: address.into(), file, mistakes: None };
        let answering = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 1024];
            let length = stream.read(&mut request).await.unwrap();
            stream.write_all(answer_of(Path::new("/etc/other.toml")).as_bytes()).await.unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        };
        let choice = json!({"all": true});

        let (answered, request) =
            tokio::join!(client.post::<Value>("/dead-letters/drop", &choice), answering);

        assert!(request.starts_with("GET /livez "), "{request}");
        let error = answered.err().unwrap().to_string();
        let start =
            format!("another host answers at {address}: process 7 with the configuration /etc/other.toml");
        assert!(error.starts_with(&start), "{error}");
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
