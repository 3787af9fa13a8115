//! Deployments that are paused after a roll.

use super::*;

const PERIOD: &str = "deployment.reloader.stakater.com/pause-period";
const PAUSED_AT: &str = "deployment.reloader.stakater.com/paused-at";

/// A Deployment that is paused for five minutes after a roll.
fn paused(paused_at: Option<&str>, period: &str, is_paused: bool) -> Value {
    let mut object = deployment(json!({"reloader.stakater.com/auto": "true", PERIOD: period}));
    if let Some(at) = paused_at {
        object["metadata"]["annotations"][PAUSED_AT] = json!(at);
    }
    if is_paused {
        object["spec"]["paused"] = json!(true);
    }
    object
}

#[test]
fn a_roll_pauses_and_the_pause_ends_on_time_after_a_restart() {
    let (host, mut first) = (host(), reloader(json!({})));
    host.store(DEPLOYMENTS, paused(None, "5m", false));
    first.reconcile(WEB).unwrap();
    host.store(MAPS, map("app", "2"));
    first.reconcile(WEB).unwrap();
    let patches = of_verb(&host, "patch");
    assert_eq!(patches.len(), 1, "the pause is part of the roll");
    assert_eq!(patches[0].body["spec"]["paused"], true);
    assert_eq!(stored(DEPLOYMENTS)["metadata"]["annotations"][PAUSED_AT], now().to_string());
    drop(first);

    pass(60);
    let mut restarted = reloader(json!({}));
    assert_eq!(restarted.reconcile(WEB).unwrap(), Reconciled::RequeueAfter(Duration::from_secs(240)));
    host.store(SECRETS, secret("app", "Mg=="));
    restarted.reconcile(WEB).unwrap();
    let second = &of_verb(&host, "patch")[1].body;
    assert_eq!(second["spec"].get("paused"), None, "the pause is not extended");
    assert_eq!(restarted.reconcile(WEB).unwrap(), Reconciled::RequeueAfter(Duration::from_secs(240)));

    pass(240);
    assert_eq!(restarted.reconcile(WEB).unwrap(), Reconciled::Requeue);
    assert_eq!(stored(DEPLOYMENTS)["spec"].get("paused"), None);
    assert_eq!(stored(DEPLOYMENTS)["metadata"]["annotations"].get(PAUSED_AT), None);
    assert_eq!(restarted.reconcile(WEB).unwrap(), Reconciled::Done);
    assert_eq!(of_verb(&host, "patch").len(), 3);
}

#[test]
fn a_pause_that_could_never_end_ends_now() {
    let just_now = now().to_string();
    for (at, period, is_paused) in [
        ("yesterday", "5m", true),
        (just_now.as_str(), "soon", true),
        (just_now.as_str(), "5m", false),
        ("2020-01-01T00:00:00Z", "5m", true),
        ("2030-01-01T00:00:00Z", "5m", true),
    ] {
        let host = host();
        host.store(DEPLOYMENTS, paused(Some(at), period, is_paused));
        reloader(json!({})).reconcile(WEB).unwrap();
        assert_eq!(stored(DEPLOYMENTS)["spec"].get("paused"), None, "{at} {period}");
        assert_eq!(stored(DEPLOYMENTS)["metadata"]["annotations"].get(PAUSED_AT), None, "{at} {period}");
    }
    let host = host();
    let mut left = deployment(json!({PAUSED_AT: now().to_string()}));
    left["spec"]["paused"] = json!(true);
    host.store(DEPLOYMENTS, left);
    reloader(json!({})).reconcile(WEB).unwrap();
    assert_eq!(stored(DEPLOYMENTS)["spec"].get("paused"), None, "the workload has no annotation any more");
}

