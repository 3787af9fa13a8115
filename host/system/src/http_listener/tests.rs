use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::LazyLock,
};

use axum::routing::{get, post};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{Notify, Semaphore},
    task::JoinHandle,
};

use super::*;

/// Far more than an answer takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// A patience that ends within a test, and not while a busy machine passes a request on.
const SHORT: Duration = Duration::from_millis(500);

const REQUEST: &str = "GET /now HTTP/1.1\r\nHost: here\r\n\r\n";

/// Requests that never arrive as a whole.
static HALF: LazyLock<[String; 5]> = LazyLock::new(|| {
    [
        String::new(),
        "GET /now HTTP/1.1\r\nHost: here\r\nX-Slow: ".to_owned(),
        // The start of an HTTP/2 connection, and a whole one without a request.
        "PRI * HTTP/2".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "POST /read HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\nhalf".to_owned(),
    ]
});

/// An HTTP/2 connection with a whole request, whose client has no room for a byte of the answer: the preface, settings with an
/// initial window of 0, and the header `GET /now`.
const NO_ROOM: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\
    \x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\
    \x00\x00\x0e\x01\x05\x00\x00\x00\x01\x82\x86\x04\x04/now\x01\x04here";

/// The type of the frame of HTTP/2 with the header of an answer.
const HEADERS: u8 = 1;

struct Server {
    address: SocketAddr,
    /// Each permit lets one request to `/later` be answered.
    release: Arc<Semaphore>,
    /// Signalled when a request to `/later` has arrived.
    arrived: Arc<Notify>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

fn limits(connections: usize, patience: Duration) -> HttpLimits {
    HttpLimits { connections, patience, streams: 8, drain: LONG }
}

impl Server {
    async fn start(limits: HttpLimits) -> Self {
        let any = HttpAddress::Tcp((Ipv4Addr::LOCALHOST, 0).into());
        let listener = HttpListener::bind(any, limits).await.unwrap();
        let address = listener.address().tcp().unwrap();
        let (release, arrived) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
        let (permits, notify) = (Arc::clone(&release), Arc::clone(&arrived));
        let later = move || async move {
            notify.notify_one();
            permits.acquire().await.unwrap().forget();
            "later"
        };
        let router = Router::new()
            .route("/now", get(|| async { "now" }))
            .route("/read", post(|body: bytes::Bytes| async move { body.len().to_string() }))
            .route("/later", get(later));
        let stop = CancellationToken::new();
        let serving = tokio::spawn(listener.serve(router, stop.clone()));
        Self { address, release, arrived, stop, serving }
    }

    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// Sends a request whose answer the client does not take. Returns once the header of the answer is there.
    async fn stall(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(NO_ROOM).await.unwrap();
        let header = async {
            loop {
                let mut head = [0; 9];
                stream.read_exact(&mut head).await.unwrap();
                let length = (usize::from(head[1]) << 8) | usize::from(head[2]);
                stream.read_exact(&mut vec![0; length]).await.unwrap();
                if head[3] == HEADERS {
                    return;
                }
            }
        };
        timeout(LONG, header).await.unwrap();
        stream
    }

