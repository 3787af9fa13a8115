//! What one plugin does changes nothing for the informers and the other plugins (design, the contract, 10).

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::TestHost;
use serde_json::Value;

use crate::{
    configmaps::ConfigMaps,
    echo::{assert_each_object_in_order_and_once, calls, last_versions},
};

const OBJECTS: usize = 30;
/// There before the host starts: the bad plugins' sync depends on what becomes of them (D-8).
const INITIAL: usize = 10;
const DELETED: usize = 5;
const ROUNDS: usize = 10;
/// Calls for each notification of a bad plugin.
const ATTEMPTS: usize = 2;

/// The bad plugins hear additions only, so that each of their calls fails.
fn configuration() -> String {
    let bad = |name: &str, limits: &str| {
        format!(
            r#"
            [[plugin]]
            name = "{name}"
            source = {source:?}
              [[plugin.on]]
              watch = "v1/configmaps"
              events = ["add"]
              [plugin.retry]
              min = "10ms"
              max = "20ms"
              attempts = {ATTEMPTS}
              on-exhausted = "dead-letter"
              [plugin.quarantine]
              after = 0
              [plugin.limits]
              {limits}
            "#,
            source = guest(name),
        )
    };
    format!(
        r#"
        [[watch]]
        gvr = "v1/configmaps"
        [[plugin]]
        name = "good"
        source = {echo:?}
          [[plugin.on]]
          watch = "v1/configmaps"
        {trap}{spin}{hog}
        "#,
        echo = guest("echo"),
        // Long: on a busy machine a panic and the last piece of memory take their time too.
        trap = bad("trap", r#"deadline = "5m""#),
        spin = bad("spin", r#"deadline = "100ms""#),
        hog = bad("hog", "memory = \"16MiB\"\ndeadline = \"5m\""),
    )
}

fn name(object: usize) -> String {
    format!("object-{object}")
}

/// The good plugin heard the last state of every object, each object's states in order, and everything it was
/// offered is accounted for.
async fn assert_the_good_one_saw_everything(host: &TestHost, objects: &ConfigMaps) {
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

/// Every addition failed as often as it may, for the reason given, and is kept as a dead letter that says so.
async fn assert_the_bad_one_is_shown(host: &TestHost, name: &str, kind: &str, words: &[&str]) {
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

/// The informer listed once, watched once, lost nothing and waited for nobody.
fn assert_the_informer_never_noticed(host: &TestHost) {
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
async fn a_plugin_that_panics_one_that_spins_and_one_that_eats_memory_do_not_touch_a_good_one() {
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

    assert_the_good_one_saw_everything(&host, &objects).await;
    assert_the_bad_one_is_shown(&host, "trap", "trap", &["panicked at", "no way: default/object-"]).await;
    assert_the_bad_one_is_shown(&host, "spin", "deadline", &["took longer than its deadline of 100ms"]).await;
    let words = ["memory allocation of 1048576 bytes failed", "more memory than its limit"];
    assert_the_bad_one_is_shown(&host, "hog", "memory", &words).await;
    assert_the_informer_never_noticed(&host);
    assert_eq!(host.unready(), Vec::<String>::new());

    // The panic is in the log too, under the plugin's own name.
    let panics = host.lines.of("trap");
    assert!(panics.iter().any(|line| line.contains("no way: default/object-29")), "{panics:#?}");
    let report = host.stop().await;
    assert!(report.undelivered.is_empty(), "{report:?}");
}
