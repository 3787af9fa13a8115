//! Pages of other origins, and text of others.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::stage::{HOSTILE, Stage, configmap, echo, fussy};

/// A page that tries what a page can: a form, requests with and without an answer, a frame.
const PAGE: &str = "<!doctype html><title>another</title><form method=post enctype=text/plain target=frame>\
                    <input name='{\"all\": true, \"a\": \"' value='\"}'></form><iframe name=frame></iframe>";

const ATTACK: &str = "
    const [host, done] = [arguments[0], arguments[1]];
    const attempts = {
        token: () => fetch(host + 'page/token', { headers: { 'informer-page': '1' } }),
        status: () => fetch(host + 'status'),
        json: () => fetch(host + 'dead-letters/drop', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{\"all\": true}' }),
        blind: () => fetch(host + 'dead-letters/drop', { method: 'POST', mode: 'no-cors', body: '{\"all\": true}' }),
        script: () => import(host + 'page/files/app.js'),
        stream: () => new Promise((resolve, reject) => {
            const source = new EventSource(host + 'page/live');
            source.onmessage = resolve;
            source.onerror = reject;
        }),
    };
    const form = document.querySelector('form');
    form.action = host + 'dead-letters/drop';
    form.submit();
    Promise.all(Object.entries(attempts).map(([name, attempt]) =>
        attempt().then((answer) => [name, answer.type ?? 'answered'], () => [name, 'refused'])
    )).then((all) => done(Object.fromEntries(all)));";

/// Serves the page of another origin.
async fn another_page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            // A browser may open connections before it needs them.
            let (mut client, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                if client.read(&mut request).await.is_ok_and(|read| read > 0) {
                    client.write_all(answer().as_bytes()).await.ok();
                }
            });
        }
    });
    url
}

fn answer() -> String {
    let length = PAGE.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{PAGE}"
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn a_page_of_another_origin_reads_nothing_and_changes_nothing() {
    let stage = Stage::start(vec![configmap("web")], &[echo(), fussy()].concat()).await;
    let page = &stage.browser;
    page.view("letters").await;
    page.shows("#letters-count", "1 letter").await;

    page.open(&another_page().await).await;
    let attempts = page.run_async(ATTACK, &[json!(stage.url())]).await;
    let refused = "refused";
    let expected = json!({
        "token": refused, "status": refused, "json": refused, "script": refused, "stream": refused,
        // A blind request is sent, and its page learns nothing, not even that the host refuses it.
        "blind": refused,
    });
    assert_eq!(attempts, expected);

    page.open(&stage.url()).await;
    page.view("letters").await;
    page.shows("#letters-count", "1 letter").await;
    // The other page had much to complain about.
    page.complaints().await;
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn text_of_a_plugin_is_shown_as_text_with_its_hidden_marks() {
    let stage = Stage::start(vec![configmap("web")], &[echo(), fussy()].concat()).await;
    let page = &stage.browser;
    let shown = HOSTILE.replace('\u{202e}', "\\u{202e}").replace('\u{e0041}', "\\u{e0041}");

    page.view("letters").await;
    page.shows("#letters-list", &shown).await;
    page.view("plugin?name=fussy").await;
    page.shows("#plugin-detail", &shown).await;
    page.view("explain?gvr=v1/configmaps&key=shop/web").await;
    page.shows("#explain-answer", "fussy").await;
    page.view("configuration?find=says").await;
    page.shows("#configuration-table", "<b>bold</b>").await;
    let elements =
        "return document.querySelectorAll('main b, main img').length === 0 && document.title !== 'taken'";
    page.until("no element from a text", elements).await;
    stage.leave().await;
}