/// Otherwise the Deployment would stay paused for ever.
#[test]
fn a_pause_ends_on_time_although_the_plugin_no_longer_rolls_the_workload() {
    for config in [
        json!({"namespaces-to-ignore": ["shop"]}),
        json!({"ignored-workload-types": ["deployments"]}),
        json!({"namespace-selector": "env=prod"}),
    ] {
        let host = host();
        host.set_synced("v1/namespaces", true);
        let object = paused(Some(&now().to_string()), "5m", true);
        host.store(DEPLOYMENTS, object.clone());
        host.store(MAPS, map("app", "2"));
        let mut reloader = reloader(config.clone());
        reloader.on_add(host.event(DEPLOYMENTS, object), Cause::Initial).unwrap();
        assert_eq!(host.take_key().as_deref(), Some(WEB), "{config}");

        let rest = Duration::from_secs(300);
        assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::RequeueAfter(rest), "{config}");
        pass(300);
        assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Requeue, "{config}");
        assert_eq!(stored(DEPLOYMENTS)["spec"].get("paused"), None, "{config}");
        assert_eq!(stored(DEPLOYMENTS)["spec"]["template"], template(), "{config}: and nothing is rolled");
    }
}

/// The rollout of the changes so far would otherwise begin an hour late.
#[test]
fn a_pause_ends_on_time_although_a_later_change_waits_for_a_maintenance_window() {
    // `now` is 13:00, and no window is open.
    let windows = json!([{"from": "20:00", "to": "22:00"}]);
    let (host, mut reloader) = (host(), reloader(json!({"windows": windows})));
    host.store(DEPLOYMENTS, paused(Some(&now().to_string()), "5m", true));
    reloader.reconcile(WEB).unwrap();
    host.store(MAPS, map("app", "2"));

    let rest = Duration::from_secs(300);
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::RequeueAfter(rest));
    pass(300);
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Requeue);
    assert_eq!(stored(DEPLOYMENTS)["spec"].get("paused"), None);
    assert_eq!(stored(DEPLOYMENTS)["spec"]["template"], template(), "the change waits for the window");
}

/// The plugin may not patch a CronJob, and the end of a pause would fail each time.
#[test]
fn the_pause_of_a_deployment_in_the_annotations_of_another_kind_is_ignored() {
    const NIGHTLY: &str = "batch/v1/cronjobs shop/web";
    let (host, mut reloader) = (host(), reloader(json!({})));
    let mut object = paused(Some("2020-01-01T00:00:00Z"), "5m", false);
    object["kind"] = json!("CronJob");
    object["spec"] = json!({"jobTemplate": {"spec": {"template": template()}}});
    host.store("batch/v1/cronjobs", object);
    reloader.reconcile(NIGHTLY).unwrap();
    host.store(MAPS, map("app", "2"));
    assert_eq!(reloader.reconcile(NIGHTLY).unwrap(), Reconciled::Done);
    assert_eq!((of_verb(&host, "patch").len(), of_verb(&host, "create").len()), (0, 1));
}

#[test]
fn a_deployment_that_a_person_paused_stays_paused() {
    // The template of a chart may write an empty annotation.
    for at in [None, Some("")] {
        let (host, mut reloader) = (host(), reloader(json!({})));
        host.store(DEPLOYMENTS, paused(at, "5m", true));
        reloader.reconcile(WEB).unwrap();
        host.store(MAPS, map("app", "2"));
        reloader.reconcile(WEB).unwrap();
        let patches = of_verb(&host, "patch");
        assert_eq!((patches.len(), patches[0].body["spec"].get("paused")), (1, None), "{at:?}");
        assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);
        assert_eq!(stored(DEPLOYMENTS)["spec"]["paused"], true, "{at:?}");
    }
}

#[test]
fn a_period_without_a_meaning_is_logged_and_the_roll_happens() {
    let (host, mut reloader) = (host(), reloader(json!({})));
    host.store(DEPLOYMENTS, paused(None, "soon", false));
    reloader.reconcile(WEB).unwrap();
    host.store(MAPS, map("app", "2"));
    reloader.reconcile(WEB).unwrap();
    assert_eq!(of_verb(&host, "patch").len(), 1);
    assert!(logged(&host, "pause-period: `soon` is not a duration"));
}
