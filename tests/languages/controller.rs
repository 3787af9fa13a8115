//! A controller in JavaScript with its own configuration. It has no handlers, so the host adds the keys to its workqueue
//! (W-1).

use std::fs;

use informer_devserver::{Config, DevServer};
use informer_tests::host::TestHost;
use serde_json::json;

use crate::{example::Scripted, pods::Pods};

/// The host adds keys for a component without handlers (W-1). A key is given up after the configured attempts
/// (W-13), and then its failures are forgotten (W-12).
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn a_javascript_reconciler_receives_keys_reads_the_cache_and_is_retried() {
    let component = Scripted::Controller.component().await;
    let server = DevServer::start(Config::default()).await.unwrap();
    let pods = Pods::at(&server.url()).await;
    pods.create("web").await;
    let text = fs::read_to_string("../examples/pods-controller-js/informer.toml").unwrap();
    let text = text.replace("\"pods.wasm\"", &format!("{component:?}"));
    let host = TestHost::start(&server.url(), &text).await.unwrap();
    host.synced().await;

    host.lines.said("pods", "sync of pod default/web: ", "").await;
    assert_eq!(host.plugin("pods")["exports"], json!(["reconciler"]));
    pods.create_broken("bad", "no route").await;
    let workqueue = || host.plugin("pods")["workqueue"].clone();
    host.until("the key to be given up", |_| workqueue()["dropped"] == 1).await;
    let lines = host.lines.of("pods").into_iter();
    let errors: Vec<String> = lines.filter(|line| line.starts_with("error")).collect();
    let expected =
        (0..6).map(|tried| format!("error syncing pod default/bad, retried {tried} times: no route"));
    assert_eq!(errors, expected.collect::<Vec<_>>());
    let dropped = &workqueue()["dropped-keys"][0];
    assert_eq!((&dropped["key"], &dropped["attempts"]), (&json!("default/bad"), &json!(6)), "{dropped}");
    let failure = dropped["failure"].as_str().unwrap();
    assert!(failure.starts_with("handler: Error: no route\n    at reconcile ("), "{failure}");

    pods.mend("bad").await;
    host.lines.said("pods", "sync of pod default/bad: ", "").await;
    pods.delete("web").await;
    host.lines.said("pods", "pod default/web does not exist any more", "").await;
    host.until("rest", |_| workqueue()["keys"] == 0 && workqueue()["dropped-keys"] == json!([])).await;
    assert_eq!(workqueue()["failed"], 6, "no call trapped or ended otherwise");
    host.stop().await;
    server.shutdown().await;
}
