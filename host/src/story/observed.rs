//! The actions of the plugin since the last step: calls, failures, log lines, writes and HTTP requests.

use std::{collections::BTreeMap, sync::Arc};

use informer_runtime::{
    LogLevel, LogLine, LogSink, LogStream,
    capabilities::{ApiAnswer, ApiFailure, ApiRequest},
};
use informer_types::{
    Change, Delivery, Failure, FailureKind, Outcome, Reconciled, Request, Signal, SignalCall,
};
use parking_lot::Mutex;
use serde_json::Value;

use super::{
    answer::{Answer, next_answer},
    cluster,
    seen::{Kind, Seen},
};
use crate::wiring::Witness;

/// The most entries of a list. A plugin that does more in one step calls itself again by what it writes.
pub(super) const MOST: usize = 10_000;

/// Collects the actions of the plugin. Clones are the same collection.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed(Arc<Mutex<Lists>>);

#[derive(Debug, Default)]
struct Lists {
    seen: BTreeMap<Kind, Vec<Seen>>,
    /// What the guest printed to stderr, and what the host logged about it.
    asides: Vec<String>,
    /// Answers in place of the API server.
    answers: Vec<Answer>,
}

// === impl Observed ===

impl Observed {
    /// `answers` replaces answers of the API server.
    pub(super) fn new(answers: Vec<Answer>) -> Self {
        Self(Arc::new(Mutex::new(Lists { answers, ..Lists::default() })))
    }

    pub(super) fn add(&self, kind: Kind, seen: Seen) {
        let mut lists = self.0.lock();
        let list = lists.seen.entry(kind).or_default();
        if list.len() < MOST {
            list.push(seen);
        }
    }

    /// The number of things so far.
    pub(super) fn count(&self) -> usize {
        self.0.lock().seen.values().map(Vec::len).sum()
    }

    /// Everything since the last call, and what else was said.
    pub(super) fn take(&self) -> (BTreeMap<Kind, Vec<Seen>>, Vec<String>) {
        let mut lists = self.0.lock();
        (std::mem::take(&mut lists.seen), std::mem::take(&mut lists.asides))
    }

    fn failed(&self, call: &str, how: &str, failure: &Failure) {
        let how = if failure.kind == FailureKind::Handler { how } else { failure.kind.as_str() };
        self.add(Kind::Failures, Seen::text(format!("{call}: {how}: {}", failure.message.trim_end())));
    }
}

impl Witness for Observed {
    fn handled(&self, _plugin: &str, delivery: &Delivery, outcome: &Outcome) {
        let call = call(delivery, outcome);
        self.add(Kind::Calls, Seen::text(call.clone()));
        match outcome {
            Outcome::Acknowledged | Outcome::Again(_) => {}
            Outcome::Retry { after: None, failure } => self.failed(&call, "retry", failure),
            Outcome::Retry { after: Some(after), failure } => {
                self.failed(&call, &format!("retry after {after:?}"), failure);
            }
            Outcome::Permanent { failure } => self.failed(&call, "permanent", failure),
        }
    }

    fn reconciled(&self, _plugin: &str, request: &Request, outcome: &Reconciled) {
        let mut notes = Vec::new();
        if request.attempt > 1 {
            notes.push(format!("attempt {}", request.attempt));
        }
        match outcome {
            Reconciled::Requeue => notes.push("requeue".to_owned()),
            Reconciled::RequeueAfter(after) => notes.push(format!("requeue after {after:?}")),
            Reconciled::Done | Reconciled::Retry { .. } | Reconciled::Terminal { .. } => {}
        }
        let call = format!("reconcile {}{}", request.key, in_brackets(&notes));
        self.add(Kind::Calls, Seen::text(call.clone()));
        match outcome {
            Reconciled::Retry { failure, .. } => self.failed(&call, "retry", failure),
            Reconciled::Terminal { failure } => self.failed(&call, "terminal", failure),
            Reconciled::Done | Reconciled::Requeue | Reconciled::RequeueAfter(_) => {}
        }
    }

    fn signalled(&self, _plugin: &str, call: &SignalCall, outcome: &Reconciled) {
        let note = match &call.signal {
            Signal::Synced(_) => Some(format!("{} objects", call.selected.objects)),
            Signal::Timer(_) | Signal::Config => None,
        };
        let again = (call.attempt > 1).then(|| format!("attempt {}", call.attempt));
        let notes: Vec<String> = note.into_iter().chain(again).collect();
        let text = format!("{} {}{}", call.signal.verb(), call.signal.subject(), in_brackets(&notes));
        self.add(Kind::Calls, Seen::text(text.clone()));
        match outcome {
            Reconciled::Retry { after: None, failure } => self.failed(&text, "retry", failure),
            Reconciled::Retry { after: Some(after), failure } => {
                self.failed(&text, &format!("retry after {after:?}"), failure);
            }
            Reconciled::Terminal { failure } => self.failed(&text, "permanent", failure),
            Reconciled::Done | Reconciled::Requeue | Reconciled::RequeueAfter(_) => {}
        }
    }

    fn answer(&self, request: &ApiRequest) -> Option<ApiAnswer> {
        let text = cluster::request_text(request);
        let mut lists = self.0.lock();
        let answer = next_answer(&mut lists.answers, &text)?;
        Some(ApiAnswer { status: answer.status, retry_after: None, body: answer.body.into() })
    }

    fn requested(&self, request: &ApiRequest, answer: &Result<ApiAnswer, ApiFailure>) {
        if request.method == http::Method::GET {
            return;
        }
        let outcome = match answer {
            Ok(answer) if answer.status < 400 => String::new(),
            Ok(answer) => format!(" ({})", answer.status),
            Err(failure) => format!(" ({failure})"),
        };
        let text = format!("{}{outcome}", cluster::request_text(request));
        self.add(Kind::Writes, Seen { body: json(&request.body), ..Seen::text(text) });
    }
}

impl LogSink for Observed {
    fn enabled(&self, _plugin: &str, _level: LogLevel) -> bool {
        true
    }

    fn line(&self, line: &LogLine<'_>) {
        match line.stream {
            LogStream::Log | LogStream::Stdout => {
                let level = Some(format!("{:?}", line.level).to_lowercase());
                let fields = line.fields.to_vec();
                self.add(Kind::Log, Seen { level, fields, ..Seen::text(line.message) });
            }
            LogStream::Stderr | LogStream::Host => {
                let mut lists = self.0.lock();
                if lists.asides.len() < MOST {
                    lists.asides.push(line.message.to_owned());
                }
            }
        }
    }
}

/// The body of a request: JSON, or a text.
pub(super) fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}

/// `on-add apps/v1/deployments default/web (live)`
fn call(delivery: &Delivery, outcome: &Outcome) -> String {
    let notification = &delivery.notification;
    let (word, note) = match &notification.change {
        Change::Added { .. } => ("on-add", Some(notification.cause.as_str())),
        Change::Updated { .. } => ("on-update", Some(notification.cause.as_str())),
        Change::Deleted { final_state_known: true, .. } => ("on-delete", None),
        Change::Deleted { final_state_known: false, .. } => ("on-delete", Some("final state unknown")),
    };
    let mut notes: Vec<String> = note.map(str::to_owned).into_iter().collect();
    if delivery.attempt > 1 {
        notes.push(format!("attempt {}", delivery.attempt));
    }
    if let Outcome::Again(after) = outcome {
        notes.push(format!("again after {after:?}"));
    }
    format!("{word} {} {}{}", notification.source.gvr(), notification.key(), in_brackets(&notes))
}

fn in_brackets(notes: &[String]) -> String {
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
}
