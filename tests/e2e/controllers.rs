//! Controllers: real components that reconcile keys (W-1 to W-3, W-12 to W-14).

mod pods;
mod reload;

use std::collections::BTreeSet;

use informer_devserver::DevServer;
use informer_guests::{guest, pods_workqueue};
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
};
use serde_json::{Value, json};

use crate::{configmaps::ConfigMaps, reload::replace};
pub(crate) use pods::Pods;

async fn server() -> DevServer {
    DevServer::start(informer_devserver::Config::default()).await.unwrap()
}

/// A configuration with one plugin that subscribes to ConfigMaps. `lines` end its subscription.
fn configuration(source: &std::path::Path, lines: &str) -> String {
    watch("v1/configmaps") + &plugin("controller", source, "v1/configmaps", lines)
}

async fn start(server: &DevServer, guest_name: &'static str, lines: &str) -> TestHost {
    let source = tokio::task::spawn_blocking(move || guest(guest_name)).await.unwrap();
    let host = TestHost::start(&server.url(), &configuration(&source, lines)).await.unwrap();
    host.synced().await;
    host
}

fn keys(host: &TestHost, plugin: &str) -> Value {
    host.plugin(plugin)["workqueue"].clone()
}

/// Waits until no notification and no key is pending or in flight.
async fn idle(host: &TestHost, plugin: &str) {
    host.until("the queues to run empty", |_| {
        let status = host.plugin(plugin);
        status["queue"]["pending"] == 0
            && status["queue"]["in-flight"] == 0
            && status["workqueue"]["keys"] == 0
    })
    .await;
}

fn reconciled(host: &TestHost, key: &str) -> usize {
    let start = format!("reconcile {key} ");
    host.lines.of("controller").iter().filter(|line| line.starts_with(&start)).count()
}

/// The example runs with its own configuration, except for the path of the component and shorter delays. A key is
/// reconciled, retried after a failure and given up after its last attempt (W-1, W-12, W-13).
#[tokio::test(flavor = "multi_thread")]
async fn the_pods_controller_syncs_retries_five_times_and_gives_up_and_goes_on() {
    let server = server().await;
    let pods = Pods::at(&server.url()).await;
    pods.create("web").await;
    let text = std::fs::read_to_string("../examples/pods-workqueue/informer.toml").unwrap();
    let built = tokio::task::spawn_blocking(pods_workqueue).await.unwrap();
    let text = text
        .replace("\"pods.wasm\"", &format!("{built:?}"))
        .replace("attempts = 6", "attempts = 6\n  min = \"1ms\"");
    let host = TestHost::start(&server.url(), &text).await.unwrap();
    host.synced().await;

    host.lines.said("pods", "sync of pod default/web: ", "").await;
    pods.create_broken("bad", "no route").await;
    host.until("the key to be given up", |_| keys(&host, "pods")["dropped"] == 1).await;
    let errors: Vec<String> =
        host.lines.of("pods").into_iter().filter(|line| line.starts_with("error")).collect();
    let expected: Vec<String> = (0..6)
        .map(|tried| format!("error syncing pod default/bad, retried {tried} times: no route"))
        .collect();
    assert_eq!(errors, expected);
    let dropped = json!([{"key": "default/bad", "attempts": 6, "failure": "handler: no route"}]);
    assert_eq!(keys(&host, "pods")["dropped-keys"], dropped);

    // A change adds the key again. A key that succeeds disappears from the status.
    pods.mend("bad").await;
    host.lines.said("pods", "sync of pod default/bad: ", "").await;
    idle(&host, "pods").await;
    assert_eq!(keys(&host, "pods")["dropped-keys"], json!([]));

    pods.delete("web").await;
    host.lines.said("pods", "pod default/web does not exist any more", "").await;
    idle(&host, "pods").await;
    let status = keys(&host, "pods");
    assert_eq!((&status["failed"], &status["dropped"]), (&json!(6), &json!(1)), "{status:#}");
    assert_eq!(status["queue-duration"]["count"], status["work-duration"]["count"]);
    assert_eq!((&status["depth"], &status["unfinished-work-ms"]), (&json!(0), &json!(0)));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_without_handlers_is_called_with_the_key_of_every_notification() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("first").await;
    let host = start(&server, "reconciles", "resync = \"1s\"").await;

    host.lines.said("controller", "reconcile default/first attempt 1", "").await;
    objects.create("second").await;
    host.lines.said("controller", "reconcile default/second attempt 1", "").await;
    // Neither object changed, so these calls come from the resync.
    host.lines
        .until("controller", "both again", |lines| {
            ["first", "second"].iter().all(|name| {
                lines.iter().filter(|line| line.starts_with(&format!("reconcile default/{name} "))).count()
                    > 1
            })
        })
        .await;
    host.stop().await;

    // Without a resync there is one call for each change.
    let host = start(&server, "reconciles", "").await;
    host.until("the first state", |_| reconciled(&host, "default/second") == 1).await;
    idle(&host, "controller").await;
    objects.delete("second").await;
    host.until("the deletion", |_| reconciled(&host, "default/second") == 2).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_may_add_the_key_of_the_controlling_owner() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create_owned("web-1", "web").await;
    objects.create_owned("web-2", "web").await;
    objects.create("orphan").await;
    let host = start(&server, "reconciles", "enqueue = \"controller\"").await;

    host.lines.said("controller", "reconcile default/web attempt 1", "").await;
    idle(&host, "controller").await;
    let said: BTreeSet<String> = host.lines.of("controller").into_iter().collect();
    assert_eq!(said, BTreeSet::from(["reconcile default/web attempt 1".to_owned()]));
    assert_eq!(host.plugin("controller")["queue"]["acknowledged"], 3);
    host.stop().await;
}

