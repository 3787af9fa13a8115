//! Each fault as a client sees it, on both versions of HTTP.

use std::{
    error::Error,
    io,
    time::{Duration, Instant},
};

use informer_faults::{Cut, Fault, FaultServer, Frame, HttpVersion, On, Reason, Status};
use serde_json::json;

use crate::caller::{SOON, call, call_by};

const LIST: &str = "/api/v1/pods?resourceVersion=0";
const WATCH: &str = "/api/v1/pods?watch=true&resourceVersion=10";

fn server(on: On, fault: Fault) -> FaultServer {
    let server = FaultServer::start().unwrap();
    server.collection().put("shop/a");
    server.collection().put("shop/b");
    server.plan(on, fault);
    server
}

/// Returns true if the error was caused by an I/O error of this kind.
fn is(error: &kube::Error, kind: io::ErrorKind) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == kind) {
            return true;
        }
        next = error.source();
    }
    false
}

#[tokio::test]
async fn a_closed_port_refuses_connections_until_it_is_opened_again() {
    let server = FaultServer::start().unwrap();
    server.close_port().await;

    let refused = call(&server, HttpVersion::Http1, LIST).await.err().unwrap();
    server.open_port().unwrap();

    assert!(is(&refused, io::ErrorKind::ConnectionRefused), "{refused:?}");
    assert_eq!(call(&server, HttpVersion::Http1, LIST).await.unwrap().code, 200);
}

