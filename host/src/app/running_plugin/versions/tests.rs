//! How long a refusal stays, and what a host does that stands by.

use std::{fs, net::SocketAddr};

use informer_devserver::DevServer;
use informer_dispatch::Initial;
use informer_guests::guest;
use informer_runtime::EngineConfig;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

use super::*;
use crate::{
    app::{App, Options, running_plugin::RunningPlugin},
    config::{Access, Components, Config, Environment, Place},
    connect::connect,
    state::KeptReceipts,
};

/// Time for something that must happen, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A registry that does not answer: no program listens at this port.
const DOWN: &str = "oci://127.0.0.1:1/acme/echo:1";
const DOWN_REGISTRY: &str = "[[registry]]\nhost = \"127.0.0.1:1\"\ninsecure = true\n";

/// A host with one plugin, whose component is a file.
struct Host {
    server: DevServer,
    app: App,
    directory: TempDir,
}

impl Host {
    async fn start() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let host = Self::start_at(server, |_| {}).await;
        host.until("a version in service", |plugin| plugin.plugin().version().is_some()).await;
        host
    }

    /// Starts a host of this server.
    async fn start_at(server: DevServer, adjust: impl FnOnce(&mut Config)) -> Self {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("a.wasm");
        fs::copy(guest("echo"), &file).unwrap();
        let connection = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap();
        let options = Options {
            connection: Some(connection),
            engine: |_| EngineConfig::default(),
            ..Options::default()
        };
        let mut config = config(&file.display().to_string(), "", "");
        adjust(&mut config);
        let app = App::start(config, options).await.unwrap();
        Self { server, app, directory }
    }

    fn file(&self) -> String {
        self.directory.path().join("a.wasm").display().to_string()
    }

    fn plugin(&self) -> Arc<RunningPlugin> {
        self.app.applier.plugins().find("a").unwrap()
    }

    /// Why the component is not in service.
    fn refused(&self) -> String {
        self.plugin().versions().refused().unwrap_or_default()
    }

    async fn until(&self, what: &str, is_so: impl Fn(&RunningPlugin) -> bool) {
        let waiting = async {
            while !is_so(&self.plugin()) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{what}: {}", self.refused()));
    }

    async fn end(self) {
        self.app.stop().await;
        self.server.shutdown().await;
    }
}

/// A registry that accepts connections and answers no request.
struct SilentRegistry {
    listener: TcpListener,
    address: SocketAddr,
}

impl SilentRegistry {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address }
    }

    /// A configuration with this registry, whose plugin has this source.
    fn config(&self, source: &str) -> Config {
        config(source, "", &format!("[[registry]]\nhost = \"{}\"\ninsecure = true\n", self.address))
    }

    /// The source of a component in this registry.
    fn source(&self) -> String {
        format!("oci://{}/acme/echo:1", self.address)
    }

    /// Waits for a pull. The pull waits for an answer until the connection is dropped.
    async fn pull(&self) -> TcpStream {
        timeout(PATIENCE, self.listener.accept()).await.unwrap().unwrap().0
    }
}

