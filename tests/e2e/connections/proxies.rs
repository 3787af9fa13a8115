//! Proxies that speak TLS, and the proxies of the environment.

use std::{fs, path::PathBuf};

use informer::{config::Access, connect::connect};
use informer_guests::guest;
use informer_tests::{binary, toml::plugin};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::{
    WATCH,
    middlebox::{Kind, Middlebox},
    server, tls,
};

/// A kubeconfig with a client certificate.
fn kubeconfig(directory: &TempDir, cluster: &Value) -> PathBuf {
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{ "name": "a", "cluster": cluster }],
        "users": [{ "name": "me", "user": {
            "client-certificate": tls::certificate("one.pem"), "client-key": tls::certificate("one.key"),
        } }],
        "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "me" } }],
    });
    let path = directory.path().join("kubeconfig");
    fs::write(&path, text.to_string()).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_pass_an_https_proxy_that_never_sees_the_client_certificate() {
    let server = server().await;
    let api = Middlebox::with_tls(tls::acceptor(tls::Clients::Must), Kind::Open, server.address()).await;
    let basic = Some("Basic bWU6c2VjcmV0");
    let proxy = Middlebox::with_tls(tls::acceptor(tls::Clients::May), Kind::Http(basic), api.address()).await;
    let directory = TempDir::new().unwrap();
    let mut cluster = json!({
        "server": format!("https://{}", api.address()), "certificate-authority": tls::certificate("authority.pem"),
        "proxy-url": format!("https://me:secret@{}", proxy.address()),
    });
    let path = kubeconfig(&directory, &cluster);
    let access = Access::Kubeconfig { path: Some(path), context: None };

    connect(&access).await.unwrap().client.apiserver_version().await.unwrap();

    assert_eq!(proxy.destinations(), [api.address().to_string()]);
    assert_eq!((proxy.shown(), api.shown()), (vec![None], vec![Some("one")]));

    // A proxy with a certificate of an unknown authority.
    cluster.as_object_mut().unwrap().remove("certificate-authority");
    cluster["insecure-skip-tls-verify"] = true.into();
    kubeconfig(&directory, &cluster);
    let refused = connect(&access).await.unwrap().client.apiserver_version().await.unwrap_err();
    let mut text = refused.to_string();
    let mut cause: &dyn std::error::Error = &refused;
    while let Some(deeper) = cause.source() {
        cause = deeper;
        text = format!("{text}: {deeper}");
    }
    assert!(text.contains(&format!("the proxy https://{}/ does not connect", proxy.address())), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

/// The output of `informer check --cluster` for an API server that only the proxy finds.
async fn checked(server: &str, environment: &[(&str, String)]) -> String {
    let directory = TempDir::new().unwrap();
    let authority = tls::certificate("authority.pem");
    let cluster =
        json!({ "server": server, "certificate-authority": authority, "tls-server-name": "127.0.0.1" });
    let kubeconfig = kubeconfig(&directory, &cluster);
    let file = directory.path().join("informer.toml");
    fs::write(&file, format!("{WATCH}{}", plugin("echo", &guest("echo"), "v1/configmaps", ""))).unwrap();
    let output = Command::new(binary::informer().await)
        .args(["check", "--config"])
        .arg(&file)
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .env_clear()
        .env("HOME", directory.path())
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(informer_tests::host::PATIENCE, output).await.unwrap().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    format!("{:?} {}{}", output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_binary_uses_the_proxies_of_its_environment_unless_they_exclude_the_server() {
    let server = server().await;
    let tls = tls::acceptor(tls::Clients::Must);
    let api = Middlebox::with_tls(tls, Kind::Open, server.address()).await;
    for (url, to, variable, direct) in [
        ("https://api.invalid:6443", api.address(), "HTTPS_PROXY", ".invalid"),
        ("https://api.invalid:6443", api.address(), "https_proxy", "api.invalid:6443"),
        ("http://api.invalid:6443", server.address(), "HTTP_PROXY", "*"),
    ] {
        let proxy = Middlebox::start(Kind::Http(None), to).await;
        let named = (variable, format!("http://{}", proxy.address()));
        let passed = checked(url, &[named.clone(), ("NO_PROXY", "example.com".to_owned())]).await;
        assert!(passed.starts_with("Some(0) "), "{variable}: {passed}");
        let destinations = proxy.destinations();
        assert!(
            !destinations.is_empty() && destinations.iter().all(|to| to == "api.invalid:6443"),
            "{destinations:?}"
        );

        let excluded = checked(url, &[named, ("NO_PROXY", direct.to_owned())]).await;
        assert!(
            excluded.starts_with("Some(1) ") && excluded.contains("cannot be reached"),
            "{direct}: {excluded}"
        );
        assert_eq!(proxy.destinations(), destinations, "{direct}");
    }
}
