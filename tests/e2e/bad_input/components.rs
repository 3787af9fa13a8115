//! Files that are not plugins: each gets a one-sentence error, and the other plugins keep working.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::TestHost;

use super::configuration;
use crate::configmaps::ConfigMaps;

/// The first eight bytes of every component and of every core module. The smallest component and the smallest module
/// consist of them alone.
const EMPTY_COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
const EMPTY_MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// The name of a plugin, its file, and the error that the operator reads, with `PATH` in place of the file's path.
type Bad = (&'static str, PathBuf, &'static str);

fn bad_components(directory: &std::path::Path) -> Vec<Bad> {
    let file = |name: &str, content: &[u8]| {
        let path = directory.join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let whole = fs::read(guest("echo")).unwrap();
    vec![
        (
            "missing",
            directory.join("missing.wasm"),
            "cannot read the component PATH: No such file or directory (os error 2)",
        ),
        (
            "directory",
            directory.to_owned(),
            "cannot read the component PATH: it is a directory, not a regular file",
        ),
        ("empty", file("empty", b""), "not a WebAssembly component: the file is empty"),
        (
            "page",
            file("page", b"<!doctype html><title>Not found</title>"),
            "not a WebAssembly component: it starts with \"<!doctype html><titl\"",
        ),
        (
            "core-module",
            file("core-module", EMPTY_MODULE),
            "a core module, not a component: `informer build` makes components of Rust, ",
        ),
        (
            "no-handler",
            file("no-handler", EMPTY_COMPONENT),
            "the component does not export informer:plugin/handler@0.2.0 or informer:plugin/reconciler@0.2.0, \
             informer:plugin/plugin@0.2.0; it exports nothing. Build it against the world `event-handler` or `controller` \
             of wit/",
        ),
        (
            "half",
            file("half", &whole[..whole.len() / 2]),
            "the component does not compile; the file may be cut off or damaged: ",
        ),
        (
            "not-granted",
            guest("reader"),
            "the component imports informer:plugin/lister@0.2.0, which is not granted: \
             add `read = [\"v1/configmaps\"]` under [plugin.grant]",
        ),
        (
            "fails-to-start",
            guest("fail_start"),
            "the component does not start: there is no shop of that name",
        ),
        ("traps-at-the-start", guest("trap_start"), "nothing works here"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_file_that_is_not_a_plugin_is_reported_and_a_good_plugin_keeps_working() {
    let directory = tempfile::tempdir().unwrap();
    let bad = bad_components(directory.path());
    let plugins = bad.iter().map(|(name, path, _)| {
        format!(
            "[[plugin]]\nname = \"{name}\"\nsource = {path:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n"
        )
    });
    let configuration = configuration() + &plugins.collect::<String>();
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let host = TestHost::start(&server.url(), &configuration).await.unwrap();

    ConfigMaps::at(&server.url()).await.create("something").await;
    host.lines.said("echo", "add default/something ", "").await;
    host.until("a word on each bad file", |_| {
        bad.iter().all(|(name, ..)| host.plugin(name)["refused"].is_string())
    })
    .await;

    let unready = host.unready();
    assert_eq!(unready.len(), bad.len(), "{unready:#?}");
    for (name, path, expected) in &bad {
        let plugin = host.plugin(name);
        let refused = plugin["refused"].as_str().unwrap().replace(path.to_str().unwrap(), "PATH");
        assert!(refused.contains(expected), "{name}: {refused}");
        assert!(!refused.contains('\n'), "{name}: {refused}");
        assert!(plugin["version"].is_null());
        // The host keeps the notifications that the plugin missed for the repaired file.
        assert_eq!(plugin["queue"]["pending"], 1, "{plugin:#}");
        let reason = format!("plugin {name}: no version in service: {}", plugin["refused"].as_str().unwrap());
        assert!(unready.contains(&reason), "{reason} not in {unready:#?}");
    }
    let report = host.stop().await;
    assert_eq!(report.undelivered.len(), bad.len(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_whose_start_fails_is_started_again_without_a_reload() {
    let component = guest("moody");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let works_again = (now + Duration::from_secs(6)).as_millis();
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let configuration = configuration()
        + &format!(
            "[[plugin]]\nname = \"late\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n\
             [plugin.config]\nmood = \"well\"\nfails_until = {works_again}\n",
            component
        );

    let host = TestHost::start(&server.url(), &configuration).await.unwrap();

    host.until("a refusal", |_| {
        let refused = host.plugin("late")["refused"].clone();
        refused.as_str().is_some_and(|why| why.ends_with("the service behind this plugin is away"))
    })
    .await;
    host.lines.said("late", "started", "").await;
    host.stop().await;
}
