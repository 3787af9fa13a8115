//! Each view shows what the host reports, and follows it.

use crate::stage::{Stage, configmap, echo};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn the_overview_follows_the_host_without_a_reload_of_the_page() {
    let stage = Stage::start(vec![configmap("web")], &echo()).await;
    let page = &stage.browser;
    page.shows("#state", "All is well").await;
    page.shows("#totals", "Objects cached\n1").await;
    page.shows("#problems", "None").await;

    stage.server.load(vec![configmap("api"), configmap("db")]).unwrap();
    page.shows("#totals", "Objects cached\n3").await;
    page.shows("#totals", "Calls\n3").await;

    stage.rewrite("[[watch]]\ngvr = 7\n");
    page.shows("#state", "1 problem").await;
    page.shows("#problems", "the configuration in force stays").await;
    stage.rewrite(&echo());
    page.shows("#state", "All is well").await;
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn informers_and_plugins_have_a_row_each_and_a_plugin_has_its_details() {
    let grants = "[plugin.grant]\nwrite = [\"patch v1/configmaps @shop\"]\nkeyvalue = \"1MiB\"\n";
    let stage = Stage::start(vec![configmap("web")], &format!("{}{grants}", echo())).await;
    let page = &stage.browser;
    stage.settled().await;

    page.view("informers").await;
    page.shows("#informers-table", "v1/configmaps").await;
    page.shows("#informers-table", "watching").await;

    page.view("plugins").await;
    page.shows("#plugins-table", "serving").await;
    page.type_into("#plugins-search", "nothing").await;
    page.shows("#plugins-count", "0 of 1").await;
    page.shows("#plugins-table", "No plugin matches.").await;

    page.view("plugin?name=echo").await;
    for text in ["echo.wasm", "patch v1/configmaps @shop", "0 requests", "1048576 bytes", "Succeeded\n1"] {
        page.shows("#plugin-detail", text).await;
    }
    // The first request is under way when another plugin is opened, and no event follows.
    let quickly = "for (const name of ['absent', 'echo']) {
            location.hash = `plugin?name=${name}`;
            dispatchEvent(new HashChangeEvent('hashchange'));
        }";
    page.run(quickly, &[]).await;
    page.shows("#plugin-detail", "echo.wasm").await;
    stage.server.load(vec![configmap("api")]).unwrap();
    page.shows("#plugin-detail", "Succeeded\n2").await;

    page.view("plugin?name=absent").await;
    page.shows("#plugin-detail", "there is no plugin `absent`").await;
    page.complaints().await;
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn an_object_is_found_by_a_part_of_its_key_and_explained() {
    let objects = ["web", "api", "worker"].map(configmap).to_vec();
    let stage = Stage::start(objects, &echo()).await;
    let page = &stage.browser;
    stage.settled().await;
    page.view("explain").await;
    page.shows("#explain-count", "3 found").await;

    page.type_into("#explain-text", "shop/w").await;
    page.shows("#explain-count", "2 found").await;
    page.type_into("#explain-text", "or").await;
    page.shows("#explain-count", "1 found").await;
    page.click("#explain-found a").await;
    page.shows("#explain-answer", "v1/configmaps shop/worker").await;
    page.shows("#explain-answer", "in the cache at version").await;
    page.shows("#explain-answer .steps", "echo").await;
    let before = page.text("#explain-answer .steps").await.lines().count();

    // The answer follows the object.
    stage.change("worker").await;
    page.until(
        "more steps",
        &format!("return document.querySelector('.steps').innerText.split('\\n').length > {before}"),
    )
    .await;
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn the_log_of_a_plugin_is_shown_as_it_grows_and_its_level_is_set() {
    let stage = Stage::start(vec![configmap("web")], &echo()).await;
    let page = &stage.browser;
    page.view("log?plugin=echo").await;
    page.shows("#log-lines", "add shop/web").await;
    stage.server.load(vec![configmap("api")]).unwrap();
    page.shows("#log-lines", "add shop/api").await;

    page.type_into("#log-text", "shop/api").await;
    page.until("fewer lines", "return !document.querySelector('#log-lines').innerText.includes('shop/web')")
        .await;

    // The address names the plugin before the first event lists the plugins.
    page.open("about:blank").await;
    page.open(&format!("{}#log?plugin=echo", stage.url())).await;
    page.until("the choice of a level", "return document.querySelector('#log-set')?.disabled === false")
        .await;
    page.run("const set = document.querySelector('#log-set'); set.value = 'error'; set.dispatchEvent(new Event('change'))", &[]).await;
    page.shows("#announcement", "The log level of echo is error").await;
    assert_eq!(stage.host.plugin("echo")["log-level"], "error");
    stage.leave().await;
}