/// One plugin with this source and this grant; `tables` stand before it.
fn config(source: &str, grant: &str, tables: &str) -> Config {
    let text = format!(
        "[host]\nadmin = \"off\"\nstate-dir = \"off\"\n[[watch]]\ngvr = \"v1/configmaps\"\n{tables}\n\
         [[plugin]]\nname = \"a\"\nsource = \"{source}\"\ngrant = {{ {grant} }}\n\
         config = {{ gvr = \"v1/configmaps\", what = \"list-meta\" }}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n"
    );
    let environment = Environment { home: None, cache_dir: None, state_dir: None };
    let place = Place { file: Path::new("informer.toml"), base: Path::new("/"), environment: &environment };
    config::parse(&text, &place, Components::Unseen).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_lacks_a_grant_is_loaded_once_the_configuration_has_the_grant() {
    let host = Host::start().await;
    let before = host.plugin().plugin().version().unwrap().digest;
    let new = host.directory.path().join("new.wasm");
    fs::copy(guest("reader"), &new).unwrap();
    fs::rename(&new, host.file()).unwrap();
    host.until("a refusal", |plugin| plugin.versions().refused().is_some()).await;
    assert!(host.refused().contains("[plugin.grant]"), "{}", host.refused());

    host.app.apply(config(&host.file(), "read = [\"v1/configmaps\"]", "")).await.unwrap();

    host.until("the other version", |plugin| {
        plugin.plugin().version().is_some_and(|version| version.digest != before)
    })
    .await;
    host.until("no refusal", |plugin| plugin.versions().refused().is_none()).await;
    host.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_configuration_does_not_end_the_refusal_of_a_component() {
    let host = Host::start().await;
    let new = host.directory.path().join("new.wasm");
    fs::write(&new, "no component").unwrap();
    fs::rename(&new, host.file()).unwrap();
    host.until("a refusal", |plugin| plugin.versions().refused().is_some()).await;
    let refusal = host.refused();
    let swaps = host.plugin().plugin().stats().swaps;

    host.app.apply(config(&host.file(), "read = [\"v1/configmaps\"]", "")).await.unwrap();

    assert!(host.plugin().plugin().stats().swaps > swaps, "the version in service has the grant");
    assert_eq!(host.refused(), refusal);
    host.end().await;
}

/// For example, a service that `start` needs may be down.
#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_with_which_the_component_does_not_start_is_tried_again() {
    let own = || config(&guest("reader").display().to_string(), "read = [\"v1/configmaps\"]", "");
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let host = Host::start_at(server, |config| *config = own()).await;
    host.until("a version in service", |plugin| plugin.plugin().version().is_some()).await;
    let mut other = own();
    "{}".clone_into(&mut other.plugins[0].config_json);

    host.app.apply(other).await.unwrap();

    assert!(host.plugin().plugin().version().is_some(), "the version in service stays");
    // The next attempt is a load.
    let is_load = |refused: &Option<Refusal>| matches!(refused, Some(Refusal::Load(_)));
    host.until("another attempt", |plugin| is_load(&plugin.versions().refused.lock())).await;
    host.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_stays_while_the_registry_does_not_answer() {
    let host = Host::start().await;
    let refuse = format!("{DOWN_REGISTRY}[[verify]]\nrepository = \"*\"\nrefuse = true\n");
    host.app.apply(config(DOWN, "", &refuse)).await.unwrap();
    host.until("a refusal", |plugin| plugin.versions().refused().is_some()).await;
    let refusal = host.refused();
    assert!(refusal.contains("refuses everything"), "{refusal}");

    host.app.apply(config(DOWN, "", DOWN_REGISTRY)).await.unwrap();
    let plugin = host.plugin();
    let polled = plugin.versions().load(Look::Changed).await;

    assert!(matches!(polled, Ok(None)), "the version in service stays");
    let failing = plugin.versions().pulls().status().unwrap().failing.unwrap();
    assert!(failing.why.contains("does not answer"), "{}", failing.why);
    assert_eq!(host.refused(), refusal);
    let requested = plugin.versions().load(Look::Requested).await.unwrap_err().to_string();
    assert!(requested.contains("does not answer"), "{requested}");
    assert_eq!(host.refused(), refusal);
    host.end().await;
}

/// Only this refusal shows that the version in service comes from the previous source.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_was_never_pulled_is_refused_until_the_plugin_has_another_one() {
    let host = Host::start().await;

    host.app.apply(config(DOWN, "", DOWN_REGISTRY)).await.unwrap();
    host.until("a refusal", |plugin| plugin.versions().refused().is_some()).await;

    let refusal = host.refused();
    let start = "the component cannot be pulled: ";
    assert!(refusal.starts_with(start) && refusal.contains("does not answer"), "{refusal}");
    assert!(host.plugin().plugin().version().is_some(), "the version in service stays");
    host.app.apply(config(&host.file(), "", DOWN_REGISTRY)).await.unwrap();
    assert!(matches!(host.plugin().versions().load(Look::Changed).await, Ok(None)));
    assert_eq!(host.refused(), "");
    host.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_that_fails_after_the_source_changed_is_no_failure_of_the_new_source() {
    let host = Host::start().await;
    let registry = SilentRegistry::start().await;
    host.app.apply(registry.config(&registry.source())).await.unwrap();
    let connection = registry.pull().await;

    host.app.apply(registry.config(&host.file())).await.unwrap();
    drop((registry, connection));
    // Loads run one after the other: this load ends after the late pull.
    let plugin = host.plugin();
    let loaded = timeout(PATIENCE, plugin.versions().load(Look::Changed)).await.unwrap();

    assert!(matches!(loaded, Ok(None)), "the file is in service already");
    assert!(plugin.versions().pulls().status().is_none(), "nothing was pulled from a file");
    assert_eq!(host.refused(), "");
    host.end().await;
}

/// The limits of a pull are a minute for the manifest and ten minutes for the component.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_source_is_loaded_although_the_registry_of_the_previous_source_hangs() {
    let host = Host::start().await;
    let registry = SilentRegistry::start().await;
    host.app.apply(registry.config(&registry.source())).await.unwrap();
    let _connection = registry.pull().await;
    assert!(host.plugin().versions().is_changing(), "the version in service comes from the previous source");

    host.app.apply(registry.config(&host.file())).await.unwrap();

    let plugin = host.plugin();
    let loaded = timeout(PATIENCE / 2, plugin.versions().load(Look::Changed)).await.unwrap();
    assert!(matches!(loaded, Ok(None)), "the file is in service already");
    assert!(!plugin.versions().is_changing());
    host.end().await;
}

/// The first change cancels the pull of the source, and the second change restores the source.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_changes_and_is_restored_is_pulled_again() {
    let host = Host::start().await;
    let registry = SilentRegistry::start().await;
    host.app.apply(registry.config(&registry.source())).await.unwrap();
    let _first = registry.pull().await;

    let plugin = host.plugin();
    let present = plugin.versions().origin();
    let other = Origin { source: Source::File(host.file().into()), ..present.clone() };
    plugin.versions().set_origin(other);
    plugin.versions().set_origin(present);

    let _second = registry.pull().await;
    assert!(plugin.versions().is_changing(), "the version in service is that of the file");
    host.end().await;
}

