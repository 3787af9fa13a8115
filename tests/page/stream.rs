//! The stream of a page ends and comes back.

use std::net::SocketAddr;

use informer_tests::host::PATIENCE;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    time::{sleep, timeout},
};

use crate::{
    browser::LOOK,
    stage::{Stage, configmap, echo, fussy},
};

/// The most clients of the stream.
const CLIENTS: usize = 8;

/// Waits until a place is free, and takes it.
async fn place(stage: &Stage) -> TcpStream {
    let address = stage.host.app().admin_address().unwrap().tcp().unwrap();
    let taking = async {
        loop {
            let mut client = TcpStream::connect(address).await.unwrap();
            let request = format!("GET /page/live HTTP/1.1\r\nHost: {address}\r\n\r\n");
            client.write_all(request.as_bytes()).await.unwrap();
            let mut start = [0; 12];
            client.read_exact(&mut start).await.unwrap();
            if start.ends_with(b"200") {
                return client;
            }
            sleep(LOOK).await;
        }
    };
    timeout(PATIENCE, taking).await.unwrap()
}

/// An address that passes bytes on to the host and back. While it hangs, its connections stay open and nothing arrives.
async fn way(host: SocketAddr, hangs: watch::Receiver<bool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let hangs = hangs.clone();
            tokio::spawn(async move {
                let (from_client, to_client) = client.into_split();
                let (from_host, to_host) = TcpStream::connect(host).await.unwrap().into_split();
                tokio::join!(pass(from_client, to_host, hangs.clone()), pass(from_host, to_client, hangs));
            });
        }
    });
    address
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut hangs: watch::Receiver<bool>) {
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let goes_on = hangs.wait_for(|hangs| !hangs).await.is_ok();
        if !goes_on || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn a_page_whose_host_hangs_says_so_and_is_live_once_the_host_goes_on() {
    let stage = Stage::start(vec![configmap("web")], &echo()).await;
    let page = &stage.browser;
    let (hangs, receiver) = watch::channel(false);
    let host = stage.host.app().admin_address().unwrap().tcp().unwrap();
    let address = way(host, receiver).await;
    let live = "return document.querySelector('#connection').innerText === 'live'";
    page.open(&format!("http://{address}/")).await;
    page.until("a live page", live).await;

    hangs.send(true).unwrap();
    page.shows("#connection", "not live").await;
    page.shows("#state", "Last state: All is well").await;

    hangs.send(false).unwrap();
    page.until("a live page", live).await;
    page.until("a present state", "return document.querySelector('#state').innerText === 'All is well'")
        .await;
    page.complaints().await;
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn a_page_too_many_says_so_and_is_live_once_another_one_is_closed() {
    let stage = Stage::start(vec![configmap("web")], &echo()).await;
    let page = &stage.browser;
    page.open("about:blank").await;
    let mut places = Vec::new();
    for _ in 0..CLIENTS {
        places.push(place(&stage).await);
    }
    page.open(&stage.url()).await;
    page.shows("#connection", "too many pages are open").await;

    places.clear();
    page.shows("#connection", "live").await;
    page.shows("#totals", "Objects cached\n1").await;
    let refusals = page.complaints().await;
    assert!(refusals.iter().all(|one| one.to_string().contains("503")), "{}", json!(refusals));
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn an_open_page_follows_a_host_that_starts_anew_and_may_change_it() {
    let stage = Stage::start(vec![configmap("web")], &[echo(), fussy()].concat()).await;
    stage.browser.view("letters").await;
    stage.browser.shows("#letters-count", "1 letter").await;
    // The page reads the token of this process.
    stage.browser.click("[data-key='shop/web'] .do button").await;
    stage.browser.shows("#letters-list", "No dead letters").await;

    let stage = stage.restarted().await;
    stage.browser.shows("#connection", "live").await;
    stage.browser.shows("#letters-count", "1 letter").await;
    stage.browser.click("[data-key='shop/web'] .do button").await;
    stage.browser.shows("#letters-list", "No dead letters").await;
    // The host was gone for a while, and its successor does not accept the token of the first one.
    stage.browser.complaints().await;
    stage.leave().await;
}
