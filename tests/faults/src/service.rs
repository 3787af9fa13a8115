//! The shared state of the server's tasks, and the answer to each request.

use std::{
    future::pending,
    sync::{Arc, atomic::AtomicUsize},
};

use bytes::Bytes;
use http::Response;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Call, Collection, Cut, Fault, Request, Status, StreamingLists, answer,
    body::Body,
    fault::{Head, Spoil},
    outlet::Outlet,
    plan::Plan,
    reply::Reply,
    watch::{Deed, Order, Watch},
    wire::Control,
};

/// The server without its port.
#[derive(Debug, Default)]
pub(crate) struct Service {
    pub(crate) collection: Collection,
    pub(crate) plan: Plan,
    pub(crate) streaming_lists: Mutex<StreamingLists>,
    pub(crate) requests: Mutex<Vec<Request>>,
    /// The order channels of the open watches.
    watches: Mutex<Vec<mpsc::UnboundedSender<Order>>>,
    /// The number of accepted connections.
    pub(crate) connections: AtomicUsize,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

/// Runs the background tasks of HTTP/2 connections.
#[derive(Clone)]
pub(crate) struct Executor(TaskTracker);

/// An answer before it is spoiled.
enum Good {
    Reply(Reply),
    Watch(Watch),
}

// === impl Service ===

impl Service {
    pub(crate) fn executor(&self) -> Executor {
        Executor(self.tasks.clone())
    }

    /// Resolves when the server stops.
    pub(crate) async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Records the request and answers it. An error resets the stream, or the connection on HTTP/1.1.
    pub(crate) async fn answer(
        self: Arc<Self>,
        request: Request,
        control: Arc<Control>,
    ) -> Result<Response<Body>, h2::Error> {
        self.requests.lock().push(request.clone());
        let Fault { head, spoil } = self.plan.take(&request).unwrap_or_else(Fault::good);
        let good = match head {
            Head::Never(cut) if cut != Cut::GoAway => return never(cut, &control).await,
            Head::Never(cut) => {
                control.cut(cut);
                self.good(&request)
            }
            Head::Good => self.good(&request),
            Head::Table => Good::Reply(Reply::json(answer::table(&self.collection).to_string())),
            Head::Other(reply) => Good::Reply(reply),
        };
        Ok(self.respond(good, spoil, control))
    }

    /// The number of open watches.
    pub(crate) fn open_watches(&self) -> usize {
        let mut watches = self.watches.lock();
        watches.retain(|watch| !watch.is_closed());
        watches.len()
    }

    /// Sends an order to every open watch. A watch executes the order after it has sent all changes so far. A watch
    /// that is cut no longer counts as open. Returns the number of watches.
    pub(crate) fn order(&self, deed: &Deed) -> usize {
        let order = Order { version: self.collection.version(), deed: deed.clone() };
        let mut watches = self.watches.lock();
        watches.retain(|watch| watch.send(order.clone()).is_ok());
        let count = watches.len();
        if matches!(deed, Deed::Cut(cut) if *cut != Cut::GoAway) {
            watches.clear();
        }
        count
    }

    fn good(&self, request: &Request) -> Good {
        let answered = match request.call {
            _ if !request.get("labelSelector").is_empty() || !request.get("fieldSelector").is_empty() => {
                Err(Status::of(400).with_message("this server has no selectors"))
            }
            Call::Discovery => Ok(Good::Reply(Reply::json(answer::discovery()))),
            Call::List => answer::list(&self.collection, request).map(|list| Good::Reply(Reply::json(list))),
            Call::Watch => {
                Watch::new(&self.collection, request, *self.streaming_lists.lock()).map(Good::Watch)
            }
            Call::Other => Err(Status::of(404)),
        };
        answered.unwrap_or_else(|status| Good::Reply(Reply::refusal(&status)))
    }

    fn respond(&self, good: Good, spoil: Spoil, control: Arc<Control>) -> Response<Body> {
        let (pieces, body) = Body::new(control);
        let outlet = Outlet::new(pieces, spoil);
        let mut response = Response::new(body);
        match good {
            Good::Reply(reply) => {
                *response.status_mut() = reply.code;
                *response.headers_mut() = reply.headers;
                self.write(outlet.whole(reply.body));
            }
            Good::Watch(watch) => {
                *response.headers_mut() = Reply::json(Bytes::new()).headers;
                let (orders, received) = mpsc::unbounded_channel();
                self.watches.lock().push(orders);
                self.write(watch.serve(outlet, received));
            }
        }
        response
    }

    /// Writes a body until it is complete, the client stops reading, or the server stops.
    fn write(&self, writing: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            stop.run_until_cancelled(writing).await;
        });
    }
}

// === impl Executor ===

impl<F> hyper::rt::Executor<F> for Executor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}

/// Sends no answer. The future of the request is dropped when its connection ends.
async fn never(cut: Cut, control: &Control) -> Result<Response<Body>, h2::Error> {
    match cut {
        Cut::Stream(reason) => return Err(reason.into()),
        Cut::Stall => {}
        Cut::End => control.cut(Cut::Close),
        cut => control.cut(cut),
    }
    pending().await
}
