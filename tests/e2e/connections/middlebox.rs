//! A program on the way to the API server: an open relay, a guard, an HTTP proxy or a SOCKS proxy. It notes what it reads.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, split},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::tls;

/// How clients reach the server behind it.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Each connection leads to the server.
    Open,
    /// Each request leads to the server if it has this value of `Authorization`. Another one is answered with 401.
    Guarded(Arc<Mutex<String>>),
    /// By CONNECT. The text is the value of `Proxy-Authorization` that it requires.
    Http(Option<&'static str>),
    /// By SOCKS5 (RFC 1928), with the user and the password that it requires (RFC 1929).
    Socks(Option<(&'static str, &'static str)>),
}

/// It leads every connection to one server, whatever its client names, until it is dropped.
pub(crate) struct Middlebox {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    _serving: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    /// The destinations that clients named, as `host:port`.
    destinations: Vec<String>,
    /// The bytes that the clients sent, by connection.
    sent: Vec<Vec<u8>>,
    /// The names of the certificates that clients showed, by connection.
    shown: Vec<Option<&'static str>>,
}

/// The head of an HTTP request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Such as `GET /api HTTP/1.1`.
    pub(crate) line: String,
    headers: Vec<(String, String)>,
}

// === impl Request ===

impl Request {
    fn of(head: &str) -> Option<Self> {
        let mut lines = head.lines();
        let line = lines.next().filter(|line| line.ends_with(" HTTP/1.1"))?.to_owned();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        Some(Self { line, headers })
    }

    /// The values of a header, whose name is in lower case.
    pub(crate) fn headers(&self, name: &str) -> Vec<&str> {
        let values = self.headers.iter().filter(|(own, _)| own == name);
        values.map(|(_, value)| value.as_str()).collect()
    }

    /// The first value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).first().copied()
    }
}

// === impl Middlebox ===

impl Middlebox {
    pub(crate) async fn start(kind: Kind, server: SocketAddr) -> Self {
        Self::behind(None, kind, server).await
    }

    /// Speaks TLS with its clients.
    pub(crate) async fn with_tls(acceptor: TlsAcceptor, kind: Kind, server: SocketAddr) -> Self {
        Self::behind(Some(acceptor), kind, server).await
    }

    async fn behind(acceptor: Option<TlsAcceptor>, kind: Kind, server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let mut serving = JoinSet::new();
        let shared = Arc::clone(&seen);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (kind, acceptor, seen) = (kind.clone(), acceptor.clone(), Arc::clone(&shared));
                connections.spawn(async move {
                    // A client or a server may go at any time.
                    match acceptor {
                        None => Box::pin(relay(client, &kind, server, &seen)).await.ok(),
                        Some(acceptor) => {
                            let Ok(client) = acceptor.accept(client).await else { return };
                            let certificates = client.get_ref().1.peer_certificates();
                            let shown = certificates.and_then(|chain| tls::name_of(chain.first()?));
                            seen.lock().shown.push(shown);
                            Box::pin(relay(client, &kind, server, &seen)).await.ok()
                        }
                    };
                });
            }
        });
        Self { address, seen, _serving: serving }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL as that of an API server.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The destinations that clients named so far.
    pub(crate) fn destinations(&self) -> Vec<String> {
        self.seen.lock().destinations.clone()
    }

    /// The names of the certificates that the clients of connections with TLS showed so far.
    pub(crate) fn shown(&self) -> Vec<Option<&'static str>> {
        self.seen.lock().shown.clone()
    }

    /// The requests for the server so far, if they are not encrypted behind it. They are in the order of the connections.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let sent = self.seen.lock().sent.clone();
        let heads = |sent: &Vec<u8>| -> Vec<Request> {
            String::from_utf8_lossy(sent).split("\r\n\r\n").filter_map(Request::of).collect()
        };
        sent.iter().flat_map(heads).collect()
    }
}

