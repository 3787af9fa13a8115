//! The whole plugin on the test host of the SDK.

mod crashes;
mod jobs;
mod pauses;
mod reports;
mod rolls;
mod scope;

use std::cell::Cell;

use informer_sdk::testing::{Request, TestHost};
use serde_json::{Value, json};

use super::*;

pub(super) const MAPS: &str = "v1/configmaps";
pub(super) const SECRETS: &str = "v1/secrets";
pub(super) const DEPLOYMENTS: &str = "apps/v1/deployments";
pub(super) const WEB: &str = "apps/v1/deployments shop/web";

thread_local! {
    static NOW: Cell<i64> = const { Cell::new(START) };
}

const START: i64 = 1_777_640_400;

/// The clock of the tests.
pub(super) fn now() -> Timestamp {
    Timestamp::from_second(NOW.get()).unwrap()
}

pub(super) fn pass(seconds: i64) {
    NOW.set(NOW.get() + seconds);
}

/// A plugin without a settle time, unless the configuration has one.
pub(super) fn reloader(mut config: Value) -> Reloader {
    if config.get("settle").is_none() {
        config["settle"] = json!("0s");
    }
    Reloader { now, ..Reloader::start(Config::from_json(config.to_string())).unwrap() }
}

pub(super) fn map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": name, "uid": "c"},
        "data": {"key": value},
    })
}

/// A Secret. `value` is base64.
pub(super) fn secret(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": name, "uid": "s"},
        "data": {"key": value},
    })
}

/// A pod template with one container, which refers to the ConfigMap `app` and to the Secret `app`.
pub(super) fn template() -> Value {
    json!({"spec": {"containers": [
        {"name": "main", "envFrom": [{"configMapRef": {"name": "app"}}, {"secretRef": {"name": "app"}}]},
    ]}})
}

#[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
pub(super) fn deployment(annotations: Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "namespace": "shop", "name": "web", "uid": "u", "resourceVersion": "7", "annotations": annotations,
        },
        "spec": {"template": template()},
    })
}

/// A host without objects. Tests may share a thread, so its state is new.
pub(super) fn empty() -> TestHost {
    store::native::reset();
    http::native::reset();
    NOW.set(START);
    TestHost::new()
}

/// A host with the ConfigMap `app`, the Secret `app`, and a Deployment that both of them roll.
pub(super) fn host() -> TestHost {
    let host = empty();
    host.store(MAPS, map("app", "1"));
    host.store(SECRETS, secret("app", "MQ=="));
    host.store(DEPLOYMENTS, deployment(json!({"reloader.stakater.com/auto": "true"})));
    host
}

/// A host whose Deployment was seen with its sources.
pub(super) fn seen(reloader: &mut Reloader) -> TestHost {
    let host = host();
    assert_eq!(reloader.reconcile(WEB).unwrap(), Reconciled::Done);
    host
}

pub(super) fn of_verb(host: &TestHost, verb: &str) -> Vec<Request> {
    host.requests().into_iter().filter(|request| request.verb == verb).collect()
}

/// The environment of the first container in each patch.
pub(super) fn patched(host: &TestHost) -> Vec<Value> {
    let patches = of_verb(host, "patch").into_iter();
    patches.map(|patch| patch.body["spec"]["template"]["spec"]["containers"][0]["env"].clone()).collect()
}

pub(super) fn stored(gvr: &str) -> Value {
    lister::get(gvr, &ObjectKey::new("shop", "web")).unwrap().unwrap()
}

pub(super) fn logged(host: &TestHost, text: &str) -> bool {
    host.log().iter().any(|line| line.to_string().contains(text))
}

pub(super) fn memory() -> Option<Memory> {
    Memory::read(&WEB.parse().unwrap()).unwrap()
}
