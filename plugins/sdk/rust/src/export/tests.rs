use std::time::Duration;

use super::*;
use crate::bindings::informer::plugin::types::ObjectMeta;
use crate::{Cause, Event};

/// Records the calls, and fails if its configuration says so.
struct Counter {
    config: String,
    calls: Vec<String>,
}

impl Handler for Counter {
    fn start(config: Config) -> Result<Self, String> {
        if config.json() == "bad" {
            return Err("this configuration cannot work".to_owned());
        }
        Ok(Self { config: config.json().to_owned(), calls: Vec::new() })
    }

    fn on_add(&mut self, object: Event, cause: Cause) -> crate::Result {
        self.calls.push(format!("add {} {} {cause}", object.gvr(), object.key()));
        match self.config.as_str() {
            "later" => Err(Failure::retry_after(self.calls.len().to_string(), Duration::from_secs(1))),
            "never" => Err(Failure::permanent("no")),
            _ => Ok(()),
        }
    }

    fn on_delete(&mut self, object: Event, final_state_known: bool) -> crate::Result {
        self.calls.push(format!("delete {} {final_state_known}", object.name()));
        Err(Failure::retry(self.calls.join(", ")))
    }
}

crate::export!(Counter);

type Plugin = Component<Counter>;

fn event(name: &str) -> handler::EventObject {
    handler::EventObject {
        gvr: "v1/pods".to_owned(),
        meta: ObjectMeta {
            namespace: "default".to_owned(),
            name: name.to_owned(),
            uid: "u".to_owned(),
            resource_version: "1".to_owned(),
            creation_timestamp: String::new(),
            deleting: false,
            labels: vec![("app".to_owned(), "web".to_owned())],
            controller: None,
        },
        id: 7,
    }
}

fn start(config: &str) {
    <Plugin as plugin::Guest>::start(config.to_owned()).unwrap();
}

fn add(name: &str) -> Result<(), handler::Failure> {
    <Plugin as handler::Guest>::on_add(event(name), Cause::Live)
}

fn delete(name: &str) -> String {
    match <Plugin as handler::Guest>::on_delete(event(name), true) {
        Err(handler::Failure::Retry(calls)) => calls,
        other => panic!("expected the calls so far, got {other:?}"),
    }
}

#[test]
fn describe_names_the_crate_that_exports() {
    let info = <Plugin as plugin::Guest>::describe();

    assert_eq!((info.name.as_str(), info.version.as_str()), ("informer-sdk", env!("CARGO_PKG_VERSION")));
    assert_eq!(info.sdk, concat!("informer-sdk-rust ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn state_is_kept_between_calls() {
    start("{}");

    add("a").unwrap();
    add("b").unwrap();

    assert_eq!(delete("c"), "add v1/pods default/a live, add v1/pods default/b live, delete c true");
}

#[test]
fn each_start_makes_new_state() {
    start("{}");
    add("a").unwrap();
    start("{}");

    assert_eq!(delete("b"), "delete b true");
}

#[test]
fn a_refused_start_returns_the_reason_and_later_calls_are_refused() {
    let refused = <Plugin as plugin::Guest>::start("bad".to_owned());

    assert_eq!(refused.unwrap_err(), "this configuration cannot work");
    assert!(matches!(add("a"), Err(handler::Failure::Retry(why)) if why.contains("was not started")));
}

#[test]
fn after_stop_a_call_is_refused_and_a_second_stop_does_nothing() {
    start("{}");
    <Plugin as plugin::Guest>::stop();
    <Plugin as plugin::Guest>::stop();

    assert!(matches!(add("a"), Err(handler::Failure::Retry(_))));
}

#[test]
fn the_failure_of_a_handler_reaches_the_host() {
    start("later");
    assert!(matches!(add("a"), Err(handler::Failure::RetryAfter((why, 1000))) if why == "1"));

    start("never");
    assert!(matches!(add("a"), Err(handler::Failure::Permanent(why)) if why == "no"));
}

#[test]
fn a_call_that_the_handler_does_not_implement_succeeds() {
    start("{}");

    let answer = <Plugin as handler::Guest>::on_update(6, event("a"), Cause::Resync);

    assert!(answer.is_ok());
}

#[test]
fn an_event_returns_its_metadata_without_a_call_to_the_host() {
    let event = Event::from(event("a"));

    assert_eq!((event.namespace(), event.name(), event.resource_version()), ("default", "a", "1"));
    assert_eq!(event.labels(), [("app".to_owned(), "web".to_owned())]);
    assert_eq!((event.meta().label("app"), event.meta().label("tier")), (Some("web"), None));
}
