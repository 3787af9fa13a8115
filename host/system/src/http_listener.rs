//! An HTTP server that answers while strangers keep connections busy.
//!
//! A connection is *occupied* while an answer, or its next part, is being made for a request that has arrived as a whole. All
//! other connections wait for the client: for its first byte, for the rest of a header or of a body, for its next request, or until
//! it takes a part of an answer. They cost the client nothing, so their number is limited and so is their time. hyper has a timeout
//! for the header of an HTTP/1.1 request only.

mod address;
mod exchange;
mod socket;

use std::{collections::HashMap, io, sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::{AbortHandle, Id, JoinSet},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

pub use address::HttpAddress;
use exchange::{Activity, Exchanges};
use socket::{Socket, Stream};

/// The pause after the listener failed. The usual reason is a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// The most bytes of a request's header. A URL alone may have 64 KiB.
const HEADER_BYTES: usize = 128 << 10;

/// The time between two log lines about connections that were closed for lack of room.
const LOG_SPACING: Duration = Duration::from_secs(60);

/// The limits of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// The most connections at once. At the limit a new connection replaces the one that has waited longest for its
    /// client. If every connection is occupied, the new one is closed.
    pub connections: usize,
    /// The time in which a request must arrive as a whole and a client must take a part of an answer, and the longest silence
    /// between two requests.
    pub patience: Duration,
    /// The most requests at once on a connection with HTTP/2.
    pub streams: u32,
    /// The time for the present answers once the server stops.
    pub drain: Duration,
}

/// A listener whose connections have [`HttpLimits`].
#[derive(Debug)]
pub struct HttpListener {
    socket: Socket,
    limits: HttpLimits,
}

/// The open connections.
struct Connections {
    limits: HttpLimits,
    tasks: JoinSet<()>,
    open: HashMap<Id, (Arc<Activity>, AbortHandle)>,
    /// Connections that were closed for lack of room since the last log line about them.
    closed: u64,
    logged: Option<Instant>,
}

// === impl HttpListener ===

impl HttpListener {
    /// Listens at once. A Unix socket has mode 0600, so that only this user and the superuser can connect. It replaces the
    /// socket of a process that has ended, and is removed when the server stops.
    ///
    /// # Errors
    /// The address cannot be used. The kind is [`AddrInUse`](io::ErrorKind::AddrInUse) if another process listens there.
    pub async fn bind(address: impl Into<HttpAddress>, limits: HttpLimits) -> io::Result<Self> {
        Ok(Self { socket: Socket::bind(address.into()).await?, limits })
    }

    /// The address that it listens on. If port 0 was requested, this is the port that was chosen.
    pub fn address(&self) -> HttpAddress {
        self.socket.address()
    }

    /// Serves until `stop` is cancelled. Then accepts no more connections, closes those without a request to answer, and
    /// waits for the present answers.
    ///
    /// # Cancel safety
    /// If the future is dropped, all connections are closed.
    pub async fn serve(self, router: Router, stop: CancellationToken) {
        let Self { socket, limits } = self;
        let mut connections = Connections::new(limits);
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(ended) = connections.tasks.join_next_with_id() => {
                    connections.ended(ended.map_or_else(|error| error.id(), |(id, ())| id));
                    continue;
                }
                accepted = socket.accept() => accepted,
            };
            match accepted {
                Ok(stream) => connections.accept(stream, &router, &stop),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    connections.close_longest_waiting();
                    stop.run_until_cancelled(sleep(ACCEPT_PAUSE)).await;
                }
            }
        }
        drop(socket);
        connections.drain().await;
    }
}

// === impl Connections ===

impl Connections {
    fn new(limits: HttpLimits) -> Self {
        Self { limits, tasks: JoinSet::new(), open: HashMap::new(), closed: 0, logged: None }
    }

    fn accept(&mut self, stream: Stream, router: &Router, stop: &CancellationToken) {
        if self.open.len() >= self.limits.connections {
            self.note_closed();
            if !self.close_longest_waiting() {
                return;
            }
        }
        let activity = Arc::new(Activity::new());
        let (router, limits, stop) = (router.clone(), self.limits, stop.clone());
        let task = match stream {
            Stream::Tcp(stream) => {
                // Small frames should be sent at once. Without the option the connection is only slower.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY was not set");
                }
                self.tasks.spawn(serve(stream, router, Arc::clone(&activity), limits, stop))
            }
            Stream::Unix(stream) => {
                self.tasks.spawn(serve(stream, router, Arc::clone(&activity), limits, stop))
            }
        };
        self.open.insert(task.id(), (activity, task));
    }

    fn ended(&mut self, id: Id) {
        self.open.remove(&id);
    }

    /// Closes the connection that has waited longest for its client. Returns false if there is none.
    fn close_longest_waiting(&mut self) -> bool {
        let waiting =
            self.open.iter().filter_map(|(id, (activity, _))| Some((activity.waiting_since()?, *id)));
        let Some((_, longest)) = waiting.min() else { return false };
        if let Some((_, task)) = self.open.remove(&longest) {
            task.abort();
        }
        true
    }

    fn note_closed(&mut self) {
        self.closed += 1;
        if self.logged.is_none_or(|at| at.elapsed() >= LOG_SPACING) {
            let limit = self.limits.connections;
            tracing::warn!(
                limit,
                closed = self.closed,
                "too many connections; those that wait for their client are closed"
            );
            (self.closed, self.logged) = (0, Some(Instant::now()));
        }
    }

    /// Waits for the present answers.
    async fn drain(mut self) {
        for (activity, task) in self.open.values() {
            if !activity.is_answering() {
                task.abort();
            }
        }
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // What is left ends with the set.
        timeout(self.limits.drain, ended).await.ok();
    }
}

/// Serves one connection until it ends, or waits too long for its client.
async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    activity: Arc<Activity>,
    limits: HttpLimits,
    stop: CancellationToken,
) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.patience).max_buf_size(HEADER_BYTES);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(limits.streams);
    let service = Exchanges::new(router, Arc::clone(&activity));
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let result = tokio::select! {
        biased;
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        result = connection.as_mut() => result,
        () = activity.waits(limits.patience) => return,
    };
    // Most errors are clients that close the connection of a watch, which is how watches usually end.
    if let Err(error) = result {
        tracing::debug!(error, "connection ended with an error");
    }
}

#[cfg(test)]
mod tests;
