//! Plugins from a registry: pulled, reloaded when the tag moves, pinned, and served without the registry.

use std::{fs, path::PathBuf, time::Duration};

use informer::config::Config;
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_registry::Digest;
use informer_tests::{host::TestHost, metrics::value, toml::watch};
use tempfile::TempDir;

use crate::{
    configmaps::ConfigMaps,
    reload::{digest, replace, version},
};
use server::Registry;

#[allow(dead_code, reason = "the faults are for the tests of the puller")]
#[path = "../../host/registry/tests/server/server.rs"]
pub(crate) mod server;

/// The imports and exports of the fixture `echo`, as far as they matter.
const ECHO: (&[&str], &[&str]) = (
    &["informer:plugin/objects@0.1.0", "wasi:logging/logging@0.1.0-draft"],
    &["informer:plugin/handler@0.1.0", "informer:plugin/plugin@0.1.0"],
);

fn plugin(registry: &Registry, lines: &str) -> String {
    format!(
        "[[registry]]\nhost = \"{host}\"\ninsecure = true\n{}\n[[plugin]]\nname = \"echo\"\nsource = \"oci://{host}/acme/echo:1\"\n\
         {lines}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        watch("v1/configmaps"),
        host = registry.host(),
    )
}

fn add(registry: &Registry, component: &[u8]) -> Digest {
    registry.add_component("acme/echo", "1", component, ECHO)
}

/// Writes a configuration file whose plugin has this tag, and returns its path. A host with this file keeps pulled components in the
/// directory.
fn choose(directory: &TempDir, registry: &Registry, tag: &str) -> PathBuf {
    let (file, cache) = (directory.path().join("informer.toml"), directory.path().join("cache"));
    let toml = plugin(registry, "").replace("/acme/echo:1", &format!("/acme/echo:{tag}"));
    let host = format!("[host]\nadmin = \"off\"\nstate-dir = \"off\"\ncache-dir = {cache:?}\n");
    replace(&file, format!("{host}{toml}").as_bytes());
    file
}

/// Starts a host with a configuration file whose plugin has the tag 1, and waits until this version serves. The registry also has the
/// tag 2.
async fn start_file(directory: &TempDir) -> (DevServer, Registry, TestHost) {
    let (server, registry) =
        (DevServer::start(informer_devserver::Config::default()).await.unwrap(), Registry::start().await);
    add(&registry, &version(1));
    registry.add_component("acme/echo", "2", &version(2), ECHO);
    let file = choose(directory, &registry, "1");
    let host = TestHost::start_file(&server.url(), &file).await.unwrap();
    serving(&host, &version(1)).await;
    (server, registry, host)
}

/// Starts a host that looks tags up often, and keeps pulled components in this directory.
async fn start(server: &DevServer, toml: &str, directory: &TempDir) -> TestHost {
    let cache = directory.path().join("cache");
    let adjust = move |config: &mut Config| {
        config.host.cache_dir = Some(cache);
        for plugin in &mut config.plugins {
            plugin.poll = Some(Duration::from_millis(50));
        }
    };
    TestHost::start_adjusted(&server.url(), toml, adjust).await.unwrap()
}

async fn serving(host: &TestHost, component: &[u8]) {
    let wanted = digest(component);
    host.until("this version in service", |_| host.plugin("echo")["version"]["digest"] == wanted).await;
}

