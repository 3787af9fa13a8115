//! Pushes, pulls and pins, TLS and passwords, and a host that follows a tag and outlives its registry.

use std::{fs, path::Path, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use informer::config::Config;
use informer_devserver::DevServer;
use informer_guests::deployments_rust;
use informer_registry::{Digest, Push};
use informer_tests::{
    binary::informer,
    host::TestHost,
    registry::{Kind, Registry},
    toml::watch,
};
use tempfile::TempDir;
use tokio::{process::Command, task::spawn_blocking};

use crate::{named, pull, puller, push, without_tls};

/// Runs `informer plugin` beside a configuration, and returns whether it succeeded and what it printed.
async fn plugin(directory: &TempDir, arguments: &[&str]) -> (bool, String) {
    let output =
        Command::new(informer().await).current_dir(directory.path()).arg("plugin").args(arguments).output();
    let output = output.await.unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.success(), text)
}

async fn prints(directory: &TempDir, arguments: &[&str]) -> String {
    let (succeeded, text) = plugin(directory, arguments).await;
    assert!(succeeded, "{text}");
    text
}

/// The component with one more custom section, so that it has another digest.
fn another_version(component: &Path) -> Vec<u8> {
    let section = [0, 4, 1, b'v', b'0', b'2'];
    [fs::read(component).unwrap().as_slice(), &section].concat()
}

