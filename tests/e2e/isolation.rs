//! Isolation: a bad plugin affects neither the informers nor the other plugins (point 10 of the contract).

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
};
use serde_json::Value;

use crate::{
    configmaps::ConfigMaps,
    echo::{assert_each_object_in_order_and_once, calls, last_versions},
};

const OBJECTS: usize = 30;
/// The objects that exist before the host starts. The bad plugins are synced when all their calls for these objects
/// are settled (D-8).
const INITIAL: usize = 10;
const DELETED: usize = 5;
const ROUNDS: usize = 10;
/// The number of calls for each notification of a bad plugin.
const ATTEMPTS: usize = 2;

/// The bad plugins subscribe to additions only, so each of their calls fails.
fn configuration() -> String {
    let bad = |name: &'static str, limits: &str| {
        let lines = format!(
            "events = [\"add\"]\n[plugin.retry]\nmin = \"10ms\"\nmax = \"20ms\"\nattempts = {ATTEMPTS}\n\
             on-exhausted = \"dead-letter\"\n[plugin.quarantine]\nafter = 0\n[plugin.limits]\n{limits}"
        );
        plugin(name, &guest(name), "v1/configmaps", &lines)
    };
    [
        watch("v1/configmaps"),
        plugin("good", &guest("echo"), "v1/configmaps", ""),
        // The deadline is long: on a busy machine, a panic or the last allocation may take some time too.
        bad("trap", "deadline = \"5m\""),
        bad("spin", "deadline = \"300ms\""),
        bad("hog", "memory = \"16MiB\"\ndeadline = \"5m\""),
    ]
    .concat()
}

fn name(object: usize) -> String {
    format!("object-{object}")
}

/// Asserts that the good plugin received the last state of every object and the states of each object in order, and
/// that each offered notification is accounted for.
async fn assert_the_good_plugin_saw_everything(host: &TestHost, objects: &ConfigMaps) {
    let expected = objects.versions().await;
    assert_eq!(expected.len(), OBJECTS - DELETED);
    host.lines
        .until("good", "the last state of every object", |lines| last_versions(&calls(lines)) == expected)
        .await;
    host.until("the good plugin's queue to run empty", |_| {
        let queue = &host.plugin("good")["queue"];
        queue["pending"] == 0 && queue["in-flight"] == 0
    })
    .await;

    let calls = calls(&host.lines.of("good"));
    assert_each_object_in_order_and_once(&calls);
    let good = host.plugin("good");
    let count = |counter: &str| good["queue"][counter].as_u64().unwrap();
    let merged: u64 =
        good["queue"]["merged"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(count("acknowledged"), calls.len() as u64, "{good:#}");
    assert_eq!(count("offered"), count("acknowledged") + merged + count("cancelled"), "{good:#}");
    assert_eq!((count("dead"), count("retried"), count("discarded")), (0, 0, 0), "{good:#}");
    assert_eq!(good["calls"]["failures"], serde_json::json!({}), "{good:#}");
}

/// Asserts that every addition failed on each attempt, for the given reason, and became a dead letter with this
/// reason.
async fn assert_the_bad_plugin_is_reported(host: &TestHost, name: &str, kind: &str, words: &[&str]) {
    host.until(&format!("{name} to give up every object"), |_| host.plugin(name)["queue"]["dead"] == OBJECTS)
        .await;

    let plugin = host.plugin(name);
    let failures = plugin["calls"]["failures"].as_object().unwrap();
    assert_eq!(failures.len(), 1, "{plugin:#}");
    assert_eq!(failures[kind], OBJECTS * ATTEMPTS, "{plugin:#}");
    assert_eq!(plugin["calls"]["acknowledged"], 0, "{plugin:#}");
    let last = plugin["calls"]["last-failure"].as_str().unwrap();
    assert!(words.iter().all(|word| last.contains(word)), "{last}");
    let letters = plugin["dead-letters"].as_array().unwrap();
    assert_eq!(letters.len(), OBJECTS, "{plugin:#}");
    for letter in letters {
        let failure = letter["failure"].as_str().unwrap();
        assert!(failure.starts_with(&format!("{kind}: ")), "{failure}");
        assert!(words.iter().all(|word| failure.contains(word)), "{failure}");
        assert_eq!((&letter["verb"], &letter["attempts"]), (&Value::from("add"), &Value::from(ATTEMPTS)));
    }
}

/// Asserts that the informer listed once, watched once, lost nothing and waited for no plugin.
fn assert_the_informer_was_not_affected(host: &TestHost) {
    let status = host.status();
    let informer = &status["informers"][0];
    assert_eq!((&informer["phase"], &informer["synced"]), (&Value::from("watching"), &Value::from(true)));
    for (counter, expected) in [
        ("lists", 1),
        ("relists", 0),
        ("watches", 1),
        ("failures", 0),
        ("skipped", 0),
        ("quarantined", 0),
        ("silent-watches", 0),
        ("sink-panics", 0),
        ("events", OBJECTS - INITIAL + OBJECTS * ROUNDS + DELETED),
    ] {
        assert_eq!(informer["counters"][counter], expected, "{counter}: {informer:#}");
    }
    let listeners = informer["listeners"].as_array().unwrap();
    assert_eq!(listeners.len(), 4);
    assert!(listeners.iter().all(|listener| listener["synced"] == true), "{informer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_that_panic_or_spin_or_exhaust_memory_do_not_affect_a_good_plugin() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    for object in 0..INITIAL {
        objects.create(&name(object)).await;
    }
    let host = TestHost::start(&server.url(), &configuration()).await.unwrap();
    host.synced().await;

    for object in INITIAL..OBJECTS {
        objects.create(&name(object)).await;
    }
    for round in 0..ROUNDS {
        for object in 0..OBJECTS {
            objects.update(&name(object), round).await;
        }
    }
    for object in 0..DELETED {
        objects.delete(&name(object)).await;
    }

    assert_the_good_plugin_saw_everything(&host, &objects).await;
    assert_the_bad_plugin_is_reported(&host, "trap", "trap", &["panicked at", "no way: default/object-"])
        .await;
    assert_the_bad_plugin_is_reported(&host, "spin", "deadline", &["took longer than its deadline of 300ms"])
        .await;
    let words = ["memory allocation of 1048576 bytes failed", "more memory than its limit"];
    assert_the_bad_plugin_is_reported(&host, "hog", "memory", &words).await;
    assert_the_informer_was_not_affected(&host);
    assert_eq!(host.unready(), Vec::<String>::new());

    // The panic is also in the log, under the plugin's name.
    let panics = host.lines.of("trap");
    assert!(panics.iter().any(|line| line.contains("no way: default/object-29")), "{panics:#?}");
    let report = host.stop().await;
    assert!(report.undelivered.is_empty(), "{report:?}");
}
