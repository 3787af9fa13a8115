//! A thousand plugins and a hundred thousand objects.

use std::{collections::BTreeMap, time::Duration};

use informer_guests::guest;
use informer_tests::toml::{plugin, watch};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    browser::Browser,
    stage::{Stage, configmap},
};

const PLUGINS: usize = 1_000;
const OBJECTS: usize = 100_000;

/// Time for the start of a host of this size.
const START: Duration = Duration::from_secs(300);

/// The longest time of an answer, on a quiet machine.
const LONGEST_MS: f64 = 200.0;

/// Each request of the page is repeated, because the first one may meet work that has nothing to do with it.
const ROUNDS: usize = 5;

/// Requests each path, one after the other, and returns their times in milliseconds.
const MEASURE: &str = "
    const [paths, rounds, done] = arguments;
    (async () => {
        const times = {};
        for (const path of paths) {
            times[path] = [];
            for (let round = 0; round < rounds; round += 1) {
                const from = performance.now();
                const answer = await fetch(path);
                const body = await answer.text();
                times[path].push([performance.now() - from, answer.status, body.length]);
            }
        }
        return times;
    })().then(done);";

/// The time until the stream of a new page has sent every row, in milliseconds.
const LISTEN: &str = "
    const done = arguments[0];
    const from = performance.now();
    const source = new EventSource('/page/live');
    source.onmessage = (event) => {
        const rows = JSON.parse(event.data).plugins.rows.length;
        source.close();
        done([performance.now() - from, rows]);
    };";

/// The time from the change of the address until the browser has drawn the view, in milliseconds.
const DRAW: &str = "
    const [hash, done] = arguments;
    const from = performance.now();
    location.hash = hash;
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - from)));";

fn configuration() -> String {
    let echo = guest("echo");
    let plugins = (0..PLUGINS).map(|number| {
        let gvr = if number == 0 { "v1/configmaps" } else { "v1/secrets" };
        plugin(&format!("plugin-{number:04}"), &echo, gvr, "initial = \"skip\"")
    });
    [watch("v1/configmaps"), watch("v1/secrets")].into_iter().chain(plugins).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn a_thousand_plugins_and_a_hundred_thousand_objects_are_shown_at_once() {
    let objects = (0..OBJECTS).map(|number| configmap(&format!("object-{number:06}"))).collect();
    let stage = Stage::start(objects, &configuration()).await;
    let page = &stage.browser;
    let totals = "document.querySelector('#totals').innerText";
    let started = async {
        let wanted = format!("return {totals}.includes('1,000 of 1,000') && {totals}.includes('100,000')");
        while page.run(&wanted, &[]).await != true {
            sleep(Duration::from_millis(200)).await;
        }
    };
    timeout(START, started).await.unwrap();

    let times = measured(page).await;
    for (what, ms) in &times {
        println!("==> {ms:7.1} ms {what}");
    }
    if std::env::var_os("INFORMER_QUIET_MACHINE").is_some() {
        let slow: Vec<_> = times.iter().filter(|(_, ms)| **ms > LONGEST_MS).collect();
        assert!(slow.is_empty(), "{slow:?}");
    }
    everything_is_found(page).await;
    stage.leave().await;
}

/// The median time of each request and of each view, in milliseconds.
async fn measured(page: &Browser) -> BTreeMap<String, f64> {
    let paths = [
        "/",
        "/page/files/app.js",
        "/page/plugin?name=plugin-0500",
        "/page/letters?limit=50",
        "/page/objects?gvr=v1/configmaps&text=",
        "/page/objects?gvr=v1/configmaps&text=99",
        "/page/objects?gvr=v1/configmaps&text=shop/object-0999",
        "/explain?gvr=v1/configmaps&key=shop/object-099999",
        "/page/lines",
        "/page/configuration",
    ];
    let answers = page.run_async(MEASURE, &[json!(paths), json!(ROUNDS)]).await;
    let mut times = BTreeMap::new();
    for (path, rounds) in answers.as_object().unwrap() {
        let rounds = rounds.as_array().unwrap();
        assert!(rounds.iter().all(|round| round[1] == 200), "{path}: {rounds:?}");
        times.insert(format!("GET {path}"), median(rounds.iter().map(|round| &round[0])));
    }
    let mut listens = Vec::new();
    for _ in 0..ROUNDS {
        let listened = page.run_async(LISTEN, &[]).await;
        assert_eq!(listened[1], PLUGINS);
        listens.push(listened[0].clone());
    }
    times.insert("GET /page/live, the first event".to_owned(), median(listens.iter()));
    for view in
        ["overview", "informers", "plugins", "plugin?name=plugin-0999", "explain", "log", "configuration"]
    {
        let mut draws = Vec::new();
        for _ in 0..ROUNDS {
            page.view("letters").await;
            draws.push(page.run_async(DRAW, &[json!(view)]).await);
        }
        times.insert(format!("draw {view}"), median(draws.iter()));
    }
    times
}

async fn everything_is_found(page: &Browser) {
    page.view("plugins").await;
    page.shows("#plugins-count", "1,000 of 1,000").await;
    let rows = page.run("return document.querySelectorAll('#plugins-table .rows .row').length", &[]).await;
    assert!(rows.as_u64().unwrap() < 100, "{rows} rows are in the document");
    page.type_into("#plugins-search", "plugin-0777").await;
    page.shows("#plugins-table", "plugin-0777").await;
    page.view("explain?gvr=v1/configmaps").await;
    page.shows("#explain-count", "first 50 of 100,000").await;
    page.type_into("#explain-text", "object-077777").await;
    page.shows("#explain-count", "1 found").await;
}

fn median<'a>(values: impl Iterator<Item = &'a Value>) -> f64 {
    let mut values: Vec<f64> = values.map(|value| value.as_f64().unwrap()).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
