//! Connections: accepted and served until they end.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    task::Poll,
};

use hyper::{body::Incoming, service::service_fn};
use hyper_util::{rt::TokioIo, server::conn::auto};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::{
    Cut, Request,
    service::Service,
    wire::{Control, Wire},
};

/// Accepts connections until `stop`. Accepted connections continue.
pub(crate) async fn accept(server: Arc<Service>, listener: TcpListener, stop: CancellationToken) {
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        // A failed accept means that the client is already gone.
        if let Ok((stream, _)) = accepted {
            let number = server.connections.fetch_add(1, Ordering::SeqCst) + 1;
            server.tasks.spawn(serve(stream, number, Arc::clone(&server)));
        }
    }
}

/// Serves HTTP/1.1 or HTTP/2, whichever the client starts with. Ends when the client closes the connection, a
/// fault cuts it, or the server stops.
async fn serve(stream: TcpStream, number: usize, server: Arc<Service>) {
    // Send each chunk at once. If the option cannot be set, chunks only arrive later.
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
            // The connection itself holds a sender, so `recv` never returns `None`.
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

/// Drives the connection until everything written so far has been sent.
async fn flush(mut connection: Pin<&mut impl Future>, control: &Control) {
    let before = control.flushes();
    poll_fn(|cx| {
        let ended = connection.as_mut().poll(cx).is_ready();
        if ended || control.flushes() > before { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
