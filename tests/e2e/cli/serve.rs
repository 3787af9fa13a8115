//! The commands that run until they are stopped.

use std::{
    collections::HashSet,
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::PATIENCE;
use serde_json::Value;

use super::binary::Running;
use crate::configmaps::ConfigMaps;

#[tokio::test]
async fn run_serves_until_sigterm_and_then_succeeds() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("something").await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let configuration = format!(
        "[cluster]\nserver = \"{}\"\n[host]\nadmin = \"127.0.0.1:0\"\n[[watch]]\ngvr = \"v1/configmaps\"\n\
         [[plugin]]\nname = \"echo\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        server.url(),
        guest("echo"),
    );
    fs::write(&path, configuration).unwrap();
    let mut host = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
    let line = host.logged("add default/something ").await;
    assert!(line.contains("plugin=\"echo\""), "{line}");

    host.signal("TERM").await;

    host.logged("stopping: the calls in flight finish").await;
    // The host calls the component's `stop` before its last log line.
    host.logged(": stop ").await;
    host.logged("informer::app: stopped").await;
    assert_eq!(host.ended(PATIENCE).await.code(), Some(0));
}

#[tokio::test]
async fn apiserver_prints_its_address_for_programs_and_ends_on_ctrl_c() {
    let temporary = tempfile::tempdir().unwrap();
    let variables = [("TMPDIR", temporary.path().into())];
    let mut server = Running::start_with(&["apiserver", "--output", "json"], variables).await;
    let printed: Value = serde_json::from_str(&server.line().await).unwrap();
    let path = Path::new(printed["kubeconfig"].as_str().unwrap());
    let kubeconfig = fs::read_to_string(path).unwrap();
    assert!(kubeconfig.contains(printed["url"].as_str().unwrap()), "{kubeconfig}");
    let directory = path.parent().unwrap();
    assert_eq!(fs::metadata(directory).unwrap().permissions().mode() & 0o777, 0o700);
    let port = printed["url"].as_str().unwrap().rsplit_once(':').unwrap().1;
    let name = directory.file_name().unwrap().to_str().unwrap();
    assert!(name.len() == "informer-".len() + 6 && !name.contains(port), "no other user foresees {name}");

    // The server answers.
    let objects = ConfigMaps::at(printed["url"].as_str().unwrap()).await;
    objects.create("something").await;
    assert_eq!(objects.versions().await.len(), 1);

    server.signal("INT").await;
    assert_eq!(server.ended(PATIENCE).await.code(), Some(0));
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "the kubeconfig is removed");
}

#[tokio::test]
async fn dev_runs_plugins_against_its_own_api_server() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let configuration = format!(
        "[host]\nadmin = \"off\"\n[[watch]]\ngvr = \"v1/configmaps\"\n\
         [[plugin]]\nname = \"echo\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        guest("echo"),
    );
    fs::write(&path, configuration).unwrap();
    let mut dev = Running::start(&["dev", "--output", "json", "--config", path.to_str().unwrap()]).await;
    let printed: Value = serde_json::from_str(&dev.line().await).unwrap();

    ConfigMaps::at(printed["url"].as_str().unwrap()).await.create("something").await;

    dev.logged("add default/something ").await;
    dev.stop().await;
}

/// A person works on several projects at a time, and their configurations have the same address.
#[tokio::test]
async fn dev_takes_a_free_port_for_the_admin_endpoint_if_its_port_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap();
    fs::write(&path, format!("[host]\nadmin = \"{taken}\"\n[[watch]]\ngvr = \"v1/configmaps\"\n")).unwrap();
    let arguments = ["dev", "--output", "json", "--config", path.to_str().unwrap()];
    let admin = |line: String| -> SocketAddr {
        let printed: Value = serde_json::from_str(&line).unwrap();
        printed["admin"].as_str().unwrap().parse().unwrap()
    };

    let (mut first, mut second) = tokio::join!(Running::start(&arguments), Running::start(&arguments));

    let addresses = [taken, admin(first.line().await), admin(second.line().await)];
    assert_eq!(addresses.iter().collect::<HashSet<_>>().len(), 3, "{addresses:?}");
    assert!(addresses.iter().all(|address| address.ip() == taken.ip()), "{addresses:?}");
    first.stop().await;
    second.stop().await;
}

