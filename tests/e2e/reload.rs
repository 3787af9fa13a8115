//! Hot reload: a changed component file becomes the version in service, between two calls and without a relist.

mod configuration;
mod denial;
pub(crate) mod files;
mod grants;
mod included;
mod mounted;

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
};
use serde_json::Value;

use crate::{
    configmaps::ConfigMaps,
    echo::{assert_each_object_in_order_and_once, calls, last_versions},
};
use files::write_in_place;
pub(crate) use files::{digest, replace, version};

const OBJECTS: usize = 20;
const UPDATES: usize = 1_000;
const REPLACEMENTS: usize = 20;
/// The numbers of the two replacements that must be refused.
const GARBAGE: usize = 7;
const TRAPS_IN_START: usize = 13;

fn configuration(source: &std::path::Path) -> String {
    watch("v1/configmaps") + &plugin("echo", source, "v1/configmaps", "")
}

fn name(object: usize) -> String {
    format!("object-{}", object % OBJECTS)
}

fn in_service(host: &TestHost) -> Value {
    host.plugin("echo")["version"]["digest"].clone()
}

/// Waits until this version is in service and no version is refused.
async fn served(host: &TestHost, component: &[u8]) {
    let wanted = digest(component);
    host.until("the new version in service", |_| {
        let plugin = host.plugin("echo");
        plugin["version"]["digest"] == wanted && plugin["refused"].is_null()
    })
    .await;
}

/// Waits until the file is refused with these words, while the previous version stays in service.
async fn refused(host: &TestHost, words: &str) {
    let before = in_service(host);
    host.until(&format!("a refusal with `{words}`"), |_| {
        host.plugin("echo")["refused"].as_str().is_some_and(|text| text.contains(words))
    })
    .await;
    assert_eq!(in_service(host), before);
    assert_eq!(host.unready(), Vec::<String>::new(), "a plugin with a version in service is ready");
}

/// Replaces the file for the n-th time, and waits until the host has accepted or refused it.
async fn step(host: &TestHost, path: &std::path::Path, n: usize) {
    match n {
        GARBAGE => {
            replace(path, b"<html>404 Not Found</html>");
            refused(host, "not a WebAssembly component: it starts with \"<html>").await;
        }
        TRAPS_IN_START => {
            replace(path, &std::fs::read(guest("trap_start")).unwrap());
            refused(host, "nothing works here").await;
        }
        n => {
            let component = version(n);
            if n.is_multiple_of(3) {
                write_in_place(path, &component);
            } else {
                replace(path, &component);
            }
            served(host, &component).await;
        }
    }
}

/// Updates one object after the other: first its share of all updates, then more until the file is replaced.
async fn updates(objects: &ConfigMaps, done: &AtomicUsize, replaced: &AtomicBool) {
    let enough = done.load(SeqCst) + UPDATES / REPLACEMENTS;
    while done.load(SeqCst) < enough || !replaced.load(SeqCst) {
        let round = done.fetch_add(1, SeqCst);
        objects.update(&name(round), round).await;
    }
}

pub(crate) fn assert_no_relist(host: &TestHost) {
    let counters = &host.status()["informers"][0]["counters"];
    for (counter, expected) in [("lists", 1), ("relists", 0), ("watches", 1), ("failures", 0)] {
        assert_eq!(counters[counter], expected, "{counter}: {counters:#}");
    }
}

