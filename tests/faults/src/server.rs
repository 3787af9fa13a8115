//! The server: its port, its connections, its record.

use std::{io, net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    Collection, Cut, Fault, Frame, On, Request, ReservedPort, Status, StreamingLists, service::Service,
    watch::Deed,
};

/// A Kubernetes API server on a loopback port of its own, with one collection of pods and as many faults as a
/// test wants. It ends, with all its connections and without a word, when dropped.
#[derive(Debug)]
pub struct FaultServer {
    port: ReservedPort,
    service: Arc<Service>,
    listening: Mutex<Option<Listening>>,
}

/// The task that accepts.
#[derive(Debug)]
struct Listening {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

// === impl FaultServer ===

impl FaultServer {
    /// Listens on a free port, with an empty collection.
    ///
    /// # Errors
    /// No port can be had.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start() -> io::Result<Self> {
        let server =
            Self { port: ReservedPort::reserve()?, service: Arc::default(), listening: Mutex::default() };
        server.open_port()?;
        Ok(server)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// What it has.
    #[must_use]
    pub fn collection(&self) -> &Collection {
        &self.service.collection
    }

    /// The requests that `on` means meet this fault. Of several rules for one request the oldest that has its
    /// turn counts.
    pub fn plan(&self, on: On, fault: Fault) {
        self.service.plan.add(on, fault);
    }

    /// How it meets requests for streaming lists from now on.
    pub fn set_streaming_lists(&self, streaming: StreamingLists) {
        *self.service.streaming_lists.lock() = streaming;
    }

    /// Cuts every watch that is open, after what happened so far was told. Answers how many those were.
    pub fn cut(&self, cut: Cut) -> usize {
        self.service.order(&Deed::Cut(cut))
    }

    /// Sends this frame on every watch that is open, after what happened so far was told. Answers how many those
    /// were. They stay open, whatever the frame says.
    pub fn send(&self, frame: Frame) -> usize {
        self.service.order(&Deed::Send(frame))
    }

    /// Ends every watch that is open with this ERROR event, after what happened so far was told. Answers how many
    /// those were.
    pub fn fail(&self, status: &Status) -> usize {
        self.send(Frame::error(status));
        self.cut(Cut::End)
    }

    /// Sends a bookmark on every watch that is open and asked for bookmarks. Answers how many are open.
    pub fn send_bookmark(&self) -> usize {
        self.service.order(&Deed::Bookmark)
    }

    /// How many watches are open and follow the collection; one that was cut does not.
    #[must_use]
    pub fn open_watches(&self) -> usize {
        self.service.open_watches()
    }

    /// Stops listening: on return, connections are refused. The open ones go on.
    ///
    /// # Cancel safety
    /// The port closes nevertheless.
    pub async fn close_port(&self) {
        let listening = self.listening.lock().take();
        if let Some(Listening { stop, task }) = listening {
            stop.cancel();
            // It cannot fail but by a panic, which a test sees anyway.
            let _ = task.await;
        }
    }

    /// Listens again, on the same port. Does nothing where it listens already.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open_port(&self) -> io::Result<()> {
        let mut listening = self.listening.lock();
        if listening.is_none() {
            let listener = self.port.listen()?;
            let stop = self.service.stop.child_token();
            let accepting = Arc::clone(&self.service).accept(listener, stop.clone());
            *listening = Some(Listening { stop, task: self.service.tasks.spawn(accepting) });
        }
        Ok(())
    }

    /// Every request so far, in the order they came.
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
