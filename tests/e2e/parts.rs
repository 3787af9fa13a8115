//! The parts of objects that the host keeps for plugins, and the indexes of `informer.toml`.

use std::fs;

use informer::{config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_guests::{guest, guest_with};
use informer_tests::{host::TestHost, toml};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

/// A server with a ConfigMap `settings` of team `a` and another ConfigMap of team `b`.
async fn server() -> DevServer {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    for (name, team) in [("settings", "a"), ("other", "b")] {
        let object = json!({
            "metadata": {"name": name, "labels": {"team": team}, "annotations": {"note": "n"}},
            "data": {"team": team, "secret": "x"},
        });
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }
    server
}

/// Starts a host with the plugin `reader`, with these lines for the watch and the plugin configuration.
async fn start(server: &DevServer, watch: &str, config: &str) -> TestHost {
    let lines = format!(
        "[plugin.grant]\nread = [\"v1/configmaps\"]\n[plugin.config]\ngvr = \"v1/configmaps\"\n{config}"
    );
    let watched = format!("{}{watch}\n", toml::watch("v1/configmaps"));
    let toml = watched + &toml::plugin("reader", &guest("reader"), "v1/configmaps", &lines);
    let host = TestHost::start(&server.url(), &toml).await.unwrap();
    host.synced().await;
    host
}

/// The JSON text that the component received for the object with this name.
fn received(host: &TestHost, name: &str) -> Value {
    let lines = host.lines.of("reader");
    let objects = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    objects
        .into_iter()
        .find(|object| object["metadata"]["name"] == name)
        .unwrap_or_else(|| panic!("{lines:#?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_receives_only_metadata_if_the_watch_is_for_metadata() {
    let server = server().await;
    let host = start(&server, "metadata-only = true", "what = \"json\"").await;

    let object = received(&host, "settings");

    assert_eq!(
        (&object["kind"], &object["apiVersion"]),
        (&json!("PartialObjectMetadata"), &json!("meta.k8s.io/v1"))
    );
    assert_eq!(object["metadata"]["annotations"], json!({"note": "n"}));
    assert_eq!(object["data"], Value::Null);
    assert_eq!(host.cached("v1/configmaps").len(), 2);
    // The watch also requests metadata only.
    crate::configmaps::ConfigMaps::at(&server.url()).await.create("late").await;
    host.lines.until("reader", "the late object", |lines| lines.len() == 3).await;
    assert_eq!(received(&host, "late")["kind"], "PartialObjectMetadata");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_receives_only_the_kept_fields() {
    let server = server().await;
    let host = start(&server, "keep = [\"/data/team\"]", "what = \"json\"").await;

    let object = received(&host, "settings");

    assert_eq!(object["kind"], "ConfigMap");
    assert_eq!(object["data"], json!({"team": "a"}));
    assert_eq!(object["metadata"]["labels"], json!({"team": "a"}));
    assert_eq!(object["metadata"]["annotations"], Value::Null);
    assert!(object["metadata"]["uid"].is_string() && object["metadata"]["resourceVersion"].is_string());
    host.stop().await;
}

/// Starts a host with the plugin `reader` that has these lines under `[[plugin.on]]`, without a grant to list.
async fn start_reading(server: &DevServer, on: &str, config: &str) -> TestHost {
    let lines = format!(
        "{on}\n[plugin.grant]\nread = [\"v1/configmaps\"]\n[plugin.config]\ngvr = \"v1/configmaps\"\n{config}"
    );
    let toml =
        toml::watch("v1/configmaps") + &toml::plugin("reader", &guest("reader"), "v1/configmaps", &lines);
    let host = TestHost::start(&server.url(), &toml).await.unwrap();
    host.synced().await;
    host
}

/// The cache keeps what the plugins declare to read (D-21).
#[tokio::test(flavor = "multi_thread")]
async fn a_cache_keeps_only_what_its_plugins_declare_to_read() {
    let server = server().await;
    let reads = "reads = [\"/data/team\", \"sha256:/data/secret\"]";
    let host = start_reading(&server, reads, "what = \"json\"").await;
    let object = received(&host, "settings");
    assert_eq!(object["data"]["team"], "a", "a digest beside a value");
    assert_eq!(object["data"]["secret"]["sha256:"].as_str().unwrap().len(), 64);
    assert_eq!(object["metadata"]["labels"], json!({"team": "a"}));
    assert_eq!(object["metadata"]["annotations"], Value::Null);
    host.stop().await;

    // What is not declared is refused by name, in a notification and in the cache.
    for what in ["field", "list-fields"] {
        let host = start_reading(&server, reads, &format!("what = \"{what}\"\npointer = \"/data\"")).await;
        let lines = host.lines.of("reader");
        assert!(lines[0].contains("\"/data\" of v1/configmaps is not kept for this plugin"), "{lines:?}");
        host.stop().await;
    }
    let host = start_reading(&server, reads, "what = \"field\"\npointer = \"sha256:/data/secret\"").await;
    let lines = host.lines.of("reader");
    // printf '"x"' | sha256sum
    let digest = "Some(\"\\\"ba2df4903a2c14e86dc3bcca58911b44ac1d2514b7227bf6eb08cfb978f55a1b\\\"\")";
    assert_eq!(lines, [digest, digest]);
    host.stop().await;
}

/// The configuration says nothing about reads, so the component does (D-21).
#[tokio::test(flavor = "multi_thread")]
async fn a_cache_keeps_what_a_component_declares_to_read_and_follows_its_next_version() {
    let server = server().await;
    let folder = tempfile::tempdir().unwrap();
    let component = folder.path().join("reader.wasm");
    let install = |parts: Value| {
        let declared = json!({ "v1/configmaps": parts }).to_string();
        let new = folder.path().join("new");
        fs::write(&new, guest_with("reader", "informer:reads", &declared)).unwrap();
        fs::rename(new, &component).unwrap();
    };
    install(json!(["/data/team"]));
    let grant = "[plugin.grant]\nread = [\"v1/configmaps\"]\n";
    let config = grant.to_owned()
        + "[plugin.config]\ngvr = \"v1/configmaps\"\nwhat = \"json\"\npointer = \"/data/secret\"";
    let plugin = toml::plugin("reader", &component, "v1/configmaps", &config);
    let host = TestHost::start(&server.url(), &(toml::watch("v1/configmaps") + &plugin)).await.unwrap();
    host.synced().await;
    assert_eq!(received(&host, "settings")["data"], json!({"team": "a"}));

    install(json!(["/data/team", "/data/secret"]));

    // Each object that has more now is delivered as an update.
    host.lines
        .until("reader", "the rest of the objects", |lines| {
            let updates = lines.iter().filter(|line| line.starts_with("default/") && line.ends_with(" true"));
            updates.count() == 2
        })
        .await;
    assert_eq!(host.plugin("reader")["calls"]["failures"], json!({}));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_that_meet_a_condition_are_kept_whole() {
    let server = server().await;
    let on = "reads = []\nwhole-if = \"object.data.team == 'b'\"";
    let host = start_reading(&server, on, "what = \"json\"").await;

    assert_eq!(received(&host, "settings")["data"], Value::Null);
    assert_eq!(received(&host, "other")["data"], json!({"team": "b", "secret": "x"}));
    host.stop().await;
}

/// An index finds the objects with a value, and it follows every change of the objects (I-5, I-7).
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_lists_objects_by_an_index_of_the_configuration() {
    let server = server().await;
    let index = "index = { by-team = \"/data/team\" }";
    let host = start(&server, index, "what = \"list-meta\"\nindex = [\"by-team\", \"b\"]").await;
    // The plugin lists in each of its two calls.
    assert_eq!(host.lines.of("reader"), ["default/other", "default/other"]);
    host.stop().await;

    let host = start(&server, index, "what = \"list-meta\"\nindex = [\"by-node\", \"b\"]").await;
    let lines = host.lines.of("reader");
    assert!(lines[0].contains("there is no index `by-node`; the watch configures by-team"), "{lines:?}");
    host.stop().await;
}
