//! Bad input: what the operator reads, and that everything else goes on.
//!
//! What is wrong with `informer.toml` itself is tested in `host/src/config`.

mod components;
mod objects;
mod resources;
mod server;

use informer_guests::guest;
use informer_tests::host::TestHost;

/// A watch of ConfigMaps, and `echo` to hear of them.
fn configuration() -> String {
    format!(
        r#"
        [[watch]]
        gvr = "v1/configmaps"
        [[plugin]]
        name = "echo"
        source = {source:?}
          [[plugin.on]]
          watch = "v1/configmaps"
        "#,
        source = guest("echo"),
    )
}

/// Waits until the first watch failed; gives the text of its last error, as the status shows it, with `URL` in place
/// of the server's.
async fn last_error(host: &TestHost, url: &str) -> String {
    let text = |status: &serde_json::Value| {
        status["informers"][0]["reflectors"][0]["last-error"]["text"].as_str().map(str::to_owned)
    };
    host.until("a failure of the watch", |status| text(status).is_some()).await;
    text(&host.status()).unwrap().replace(url, "URL")
}
