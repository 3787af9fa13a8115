//! When the host notifies a plugin that the initial notifications of a subscription are settled.

use std::cell::Cell;

use super::*;

/// The new informer does not deliver the object again, because the object is unchanged.
#[tokio::test]
async fn a_subscription_is_announced_once_the_notifications_of_the_previous_informer_are_settled_too() {
    let stage = Stage::with(vec![config_map(&json!("2026-01-01T00:00:00Z"))]).await;
    let (next, subscriptions) = (stage.next(), stage.plugin.subscriptions());
    assert!(next.informer().wait_synced().await);
    stage.app.factory.stop(&stage.informer).await;

    stage.plugin.replace_informer(next).unwrap();

    let registration = stage.registration();
    assert!(timeout(PATIENCE, registration.wait_synced()).await.unwrap());
    assert!(!subscriptions.announces(), "there was no call for the object");
    stage.plugin.queue().close();
    assert!(subscriptions.announces());
    stage.end().await;
}

/// The plugin may get another version before it is notified that it has received every object.
#[tokio::test]
async fn a_subscription_is_announced_once_a_replay_that_began_before_is_settled_too() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    server.load(vec![config_map(&json!("2026-01-01T00:00:00Z"))]).unwrap();
    let mut skips = config("");
    skips.plugins[0].subscriptions[0].filter.initial = Initial::Skip;
    let app = start(&server, skips).await;
    let plugin = app.applier.plugins().find("a").unwrap();
    let subscriptions = plugin.subscriptions();
    timeout(PATIENCE, subscriptions.synced()).await.unwrap();
    assert!(subscriptions.announces(), "no object is initial");

    subscriptions.replay_all(|_| unreachable!("it is not announced"));

    assert!(plugin.queue().stats().pending > 0 && !subscriptions.announces());
    plugin.queue().close();
    timeout(PATIENCE, subscriptions.next_synced()).await.unwrap();
    let is_again = Cell::new(false);
    subscriptions.replay_all(|_| {
        is_again.set(true);
        SyncToken::new(|| {})
    });
    assert!(is_again.get(), "the plugin is about to be notified, so it is notified once more");
    app.stop().await;
    server.shutdown().await;
}

/// The plugin has received the object from the previous informer, and the present informer has not reached it.
#[tokio::test]
async fn a_subscription_is_announced_once_the_replay_of_an_object_that_is_in_no_cache_is_settled_too() {
    let stage = Stage::new().await;
    let subscriptions = stage.plugin.subscriptions();
    timeout(PATIENCE, subscriptions.synced()).await.unwrap();
    assert!(stage.informer.cached().is_empty() && subscriptions.announces());

    subscriptions.replay_all(|_| unreachable!("it is not announced"));

    assert!(!subscriptions.announces(), "there was no call for the object");
    stage.plugin.queue().close();
    assert!(subscriptions.announces());
    stage.end().await;
}

/// The configuration may change while the host counts the objects that the subscription selects.
#[tokio::test]
async fn a_subscription_that_begins_anew_before_its_announcement_is_announced_after_its_own_notifications() {
    let stage = Stage::with(Vec::new()).await;
    let (gvr, subscriptions) = (stage.informer.key().gvr.clone(), stage.plugin.subscriptions());
    let next = async || timeout(PATIENCE, subscriptions.next_synced()).await.unwrap();
    assert_eq!(next().await, gvr);
    let mut without = config("");
    without.plugins[0].subscriptions.clear();

    stage.app.apply(without).await.unwrap();
    stage.app.apply(config("")).await.unwrap();
    subscriptions.announce(&gvr, || unreachable!("this subscription has ended"));

    assert!(subscriptions.announced().is_empty());
    assert_eq!(next().await, gvr);
    let is_notified = Cell::new(false);
    subscriptions.announce(&gvr, || is_notified.set(true));
    assert!(is_notified.get() && subscriptions.announced() == [gvr]);
    stage.end().await;
}
