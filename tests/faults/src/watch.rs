//! A watch, from its opening to its end.

use std::time::Duration;

use tokio::{
    sync::{mpsc, watch::Receiver as Versions},
    time::Instant,
};

use crate::{
    Change, ChangeKind, Collection, Cut, Frame, Request, Status,
    outlet::{Outlet, Over},
};

/// How the server meets requests for streaming lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamingLists {
    /// It serves them.
    #[default]
    Served,
    /// The feature is off: 422.
    Refused,
    /// It is older than the feature, or a proxy before it is: a plain watch, with no initial events.
    Unknown,
    /// It sends the initial events and never says that they were all (D-3).
    Unmarked,
}

/// What a test does to a watch that is open, once it has told everything up to this version.
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

/// One watch that will be served.
pub(crate) struct Watch {
    collection: Collection,
    namespace: Option<String>,
    position: u64,
    initial: Initial,
    bookmarks: bool,
    timeout: Duration,
}

/// What comes before what happens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Initial {
    Nothing,
    /// The current state.
    State,
    /// The same, and a bookmark that says so.
    MarkedState,
}

// === impl Watch ===

impl Watch {
    /// The watch asked for, or why there is none.
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
        let asked = request.resource_version();
        let position = match asked {
            "" => 0,
            asked => asked.parse().map_err(|_| Status::of(400).with_message("invalid resource version"))?,
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

    /// Serves until the timeout asked for, an order to end, or the client's going away.
    pub(crate) async fn serve(mut self, mut outlet: Outlet, mut orders: mpsc::UnboundedReceiver<Order>) {
        // Over: there is nobody to tell.
        if self.tell(&mut outlet, &mut orders).await.is_ok() {
            outlet.cut(Cut::End).await;
        }
    }

    async fn tell(
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
        self.tell_state(outlet).await?;
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
        // It fails where the collection is gone, and the server with it.
        let _ = versions.wait_for(|version| *version > self.position).await;
    }

    /// The initial events, if any.
    async fn tell_state(&mut self, outlet: &mut Outlet) -> Result<(), Over> {
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

    /// What happened since, up to `version`.
    async fn catch_up(&mut self, version: u64, outlet: &mut Outlet) -> Result<(), Over> {
        let changes = self.collection.told_between(self.position, version);
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
