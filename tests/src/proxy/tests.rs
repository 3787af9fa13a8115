use std::{io::ErrorKind, net::Ipv4Addr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::*;

/// The longest time of one step, unless something is broken.
const SOON: Duration = Duration::from_secs(60);
/// Long enough for a byte on loopback to arrive.
const NEVER: Duration = Duration::from_millis(100);

/// A server and a proxy in front of it.
async fn proxied() -> (TcpListener, FaultProxy) {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let proxy = FaultProxy::start(server.local_addr().unwrap()).unwrap();
    (server, proxy)
}

/// Both ends of a connection through the proxy.
async fn connected(server: &TcpListener, proxy: &FaultProxy) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(proxy.address()).await.unwrap();
    let (accepted, _) = timeout(SOON, server.accept()).await.unwrap().unwrap();
    (client, accepted)
}

async fn read(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut buffer = vec![0; length];
    timeout(SOON, stream.read_exact(&mut buffer)).await.unwrap().unwrap();
    buffer
}

/// Reads until the end. Returns the bytes and the error, if any.
async fn read_to_end(stream: &mut TcpStream) -> (Vec<u8>, Option<ErrorKind>) {
    let mut buffer = Vec::new();
    let ended = timeout(SOON, stream.read_to_end(&mut buffer)).await.expect("the connection does not end");
    (buffer, ended.err().map(|error| error.kind()))
}

#[tokio::test]
async fn bytes_and_orderly_closes_pass_in_both_directions() {
    let (server, proxy) = proxied().await;
    let (mut client, mut accepted) = connected(&server, &proxy).await;

    client.write_all(b"question").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_to_end(&mut accepted).await, (b"question".to_vec(), None));
    // The other direction is still open.
    accepted.write_all(&[7; 100_000]).await.unwrap();
    drop(accepted);

    assert_eq!(read_to_end(&mut client).await, (vec![7; 100_000], None));
}

#[tokio::test]
async fn a_cut_resets_both_ends_of_every_connection_and_accepts_new_ones() {
    let (server, proxy) = proxied().await;
    let (mut client, mut accepted) = connected(&server, &proxy).await;
    let (mut other, _other_accepted) = connected(&server, &proxy).await;

    assert_eq!(proxy.cut().await, 2);

    assert_eq!(read_to_end(&mut client).await.1, Some(ErrorKind::ConnectionReset));
    assert_eq!(read_to_end(&mut accepted).await.1, Some(ErrorKind::ConnectionReset));
    assert_eq!(read_to_end(&mut other).await.1, Some(ErrorKind::ConnectionReset));
    assert_eq!(proxy.counts(), Counts { accepted: 2, open: 0, reset: 2 });
    let (mut client, mut accepted) = connected(&server, &proxy).await;
    client.write_all(b"again").await.unwrap();
    assert_eq!(read(&mut accepted, 5).await, b"again");
    assert_eq!(proxy.counts(), Counts { accepted: 3, open: 1, reset: 2 });
}

#[tokio::test]
async fn refusing_keeps_open_connections_and_the_port() {
    let (server, proxy) = proxied().await;
    let (mut client, mut accepted) = connected(&server, &proxy).await;

    proxy.set(Mode::Refuse).await.unwrap();
    let refused = TcpStream::connect(proxy.address()).await.map_err(|error| error.kind());
    let taken = TcpListener::bind(proxy.address()).await.map_err(|error| error.kind());
    client.write_all(b"still").await.unwrap();

    assert_eq!(refused.err(), Some(ErrorKind::ConnectionRefused));
    assert_eq!(taken.err(), Some(ErrorKind::AddrInUse));
    assert_eq!(read(&mut accepted, 5).await, b"still");
    proxy.set(Mode::Pass).await.unwrap();
    connected(&server, &proxy).await;
}

