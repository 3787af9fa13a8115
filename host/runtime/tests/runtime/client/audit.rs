//! The audit records of writes.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::json;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::{ALL, answers, writer};

/// Keeps the events of the target `audit`.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<BTreeMap<String, String>>>>);

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "audit"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.0.lock().push(fields.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Recorder {
    /// These fields of each record, joined by spaces.
    fn records(&self, fields: &[&str]) -> Vec<String> {
        let told = |record: &BTreeMap<String, String>| {
            fields.iter().map(|field| record[*field].as_str()).collect::<Vec<_>>().join(" ")
        };
        self.0.lock().iter().map(told).collect()
    }
}

const WHAT: [&str; 6] = ["plugin", "verb", "resource", "namespace", "name", "outcome"];

#[tokio::test]
async fn every_write_leaves_one_record_and_no_body() {
    let recorder = Recorder::default();
    let _listening = tracing::subscriber::set_default(recorder.clone());
    let secret = json!({"data": {"password": "s3cret"}});
    let running = writer(&json!([
        {"do": "get"},
        {"do": "merge", "body": secret},
        {"do": "merge", "body": secret},
        {"do": "create", "body": secret},
        {"do": "merge", "body": secret, "subresource": "status", "dry-run": true},
    ]))
    .read(&["v1/pods"])
    .write(ALL)
    .idle();
    running.api.answer(200, "{}");
    running
        .api
        .answer(200, r#"{"metadata":{"name":"web","resourceVersion":"77"},"data":{"password":"s3cret"}}"#);
    running.api.answer(409, r#"{"reason":"Conflict","message":"s3cret"}"#);
    running.api.answer(201, r#"{"metadata":{"name":"made-by-the-server","resourceVersion":"78"}}"#);
    running.load("writer").await.unwrap();

    answers(&running).await;

    assert_eq!(
        recorder.records(&WHAT),
        [
            "fixture patch v1/pods default web ok",
            "fixture patch v1/pods default web conflict",
            "fixture create v1/pods default made-by-the-server ok",
            "fixture patch v1/pods default web ok",
        ]
    );
    assert_eq!(
        recorder.records(&["status", "resource_version", "subresource", "dry_run"]),
        ["200 77  false", "409   false", "201 78  false", "200 5 status true"]
    );
    let everything = format!("{:?}", recorder.0.lock());
    assert!(!everything.contains("s3cret"), "{everything}");
}

#[tokio::test]
async fn a_refused_write_and_a_write_without_an_answer_are_recorded_too() {
    let recorder = Recorder::default();
    let _listening = tracing::subscriber::set_default(recorder.clone());
    let running = writer(&json!([{"do": "delete", "gvr": "v1/services"}, {"do": "merge", "body": {}}]))
        .write(ALL)
        .deadline(Duration::from_secs(2))
        .load("writer")
        .await;
    running.api.silent.store(true, Ordering::Relaxed);

    running.add_fails("web").await;

    assert_eq!(
        recorder.records(&WHAT),
        ["fixture delete v1/services default web not-granted", "fixture patch v1/pods default web unknown"]
    );
}
