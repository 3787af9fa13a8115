//! Webhooks, alerts and Events.

use super::*;
use crate::http::native::sent;

/// Reconciles before and after a change of the ConfigMap.
fn change(config: Value) -> (TestHost, ReconcileResult) {
    let mut reloader = reloader(config);
    let host = seen(&mut reloader);
    host.store(MAPS, map("app", "2"));
    let result = reloader.reconcile(WEB);
    (host, result)
}

#[test]
fn a_roll_has_an_event() {
    let (host, _) = change(json!({}));
    let events = of_verb(&host, "event");
    assert_eq!((events.len(), &events[0].body), (1, &json!("Reloaded")));
}

#[test]
fn without_events_of_rolls_only_a_failed_roll_has_an_event() {
    let (host, result) = change(json!({"roll-events": false}));
    result.unwrap();
    assert_eq!((of_verb(&host, "patch").len(), of_verb(&host, "event")), (1, Vec::new()));

    let (host, result) = change(json!({"roll-events": false, "webhook-url": "https://broken/x"}));
    result.unwrap_err();
    assert_eq!(of_verb(&host, "event")[0].body, "ReloadFail");
}

#[test]
fn a_list_with_too_many_expressions_is_an_event_of_the_workload() {
    let (host, mut reloader) = (host(), reloader(json!({})));
    for (expressions, expected) in [(100, 0), (101, 1)] {
        let list = "x.,".repeat(expressions);
        host.store(DEPLOYMENTS, deployment(json!({"configmap.reloader.stakater.com/reload": list})));
        reloader.reconcile(WEB).unwrap();
        assert_eq!(of_verb(&host, "event").len(), expected, "{expressions}");
    }
    assert_eq!(of_verb(&host, "event")[0].body, "InvalidAnnotation");
    assert!(logged(&host, "/reload: it has more than 100 regular expressions: join some of them with `|`"));
}

#[test]
fn a_webhook_replaces_the_roll() {
    let (host, result) = change(json!({"webhook-url": "https://hooks.example/x"}));
    result.unwrap();
    reloader(json!({"webhook-url": "https://hooks.example/x"})).reconcile(WEB).unwrap();
    assert_eq!(of_verb(&host, "patch"), []);
    let sent = sent();
    assert_eq!((sent.len(), sent[0].0.as_str()), (1, "https://hooks.example/x"));
    let body: Value = serde_json::from_str(&sent[0].1).unwrap();
    assert_eq!(
        (&body["webhook"], &body["changes"]),
        (&json!("update successful"), &json!(["ConfigMap/app changed"]))
    );
}

#[test]
fn a_webhook_that_fails_is_called_again() {
    let (host, result) = change(json!({"webhook-url": "https://broken/x"}));
    let Err(ReconcileError::Retry(why)) = result else { panic!("{result:?}") };
    assert_eq!(why, "POST https://broken: status 500");
    assert_eq!(of_verb(&host, "event")[0].body, "ReloadFail");
    assert!(reloader(json!({"webhook-url": "https://broken/x"})).reconcile(WEB).is_err());
    assert_eq!(sent().len(), 2);
}

#[test]
fn an_alert_has_the_form_of_its_sink() {
    let text = "prod: Reloaded Deployment web in namespace shop: ConfigMap/app changed";
    for (sink, field, expected) in [
        ("slack", "text", text),
        ("gchat", "text", text),
        ("teams", "@type", "MessageCard"),
        ("webhook", "name", "web"),
    ] {
        let alert = json!({"url": "https://chat.example/x", "sink": sink, "additional-info": "prod"});
        change(json!({"alert": alert})).1.unwrap();
        let body: Value = serde_json::from_str(&sent().pop().unwrap().1).unwrap();
        assert_eq!((&body["text"], &body[field]), (&json!(text), &json!(expected)), "{sink}");
    }
}

#[test]
fn an_alert_that_fails_is_logged_and_does_not_repeat_the_roll() {
    let (host, result) = change(json!({"alert": {"url": "https://broken/x"}}));
    assert_eq!(result.unwrap(), Reconciled::Done);
    reloader(json!({})).reconcile(WEB).unwrap();
    assert_eq!(of_verb(&host, "patch").len(), 1);
    assert!(logged(
        &host,
        "warn no alert about apps/v1/deployments shop/web: POST https://broken: status 500"
    ));
}
