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
