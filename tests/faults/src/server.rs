//! The server: its port, its open watches and its recorded requests.

use std::{io, net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    Collection, Cut, Fault, Frame, On, Request, ReservedPort, Status, StreamingLists, connection,
    service::Service, watch::Deed,
};

/// A Kubernetes API server on its own loopback port, with one collection of pods and the faults that a test plans.
/// Dropping the server ends it and all of its connections at once.
#[derive(Debug)]
pub struct FaultServer {
    port: ReservedPort,
    service: Arc<Service>,
    listening: Mutex<Option<Listening>>,
}

/// The task that accepts connections.
#[derive(Debug)]
struct Listening {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

// === impl FaultServer ===

impl FaultServer {
    /// Starts a server with an empty collection on a free port.
    ///
    /// # Errors
    /// No port is free.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start() -> io::Result<Self> {
        let server =
            Self { port: ReservedPort::reserve()?, service: Arc::default(), listening: Mutex::default() };
        server.open_port()?;
        Ok(server)
    }

    /// The address of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The pods of the server.
    #[must_use]
    pub fn collection(&self) -> &Collection {
        &self.service.collection
    }

    /// Assigns a fault to the requests that `on` selects. If several rules apply to a request, the oldest wins.
    pub fn plan(&self, on: On, fault: Fault) {
        self.service.plan.add(on, fault);
    }

    /// Sets how the server answers requests for streaming lists from now on.
    pub fn set_streaming_lists(&self, streaming: StreamingLists) {
        *self.service.streaming_lists.lock() = streaming;
    }

    /// Cuts every open watch after it has sent all changes so far. Returns the number of watches.
    pub fn cut(&self, cut: Cut) -> usize {
        self.service.order(&Deed::Cut(cut))
    }

    /// Sends this frame on every open watch after all changes so far. The watches stay open whatever the frame
    /// contains. Returns the number of watches.
    pub fn send(&self, frame: Frame) -> usize {
        self.service.order(&Deed::Send(frame))
    }

    /// Ends every open watch with this ERROR event after all changes so far. Returns the number of watches.
    pub fn fail(&self, status: &Status) -> usize {
        self.send(Frame::error(status));
        self.cut(Cut::End)
    }

    /// Sends a bookmark on every open watch that requested bookmarks. Returns the number of open watches.
    pub fn send_bookmark(&self) -> usize {
        self.service.order(&Deed::Bookmark)
    }

    /// The number of open watches. A watch that was cut is no longer open.
    #[must_use]
    pub fn open_watches(&self) -> usize {
        self.service.open_watches()
    }

    /// Stops listening. Afterwards new connections are refused; open connections continue.
    ///
    /// # Cancel safety
    /// The port is closed even if the future is dropped.
    pub async fn close_port(&self) {
        let listening = self.listening.lock().take();
        if let Some(Listening { stop, task }) = listening {
            stop.cancel();
            // The task fails only by a panic, which the test reports anyway.
            let _ = task.await;
        }
    }

    /// Listens again on the same port. Does nothing if the server already listens.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open_port(&self) -> io::Result<()> {
        let mut listening = self.listening.lock();
        if listening.is_none() {
            let listener = self.port.listen()?;
            let stop = self.service.stop.child_token();
            let accepting = connection::accept(Arc::clone(&self.service), listener, stop.clone());
            *listening = Some(Listening { stop, task: self.service.tasks.spawn(accepting) });
        }
        Ok(())
    }

    /// All requests so far in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.service.requests.lock().clone()
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.service.stop.cancel();
    }
}
