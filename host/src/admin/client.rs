//! The client of the admin endpoint.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

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
use informer_system::{HttpAddress, read_file};
use informer_types::{excerpt, one_line};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    time::{error::Elapsed, timeout},
};
use toml::de::DeTable;

use super::types::{Failed, Identity};
use crate::{
    cli::AdminArgs,
    config::{self, Components, ConfigError, Environment, Host, LoadError},
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

/// The most bytes that are read of a file with a mistake: those of every configuration file.
const FILE_BYTES: u64 = 16 << 20;

/// The stack for reading such a file. The parser drops a deeply nested value by recursion, which takes up to 4 MiB.
const STACK_BYTES: usize = 32 << 20;

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
    /// The mistakes of that file. A host that read the file before still runs with the configuration that it read then.
    mistakes: Option<ConfigError>,
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
    /// The host at the given address; or the one that runs with the given configuration, at the address in it. If the file has mistakes,
    /// the host that refuses the file is found by the address that can still be read, or at the default address.
    ///
    /// # Errors
    /// The configuration cannot be read, or switches the admin endpoint off. If it has mistakes, too, the error has the mistakes.
    pub(crate) fn new(args: &AdminArgs) -> anyhow::Result<Self> {
        if let Some(address) = &args.admin {
            return Ok(Self::at(address.clone()));
        }
        let (address, mistakes) = match config::load(&args.config, Components::Unseen) {
            Ok(config) => (config.host.admin, None),
            Err(LoadError::Invalid(mistakes)) => match address_in(&args.config) {
                Some(address) => (Some(address), Some(mistakes)),
                None => return Err(mistakes.into()),
            },
            Err(error) => return Err(error.into()),
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
    /// another form. If the file has mistakes and no host runs with it, the error has the mistakes, because no host starts with them.
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
        let request = Request::post(path).header(CONTENT_TYPE, "application/json");
        let within = if path == RELOAD { RELOAD_PATIENCE } else { PATIENCE };
        self.meet().await?;
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
        self.meet().await?;
        self.send(request, serde_json::to_vec(body)?.into(), longest.saturating_add(PATIENCE)).await
    }

    /// Checks which host answers, before a request that may change this host.
    async fn meet(&self) -> anyhow::Result<()> {
        if self.file.is_some() {
            self.answer(Request::get("/livez"), Bytes::new(), PATIENCE).await?;
        }
        Ok(())
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
    /// No host answers in time, or another host than the one that runs with the file.
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
        let (head, text) = match (answered.await, &self.mistakes) {
            (Ok(answer), _) => answer,
            (Err(error), Some(mistakes)) if !error.is::<Elapsed>() => return Err(mistakes.clone().into()),
            (Err(error), _) => return Err(unanswered(error, address, within, changes)),
        };
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

/// Returns the admin address in a file with mistakes, or the default address if the file has none that can be read. Returns `None` if the
/// file switches the endpoint off.
fn address_in(file: &Path) -> Option<HttpAddress> {
    let text = read_file(file, FILE_BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.unwrap_or_default();
    let written = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("config".to_owned()).stack_size(STACK_BYTES);
        let reading = builder.spawn_scoped(scope, || written_in(&text)).ok()?;
        reading.join().ok().flatten()
    });
    match written.as_deref() {
        Some("off") => None,
        Some(written) => match config::local(written).ok() {
            Some(HttpAddress::Unix(socket)) => Some(HttpAddress::Unix(resolved(file, &socket))),
            address => address.or(Host::default().admin),
        },
        None => Host::default().admin,
    }
}

/// The admin address as the text has it.
fn written_in(text: &str) -> Option<String> {
    let (document, _) = DeTable::parse_recoverable(text);
    let host = document.get_ref().get("host")?.get_ref().as_table()?;
    Some(host.get("admin")?.get_ref().as_str()?.to_owned())
}

/// The path of a socket, which is below the home directory, absolute, or relative to the file that names it.
fn resolved(file: &Path, socket: &Path) -> PathBuf {
    match (socket.strip_prefix("~"), Environment::of_process().home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => file.parent().unwrap_or(file).join(socket),
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

/// Describes a request without an answer. A program that listens and is late is no missing host, and may still carry out a request that
/// `changes` something.
fn unanswered(error: anyhow::Error, address: &HttpAddress, within: Duration, changes: bool) -> anyhow::Error {
    let text = if error.is::<Elapsed>() {
        let still = if changes { ", and it may still do what was requested" } else { "" };
        format!(
            "the program at {address} has not answered within {} s; it may be busy{still}",
            within.as_secs()
        )
    } else {
        format!(
            "no host answers at {address}; is `informer run` running, and is this its [host] admin address?"
        )
    };
    error.context(text)
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
    use std::fs;

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

    /// The answer of a host that runs with this file.
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
    }

    /// The host keeps the configuration before the mistakes, and an operator needs its commands until the file is correct.
    #[tokio::test]
    async fn the_host_that_refuses_the_file_answers_and_without_it_the_mistakes_are_shown() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("informer.toml");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let admin = listener.local_addr().unwrap();
        fs::write(&file, format!("[host]\nadmin = \"{admin}\"\n[[watch]]\ngvr = 3\n")).unwrap();
        let client = Client::new(&AdminArgs { config: file.clone(), admin: None }).unwrap();
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

    /// The address may be that of another host, above all if the file has a mistake and the address is the default one.
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

    /// The parser allows 80 nested brackets with 80 parts of a dotted key in each.
    #[test]
    fn a_deeply_nested_file_with_mistakes_is_read() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("informer.toml");
        let nested = format!("{}1{}", format!("{{ {} = ", ["a"; 80].join(".")).repeat(79), " }".repeat(79));
        fs::write(&file, format!("[host]\nadmin = \"127.0.0.1:9\"\nadmim = {nested}\n")).unwrap();

        assert_eq!(address_in(&file), Some(HttpAddress::Tcp(([127, 0, 0, 1], 9).into())));
    }

    #[test]
    fn the_address_in_a_file_with_mistakes_is_found_as_far_as_it_can_be_read() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("informer.toml");
        let found = |text: &str| {
            fs::write(&file, text).unwrap();
            address_in(&file).map(|address| address.to_string())
        };
        let default = Some("127.0.0.1:8080".to_owned());

        assert_eq!(found("[host]\nadmin = \"[::1]:9\"\nadmim = 3\n"), Some("[::1]:9".to_owned()));
        assert_eq!(found("[host]\nadmin = \"off\"\n[watch]\n"), None);
        assert_eq!(found("[host]\nadmin = \"0.0.0.0:8080\"\n"), default);
        assert_eq!(found("host = 3\n"), default);
        assert_eq!(found("= ["), default);
        let socket = format!("unix:{}", directory.path().join("run/admin.sock").display());
        assert_eq!(found("[host]\nadmin = \"unix:run/admin.sock\"\nadmim = 3\n"), Some(socket));
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
