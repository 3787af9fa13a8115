//! The page without a mouse.

use crate::stage::{Stage, configmap, echo};

// The names of keys in the protocol.
const BACKSPACE: &str = "\u{e003}";
const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn every_view_and_row_is_reached_by_the_keyboard() {
    let objects = ["web", "api"].map(configmap).to_vec();
    let stage = Stage::start(objects, &echo()).await;
    let page = &stage.browser;
    stage.settled().await;

    let views = ["overview", "informers", "plugins", "letters", "explain", "log", "configuration"];
    for (number, view) in (1..).zip(views) {
        page.press(&format!("{number}")).await;
        page.until(view, &format!("return !document.getElementById('view-{view}').hidden")).await;
    }

    page.press("3").await;
    page.shows("#plugins-table", "echo").await;
    page.press("/").await;
    page.press("ech").await;
    page.shows("#plugins-count", "1 of 1").await;
    assert_eq!(page.run("return document.activeElement.value", &[]).await, "ech");
    // Digits are text in a field.
    page.press("1").await;
    page.shows("#plugins-count", "0 of 1").await;
    page.press(BACKSPACE).await;
    page.press(ESCAPE).await;
    page.until("focus on the content", "return document.activeElement.id === 'main'").await;

    // To the row, over the field and the heads of the columns.
    let row = "return document.activeElement.matches('.rows .row')";
    for _ in 0..30 {
        if page.run(row, &[]).await == true {
            break;
        }
        page.press(TAB).await;
    }
    page.until("focus on a row", row).await;
    page.press(ENTER).await;
    page.shows("#title-plugin", "echo").await;

    page.press("?").await;
    page.until("the keys", "return document.getElementById('keys').open").await;
    page.press(ESCAPE).await;
    page.until("no dialog", "return !document.getElementById('keys').open").await;

    // Keys may come faster than the event of a new address.
    let quickly = "for (const key of ['1', '5', '/']) document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        return document.activeElement.id";
    assert_eq!(page.run(quickly, &[]).await, "explain-text");
    page.press("web").await;
    page.shows("#explain-count", "1 found").await;
    page.press(ENTER).await;
    page.shows("#explain-answer", "shop/web").await;
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn every_control_has_a_name_and_each_view_one_heading() {
    let stage = Stage::start(vec![configmap("web")], &echo()).await;
    let page = &stage.browser;
    stage.settled().await;
    let nameless =
        "return [...document.querySelectorAll('button, input, select, a, [role=grid], [role=log]')]
        .filter((one) => one.checkVisibility() && !(one.ariaLabel || one.textContent.trim() || one.labels?.length))
        .map((one) => one.outerHTML)";
    for view in ["overview", "informers", "plugins", "letters", "explain", "log", "configuration"] {
        page.view(view).await;
        // The page shows the view some time after its address has changed.
        page.until(view, &format!("return !document.getElementById('view-{view}').hidden")).await;
        assert_eq!(page.run(nameless, &[]).await, serde_json::json!([]), "{view}");
        let headings = "return document.querySelectorAll('main section:not([hidden]) h2').length";
        assert_eq!(page.run(headings, &[]).await, 1, "{view}");
    }
    stage.leave().await;
}
