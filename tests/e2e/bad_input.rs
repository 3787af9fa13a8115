//! Bad input: the operator gets a clear message, and everything else keeps working.
//!
//! `host/src/config` tests errors in `informer.toml` itself.

mod components;
mod objects;
mod resources;
mod server;

use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
};

/// A watch of ConfigMaps, with the plugin `echo`.
fn configuration() -> String {
    watch("v1/configmaps") + &plugin("echo", &guest("echo"), "v1/configmaps", "")
}

/// Waits until the first watch fails. Returns its last error from the status, with `URL` in place of the URL of the
/// server.
async fn last_error(host: &TestHost, url: &str) -> String {
    let text = |status: &serde_json::Value| {
        status["informers"][0]["reflectors"][0]["last-error"]["text"].as_str().map(str::to_owned)
    };
    host.until("a failure of the watch", |status| text(status).is_some()).await;
    text(&host.status()).unwrap().replace(url, "URL")
}