/// Asserts that every call was made once, succeeded at the first attempt and was counted, and that nothing was given
/// up.
fn assert_nothing_lost_and_nothing_repeated(host: &TestHost) {
    let calls = calls(&host.lines.of("echo"));
    assert_each_object_in_order_and_once(&calls);
    assert!(calls.iter().all(|call| call.attempt == 1));
    let plugin = host.plugin("echo");
    let queue = &plugin["queue"];
    assert_eq!(plugin["calls"]["failures"], serde_json::json!({}), "{plugin:#}");
    assert_eq!(plugin["calls"]["acknowledged"], calls.len(), "{plugin:#}");
    assert_eq!(queue["acknowledged"], calls.len(), "{plugin:#}");
    for counter in ["dead", "dropped", "discarded", "retried", "given-back", "cancelled", "pending"] {
        assert_eq!(queue[counter], 0, "{counter}: {plugin:#}");
    }
    let merged: u64 = queue["merged"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(queue["offered"].as_u64().unwrap(), calls.len() as u64 + merged, "{plugin:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_replacements_under_load_lose_nothing_repeat_nothing_and_relist_nothing() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    for object in 0..OBJECTS {
        objects.create(&name(object)).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("echo.wasm");
    replace(&path, &version(0));
    let host = TestHost::start(&server.url(), &configuration(&path)).await.unwrap();
    host.synced().await;

    let done = AtomicUsize::new(0);
    for n in 1..=REPLACEMENTS {
        let replaced = AtomicBool::new(false);
        let replacing = async {
            step(&host, &path, n).await;
            replaced.store(true, SeqCst);
        };
        tokio::join!(replacing, updates(&objects, &done, &replaced));
    }
    assert!(done.load(SeqCst) >= UPDATES);

    let expected = objects.versions().await;
    host.lines
        .until("echo", "the last state of every object", |lines| last_versions(&calls(lines)) == expected)
        .await;
    host.until("the queue to run empty", |_| host.plugin("echo")["queue"]["in-flight"] == 0).await;
    assert_nothing_lost_and_nothing_repeated(&host);
    assert_no_relist(&host);
    // There was one instance of each version that was in service. The bad versions got no further than their `start`.
    let lines = host.lines.of("echo");
    let starts = lines.iter().filter(|line| line.starts_with("start ")).count();
    assert_eq!(starts, 1 + REPLACEMENTS - 2);
    assert_eq!(in_service(&host), digest(&version(REPLACEMENTS)));
    let report = host.stop().await;
    assert!(report.undelivered.is_empty(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_in_a_mounted_configmap_is_reloaded_when_the_symlink_changes() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let mount = files::Mount::new();
    mount.publish("..2026_01_01", &[("echo.wasm", &version(1))]);
    let host = TestHost::start(&server.url(), &configuration(&mount.file("echo.wasm"))).await.unwrap();
    host.synced().await;
    assert_eq!(in_service(&host), digest(&version(1)));

    mount.publish("..2026_01_02", &[("echo.wasm", &version(2))]);

    served(&host, &version(2)).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_file_keeps_the_version_in_service() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("echo.wasm");
    replace(&path, &version(1));
    let host = TestHost::start(&server.url(), &configuration(&path)).await.unwrap();
    host.synced().await;

    std::fs::remove_file(&path).unwrap();
    refused(&host, "echo.wasm: No such file or directory").await;
    objects.create("after-the-removal").await;
    host.lines.said("echo", "add default/after-the-removal ", "").await;

    // The same file again is not a new version, and the problem is gone.
    replace(&path, &version(1));
    served(&host, &version(1)).await;
    let starts = host.lines.of("echo").iter().filter(|line| line.starts_with("start ")).count();
    assert_eq!(starts, 1);
    host.stop().await;
}

/// Starts the plugin with a bad file. The changes meanwhile wait for the good file.
async fn is_loaded_once_repaired(bad: Option<&[u8]>, words: &str) {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("before").await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("echo.wasm");
    if let Some(bad) = bad {
        replace(&path, bad);
    }
    let host = TestHost::start(&server.url(), &configuration(&path)).await.unwrap();
    host.until("the refusal, and nothing else", |_| {
        let [reason] = &host.unready()[..] else { return false };
        reason.starts_with("plugin echo: no version in service: ") && reason.contains(words)
    })
    .await;
    objects.create("meanwhile").await;
    host.until("both events in the queue", |_| host.plugin("echo")["queue"]["pending"] == 2).await;

    replace(&path, &version(1));

    host.synced().await;
    let expected = objects.versions().await;
    host.lines.until("echo", "both objects", |lines| last_versions(&calls(lines)) == expected).await;
    assert_eq!(host.unready(), Vec::<String>::new());
    assert_nothing_lost_and_nothing_repeated(&host);
    assert_no_relist(&host);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_missing_at_the_start_is_loaded_when_it_appears_and_nothing_is_lost() {
    is_loaded_once_repaired(None, "echo.wasm: No such file or directory").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_bad_at_the_start_is_loaded_when_it_is_repaired_and_nothing_is_lost() {
    is_loaded_once_repaired(Some(b"not wasm"), "not a WebAssembly component: it starts with \"not wasm\"")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn constant_changes_in_the_directory_do_not_delay_a_reload() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("echo.wasm");
    replace(&path, &version(1));
    let host = TestHost::start(&server.url(), &configuration(&path)).await.unwrap();
    host.synced().await;
    let busy = async {
        let mut often = tokio::time::interval(Duration::from_millis(10));
        for round in 0_u64.. {
            often.tick().await;
            std::fs::write(directory.path().join("host.log"), round.to_le_bytes()).unwrap();
        }
    };

    let component = version(2);
    replace(&path, &component);

    tokio::select! {
        () = busy => unreachable!("it never ends"),
        () = served(&host, &component) => {}
    }
    host.stop().await;
}
