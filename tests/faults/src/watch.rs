//! The life of one watch.

use std::time::Duration;

use tokio::{
    sync::{mpsc, watch::Receiver as Versions},
    time::Instant,
};

use crate::{
    Change, ChangeKind, Collection, Cut, Frame, Request, Status,
    outlet::{Outlet, Over},
};

/// How the server answers requests for streaming lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamingLists {
    /// The server serves them.
    #[default]
    Served,
    /// The server refuses them with 422 because the feature is off.
    Refused,
    /// The server, or a proxy before it, is older than the feature and serves a plain watch without initial events.
    Unknown,
    /// The server sends the initial events but never the bookmark that ends them (D-3).
    Unmarked,
}

/// What a test does to an open watch after the watch has sent all changes up to `version`.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) version: u64,
    pub(crate) deed: Deed,
}

#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Send(Frame),
    Bookmark,
    Cut(Cut),
}

/// The parameters and the position of one watch.
pub(crate) struct Watch {
    collection: Collection,
    namespace: Option<String>,
    position: u64,
    initial: Initial,
    bookmarks: bool,
    timeout: Duration,
}

/// What a watch sends before live changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Initial {
    Nothing,
    /// The current state.
    State,
    /// The current state, and a bookmark that marks its end.
    MarkedState,
}

// === impl Watch ===

impl Watch {
    /// Prepares the requested watch, or returns the refusal.
    pub(crate) fn new(
        collection: &Collection,
        request: &Request,
        streaming: StreamingLists,
    ) -> Result<Self, Status> {
        let invalid = |message: &str| Status::of(422).with_message(message);
        let initial_events = request.wants_initial_events() && streaming != StreamingLists::Unknown;
        if initial_events && streaming == StreamingLists::Refused {
            return Err(invalid(
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
            ));
        }
        if initial_events && request.get("resourceVersionMatch") != "NotOlderThan" {
            return Err(invalid("sendInitialEvents needs resourceVersionMatch=NotOlderThan"));
        }
        let requested = request.resource_version();
        let position = match requested {
            "" => 0,
            requested => {
                requested.parse().map_err(|_| Status::of(400).with_message("invalid resource version"))?
            }
        };
        if position > collection.version() {
            return Err(Status::too_large(position, collection.version()));
        }
        let initial = match (initial_events, streaming) {
            (true, StreamingLists::Unmarked) => Initial::State,
            (true, _) => Initial::MarkedState,
            (false, _) if position == 0 => Initial::State,
            (false, _) => Initial::Nothing,
        };
        Ok(Self {
            collection: collection.clone(),
            namespace: request.namespace().map(str::to_owned),
            position,
            initial,
            bookmarks: request.get("allowWatchBookmarks") == "true",
            timeout: request.get("timeoutSeconds").parse().map_or(Duration::MAX, Duration::from_secs),
        })
    }

    /// Serves the watch until its timeout, an order to end it, or the end of the client.
    pub(crate) async fn serve(mut self, mut outlet: Outlet, mut orders: mpsc::UnboundedReceiver<Order>) {
        // After `Over` the client no longer reads, so there is nothing to cut.
        if self.send(&mut outlet, &mut orders).await.is_ok() {
            outlet.cut(Cut::End).await;
        }
    }

    async fn send(
        &mut self,
        outlet: &mut Outlet,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) -> Result<(), Over> {
        let deadline = Instant::now().checked_add(self.timeout);
        let mut versions = self.collection.versions();
        outlet.begin().await?;
        if self.initial == Initial::Nothing && self.collection.is_expired(self.position) {
            return outlet.frame(Frame::error(&Status::of(410))).await;
        }
        self.send_initial(outlet).await?;
        loop {
            tokio::select! {
                biased;
                () = outlet.closed() => return Err(Over),
                () = sleep_until(deadline) => return Ok(()),
                order = orders.recv() => match order {
                    // The server stops.
                    None => return Err(Over),
                    Some(order) => {
                        self.catch_up(order.version, outlet).await?;
                        self.obey(order.deed, outlet).await?;
                    }
                },
                () = self.is_behind(&mut versions) => {
                    let version = *versions.borrow_and_update();
                    self.catch_up(version, outlet).await?;
                }
            }
        }
    }

    async fn is_behind(&self, versions: &mut Versions<u64>) {
        // It fails only if the collection is gone, and then the server is gone too.
        let _ = versions.wait_for(|version| *version > self.position).await;
    }

    /// Sends the initial events, if the watch has any.
    async fn send_initial(&mut self, outlet: &mut Outlet) -> Result<(), Over> {
        if self.initial == Initial::Nothing {
            return Ok(());
        }
        self.position = self.collection.version();
        for change in self.collection.state_at(self.position) {
            if self.is_about(&change) {
                outlet.frame(Frame::event("ADDED", &change.object)).await?;
            }
        }
        if self.initial == Initial::MarkedState && self.bookmarks {
            outlet.frame(Frame::end_mark(self.position, "true")).await?;
        }
        Ok(())
    }

    /// Sends the changes since the last position, up to `version`.
    async fn catch_up(&mut self, version: u64, outlet: &mut Outlet) -> Result<(), Over> {
        let changes = self.collection.visible_between(self.position, version);
        self.position = self.position.max(version);
        for change in changes.into_iter().filter(|change| self.is_about(change)) {
            let kind = match change.kind {
                ChangeKind::Added => "ADDED",
                ChangeKind::Modified => "MODIFIED",
                ChangeKind::Deleted => "DELETED",
            };
            outlet.frame(Frame::event(kind, &change.object)).await?;
        }
        Ok(())
    }

    async fn obey(&self, deed: Deed, outlet: &mut Outlet) -> Result<(), Over> {
        match deed {
            Deed::Send(frame) => outlet.frame(frame).await,
            Deed::Bookmark if self.bookmarks => outlet.frame(Frame::bookmark(self.position)).await,
            Deed::Bookmark => Ok(()),
            Deed::Cut(cut) => {
                outlet.cut(cut).await;
                if cut == Cut::GoAway { Ok(()) } else { Err(Over) }
            }
        }
    }

    fn is_about(&self, change: &Change) -> bool {
        let namespace = change.key.split_once('/').map(|(namespace, _)| namespace);
        self.namespace.is_none() || self.namespace.as_deref() == namespace
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