/// The highest number of concurrent calls, from the lines `begin key` and `end key`. It panics if a key is in flight
/// twice.
fn most_at_once(lines: &[String]) -> usize {
    let mut running = BTreeSet::new();
    let mut most = 0;
    for line in lines {
        if let Some(key) = line.strip_prefix("begin ") {
            assert!(running.insert(key), "{key} is reconciled twice at once (W-3)");
        } else if let Some(key) = line.strip_prefix("end ") {
            assert!(running.remove(key));
        }
        most = most.max(running.len());
    }
    most
}

/// Objects of several resources with one name have keys of their own.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_begins_with_its_resource_if_the_subscription_requests_it() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    let lines = "resource-in-key = true\n[[plugin.on]]\nwatch = \"v1/secrets\"\nresource-in-key = true";
    let source = tokio::task::spawn_blocking(|| guest("reconciles")).await.unwrap();
    let text = watch("v1/secrets") + &configuration(&source, lines);
    let host = TestHost::start(&server.url(), &text).await.unwrap();
    host.synced().await;

    objects.create("web").await;
    let access = informer::config::Access::Server(server.url().parse().unwrap());
    let connection = informer::connect::connect(&access);
    let client = connection.await.unwrap().client;
    let secrets = kube::Api::<k8s_openapi::api::core::v1::Secret>::default_namespaced(client);
    let secret = serde_json::from_value(json!({"metadata": {"name": "web"}})).unwrap();
    secrets.create(&kube::api::PostParams::default(), &secret).await.unwrap();

    for of in ["v1/configmaps", "v1/secrets"] {
        host.lines.said("controller", &format!("reconcile {of} default/web "), "").await;
    }
    idle(&host, "controller").await;
    assert_eq!(keys(&host, "controller")["succeeded"], 2);
    host.stop().await;
}

