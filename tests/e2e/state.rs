//! The state of plugins: `wasi:keyvalue` on the host's database, with real components.

use std::path::Path;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{inline, plugin, watch},
};
use serde_json::json;
use tempfile::TempDir;

use crate::configmaps::ConfigMaps;

/// A plugin that runs these steps when it receives an object.
fn keeper(name: &str, quota: &str, bucket: &str, steps: &serde_json::Value) -> String {
    let lines = format!(
        "[plugin.grant]\nkeyvalue = \"{quota}\"\n[plugin.config]\nbucket = \"{bucket}\"\nsteps = {}",
        inline(steps)
    );
    plugin(name, &guest("keeper"), "v1/configmaps", &lines)
}

/// Starts a host with its state in this directory. Waits until every plugin has run its steps.
async fn host(server: &DevServer, state: &Path, plugins: &[String]) -> TestHost {
    let host =
        TestHost::start_in(&server.url(), state, &format!("{}{}", watch("v1/configmaps"), plugins.concat()))
            .await
            .unwrap();
    host.synced().await;
    host
}

async fn server() -> DevServer {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("something").await;
    server
}

#[tokio::test]
async fn a_bucket_behaves_as_the_standard_describes() {
    let (server, state) = (server().await, TempDir::new().unwrap());
    let steps = json!([
        {"get": "k"}, {"set": ["k", "v"]}, {"get": "k"}, {"exists": "k"}, {"exists": "x"}, {"delete": "k"},
        {"get": "k"}, {"increment": ["n", 40]}, {"increment": ["n", 2]}, {"get": "n"},
        {"set-many": [["a", "1"], ["b", "2"]]}, {"get-many": ["b", "x", "a"]}, {"delete-many": ["a", "x"]},
        "keys", {"set": ["t", "text"]}, {"increment": ["t", 1]},
    ]);

    let host = host(&server, state.path(), &[keeper("keeper", "1KiB", "b", &steps)]).await;

    let refused = "Error::Other(\"the value of `t` cannot be incremented: the value or the sum is not a decimal number of 64 bits\")";
    assert_eq!(
        host.lines.of("keeper"),
        [
            "None",
            "()",
            "Some(\"v\")",
            "true",
            "false",
            "()",
            "None",
            "40",
            "42",
            "Some(\"42\")",
            "()",
            "[\"b\", \"a\"]",
            "()",
            "2 in 1: Some(\"b\") to Some(\"n\")",
            "()",
            refused,
        ]
    );
    let counted = &host.plugin("keeper")["calls"]["keyvalue"];
    assert_eq!(counted, &json!({"reads": 8, "writes": 7, "refused": 1, "failed": 0}));
    host.stop().await;
}

#[tokio::test]
async fn the_state_of_a_plugin_survives_a_restart_and_no_other_plugin_sees_it() {
    let (server, state) = (server().await, TempDir::new().unwrap());
    let counting = [
        keeper("one", "1KiB", "b", &json!([{"increment": ["n", 1]}])),
        keeper("two", "1KiB", "b", &json!([{"get": "n"}])),
        keeper("one-else", "1KiB", "other", &json!([{"get": "n"}])),
    ];
    for run in 1..=3 {
        let host = host(&server, state.path(), &counting).await;

        assert_eq!(host.lines.of("one"), [run.to_string()], "the host starts for the {run}th time");
        assert_eq!(host.lines.of("two"), ["None"], "run {run}");
        assert_eq!(host.lines.of("one-else"), ["None"], "run {run}");
        host.stop().await;
    }
}