#[tokio::test]
async fn a_stall_holds_bytes_back_until_it_ends() {
    let (server, proxy) = proxied().await;
    let (mut client, mut accepted) = connected(&server, &proxy).await;
    client.write_all(b"before").await.unwrap();
    assert_eq!(read(&mut accepted, 6).await, b"before");

    proxy.set(Mode::Stall).await.unwrap();
    client.write_all(b"held").await.unwrap();
    accepted.write_all(b"back").await.unwrap();

    timeout(NEVER, accepted.read_u8()).await.expect_err("a byte came through to the server");
    timeout(NEVER, client.read_u8()).await.expect_err("a byte came through to the client");
    proxy.set(Mode::Pass).await.unwrap();
    assert_eq!(read(&mut accepted, 4).await, b"held");
    assert_eq!(read(&mut client, 4).await, b"back");
}

#[tokio::test]
async fn a_connection_accepted_in_a_stall_does_not_reach_the_server_before_its_end() {
    let (server, proxy) = proxied().await;
    proxy.set(Mode::Stall).await.unwrap();

    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    client.write_all(b"hello").await.unwrap();

    timeout(NEVER, server.accept()).await.expect_err("the server was reached");
    proxy.set(Mode::Pass).await.unwrap();
    let (mut accepted, _) = timeout(SOON, server.accept()).await.unwrap().unwrap();
    assert_eq!(read(&mut accepted, 5).await, b"hello");
}

#[tokio::test]
async fn a_stalled_connection_can_be_cut() {
    let (server, proxy) = proxied().await;
    let (mut client, _accepted) = connected(&server, &proxy).await;
    proxy.set(Mode::Stall).await.unwrap();

    assert_eq!(proxy.cut().await, 1);

    assert_eq!(read_to_end(&mut client).await.1, Some(ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn a_connection_is_reset_after_exactly_n_bytes_to_its_client() {
    let (server, proxy) = proxied().await;
    let (mut client, mut accepted) = connected(&server, &proxy).await;
    accepted.write_all(b"uncounted").await.unwrap();
    assert_eq!(read(&mut client, 9).await, b"uncounted");

    proxy.set(Mode::CutAfter(1000)).await.unwrap();
    client.write_all(&[1; 5000]).await.unwrap();
    assert_eq!(read(&mut accepted, 5000).await, [1; 5000], "what goes to the server does not count");
    accepted.write_all(&[2; 999]).await.unwrap();
    assert_eq!(read(&mut client, 999).await, [2; 999]);
    accepted.write_all(&[3; 999]).await.unwrap();

    assert_eq!(read_to_end(&mut client).await, (vec![3], Some(ErrorKind::ConnectionReset)));
    assert_eq!(proxy.counts().reset, 1);
}

#[tokio::test]
async fn each_connection_has_its_own_byte_limit() {
    let (server, proxy) = proxied().await;
    proxy.set(Mode::CutAfter(4)).await.unwrap();

    for _ in 0..3 {
        let (mut client, mut accepted) = connected(&server, &proxy).await;
        accepted.write_all(b"12345").await.unwrap();
        assert_eq!(read_to_end(&mut client).await, (b"1234".to_vec(), Some(ErrorKind::ConnectionReset)));
    }

    assert_eq!(proxy.counts().accepted, 3);
}

#[tokio::test]
async fn without_a_server_a_client_is_reset() {
    let (server, proxy) = proxied().await;
    drop(server);

    let mut client = TcpStream::connect(proxy.address()).await.unwrap();

    assert_eq!(read_to_end(&mut client).await.1, Some(ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn a_dropped_proxy_closes_its_connections_and_its_port() {
    let (server, proxy) = proxied().await;
    let (mut client, _accepted) = connected(&server, &proxy).await;
    let address = proxy.address();

    drop(proxy);

    assert_eq!(read_to_end(&mut client).await.1, Some(ErrorKind::ConnectionReset));
    let gone = async { while TcpStream::connect(address).await.is_ok() {} };
    timeout(SOON, gone).await.expect("the port still accepts");
}
