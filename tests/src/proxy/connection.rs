//! One connection through the proxy.

use std::{io, net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::watch,
};
use tokio_util::sync::CancellationToken;

use super::{
    counters::Counters,
    mode::{Mode, Setting},
};

/// The most bytes that one direction holds between reading and writing.
const BUFFER_BYTES: usize = 16 * 1024;

pub(super) struct Connection {
    pub(super) client: TcpStream,
    pub(super) server: SocketAddr,
    pub(super) settings: watch::Receiver<Setting>,
    pub(super) cut: CancellationToken,
    pub(super) counters: Arc<Counters>,
}

/// One direction of a connection.
struct Direction {
    settings: watch::Receiver<Setting>,
    /// True if the bytes go to the client. Only these bytes count for [`Mode::CutAfter`].
    to_client: bool,
    /// The number of bytes that may still pass before the connection is reset.
    remaining: Option<u64>,
}

// === impl Connection ===

impl Connection {
    /// Runs until both sides have closed, one of them has failed, or the connection is cut.
    pub(super) async fn run(mut self) {
        let mut server = None;
        let cut = self.cut.clone();
        let ended = tokio::select! {
            biased;
            () = cut.cancelled() => Err(io::ErrorKind::ConnectionReset.into()),
            ended = self.forward(&mut server) => ended,
        };
        if ended.is_err() {
            self.counters.reset();
            // With a linger time of zero, closing sends a reset and drops the unsent bytes. If the option fails, an
            // orderly close is the next best end.
            for stream in [Some(&self.client), server.as_ref()].into_iter().flatten() {
                let _ = stream.set_zero_linger();
            }
        }
        drop((self.client, server));
        self.counters.ended();
    }

    /// The caller owns `server`, so it can be reset after this future is dropped.
    async fn forward(&mut self, server: &mut Option<TcpStream>) -> io::Result<()> {
        unstalled(&mut self.settings).await?;
        let server = server.insert(TcpStream::connect(self.server).await?);
        // Like a network, the proxy does not join small packets.
        self.client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (client_reads, client_writes) = self.client.split();
        let (server_reads, server_writes) = server.split();
        let up = Direction::new(self.settings.clone(), false).pump(client_reads, server_writes);
        let down = Direction::new(self.settings.clone(), true).pump(server_reads, client_writes);
        tokio::try_join!(up, down)?;
        Ok(())
    }
}

// === impl Direction ===

impl Direction {
    fn new(mut settings: watch::Receiver<Setting>, to_client: bool) -> Self {
        // The first read of the setting counts as a change.
        settings.mark_changed();
        Self { settings, to_client, remaining: None }
    }

    /// Forwards until the sender has closed, and closes the other side.
    async fn pump(mut self, mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let length = tokio::select! {
                biased;
                changed = self.settings.changed() => {
                    changed.map_err(|_| io::ErrorKind::ConnectionAborted)?;
                    self.follow_setting().await?;
                    continue;
                }
                length = from.read(&mut buffer) => length?,
            };
            if length == 0 {
                return to.shutdown().await;
            }
            let chunk = self.admit(buffer.get(..length).unwrap_or_default());
            to.write_all(chunk).await?;
            self.check_remaining()?;
        }
    }

    async fn follow_setting(&mut self) -> io::Result<()> {
        let mode = unstalled(&mut self.settings).await?;
        self.remaining = match mode {
            Mode::CutAfter(bytes) if self.to_client => Some(bytes),
            _ => None,
        };
        self.check_remaining()
    }

    /// The part of a chunk that may pass.
    fn admit<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let Some(remaining) = &mut self.remaining else { return chunk };
        let length = chunk.len().min(usize::try_from(*remaining).unwrap_or(usize::MAX));
        *remaining -= length as u64;
        chunk.get(..length).unwrap_or_default()
    }

    fn check_remaining(&self) -> io::Result<()> {
        match self.remaining {
            Some(0) => Err(io::ErrorKind::ConnectionReset.into()),
            _ => Ok(()),
        }
    }
}

/// Waits while the proxy stalls. Returns the mode that holds afterwards, and marks it as seen.
async fn unstalled(settings: &mut watch::Receiver<Setting>) -> io::Result<Mode> {
    let setting = settings.wait_for(|it| it.mode != Mode::Stall).await;
    setting.map(|it| it.mode).map_err(|_| io::ErrorKind::ConnectionAborted.into())
}