async fn relay(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    kind: &Kind,
    server: SocketAddr,
    seen: &Mutex<Seen>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    let destination = match kind {
        Kind::Open => None,
        Kind::Guarded(right) => {
            let Some(admitted) = guarded(&mut client, right).await? else { return Ok(()) };
            head = admitted;
            None
        }
        Kind::Http(credentials) => Some(http(&mut client, *credentials).await?),
        Kind::Socks(credentials) => Some(socks(&mut client, *credentials).await?),
    };
    match destination {
        // The client was refused.
        Some(None) => return Ok(()),
        Some(Some(named)) => seen.lock().destinations.push(named),
        None => {}
    }
    let number = {
        let mut seen = seen.lock();
        seen.sent.push(head.clone());
        seen.sent.len() - 1
    };
    let (from_client, mut to_client) = split(client);
    let (mut from_server, mut to_server) = TcpStream::connect(server).await?.into_split();
    to_server.write_all(&head).await?;
    let up = note(from_client, to_server, number, seen);
    tokio::select! {
        up = up => up,
        down = copy(&mut from_server, &mut to_client) => down.map(drop),
    }?;
    to_client.shutdown().await
}

async fn note(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    number: usize,
    seen: &Mutex<Seen>,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        seen.lock().sent[number].extend_from_slice(&buffer[..length]);
        to.write_all(&buffer[..length]).await?;
    }
}

/// Reads to the end of the head of a request.
async fn head_of(client: &mut (impl AsyncRead + Unpin)) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Returns the head of the request for the server, which closes the connection after its answer. Returns `None` if the client is
/// refused.
async fn guarded(
    client: &mut (impl AsyncRead + AsyncWrite + Unpin),
    right: &Mutex<String>,
) -> std::io::Result<Option<Vec<u8>>> {
    let head = head_of(client).await?;
    let right = right.lock().clone();
    if Request::of(&head).is_some_and(|request| request.header("authorization") == Some(&right)) {
        return Ok(Some(head.replacen("\r\n", "\r\nconnection: close\r\n", 1).into_bytes()));
    }
    let refused = "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    client.write_all(refused.as_bytes()).await?;
    client.shutdown().await?;
    Ok(None)
}

/// Returns the destination, or `None` if the client is refused.
async fn http(
    client: &mut (impl AsyncRead + AsyncWrite + Unpin),
    credentials: Option<&str>,
) -> std::io::Result<Option<String>> {
    let head = head_of(client).await?;
    let Some(request) = Request::of(&head) else { return Ok(None) };
    if request.header("proxy-authorization") != credentials {
        client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await?;
        return Ok(None);
    }
    let destination = request.line.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    Ok(destination.map(str::to_owned))
}

/// Returns the destination, or `None` if the client is refused.
async fn socks(
    client: &mut (impl AsyncRead + AsyncWrite + Unpin),
    credentials: Option<(&str, &str)>,
) -> std::io::Result<Option<String>> {
    assert_eq!(client.read_u8().await?, 5, "the version of SOCKS");
    let methods = bytes(client).await?;
    let method = if credentials.is_some() { 2 } else { 0 };
    if !methods.contains(&method) {
        client.write_all(&[5, 0xff]).await?;
        return Ok(None);
    }
    client.write_all(&[5, method]).await?;
    if let Some((user, password)) = credentials {
        assert_eq!(client.read_u8().await?, 1, "the version of the credentials");
        let right = bytes(client).await? == user.as_bytes() && bytes(client).await? == password.as_bytes();
        client.write_all(&[1, u8::from(!right)]).await?;
        if !right {
            return Ok(None);
        }
    }
    let mut request = [0; 4];
    client.read_exact(&mut request).await?;
    assert_eq!(request[..2], [5, 1], "a request to connect");
    let host = match request[3] {
        1 => {
            let mut address = [0; 4];
            client.read_exact(&mut address).await?;
            std::net::Ipv4Addr::from(address).to_string()
        }
        3 => String::from_utf8_lossy(&bytes(client).await?).into_owned(),
        other => panic!("the kind of address {other}"),
    };
    let port = client.read_u16().await?;
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    Ok(Some(format!("{host}:{port}")))
}

/// Bytes behind their number.
async fn bytes(client: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Vec<u8>> {
    let length = client.read_u8().await?;
    let mut bytes = vec![0; length.into()];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}