#[tokio::test]
async fn quota_and_limits_are_enforced_and_reported() {
    let (server, state) = (server().await, TempDir::new().unwrap());
    let many: Vec<_> = (0..1200).map(|number| (format!("k{number:04}"), "")).collect();
    let large = keeper("large", "1MiB", "b", &json!([{"set": ["k", 100_000]}, {"get": "k"}]));
    let plugins = [
        keeper("quota", "100B", "b", &json!([{"set": ["k", 98]}, {"set": ["k", 99]}, {"exists": "k"}])),
        keeper("keys", "1MiB", "b", &json!([{"set-many": many}, "keys"])),
        keeper("long", "1MiB", "b", &json!([{"set": ["x".repeat(1025), 1]}, {"open": 63}, {"open": 64}])),
        format!("{large}[plugin.limits]\nresponse = \"64KiB\"\n"),
    ];

    let host = host(&server, state.path(), &plugins).await;

    let other = |text: &str| format!("Error::Other({text:?})");
    let quota = "quota exceeded: 101 bytes with this write, `keyvalue` under [plugin.grant] allows 100";
    assert_eq!(host.lines.of("quota"), ["()", &other(quota), "true"]);
    assert_eq!(host.lines.of("keys"), ["()", "1200 in 3: Some(\"k0000\") to Some(\"k1199\")"]);
    let long = "the name of a key or bucket has 1025 bytes; at most 1024 are allowed";
    let open = "64 buckets are open in this instance, its limit: drop the ones that are no longer needed";
    assert_eq!(host.lines.of("long"), [&other(long), "63", &other(open)]);
    let large = "the values have more than the plugin's limit of 65536 bytes: read fewer keys at once, or raise `response`";
    assert_eq!(host.lines.of("large"), ["()", &other(large)]);
    host.stop().await;
}

#[tokio::test]
async fn a_broken_state_is_reported_and_notifications_are_still_delivered() {
    let (server, state) = (server().await, TempDir::new().unwrap());
    std::fs::write(state.path().join("informer.redb"), "no database").unwrap();
    let plugins = [keeper("keeper", "1KiB", "b", &json!([{"get": "k"}, {"set": ["k", "v"]}]))];

    let host = host(&server, state.path(), &plugins).await;

    let refused = "Error::Other(\"the host's state cannot be used: it is damaged\")";
    assert_eq!(host.lines.of("keeper"), [refused, refused]);
    assert_eq!(host.unready(), Vec::<String>::new());
    let degraded = host.status()["degraded"].to_string();
    assert!(degraded.contains("informer.redb is damaged ("), "{degraded}");
    assert!(degraded.contains("or move it away to begin with an empty one"), "{degraded}");
    assert_eq!(host.plugin("keeper")["calls"]["keyvalue"]["failed"], 2);
    host.stop().await;
}

#[tokio::test]
async fn two_hosts_do_not_share_a_state() {
    let (server, state) = (server().await, TempDir::new().unwrap());
    let plugins = [keeper("keeper", "1KiB", "b", &json!([{"increment": ["n", 1]}]))];
    let first = host(&server, state.path(), &plugins).await;

    let second = host(&server, state.path(), &plugins).await;

    assert_eq!(first.lines.of("keeper"), ["1"]);
    let locked = "Error::Other(\"the host's state cannot be used: another process has it\")";
    assert_eq!(second.lines.of("keeper"), [locked]);
    let degraded = second.status()["degraded"].to_string();
    let holder = format!("in use by process {} (", std::process::id());
    assert!(degraded.contains(&holder), "{degraded}");
    assert!(degraded.contains("): stop that one, or give each host its own"), "{degraded}");
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn a_component_without_the_grant_is_refused_with_the_line_to_add() {
    let server = server().await;
    let granted = keeper("keeper", "1KiB", "b", &json!([]));
    let without = granted.replace("keyvalue = \"1KiB\"", "");
    let host = TestHost::start(&server.url(), &format!("{}{without}", watch("v1/configmaps"))).await.unwrap();

    host.until("the refusal", |_| !host.plugin("keeper")["refused"].is_null()).await;

    let refused = host.plugin("keeper")["refused"].as_str().unwrap().to_owned();
    assert!(
        refused.contains("which are not granted: add `keyvalue = \"1MiB\"` under [plugin.grant]"),
        "{refused}"
    );
    host.stop().await;
}
