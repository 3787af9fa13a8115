//! The client of kube, with the connections and the credentials of this host.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use kube::{
    Client, Config,
    client::{AuthError, ClientBuilder, ConfigExt},
};
use tower::util::MapRequestLayer;

use super::{
    credential_command::{CredentialCommand, Identity},
    impersonation, keepalive,
    proxy::Proxy,
    rotating::{Rotating, Source},
    sender::{Sender, sender},
    token_file::TokenFile,
    user_agent,
};

/// Makes the client of `Client::try_from` with keepalive, proxies and credentials that change, and without its log lines: the
/// reflectors log failures.
pub(super) fn client(
    mut config: Config,
    command: Option<CredentialCommand>,
    proxy: Option<Proxy>,
) -> Result<Client, kube::Error> {
    let token = TokenFile::take(&mut config.auth_info)
        .map_err(|(source, path)| kube::Error::Auth(AuthError::ReadTokenFile(source, path)))?;
    let source = match (command, token) {
        (Some(command), _) => Source::Command(command),
        (None, Some(token)) => Source::File(token),
        (None, None) => Source::None,
    };
    let tcp = keepalive::tcp(config.connect_timeout);
    let of = config.clone();
    let make = move |identity: Option<&Identity>| -> Result<Sender, kube::Error> {
        let of = with_identity(&of, identity);
        match &proxy {
            Some(proxy) => proxy.sender(tcp.clone(), &of),
            None => sender(tcp.clone(), &of),
        }
    };
    let service = Rotating::new(source, &config, make)?;
    let builder = ClientBuilder::new(service, config.default_namespace.clone())
        // It sees a request after the layer that adds the headers of the kubeconfig.
        .with_layer(&MapRequestLayer::new(impersonation::only_one))
        .with_layer(&config.extra_headers_layer()?)
        .with_layer(&MapRequestLayer::new(user_agent::sign));
    let base = config.base_uri_layer();
    Ok(match config.auth_layer()? {
        Some(auth) => builder.with_layer(&auth).with_layer(&base).build(),
        None => builder.with_layer(&base).build(),
    })
}

/// The configuration with the client certificate of a command, in the form of a kubeconfig.
fn with_identity<'a>(config: &'a Config, identity: Option<&Identity>) -> Cow<'a, Config> {
    let Some(Identity { certificate, key }) = identity else { return Cow::Borrowed(config) };
    let mut config = config.clone();
    config.auth_info.client_certificate_data = Some(STANDARD.encode(certificate));
    config.auth_info.client_key_data = Some(STANDARD.encode(key).into());
    Cow::Owned(config)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Duration;

    use http::Request;
    use kube::{client::Body, config::AuthInfo};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    /// The kind of timer on the connection from `local` to `remote`; 2 is keepalive.
    fn timer(local: u16, remote: u16) -> Option<String> {
        let table = std::fs::read_to_string("/proc/self/net/tcp").ok()?;
        let row = table.lines().find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let is =
                |field: usize, port: u16| fields.get(field)?.ends_with(&format!(":{port:04X}")).then_some(());
            is(1, local).and(is(2, remote))?;
            fields.get(5).map(|timer| timer.to_string())
        });
        row.and_then(|timer| timer.split_once(':').map(|(kind, _)| kind.to_owned()))
    }

    #[tokio::test]
    async fn the_kernel_probes_a_silent_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
        let client = client(config, None, None).unwrap();
        let request = tokio::spawn(async move {
            client.request_text(Request::get("/version").body(Vec::new()).unwrap()).await
        });
        let (mut socket, peer) = listener.accept().await.unwrap();
        let mut sent = [0; 1024];
        let length = socket.read(&mut sent).await.unwrap();
        assert!(sent[..length].starts_with(b"GET /version HTTP/1.1\r\n"));

        // Until the request is acknowledged, the connection has another timer.
        let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
        while timer(peer.port(), port).as_deref() != Some("02") {
            assert!(tokio::time::Instant::now() < deadline, "{:?}", timer(peer.port(), port));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        request.abort();
    }

    /// The server accepts only the token `two`, which replaces the token `one` in the file.
    #[tokio::test]
    async fn after_an_answer_401_the_next_request_has_the_token_that_is_in_the_file() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(socket.read_u8().await.unwrap());
                }
                let right = String::from_utf8_lossy(&head).contains("authorization: Bearer two\r\n");
                let status = if right { "200 OK" } else { "401 Unauthorized" };
                let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
                socket.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        std::fs::write(&path, "one").unwrap();
        let mut config = Config::new(url.parse().unwrap());
        let token_file = Some(path.to_str().unwrap().to_owned());
        config.auth_info = AuthInfo { token_file, ..AuthInfo::default() };
        let client = client(config, None, None).unwrap();
        let status = async || {
            let request = Request::get("/version").body(Body::empty()).unwrap();
            client.send(request).await.unwrap().status().as_u16()
        };

        assert_eq!(status().await, 401);
        std::fs::write(&path, "two").unwrap();
        assert_eq!(status().await, 200);
        server.abort();
    }
}
