//! TCP keepalive of the connections.
//!
//! Each watch has its own HTTP/1.1 connection, which may be silent for minutes: waiting does not reveal that the peer is gone. The
//! kernel sends probes. (client-go uses HTTP/2 pings, A-14; kube has no HTTP/2.) Behind a proxy the probes reach the proxy.

use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;

/// Silence before the first probe.
const IDLE: Duration = Duration::from_secs(30);

/// Time between two probes.
const INTERVAL: Duration = Duration::from_secs(15);

/// Probes without an answer after which the connection breaks: 75 seconds altogether.
const PROBES: u32 = 3;

/// Opens connections that the kernel probes.
pub(super) fn tcp(connect_timeout: Option<Duration>) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(connect_timeout);
    tcp.set_keepalive(Some(IDLE));
    tcp.set_keepalive_interval(Some(INTERVAL));
    tcp.set_keepalive_retries(Some(PROBES));
    tcp
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use kube::Config;
    use tokio::{io::AsyncReadExt, net::TcpListener};

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
        let client = crate::connect::client(config, None).unwrap();
        let request = tokio::spawn(async move {
            client.request_text(http::Request::get("/version").body(Vec::new()).unwrap()).await
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
}
