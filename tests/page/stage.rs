//! The host with an admin endpoint, its API server and its plugins, and a browser with its page.

use std::{fs, path::PathBuf};

use informer::{config::Access, connect::connect};
use informer_devserver::{Config, DevServer};
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::Browser;

/// What a plugin says that wants to be taken for a part of the page. It has an element with a script, a mark that reverses text, and
/// a character that no browser shows.
pub(crate) const HOSTILE: &str =
    "<img src=x onerror=\"document.title='taken'\"><b>bold</b> \u{202e}desrever\u{e0041}";

/// Any free port.
const ANY: &str = "127.0.0.1:0";

pub(crate) struct Stage {
    pub(crate) browser: Browser,
    pub(crate) host: TestHost,
    pub(crate) server: DevServer,
    /// The watches and plugins.
    toml: String,
    file: PathBuf,
    _directory: TempDir,
}

// === impl Stage ===

impl Stage {
    /// Starts a host with these objects and with the watches and plugins of `toml`, and opens its page.
    pub(crate) async fn start(objects: Vec<Value>, toml: &str) -> Self {
        let server = DevServer::start(Config::default()).await.unwrap();
        server.load(objects).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("informer.toml");
        fs::write(&file, whole(ANY, toml)).unwrap();
        let host = TestHost::start_file(&server.url(), &file).await.unwrap();
        let browser = Browser::start().await;
        let stage = Self { browser, host, server, toml: toml.to_owned(), file, _directory: directory };
        stage.browser.open(&stage.url()).await;
        stage.browser.shows("#connection", "live").await;
        stage
    }

    /// The address of the page.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.host.app().admin_address().unwrap())
    }

    /// Replaces the watches and plugins in the configuration file.
    pub(crate) fn rewrite(&self, toml: &str) {
        let new = self.file.with_extension("new");
        fs::write(&new, whole(ANY, toml)).unwrap();
        fs::rename(new, &self.file).unwrap();
    }

    /// Stops the host, waits until the page reports it, and starts the host again at the same address.
    pub(crate) async fn restarted(self) -> Self {
        let Self { browser, host, server, toml, file, _directory } = self;
        let address = host.app().admin_address().unwrap().to_string();
        host.stop().await;
        browser.shows("#connection", "not live").await;
        fs::write(&file, whole(&address, &toml)).unwrap();
        let host = TestHost::start_file(&server.url(), &file).await.unwrap();
        Self { browser, host, server, toml, file, _directory }
    }

    /// Changes the data of a ConfigMap.
    pub(crate) async fn change(&self, name: &str) {
        let connection = connect(&Access::Server(self.server.url().parse().unwrap())).await.unwrap();
        let objects: Api<ConfigMap> = Api::namespaced(connection.client, "shop");
        let patch = Patch::Merge(json!({"data": {"changed": "yes"}}));
        objects.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits until no version is being compiled and each notification is settled.
    pub(crate) async fn settled(&self) {
        self.host.synced().await;
    }

    /// Ends everything. The browser must have nothing to complain about.
    pub(crate) async fn leave(self) {
        assert_eq!(json!(self.browser.complaints().await), json!([]));
        drop(self.browser);
        self.host.stop().await;
        self.server.shutdown().await;
    }
}

fn whole(admin: &str, toml: &str) -> String {
    format!("[host]\nadmin = \"{admin}\"\nstate-dir = \"off\"\n{toml}")
}

/// A ConfigMap in the namespace `shop`.
pub(crate) fn configmap(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": name}})
}

/// A watch of ConfigMaps, and the plugin `echo`, which logs each event.
pub(crate) fn echo() -> String {
    [watch("v1/configmaps"), plugin("echo", &guest("echo"), "v1/configmaps", "")].concat()
}

/// A plugin that refuses the first addition of each object for good.
pub(crate) fn fussy() -> String {
    let says = HOSTILE.replace('"', "\\\"");
    let config = format!("[plugin.config]\ntimes = 1\nhow = \"permanent\"\nsays = \"{says}\"");
    plugin("fussy", &guest("flaky"), "v1/configmaps", &config)
}
