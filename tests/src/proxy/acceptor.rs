//! The task that listens.

use std::{future, io, net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::{
    connection::Connection,
    counters::Counters,
    mode::{Generation, Mode, Setting},
};
use crate::cluster::port::ReservedPort;

pub(super) struct Acceptor {
    pub(super) server: SocketAddr,
    pub(super) port: ReservedPort,
    pub(super) settings: watch::Receiver<Setting>,
    /// The number of the setting in force. The channel is closed when this task has ended.
    pub(super) applying: watch::Sender<u64>,
    pub(super) generation: Arc<Mutex<Generation>>,
    pub(super) counters: Arc<Counters>,
}

// === impl Acceptor ===

impl Acceptor {
    /// Runs until the task is aborted or cannot listen again.
    pub(super) async fn run(mut self, listener: TcpListener) {
        let mut listener = Some(listener);
        loop {
            let setting = *self.settings.borrow_and_update();
            if setting.mode == Mode::Refuse {
                // The kernel refuses new connections, and resets connections that waited to be accepted.
                listener = None;
            } else if listener.is_none() {
                let Ok(again) = self.port.listen() else { return };
                listener = Some(again);
            }
            self.applying.send_replace(setting.number);
            tokio::select! {
                biased;
                changed = self.settings.changed() => if changed.is_err() { return },
                // A failed accept belongs to a client that is gone already.
                accepted = accept(listener.as_ref()) => if let Ok(client) = accepted { self.open(client) },
            }
        }
    }

    fn open(&self, client: TcpStream) {
        self.counters.accepted();
        // The lock is held while spawning: a cut either finds this connection among the old ones, or happened before
        // it.
        let generation = self.generation.lock();
        let connection = Connection {
            client,
            server: self.server,
            settings: self.settings.clone(),
            cut: generation.cut.clone(),
            counters: self.counters.clone(),
        };
        generation.connections.spawn(connection.run());
    }
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => listener.accept().await.map(|(client, _)| client),
        None => future::pending().await,
    }
}
