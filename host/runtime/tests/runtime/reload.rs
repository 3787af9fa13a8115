//! Reloads: a new version replaces the old one between two calls.

use std::time::{Duration, Instant};

use informer_runtime::{Component, TrialConfig};
use informer_types::Outcome;

use crate::host::{ENGINE, Setup, component};

#[tokio::test]
async fn the_new_version_serves_after_the_swap_and_the_old_one_is_stopped() {
    let running = Setup::new(r#"{"millis": 0}"#).load("slow").await;
    running.add("web").await;
    let old = running.plugin.version().unwrap();

    running.load("echo").await.unwrap();
    assert_eq!(running.add("web").await, Outcome::Acknowledged);

    let lines = [
        "begin default/web",
        "end default/web",
        r#"start {"millis": 0}"#,
        "stop",
        "add default/web 1 live 1 1",
    ];
    assert_eq!(running.log.messages(), lines);
    assert_ne!(running.plugin.version().unwrap().digest, old.digest);
    assert_eq!(running.plugin.stats().instances.retired, 0, "the old one was healthy");
}

#[tokio::test]
async fn a_call_in_flight_finishes_on_the_old_version() {
    // Compiled before the call begins.
    component("echo").await;
    let running = Setup::new(r#"{"millis": 2000, "only": "web"}"#).instances(2).load("slow").await;
    let in_flight = running.spawn_add("web");
    running.log.wait_for("begin default/web", 1).await;

    running.load("echo").await.unwrap();
    assert_eq!(running.add("other").await, Outcome::Acknowledged);
    assert_eq!(running.log.count("end default/web"), 0, "the new version does not wait for it");

    assert_eq!(in_flight.await.unwrap(), Outcome::Acknowledged);
    assert_eq!(running.log.messages().last().unwrap(), "stop", "its instance is stopped after the call");
    assert_eq!(running.log.count("end default/web"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_lost_and_none_is_made_twice_while_versions_change_under_load() {
    const CALLS: usize = 300;
    let running = Setup::new(r#"{"millis": 1}"#).instances(4).load("slow").await;
    let (slow, echo) = (component("slow").await, component("echo").await);

    let calls: Vec<_> = (0..CALLS).map(|call| running.spawn_add(&format!("pod-{call}"))).collect();
    for version in [&echo, &slow].repeat(5) {
        running.plugin.load(version).await.unwrap();
    }
    for call in calls {
        assert_eq!(call.await.unwrap(), Outcome::Acknowledged);
    }

    let messages = running.log.messages();
    for call in 0..CALLS {
        let (slow, echo) = (format!("end default/pod-{call}"), format!("add default/pod-{call} "));
        let served = messages.iter().filter(|line| **line == slow || line.starts_with(&echo)).count();
        assert_eq!(served, 1, "pod-{call}");
    }
    let stats = running.plugin.stats();
    assert_eq!((stats.acknowledged, stats.failures.len()), (CALLS as u64, 0));
    assert_eq!(stats.instances.retired, 0);
}

#[tokio::test]
async fn a_version_that_does_not_start_changes_nothing() {
    let running = Setup::new("{}").load("echo").await;
    running.add("web").await;
    let version = running.plugin.version();

    for guest in ["fail_start", "trap_start", "reader"] {
        running.load(guest).await.unwrap_err();
        assert_eq!(running.plugin.version(), version);
    }
    let garbage = Component::from_bytes(&ENGINE, b"garbage".to_vec()).await;
    assert!(garbage.is_err());
    running.add("web").await;

    assert_eq!(running.log.messages().last().unwrap(), "add default/web 1 live 1 2", "the same instance");
    assert_eq!(running.log.count("stop"), 0);
}

#[tokio::test]
async fn loading_the_same_component_again_makes_a_new_version() {
    let running = Setup::new("{}").load("echo").await;
    running.add("web").await;

    running.load("echo").await.unwrap();
    running.add("web").await;

    assert_eq!(running.log.messages().last().unwrap(), "add default/web 1 live 1 1", "a new instance");
}

/// The operator prefers the new version to the old one, although its calls fail.
#[tokio::test]
async fn a_new_configuration_ends_the_trial_of_the_version_in_service() {
    for (calls, share) in [(0, 0.5), (20, 1.0)] {
        let setup = Setup::new("{}");
        let mut config = setup.config.clone();
        let running = setup.load("echo").await;
        running.load("trap").await.unwrap();
        running.add_fails("web").await;

        config.trial = TrialConfig { calls, share };
        assert_eq!(running.plugin.configure(config).await.unwrap(), None, "no instance is started anew");
        for _ in 0..20 {
            running.add_fails("web").await;
        }

        assert_eq!(running.plugin.stats().went_back, 0, "{calls} {share}");
    }
}

#[tokio::test]
async fn a_plugin_that_is_unloaded_is_stopped_and_can_be_loaded_again() {
    let running = Setup::new("{}").load("echo").await;

    running.plugin.unload().await;
    assert_eq!(running.log.messages(), ["start {}", "stop"]);
    assert_eq!(running.plugin.version(), None);
    running.add_fails("web").await;

    running.load("echo").await.unwrap();
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
}

#[tokio::test]
async fn a_start_beyond_the_deadline_fails_and_the_old_version_stays() {
    let config = r#"{"millis": 0, "start_millis": 60000}"#;
    let running = Setup::new(config).deadline(Duration::from_secs(2)).load("echo").await;

    let refused = running.load("slow").await.unwrap_err().to_string();

    assert!(refused.contains("took longer than its deadline of 2s"), "{refused}");
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
    assert_eq!(running.plugin.stats().instances.retired, 1);
}

#[tokio::test]
async fn a_load_whose_future_is_dropped_changes_nothing() {
    let running = Setup::new(r#"{"millis": 0, "start_millis": 60000}"#).load("echo").await;
    let version = running.plugin.version();
    let (plugin, slow) = (running.plugin.clone(), component("slow").await);
    let loading = tokio::spawn(async move { plugin.load(&slow).await });
    running.log.wait_for("starting", 1).await;

    loading.abort();
    assert!(loading.await.unwrap_err().is_cancelled());

    assert_eq!(running.plugin.version(), version);
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
    running.load("echo").await.unwrap();
}

#[tokio::test]
async fn a_version_that_does_not_stop_delays_a_reload_only_briefly() {
    component("echo").await;
    let running = Setup::new(r#"{"millis": 0, "stop_millis": 60000}"#).load("slow").await;

    let begun = Instant::now();
    running.load("echo").await.unwrap();

    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(running.log.count("stop"), 1);
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
}
