//! kube's client, with keepalive on its connections.
//!
//! Each watch has a connection of its own, HTTP/1.1, on which nothing may happen for minutes: a peer that has gone
//! without a word is not noticed by waiting. The kernel asks it. (client-go asks by HTTP/2 pings, A-14; kube speaks
//! no HTTP/2.)

use std::time::Duration;

use hyper_util::{
    client::legacy::{Client as HyperClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::{
    Client, Config,
    client::{AuthError, Body, ClientBuilder, ConfigExt},
};
use tower::{
    BoxError, ServiceExt,
    util::{MapRequestLayer, option_layer},
};

use super::token_file::TokenFile;

/// Of silence, before the peer is asked.
const IDLE: Duration = Duration::from_secs(30);

/// Between two questions, and how many remain without an answer before the connection counts as dead: one minute
/// and a quarter altogether.
const INTERVAL: Duration = Duration::from_secs(15);
const QUESTIONS: u32 = 3;

/// What `Client::try_from` makes, with keepalive, and without its log lines: the reflectors say what failed.
pub(super) fn client(mut config: Config) -> Result<Client, kube::Error> {
    let token = TokenFile::take(&mut config.auth_info)
        .map_err(|(source, path)| kube::Error::Auth(AuthError::ReadTokenFile(source, path)))?;
    let token = token.map(|token| MapRequestLayer::new(move |request| token.authorize(request)));
    let token = option_layer(token);
    if config.proxy_url.is_some() {
        // The connection to a proxy says nothing about the one behind it.
        return Ok(ClientBuilder::try_from(config)?.with_layer(&token).build());
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(config.connect_timeout);
    tcp.set_keepalive(Some(IDLE));
    tcp.set_keepalive_interval(Some(INTERVAL));
    tcp.set_keepalive_retries(Some(QUESTIONS));
    let tls = config.rustls_https_connector_with_connector(tcp)?;
    let hyper: HyperClient<_, Body> = HyperClient::builder(TokioExecutor::new()).build(tls);
    let service = hyper.map_err(BoxError::from);
    let namespace = config.default_namespace.clone();
    let builder = ClientBuilder::new(service, namespace).with_layer(&config.extra_headers_layer()?);
    let (base, builder) = (config.base_uri_layer(), builder.with_layer(&token));
    Ok(match config.auth_layer()? {
        Some(auth) => builder.with_layer(&auth).with_layer(&base).build(),
        None => builder.with_layer(&base).build(),
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::{io::AsyncReadExt, net::TcpListener};

    use super::*;

    /// The kind of timer that runs on the connection from `local` to `remote`; 2 is keepalive.
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
    async fn the_kernel_watches_over_a_connection_on_which_nothing_happens_weakness_23() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
        let client = client(config).unwrap();
        let request = tokio::spawn(async move {
            client.request_text(http::Request::get("/version").body(Vec::new()).unwrap()).await
        });
        let (mut socket, peer) = listener.accept().await.unwrap();
        let mut sent = [0; 1024];
        let length = socket.read(&mut sent).await.unwrap();
        assert!(sent[..length].starts_with(b"GET /version HTTP/1.1\r\n"));

        // Until the kernel has seen the acknowledgement of the request it is another timer.
        let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
        while timer(peer.port(), port).as_deref() != Some("02") {
            assert!(tokio::time::Instant::now() < deadline, "{:?}", timer(peer.port(), port));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        request.abort();
    }
}
