//! The stop of a host.

use informer_devserver::DevServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{
    applier::tests::{config, start},
    *,
};

#[tokio::test]
async fn an_unfinished_request_does_not_hold_up_the_stop() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let mut config = config("");
    config.host.admin = Some(HttpAddress::Tcp("127.0.0.1:0".parse().unwrap()));
    config.host.shutdown_timeout = Duration::from_secs(1);
    let app = start(&server, config).await;
    let mut client = TcpStream::connect(app.admin_address().unwrap().tcp().unwrap()).await.unwrap();
    let half = "POST /reload HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 10\r\nExpect: 100-continue\r\n\r\n";
    client.write_all(half.as_bytes()).await.unwrap();
    let mut begun = [0; 12];
    client.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100", "the server waits for the body");

    timeout(Duration::from_secs(60), app.stop()).await.unwrap();
    server.shutdown().await;
}