async fn commands(kind: Kind) {
    let (registry, directory) = (Registry::start(kind).await.unwrap(), TempDir::new().unwrap());
    let component = spawn_blocking(deployments_rust).await.unwrap();
    let tag = format!("oci://{}/acme/deployments:1", registry.host());
    let toml = format!(
        "{}{}[[plugin]]\nname = \"deployments\"\nsource = \"{tag}\"\n[[plugin.on]]\nwatch = \"apps/v1/deployments\"\n",
        without_tls(registry.host()),
        watch("apps/v1/deployments"),
    );
    fs::write(directory.path().join("informer.toml"), toml).unwrap();
    let file = component.to_str().unwrap();

    let first = prints(&directory, &["push", file, &tag, "--author", "ann"]).await;
    assert_eq!(
        prints(&directory, &["push", file, &tag, "--author", "ann"]).await,
        first,
        "the digest follows from the file"
    );
    let shown = prints(&directory, &["inspect", &tag]).await;
    let digest = first.trim_end().rsplit(' ').next().unwrap();
    assert!(first.starts_with(&format!("pushed {tag}\ndigest {digest}\n")), "{first}");
    for line in [
        format!("digest {digest}"),
        format!("component {}, ", Digest::of(&fs::read(&component).unwrap())),
        "author ann".to_owned(),
        "world informer:plugin/event-handler@".to_owned(),
        "export informer:plugin/handler@".to_owned(),
        "signature none was found".to_owned(),
    ] {
        assert!(shown.contains(&line), "{line}: {shown}");
    }

    let pulled = prints(&directory, &["pull", &tag]).await;
    let layer = Digest::of(&fs::read(&component).unwrap());
    assert!(pulled.contains(&format!(" bytes, {layer}\nartifact {digest}\n")), "{pulled}");
    assert_eq!(fs::read(directory.path().join("deployments.wasm")).unwrap(), fs::read(&component).unwrap());
    prints(&directory, &["lock"]).await;
    let lock = fs::read_to_string(directory.path().join("informer.lock")).unwrap();
    assert!(lock.contains(&tag) && lock.contains(digest), "{lock}");
    let verified = prints(&directory, &["verify"]).await;
    assert!(
        verified.contains(&format!("{tag}: {digest}, and no [[verify]] fits its repository")),
        "{verified}"
    );
    let (succeeded, error) = plugin(&directory, &["pull", &tag.replace(":1", ":2")]).await;
    assert!(!succeeded && error.contains("; correct the name, or push it"), "{error}");
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_commands_work_with_go_containerregistry() {
    commands(Kind::WithLists).await;
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_commands_work_with_distribution() {
    commands(Kind::Plain).await;
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_private_registry_needs_its_authority_and_a_password() {
    let certificates =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/runtime/tests/runtime/http/certificates");
    let file = |name: &str| certificates.join(name);
    let kind = Kind::Guarded { certificate: file("loopback.pem"), key: file("loopback.key") };
    let (registry, directory) = (Registry::start(kind).await.unwrap(), TempDir::new().unwrap());
    let host = registry.host();
    let secret = |name: &str, password: &str| {
        let path = directory.path().join(name);
        let auth = STANDARD.encode(format!("me:{password}"));
        fs::write(&path, format!(r#"{{"auths": {{"{host}": {{"auth": "{auth}"}}}}}}"#)).unwrap();
        path
    };
    let with = |ca: &str, credentials: &Path| {
        puller(&format!(
            "[[registry]]\nhost = {host:?}\nca = {:?}\ncredentials = {credentials:?}\n",
            file(ca)
        ))
    };
    let (right, wrong) = (secret("right.json", "secret"), secret("wrong.json", "guess"));
    let tag = named(host, "acme/private:1");

    let digest = push(&with("authority.pem", &right), &tag, "ann").await;
    let pulled = pull(&with("authority.pem", &right), &tag).await.unwrap();
    assert_eq!(pulled.artifact, digest);

    let error = pull(&with("stranger.pem", &right), &tag).await.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("{host} does not answer: ")) && error.contains("certificate"),
        "{error}"
    );
    let error = pull(&with("authority.pem", &wrong), &tag).await.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("{host} does not let this host read or write acme/private: "))
            && error.contains("name `credentials` in the [[registry]]"),
        "{error}"
    );
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_registry_that_talks_http_is_named_with_the_key_that_allows_it() {
    let registry = Registry::start(Kind::Plain).await.unwrap();
    let tag = named(registry.host(), "acme/plugin:1");

    let pulled = pull(&puller(""), &tag).await.unwrap_err().to_string();
    let pushed = puller("").push(&tag, Push::default()).await.unwrap_err().to_string();

    for error in [pulled, pushed] {
        assert!(error.starts_with(&format!("{} does not answer: ", registry.host())), "{error}");
        assert!(error.ends_with("if that is meant, write `insecure = true` in its [[registry]]"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_host_follows_a_tag_and_starts_without_its_registry() {
    let registry = Registry::start(Kind::Plain).await.unwrap();
    let (server, directory) = (DevServer::start(Default::default()).await.unwrap(), TempDir::new().unwrap());
    let component = spawn_blocking(deployments_rust).await.unwrap();
    let second = another_version(&component);
    let (changed, tag) =
        (directory.path().join("second.wasm"), format!("oci://{}/acme/deployments:1", registry.host()));
    fs::write(&changed, &second).unwrap();
    let toml = format!(
        "{}{}[[plugin]]\nname = \"deployments\"\nsource = \"{tag}\"\n[[plugin.on]]\nwatch = \"apps/v1/deployments\"\n\
         [plugin.grant]\nread = [\"apps/v1/deployments\"]\n",
        without_tls(registry.host()),
        watch("apps/v1/deployments"),
    );
    fs::write(directory.path().join("informer.toml"), &toml).unwrap();
    let cache = directory.path().join("cache");
    let adjust = |config: &mut Config| {
        config.host.cache_dir = Some(cache.clone());
        config.plugins[0].poll = Some(Duration::from_millis(50));
    };
    let served = |host: &TestHost| host.plugin("deployments")["version"]["digest"].clone();

    prints(&directory, &["push", component.to_str().unwrap(), &tag]).await;
    let host = TestHost::start_adjusted(&server.url(), &toml, adjust).await.unwrap();
    host.synced().await;
    assert_eq!(served(&host), Digest::of(&fs::read(&component).unwrap()).hex());

    prints(&directory, &["push", changed.to_str().unwrap(), &tag]).await;
    host.until("the version that the tag has now", |_| served(&host) == Digest::of(&second).hex()).await;
    host.stop().await;

    drop(registry);
    let host = TestHost::start_adjusted(&server.url(), &toml, adjust).await.unwrap();
    host.synced().await;
    assert_eq!(served(&host), Digest::of(&second).hex());
    assert!(host.degraded().join("\n").contains("does not answer"), "{:?}", host.degraded());
    host.stop().await;
}