/// A container that holds nothing but the binary has none, and nothing here speaks TLS.
#[tokio::test]
async fn dev_needs_no_certificate_authorities() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    fs::write(&path, "[host]\nadmin = \"off\"\n[[watch]]\ngvr = \"v1/configmaps\"\n").unwrap();
    let arguments = ["dev", "--output", "json", "--config", path.to_str().unwrap()];
    let nowhere = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(|variable| (variable, "/nowhere".into()));

    let mut dev = Running::start_with(&arguments, nowhere).await;

    let printed: Value = serde_json::from_str(&dev.line().await).unwrap();
    assert!(printed["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{printed}");
    dev.stop().await;
}

/// No compile cache and no state.
const OFF: (&str, &str) = ("off", "off");

/// A host with the plugin `echo` from this path. `cache` is its compile cache, and `state` has the key of that.
fn configuration(server: &DevServer, source: &Path, (cache, state): (&str, &str)) -> String {
    format!(
        "[cluster]\nserver = \"{}\"\n[host]\nadmin = \"off\"\nstate-dir = {state:?}\ncache-dir = {cache:?}\n\
         [[watch]]\ngvr = \"v1/configmaps\"\n\
         [[plugin]]\nname = \"echo\"\nsource = {source:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        server.url(),
    )
}

#[tokio::test]
async fn sighup_reloads_all_files_and_ends_nothing() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let (path, source) = (directory.path().join("informer.toml"), directory.path().join("echo.wasm"));
    fs::write(&source, "not wasm").unwrap();
    fs::write(&path, configuration(&server, &source, OFF)).unwrap();
    let mut host = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
    let refused = "the plugin cannot be loaded; correct its file and it is tried again";
    host.logged(refused).await;

    // The host tries a file that failed again only if the file changed or a reload is requested.
    for _ in 0..3 {
        host.signal("HUP").await;
        host.logged(refused).await;
    }

    crate::reload::replace(&source, &fs::read(guest("echo")).unwrap());
    host.signal("HUP").await;
    host.logged("plugin loaded").await;
    ConfigMaps::at(&server.url()).await.create("something").await;
    host.logged("add default/something ").await;
    host.stop().await;
}

#[tokio::test]
async fn a_sighup_during_the_start_ends_nothing() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    fs::write(&path, configuration(&server, &guest("echo"), OFF)).unwrap();
    let mut host = Running::start(&["run", "--config", path.to_str().unwrap()]).await;

    host.logged("informer::app: starting").await;
    host.signal("HUP").await;

    host.logged("plugin loaded").await;
    host.stop().await;
}

/// Runs a host until its plugin serves. Returns its log until then.
async fn loads(configuration: &Path) -> String {
    let mut host = Running::start(&["run", "--config", configuration.to_str().unwrap()]).await;
    let log = host.log_up_to("plugin loaded").await.join("\n");
    host.stop().await;
    log
}

#[tokio::test]
async fn damaged_compiled_code_is_reported_and_replaced_and_a_cache_that_cannot_be_written_is_reported() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let (path, cache) = (directory.path().join("informer.toml"), directory.path().join("cache"));
    let state = directory.path().join("state");
    let write = |cache: &str| {
        let places = (cache, state.to_str().unwrap());
        fs::write(&path, configuration(&server, &guest("echo"), places)).unwrap();
    };
    write(cache.to_str().unwrap());
    let damaged = "compiled code in the cache is not loaded; compiling again";
    assert!(!loads(&path).await.contains(damaged));
    let kept = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
    let code = kept.into_iter().find(|path| path.extension().is_some_and(|found| found == "cwasm")).unwrap();

    let mut bytes = fs::read(&code).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&code, &bytes).unwrap();
    assert!(loads(&path).await.contains(damaged));
    assert!(!loads(&path).await.contains(damaged), "the damaged code must be replaced");

    // A file stands in the place of the directory.
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    write(file.to_str().unwrap());
    assert!(loads(&path).await.contains("compiled code is not cached"));
}