/// The next start of the host compares its component with the recorded component. If they differ and the plugin has
/// `on-reload = "replay"`, the host delivers every object.
#[tokio::test(flavor = "multi_thread")]
async fn the_version_in_service_is_recorded_when_a_changed_subscription_begins_to_keep_receipts() {
    let host = Host::start().await;
    let plugin = host.plugin();
    // The host would have recorded the first version by now, but this plugin keeps no receipts yet.
    timeout(PATIENCE, plugin.serving()).await.unwrap();
    let kept = KeptReceipts::new(host.app.state.clone(), "a", "");
    assert_eq!(kept.component().unwrap(), None);

    let mut changed = config(&host.file(), "", "");
    changed.plugins[0].subscriptions[0].filter.initial = Initial::Changed;
    host.app.apply(changed).await.unwrap();

    let digest = plugin.plugin().version().unwrap().digest;
    host.until("the record", |_| kept.component().unwrap().as_deref() == Some(&*digest)).await;
    host.end().await;
}

/// A registry is asked again and again (`poll`), and the answer is the same most of the time.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_stands_by_compiles_a_component_once_and_serves_it_when_it_leads() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let leases: Api<Lease> = Api::namespaced(client, "default");
    let spec = json!({"holderIdentity": "another", "leaseDurationSeconds": 3600});
    let lease = serde_json::from_value(json!({"metadata": {"name": "informer"}, "spec": spec})).unwrap();
    leases.create(&PostParams::default(), &lease).await.unwrap();
    let host = Host::start_at(server, |config| {
        config.host.lease = Some("default/informer".parse().unwrap());
        // A busy machine may keep the leader from renewing for seconds.
        config.host.lease_duration = Duration::from_secs(15);
    })
    .await;
    host.until("a compiled component", |plugin| plugin.versions().compiled.lock().is_some()).await;

    let plugin = host.plugin();
    let versions = plugin.versions();
    let again = versions.try_load(Look::Changed, &versions.origin()).await;

    assert!(matches!(again, Ok(Some(Loaded::Known))), "it is not compiled again");
    assert!(host.plugin().plugin().version().is_none());
    leases.delete("informer", &DeleteParams::default()).await.unwrap();
    host.until("a version in service", |plugin| plugin.plugin().version().is_some()).await;
    host.end().await;
}

/// A load from a slow registry may take many minutes. The caller does not wait for the end of the load.
#[tokio::test(flavor = "multi_thread")]
async fn a_requested_load_ends_when_the_plugin_is_removed() {
    let host = Host::start().await;
    let plugin = host.plugin();
    let turn = plugin.versions().loading.lock().await;
    let (applier, loaded) = (Arc::clone(&host.app.applier), Arc::clone(&plugin));
    let loading = tokio::spawn(async move { applier.load(&loaded).await });
    let mut without = config(&host.file(), "", "");
    without.plugins.clear();

    timeout(PATIENCE, host.app.apply(without)).await.unwrap().unwrap();

    let ended = timeout(PATIENCE, loading).await.unwrap().unwrap();
    assert!(ended.is_err_and(|why| why.contains("removed")));
    drop(turn);
    assert!(plugin.plugin().version().is_none());
    host.end().await;
}