    async fn is_well(&self) {
        let mut stream = self.send(REQUEST).await;
        assert_eq!(answer(&mut stream, "now").await, "HTTP/1.1 200 OK");
    }
}

/// Reads an answer up to the end of its body. Returns its first line.
async fn answer(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    let reading = async {
        while !read.ends_with(format!("\r\n\r\n{end}").as_bytes()) {
            read.push(stream.read_u8().await?);
        }
        io::Result::Ok(())
    };
    timeout(LONG, reading).await.unwrap().unwrap();
    String::from_utf8(read).unwrap().lines().next().unwrap().to_owned()
}

/// Waits until the server closes the connection.
async fn closed(mut stream: TcpStream) {
    // A reset is an end, too.
    timeout(LONG, stream.read_to_end(&mut Vec::new())).await.unwrap().ok();
}

#[tokio::test]
async fn requests_that_never_arrive_as_a_whole_keep_no_other_from_being_answered() {
    for half in &*HALF {
        let server = Server::start(limits(8, LONG)).await;
        let mut strangers = Vec::new();
        for _ in 0..100 {
            strangers.push(server.send(half).await);
        }

        server.is_well().await;
    }
}

#[tokio::test]
async fn a_connection_that_waits_too_long_for_its_client_is_closed() {
    let server = Server::start(limits(100, SHORT)).await;
    let mut idle = server.send(REQUEST).await;
    answer(&mut idle, "now").await;
    let mut waiting = vec![idle];
    for half in &*HALF {
        waiting.push(server.send(half).await);
    }
    for stream in waiting {
        closed(stream).await;
    }
}

#[tokio::test]
async fn answers_that_no_client_takes_keep_no_other_from_being_answered() {
    let server = Server::start(limits(8, LONG)).await;
    let mut strangers = Vec::new();
    for _ in 0..20 {
        strangers.push(server.stall().await);
    }

    server.is_well().await;
}

#[tokio::test]
async fn a_connection_whose_client_takes_no_answer_for_too_long_is_closed() {
    let server = Server::start(limits(100, SHORT)).await;
    closed(server.stall().await).await;
}

#[tokio::test]
async fn idle_connections_make_room_for_new_ones() {
    let server = Server::start(limits(8, LONG)).await;
    let mut idle = Vec::new();
    for _ in 0..50 {
        let mut stream = server.send(REQUEST).await;
        answer(&mut stream, "now").await;
        idle.push(stream);
    }

    // The last one is still open.
    let last = idle.last_mut().unwrap();
    last.write_all(REQUEST.as_bytes()).await.unwrap();
    answer(last, "now").await;
    closed(idle.remove(0)).await;
}

#[tokio::test]
async fn an_answer_may_take_longer_than_the_patience_and_is_never_replaced_by_a_new_connection() {
    let server = Server::start(limits(2, SHORT)).await;
    let mut occupied = Vec::new();
    for _ in 0..2 {
        occupied.push(server.send("GET /later HTTP/1.1\r\nHost: here\r\n\r\n").await);
        timeout(LONG, server.arrived.notified()).await.unwrap();
    }

    closed(server.send(REQUEST).await).await;
    timeout(2 * SHORT, occupied[0].peek(&mut [0])).await.expect_err("it is closed before its answer");
    server.release.add_permits(1);
    // One of the two is answered.
    let (one, two) = occupied.split_at_mut(1);
    let (mut byte, mut other) = ([0], [0]);
    tokio::select! {
        read = one[0].peek(&mut byte) => assert_eq!(read.unwrap(), 1),
        read = two[0].peek(&mut other) => assert_eq!(read.unwrap(), 1),
    }
    server.release.add_permits(1);
    for stream in &mut occupied {
        assert_eq!(answer(stream, "later").await, "HTTP/1.1 200 OK");
    }
    server.is_well().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = Server::start(limits(1, LONG)).await;
    let post = "POST /read HTTP/1.1\r\nHost: here\r\nContent-Length: 3\r\n\r\nabc";

    let mut stream = server.send(&[REQUEST, post, REQUEST].concat()).await;

    for end in ["now", "3", "now"] {
        assert_eq!(answer(&mut stream, end).await, "HTTP/1.1 200 OK");
    }
}

#[tokio::test]
async fn a_header_that_is_too_long_is_refused() {
    let server = Server::start(limits(8, LONG)).await;
    let long = format!("GET /now HTTP/1.1\r\nHost: here\r\nX-Long: {}", "x".repeat(2 * HEADER_BYTES));

    let mut stream = TcpStream::connect(server.address).await.unwrap();
    // The server may close the connection before it has read everything.
    stream.write_all(long.as_bytes()).await.ok();

    closed(stream).await;
    server.is_well().await;
}

#[tokio::test]
async fn a_stop_waits_for_answers_and_not_for_clients() {
    let server = Server::start(limits(8, LONG)).await;
    let half = server.send(&HALF[1]).await;
    let mut occupied = server.send("GET /later HTTP/1.1\r\nHost: here\r\n\r\n").await;
    timeout(LONG, server.arrived.notified()).await.unwrap();

    server.stop.cancel();
    closed(half).await;
    assert!(!server.serving.is_finished());
    server.release.add_permits(1);

    answer(&mut occupied, "later").await;
    timeout(LONG, server.serving).await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}