/// At most `workers` keys are in flight, and a key is never in flight twice (W-2, W-3).
#[tokio::test(flavor = "multi_thread")]
async fn several_workers_reconcile_different_keys_at_once_and_never_the_same_key() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    // All keys are pending when the workers start, and each call waits until the other calls have started.
    for object in 0..6 {
        objects.create(&format!("object-{object}")).await;
    }
    let lines = "[plugin.workqueue]\nworkers = 3\n[plugin.config]\nmillis = 300\n";
    let host = start(&server, "reconciles", lines).await;

    for round in 0..20 {
        objects.update("object-0", round).await;
        objects.update("object-1", round).await;
    }
    host.until("every object to be reconciled", |_| {
        (0..6).all(|n| reconciled(&host, &format!("default/object-{n}")) > 0)
    })
    .await;
    idle(&host, "controller").await;

    assert_eq!(most_at_once(&host.lines.of("controller")), 3);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_capacity_of_the_workqueue_does_not_keep_the_keys_of_notifications_out() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    let names: Vec<String> = (0..30).map(|object| format!("object-{object}")).collect();
    for name in &names {
        objects.create(name).await;
    }
    let lines = "[plugin.workqueue]\ncapacity = 2\nmin = \"1ms\"\n[plugin.config]\ntimes = 1\n";
    let host = start(&server, "reconciles", lines).await;

    host.until("every key to succeed", |_| keys(&host, "controller")["succeeded"] == 30).await;
    for name in &names {
        assert_eq!(reconciled(&host, &format!("default/{name}")), 2, "{name}: one failure, one success");
    }
    let status = keys(&host, "controller");
    assert_eq!(
        (&status["refused"], &status["dropped"], &status["failed"]),
        (&json!(0), &json!(0), &json!(30))
    );
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_floods_its_workqueue_reaches_the_capacity_and_goes_on() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("web").await;
    let lines = "[plugin.workqueue]\ncapacity = 100\n[plugin.config]\nkeys = 10000000\nhow = \"add-after\"\n";
    let host = start(&server, "enqueues", lines).await;

    let refused =
        "key 100 is refused: Retry(\"limit-exceeded: the workqueue holds 100 keys, which is `capacity`";
    host.lines.said("controller", refused, "").await;
    let status = keys(&host, "controller");
    assert_eq!((&status["delayed"], &status["refused"]), (&json!(100), &json!(1)), "{status:#}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_may_turn_handlers_into_a_reconciler_and_back() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("web").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("controller.wasm");
    let read = |name| std::fs::read(guest(name)).unwrap();
    let (echo, reconciles) = tokio::task::block_in_place(|| (read("echo"), read("reconciles")));
    replace(&file, &echo);
    let host = TestHost::start(&server.url(), &configuration(&file, "")).await.unwrap();
    host.synced().await;
    assert_eq!(keys(&host, "controller"), Value::Null);

    replace(&file, &reconciles);
    host.until("the reconciler", |_| !keys(&host, "controller").is_null()).await;
    objects.update("web", 1).await;
    host.lines.said("controller", "reconcile default/web attempt 1", "").await;

    replace(&file, &echo);
    host.until("the handlers", |_| host.plugin("controller")["exports"] == json!(["handler"])).await;
    objects.update("web", 2).await;
    host.lines.said("controller", "update default/web ", "").await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_a_replaced_reconciler_do_not_delay_the_new_handler() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("left").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("controller.wasm");
    let read = |name| std::fs::read(guest(name)).unwrap();
    let (bad, handles) = tokio::task::block_in_place(|| (read("trap_keys"), read("witness")));
    replace(&file, &bad);
    // The plugin has one worker, and the call for `web` ends with the test.
    let lines = "labels = \"!unheard\"\n[plugin.quarantine]\nafter = 1\nmin = \"1h\"\nmax = \"1h\"\n\
                 [plugin.limits]\ninstances = 1\ndeadline = \"10m\"\n\
                 [plugin.grant]\nread = [\"v1/configmaps\"]\n\
                 [plugin.config]\nhold = \"web\"\nuntil = \"default/open\"\n";
    let host = TestHost::start(&server.url(), &configuration(&file, lines)).await.unwrap();
    host.until("a quarantine", |_| keys(&host, "controller")["quarantine"].is_object()).await;
    let gauge = |value| format!("informer_workqueue_quarantined{{plugin=\"controller\"}} {value}.0\n");
    assert!(host.metrics().contains(&gauge(1)), "{}", host.metrics());

    replace(&file, &handles);
    // The queues are notified of a version after it is in service.
    host.until("the handler", |_| {
        host.plugin("controller")["exports"] == json!(["handler"])
            && keys(&host, "controller")["quarantine"].is_null()
    })
    .await;

    let status = keys(&host, "controller");
    assert_eq!((&status["quarantine"], &status["keys"]), (&Value::Null, &json!(1)), "{status:#}");
    assert!(host.metrics().contains(&gauge(0)), "{}", host.metrics());
    assert_eq!(host.degraded(), Vec::<String>::new());
    objects.create("web").await;
    host.lines.said("controller", "add default/web ", "").await;
    let held = keys(&host, "controller");
    assert_eq!(
        (&held["keys"], &held["given-back"], &held["in-flight"]),
        (&json!(1), &json!(0), &json!(0)),
        "{held:#}"
    );
    assert_eq!(host.plugin("controller")["queue"]["in-flight"], 1);
    objects.create_labelled("open", "unheard").await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trapping_reconciler_is_quarantined_and_probed_and_handles_every_key_once_it_is_repaired() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    for name in ["a", "b", "c"] {
        objects.create(name).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("controller.wasm");
    let read = |name| std::fs::read(guest(name)).unwrap();
    let (bad, good) = tokio::task::block_in_place(|| (read("trap_keys"), read("reconciles")));
    replace(&file, &bad);
    let lines = "[plugin.workqueue]\nattempts = 2\nmin = \"1ms\"\n\
                 [plugin.quarantine]\nafter = 2\nmin = \"100ms\"\nmax = \"100ms\"";
    let host = TestHost::start(&server.url(), &configuration(&file, lines)).await.unwrap();
    host.synced().await;

    host.until("failed probes", |_| {
        keys(&host, "controller")["quarantine"]["failed-probes"].as_u64() > Some(3)
    })
    .await;

    let status = keys(&host, "controller");
    assert_eq!(
        (&status["quarantines"], &status["dropped"], &status["keys"]),
        (&json!(1), &json!(0), &json!(3)),
        "each key failed more than twice, and none is given up"
    );
    assert!(status["failed"].as_u64() > Some(5), "{status:#}");
    let degraded = host.degraded();
    let reported = "plugin controller: its reconciler is in quarantine for ";
    assert!(
        degraded.iter().any(|text| text.starts_with(reported) && text.contains("trap: ")),
        "{degraded:?}"
    );
    assert_eq!(
        host.plugin("controller")["queue"]["quarantine"],
        Value::Null,
        "the other queue of the plugin is not in quarantine"
    );

    replace(&file, &good);
    idle(&host, "controller").await;
    let reported = ["a", "b", "c"].map(|name| reconciled(&host, &format!("default/{name}")));
    assert_eq!(reported, [1, 1, 1], "each key is reconciled once, and none is lost");
    let status = keys(&host, "controller");
    assert_eq!((&status["quarantine"], &status["quarantines"]), (&Value::Null, &json!(1)));
    host.until("the end of it", |_| host.degraded().is_empty()).await;
    host.stop().await;
}