async fn refused(host: &TestHost, words: &str) {
    host.until(&format!("a refusal with `{words}`"), |_| {
        host.plugin("echo")["refused"].as_str().is_some_and(|text| text.contains(words))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_moves_reloads_the_plugin_between_two_events() {
    let (server, registry) =
        (DevServer::start(informer_devserver::Config::default()).await.unwrap(), Registry::start().await);
    let directory = TempDir::new().unwrap();
    let first = add(&registry, &version(1));
    let host = start(&server, &plugin(&registry, ""), &directory).await;
    host.synced().await;
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("one").await;
    host.lines.said("echo", "add default/one ", "").await;
    assert_eq!(host.plugin("echo")["pull"]["artifact"], first.to_string());

    let second = add(&registry, &version(2));
    serving(&host, &version(2)).await;

    objects.create("two").await;
    host.lines.said("echo", "add default/two ", "").await;
    assert_eq!(host.plugin("echo")["pull"]["artifact"], second.to_string());
    assert_eq!(host.degraded(), Vec::<String>::new());
    assert_eq!(pulls(&host, "pulled"), 2.0);
    assert_eq!(pulls(&host, "failed"), 0.0);
    let bytes = version(1).len() + version(2).len();
    assert_eq!(
        value(&host.metrics(), "informer_registry_received_bytes_total{plugin=\"echo\"}"),
        f64::from(u32::try_from(bytes).unwrap())
    );
    host.until("a pull that finds nothing new", |_| pulls(&host, "unchanged") > 0.0).await;
    host.stop().await;
}

/// The number of pulls that ended so.
fn pulls(host: &TestHost, outcome: &str) -> f64 {
    value(&host.metrics(), &format!("informer_registry_pulls_total{{plugin=\"echo\",outcome=\"{outcome}\"}}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_has_the_component_starts_and_serves_without_the_registry() {
    let (server, registry) =
        (DevServer::start(informer_devserver::Config::default()).await.unwrap(), Registry::start().await);
    let directory = TempDir::new().unwrap();
    add(&registry, &version(1));
    let toml = plugin(&registry, "");
    let host = start(&server, &toml, &directory).await;
    host.synced().await;
    let address = registry.address();

    drop(registry);
    host.until("a pull that fails", |_| {
        host.plugin("echo")["pull"]["failing"]["attempts"].as_u64() >= Some(1)
    })
    .await;
    let degraded = host.degraded().join("\n");
    assert!(
        degraded.contains("plugin echo: the version in service stays: ")
            && degraded.contains("does not answer"),
        "{degraded}"
    );
    assert!(pulls(&host, "failed") >= 1.0);
    host.stop().await;

    let host = start(&server, &toml, &directory).await;
    serving(&host, &version(1)).await;
    host.synced().await;
    assert!(host.unready().is_empty());

    // The next pull comes after the first wait, 5 s; a request comes at once.
    let registry = Registry::start_at(address).await;
    add(&registry, &version(2));
    host.app().reload(Some("echo".to_owned())).await.unwrap();
    serving(&host, &version(2)).await;
    assert!(host.plugin("echo")["pull"]["failing"].is_null());
    host.stop().await;
}

/// The second source answers only after the file names the first source again.
#[tokio::test(flavor = "multi_thread")]
async fn a_pull_that_ends_after_the_source_changed_installs_nothing() {
    let directory = TempDir::new().unwrap();
    let (_server, registry, host) = start_file(&directory).await;
    let before = host.plugin("echo");
    registry.set(|faults| faults.silent = true);

    choose(&directory, &registry, "2");
    let is_pulled = || registry.requests().iter().any(|(request, _)| request.ends_with("/manifests/2"));
    host.until("a pull of the second source", |_| is_pulled()).await;
    choose(&directory, &registry, "1");
    let source = || host.plugin("echo")["source"].as_str().unwrap_or_default().to_owned();
    host.until("the first source", |_| source().ends_with("/acme/echo:1")).await;
    registry.set(|faults| faults.silent = false);

    let artifact = &before["pull"]["artifact"];
    assert!(artifact.is_string(), "{before:#}");
    host.until("a pull of the first source", |_| host.plugin("echo")["pull"]["artifact"] == *artifact).await;
    let plugin = host.plugin("echo");
    assert_eq!(plugin["version"]["digest"], digest(&version(1)));
    let swaps = (&plugin["calls"]["swaps"], &before["calls"]["swaps"]);
    assert!(swaps.0 == swaps.1 && plugin["refused"].is_null(), "{plugin:#}");
    host.stop().await;
}

/// The host uses the component that it pulled earlier, as it also does when it starts.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_source_that_was_pulled_before_is_served_without_the_registry() {
    let directory = TempDir::new().unwrap();
    let (_server, registry, host) = start_file(&directory).await;
    choose(&directory, &registry, "2");
    serving(&host, &version(2)).await;
    registry.set(|faults| faults.status = Some(503));

    choose(&directory, &registry, "1");

    serving(&host, &version(1)).await;
    host.until("no refusal", |_| host.plugin("echo")["refused"].is_null()).await;
    host.stop().await;
}

/// The host keeps the component that is in service, so it has nothing new to load.
#[tokio::test(flavor = "multi_thread")]
async fn a_requested_reload_reports_a_registry_that_is_down_and_the_version_in_service_stays() {
    let (server, registry) =
        (DevServer::start(informer_devserver::Config::default()).await.unwrap(), Registry::start().await);
    let directory = TempDir::new().unwrap();
    add(&registry, &version(1));
    let host = start(&server, &plugin(&registry, ""), &directory).await;
    serving(&host, &version(1)).await;
    drop(registry);

    let report = host.app().reload(Some("echo".to_owned())).await.unwrap();

    assert!(!report.is_ok(), "{report:?}");
    assert!(report.changes[0].detail.contains("does not answer"), "{report:?}");
    assert_eq!(host.plugin("echo")["version"]["digest"], digest(&version(1)));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_registry_and_without_a_cache_the_reason_is_shown() {
    let (server, registry) =
        (DevServer::start(informer_devserver::Config::default()).await.unwrap(), Registry::start().await);
    let toml = plugin(&registry, "");
    drop(registry);

    let host = start(&server, &toml, &TempDir::new().unwrap()).await;

    refused(&host, "does not answer: ").await;
    assert!(
        host.unready()[0].contains("plugin echo: no version in service: 127.0.0.1:"),
        "{:?}",
        host.unready()
    );
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_version_without_its_grant_is_refused_by_its_config_and_the_old_one_stays() {
    let (server, registry) =
        (DevServer::start(informer_devserver::Config::default()).await.unwrap(), Registry::start().await);
    let directory = TempDir::new().unwrap();
    add(&registry, &version(1));
    let host = start(&server, &plugin(&registry, ""), &directory).await;
    host.synced().await;
    registry.forget_requests();

    let imports = ["wasi:http/types@0.2.0", "wasi:http/outgoing-handler@0.2.0"];
    registry.add_component("acme/echo", "1", &version(2), (&imports, ECHO.1));
    refused(&host, "is not pulled, by what its config says: the component imports wasi:http/").await;

    let layer = format!("blobs/{}", Digest::of(&version(2)));
    assert!(registry.requests().iter().all(|(request, _)| !request.ends_with(&layer)));
    assert_eq!(host.plugin("echo")["version"]["digest"], digest(&version(1)));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_plugin_takes_no_other_version() {
    let (server, registry) =
        (DevServer::start(informer_devserver::Config::default()).await.unwrap(), Registry::start().await);
    let directory = TempDir::new().unwrap();
    let first = add(&registry, &version(1));
    add(&registry, &version(2));
    let host = start(&server, &plugin(&registry, &format!("digest = \"{first}\"")), &directory).await;

    serving(&host, &version(1)).await;

    assert!(
        registry.requests().iter().all(|(request, _)| !request.starts_with("HEAD ")),
        "no tag is looked up"
    );
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_another_digest_than_the_pinned_one_is_refused() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let (pin, path) = (Digest::of(b"something else"), guest("echo"));
    let toml = format!(
        "{}[[plugin]]\nname = \"echo\"\nsource = {path:?}\ndigest = \"{pin}\"\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        watch("v1/configmaps")
    );
    let host = TestHost::start(&server.url(), &toml).await.unwrap();

    refused(&host, "the file has the digest sha256:").await;

    let refusal = host.plugin("echo")["refused"].as_str().unwrap().to_owned();
    let own = digest(&fs::read(&path).unwrap());
    assert!(refusal.contains(&format!("`digest` of the plugin is {pin}")), "{refusal}");
    assert!(refusal.ends_with(&format!("write digest = \"sha256:{own}\"")), "{refusal}");
    host.stop().await;
}

/// The host follows the lock file beside its configuration.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_host_pulls_exactly_what_the_lock_file_names() {
    let (server, registry) =
        (DevServer::start(informer_devserver::Config::default()).await.unwrap(), Registry::start().await);
    let directory = TempDir::new().unwrap();
    let (first, second) = (add(&registry, &version(1)), add(&registry, &version(2)));
    let (file, lock) = (choose(&directory, &registry, "1"), directory.path().join("informer.lock"));
    let write = |entries: &[(&str, Digest)]| {
        let entries = entries.iter().map(|(tag, digest)| {
            let source = format!("oci://{}/acme/echo:{tag}", registry.host());
            format!("[[artifact]]\nsource = \"{source}\"\ndigest = \"{digest}\"\n")
        });
        fs::write(&lock, format!("version = 1\n{}", entries.collect::<String>())).unwrap();
    };
    write(&[("other", first)]);

    let host = TestHost::start_file(&server.url(), &file).await.unwrap();
    refused(&host, "informer.lock does not name oci://").await;
    write(&[("1", first)]);
    serving(&host, &version(1)).await;
    write(&[("1", second)]);
    serving(&host, &version(2)).await;

    write(&[("1", Digest::of(b"nowhere"))]);
    host.until("a pull that fails", |_| !host.plugin("echo")["pull"]["failing"].is_null()).await;
    assert_eq!(host.plugin("echo")["version"]["digest"], digest(&version(2)));
    host.stop().await;
}