#[tokio::test]
async fn a_request_without_an_answer_is_closed_reset_or_silent() {
    for http in HttpVersion::ALL {
        for (cut, reset) in
            [(Cut::Close, false), (Cut::Reset, true), (Cut::Stream(Reason::REFUSED_STREAM), false)]
        {
            let server = server(On::list(), Fault::no_answer(cut));

            let error = call(&server, http, LIST).await.err().unwrap();

            assert_eq!(is(&error, io::ErrorKind::ConnectionReset), reset, "{http:?} {cut:?}: {error:?}");
        }
        for cut in [Cut::Stall, Cut::HalfOpen] {
            let server = server(On::list(), Fault::no_answer(cut));
            let call = call(&server, http, LIST);
            assert!(
                tokio::time::timeout(Duration::from_millis(100), call).await.is_err(),
                "{http:?} {cut:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_body_is_cut_after_exactly_the_planned_byte() {
    for http in HttpVersion::ALL {
        for cut in [Cut::End, Cut::Close, Cut::Reset, Cut::Stall, Cut::HalfOpen, Cut::Stream(Reason::CANCEL)]
        {
            let server = server(On::list(), Fault::good().cut_after_bytes(100, cut));
            let mut answer = call(&server, http, LIST).await.unwrap();
            let mut read = 0;
            while read < 100 {
                read += answer.chunk().await.unwrap().expect("100 bytes").len();
            }

            assert_eq!(read, 100, "{http:?} {cut:?}");
            match cut {
                Cut::End => assert_eq!(answer.chunk().await.unwrap(), None),
                Cut::Stall | Cut::HalfOpen => assert!(answer.is_silent().await, "{http:?} {cut:?}"),
                _ => assert!(answer.chunk().await.is_err(), "{http:?} {cut:?}"),
            }
        }
    }
}

#[tokio::test]
async fn an_open_watch_sends_earlier_changes_before_it_is_cut() {
    for http in HttpVersion::ALL {
        let server = FaultServer::start().unwrap();
        let mut watch = call(&server, http, WATCH).await.unwrap();
        server.collection().put("shop/a");
        assert_eq!(server.cut(Cut::Reset), 1);

        assert_eq!(watch.event().await, "ADDED shop/a@11");
        assert!(watch.chunk().await.is_err());
        assert_eq!(server.open_watches(), 0);
    }
}

#[tokio::test]
async fn on_http2_a_cut_stream_leaves_its_connection_open() {
    for cut in [Cut::Stall, Cut::Stream(Reason::INTERNAL_ERROR)] {
        let server = server(On::list(), Fault::good().cut_after_bytes(10, cut));
        let client = server.client(HttpVersion::Http2).unwrap();
        let mut cut_off = call_by(&client, LIST).await.unwrap();
        assert_eq!(cut_off.chunk().await.unwrap().unwrap().len(), 10);

        assert!(call_by(&client, LIST).await.unwrap().text().await.unwrap().ends_with('}'));

        assert!(server.requests().iter().all(|request| request.connection == 1), "{cut:?}");
        assert!(server.requests().iter().all(|request| request.http == http::Version::HTTP_2));
    }
}

#[tokio::test]
async fn after_goaway_open_answers_continue_and_new_requests_use_a_new_connection() {
    let server = FaultServer::start().unwrap();
    let client = server.client(HttpVersion::Http2).unwrap();
    let mut watch = call_by(&client, WATCH).await.unwrap();
    server.collection().put("shop/a");
    server.cut(Cut::GoAway);
    assert_eq!(watch.event().await, "ADDED shop/a@11");

    // The client may not have read the GOAWAY yet when it sends again. Then the request is refused and the client
    // opens another connection.
    let started = Instant::now();
    while server.requests().last().unwrap().connection == 1 {
        assert!(started.elapsed() < SOON, "every request used the first connection");
        call_by(&client, LIST).await.unwrap().text().await.unwrap();
    }
    server.collection().put("shop/b");

    assert_eq!(watch.event().await, "ADDED shop/b@12");
}

/// A client that sends pings notices that its connection is dead (A-14).
#[tokio::test]
async fn a_ping_detects_a_half_open_connection() {
    let server = server(On::list(), Fault::good().cut_after_bytes(10, Cut::HalfOpen));
    // A ping that is not answered within this time ends the connection, so a busy machine needs time for the first bytes.
    let client = server.pinging_client(Duration::from_secs(1));
    let mut answer = call_by(&client, LIST).await.unwrap();

    assert_eq!(answer.chunk().await.unwrap().unwrap().len(), 10);
    assert!(answer.chunk().await.is_err());
}

#[tokio::test]
async fn chunks_have_the_planned_size_and_pause() {
    for http in HttpVersion::ALL {
        let pause = Duration::from_millis(2);
        let server = server(On::list(), Fault::good().chunks(7).pause(pause));
        let started = Instant::now();
        let mut answer = call(&server, http, LIST).await.unwrap();
        let mut chunks = Vec::new();
        while let Some(chunk) = answer.chunk().await.unwrap() {
            chunks.push(chunk.len());
        }

        assert!(
            chunks.len() > 10 && chunks[..chunks.len() - 1].iter().all(|length| *length == 7),
            "{chunks:?}"
        );
        assert!(started.elapsed() >= pause * (u32::try_from(chunks.len()).unwrap() - 1));
    }
}

#[tokio::test]
async fn frames_can_be_joined_doubled_swapped_prepended_and_left_out() {
    let reverse = Fault::good().edit(|number, frame| if number == 1 { Vec::new() } else { vec![frame] });
    let first = Fault::error_event(&Status::of(500));
    for (fault, expected) in [
        (Fault::good().twice(), &["ADDED shop/a@11", "ADDED shop/a@11", "ADDED shop/b@12"][..]),
        (Fault::good().swapped(), &["ADDED shop/b@12", "ADDED shop/a@11"]),
        (Fault::good().first([Frame::bookmark(99)]), &["BOOKMARK @99", "ADDED shop/a@11"]),
        (reverse, &["ADDED shop/b@12"]),
        (first, &["ERROR 500"]),
    ] {
        let server = server(On::watch(), fault);
        let mut watch = call(&server, HttpVersion::Http1, WATCH).await.unwrap();
        for expected in expected {
            assert_eq!(watch.event().await, *expected);
        }
    }

    let server = server(On::watch(), Fault::good().joined(2));
    let mut watch = call(&server, HttpVersion::Http1, WATCH).await.unwrap();
    let chunk = watch.chunk().await.unwrap().unwrap();
    assert_eq!(chunk.iter().filter(|byte| **byte == b'\n').count(), 2);
}

#[tokio::test]
async fn each_rule_applies_as_often_as_planned_and_then_the_server_behaves() {
    let server = FaultServer::start().unwrap();
    server.plan(On::list().nth(2).times(2), Fault::status(429).retry_after(7));
    server.plan(On::list(), Fault::status(503));
    let mut codes = Vec::new();
    for _ in 0..5 {
        let answer = call(&server, HttpVersion::Http1, LIST).await.unwrap();
        assert_eq!(answer.retry_after.is_some(), answer.code == 429);
        codes.push(answer.code);
    }

    // The second rule does not count the requests of the first rule.
    assert_eq!(codes, [503, 429, 429, 200, 200]);
}

#[tokio::test]
async fn answers_can_have_any_body() {
    let server = server(On::list(), Fault::table());
    server.plan(On::list(), Fault::body("text/html", "<html>"));
    server.plan(On::discovery(), Fault::refusal(&Status::of(403).with_reason("x").with_message("y")));
    server.collection().put_with("shop/big", "data", json!("x".repeat(1_000_000)));
    let http = HttpVersion::Http2;

    assert!(call(&server, http, LIST).await.unwrap().text().await.unwrap().contains(r#""kind":"Table""#));
    assert_eq!(call(&server, http, LIST).await.unwrap().text().await.unwrap(), "<html>");
    assert_eq!(call(&server, http, "/api/v1").await.unwrap().code, 403);
    assert!(call(&server, http, LIST).await.unwrap().text().await.unwrap().len() > 1_000_000);
}
