//! One connection, from its acceptance to its end.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
};

use hyper::{body::Incoming, service::service_fn};
use hyper_util::{rt::TokioIo, server::conn::auto};
use tokio::net::TcpStream;

use crate::{
    Cut, Request,
    service::Service,
    wire::{Control, Wire},
};

/// Serves HTTP/1.1 or HTTP/2, whichever the client begins with, until the client closes, a fault ends it, or
/// the server stops.
pub(crate) async fn serve(stream: TcpStream, number: usize, server: Arc<Service>) {
    // As a network would, not gathering what was sent apart. Without it chunks only come later.
    let _ = stream.set_nodelay(true);
    let (control, mut cuts) = Control::new();
    let service = {
        let (server, control) = (Arc::clone(&server), Arc::clone(&control));
        service_fn(move |request: hyper::Request<Incoming>| {
            let request = Request::new(request.version(), number, request.uri());
            Arc::clone(&server).answer(request, Arc::clone(&control))
        })
    };
    let wire = TokioIo::new(Wire::new(stream, Arc::clone(&control)));
    let builder = auto::Builder::new(server.executor());
    let mut connection = pin!(builder.serve_connection(wire, service));
    loop {
        tokio::select! {
            biased;
            () = server.stopped() => return,
            // The connection holds a sender: there is always one more cut to wait for.
            Some(cut) = cuts.recv() => {
                flush(connection.as_mut(), &control).await;
                match cut {
                    Cut::GoAway => connection.as_mut().graceful_shutdown(),
                    Cut::HalfOpen => return server.stopped().await,
                    Cut::Reset => return control.end_in_reset(),
                    _ => return,
                }
            }
            _ = connection.as_mut() => return,
        }
    }
}

/// Goes on with the connection until what was written so far has left.
async fn flush(mut connection: Pin<&mut impl Future>, control: &Control) {
    let before = control.flushes();
    poll_fn(|cx| {
        let ended = connection.as_mut().poll(cx).is_ready();
        if ended || control.flushes() > before { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
