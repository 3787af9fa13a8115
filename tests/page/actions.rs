//! What changes the host: replay, drop and reload, as the user sees them.

use crate::stage::{Stage, configmap, echo, fussy};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn a_dead_letter_is_replayed_and_another_one_dropped() {
    let objects = ["web", "api"].map(configmap).to_vec();
    let stage = Stage::start(objects, &[echo(), fussy()].concat()).await;
    let page = &stage.browser;
    page.view("letters").await;
    page.shows("#letters-count", "2 letters").await;

    page.click("[data-key='shop/web'] .do button").await;
    page.shows("#announcement", "Replayed 1 letter.").await;
    page.shows("#letters-count", "1 letter").await;
    page.until("no letter about shop/web", "return !document.querySelector(\"[data-key='shop/web']\")").await;
    stage.host.until("the replay", |_| stage.host.plugin("fussy")["calls"]["acknowledged"] == 1).await;

    page.click("[data-key='shop/api'] .danger").await;
    page.shows("#question", "Drop the letter about shop/api?").await;
    page.click("#question [value=no]").await;
    page.shows("#letters-count", "1 letter").await;
    page.click("[data-key='shop/api'] .danger").await;
    page.click("#question-yes").await;
    page.shows("#announcement", "Dropped 1 letter.").await;
    page.shows("#letters-list", "No dead letters").await;
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn a_change_of_the_file_is_seen_key_by_key() {
    let config = |greeting| format!("{}[plugin.config]\ngreeting = \"{greeting}\"\n", echo());
    let stage = Stage::start(Vec::new(), &config("hello")).await;
    let page = &stage.browser;
    stage.settled().await;
    page.view("configuration").await;
    page.shows("#configuration-table", "\"hello\"").await;
    page.shows("#reloads", "None").await;

    stage.rewrite(&config("good day"));
    page.shows("#configuration-table", "\"good day\"").await;
    page.shows("#reloads", "plugin echo: changed").await;
    page.click("#configuration-changed").await;
    page.shows("#configuration-count", "1 of ").await;
    for text in ["config.greeting", "\"good day\"", "changed", "\"hello\""] {
        page.shows("#configuration-table", text).await;
    }

    page.click("#configuration-table .rows .row:not([hidden])").await;
    page.shows("#configuration-key", "Before\n\"hello\"").await;

    page.click("#reload").await;
    page.shows("#announcement", "Nothing had changed.").await;
    stage.rewrite("[[watch]]\ngvr = 7\n");
    page.shows("#configuration-notes", "The present file is refused").await;
    stage.leave().await;
}
