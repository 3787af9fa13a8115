//! Plugins that trap outside of their handlers.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::{BoxFuture, ready};
use informer_runtime::{
    InstancePolicy, LoadError,
    capabilities::{ConfigFilesError, ConfigSource},
};
use informer_types::{EventTrace, FailureKind, Outcome, Reconciled, Reconciler, Request};

use super::{
    component, every_call_fails, hostile, load,
    neighbour::{Neighbour, calls},
};

/// A configuration file that decides whether `moody` traps in `start`.
#[derive(Default)]
struct Mood {
    traps: AtomicBool,
}

impl ConfigSource for Mood {
    fn files(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, ConfigFilesError>> {
        let mood = if self.traps.load(Ordering::Relaxed) { "traps-in-start" } else { "well" };
        Box::pin(ready(Ok(BTreeMap::from([("mood".to_owned(), mood.to_owned())]))))
    }

    fn file(&self, _: &str) -> BoxFuture<'_, Result<Option<String>, ConfigFilesError>> {
        Box::pin(ready(Ok(None)))
    }
}

#[tokio::test]
async fn a_trap_in_start_of_each_load_leaves_the_version_in_service() {
    let running = load(hostile("{}"), "echo").await;
    let (good, bad) = (running.plugin.version(), component("trap_start").await);
    let neighbour = Neighbour::start().await;

    let attack = || {
        let (plugin, bad) = (Arc::clone(&running.plugin), bad.clone());
        async move {
            loop {
                let refused = plugin.load(&bad).await.unwrap_err();
                assert!(matches!(&refused, LoadError::Start(why) if why.contains("nothing works here")));
            }
        }
    };
    neighbour.hardly_notices(&running.plugin, attack).await;

    assert_eq!(running.plugin.version(), good);
    assert_eq!(running.add("after").await, Outcome::Acknowledged);
}

#[tokio::test]
async fn a_trap_in_start_of_a_later_instance_fails_its_call_and_costs_that_instance() {
    let mood = Arc::new(Mood::default());
    let setup = hostile("{}").policy(InstancePolicy::Fresh).config_files(Arc::clone(&mood) as _);
    let running = load(setup, "moody").await;
    assert_eq!(running.add("good").await, Outcome::Acknowledged);
    mood.traps.store(true, Ordering::Relaxed);

    let neighbour = Neighbour::start().await;
    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    let failure = running.add_fails("bad").await;
    assert_eq!(failure.kind, FailureKind::Start, "{failure}");
    assert!(failure.message.contains("not today"), "{failure}");
    mood.traps.store(false, Ordering::Relaxed);
    assert_eq!(running.add("good").await, Outcome::Acknowledged);
}

#[tokio::test]
async fn a_trap_in_reconcile_costs_its_instance_and_the_key_is_retried() {
    let running = load(hostile(r#"{"times": 4000000000, "how": "trap"}"#), "reconciles").await;
    let request = || Request {
        key: "default/bad".into(),
        attempt: 1,
        queued: Duration::ZERO,
        trace: EventTrace::default(),
        version: None,
    };
    let neighbour = Neighbour::start().await;

    let attack = || {
        let plugin = Arc::clone(&running.plugin);
        async move {
            loop {
                plugin.reconcile(request()).await;
                tokio::task::yield_now().await;
            }
        }
    };
    neighbour.hardly_notices(&running.plugin, attack).await;

    let Some(Reconciled::Retry { failure, .. }) = running.plugin.reconcile(request()).await else {
        panic!("it is to be tried again")
    };
    assert_eq!(failure.kind, FailureKind::Trap, "{failure}");
    assert!(failure.message.contains("failure 1 of default/bad"), "{failure}");
    let stats = running.plugin.stats();
    assert!(stats.instances.retired >= stats.failures[&FailureKind::Trap], "{stats:?}");
    assert_eq!((stats.acknowledged, stats.instances.idle), (0, 0));
}

#[tokio::test]
async fn a_loop_in_reconcile_ends_at_its_deadline() {
    let setup = hostile(r#"{"times": 4000000000, "how": "spin"}"#).deadline(super::LATER);
    let running = load(setup, "reconciles").await;

    let request = Request {
        key: "default/bad".into(),
        attempt: 1,
        queued: Duration::ZERO,
        trace: EventTrace::default(),
        version: None,
    };
    let Some(Reconciled::Retry { failure, .. }) = running.plugin.reconcile(request).await else {
        panic!("it is to be tried again")
    };

    assert_eq!(failure.kind, FailureKind::Deadline, "{failure}");
}

#[tokio::test]
async fn without_a_version_every_call_fails_and_makes_no_instance() {
    let running = hostile("{}").idle();

    every_call_fails(&running, FailureKind::Start, "no version of the plugin is loaded").await;

    assert_eq!(running.plugin.stats().instances.created, 0);
}
