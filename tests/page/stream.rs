//! The stream of a page ends and comes back.

use informer_tests::host::PATIENCE;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
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
