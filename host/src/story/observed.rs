//! The actions of the plugin since the last step: calls, failures, log lines, writes and HTTP requests.

use std::{collections::BTreeMap, sync::Arc};

use informer_runtime::{
    LogLevel, LogLine, LogSink, LogStream,
    capabilities::{ApiAnswer, ApiFailure, ApiRequest},
};
use informer_types::{Change, Delivery, Failure, Outcome, Reconciled, Request, Signal, SignalCall};
use parking_lot::Mutex;
use serde_json::Value;

use super::{
    answer::{Answer, next_answer},
    cluster,
    seen::{Kind, Seen, in_brackets},
};
use crate::wiring::{Ending, Witness};

/// The most entries of a list. A plugin that does more in one step triggers its own calls by what it writes.
pub(super) const MOST: usize = 10_000;

/// Collects the actions of the plugin. Clones share one collection.
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

    /// The number of actions since the last [`take`](Self::take).
    pub(super) fn count(&self) -> usize {
        self.0.lock().seen.values().map(Vec::len).sum()
    }

    /// Takes the actions since the last call, and the other lines: of the guest on stderr, and of the host about the plugin.
    pub(super) fn take(&self) -> (BTreeMap<Kind, Vec<Seen>>, Vec<String>) {
        let mut lists = self.0.lock();
        (std::mem::take(&mut lists.seen), std::mem::take(&mut lists.asides))
    }

    /// A call ended, and may have failed.
    fn called(&self, call: String, failure: Option<String>) {
        if let Some(failure) = failure {
            self.add(Kind::Failures, Seen::text(format!("{call}: {failure}")));
        }
        self.add(Kind::Calls, Seen::text(call));
    }
}

impl Witness for Observed {
    fn handled(&self, _plugin: &str, delivery: &Delivery, outcome: &Outcome) {
        let Ending { next, failure } = Ending::of_handler(outcome);
        self.called(call(delivery, next), failure);
    }

    fn batch_failed(&self, _plugin: &str, failure: &Failure) {
        let outcome = Outcome::Retry { after: None, failure: failure.clone() };
        let failure = Ending::of_handler(&outcome).failure.unwrap_or_default();
        self.add(Kind::Failures, Seen::text(format!("batch: {failure}")));
    }

    fn reconciled(&self, _plugin: &str, request: &Request, outcome: &Reconciled) {
        let mut notes = Vec::new();
        if request.attempt > 1 {
            notes.push(format!("attempt {}", request.attempt));
        }
        let Ending { next, failure } = Ending::of_reconciler(outcome);
        notes.extend(next);
        self.called(format!("reconcile {}{}", request.key, in_brackets(&notes)), failure);
    }

    fn signalled(&self, _plugin: &str, call: &SignalCall, outcome: &Reconciled) {
        let note = match &call.signal {
            Signal::Synced(_) => Some(format!("{} objects", call.selected.objects)),
            Signal::Timer(_) | Signal::Config => None,
        };
        let again = (call.attempt > 1).then(|| format!("attempt {}", call.attempt));
        let notes: Vec<String> = note.into_iter().chain(again).collect();
        let text = format!("{} {}{}", call.signal.verb(), call.signal.subject(), in_brackets(&notes));
        self.called(text, Ending::of_signal(outcome).failure);
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

/// `on-add apps/v1/deployments default/web (live)`, with the next call that the plugin requested.
fn call(delivery: &Delivery, next: Option<String>) -> String {
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
    notes.extend(next);
    format!("{word} {} {}{}", notification.source.gvr(), notification.key(), in_brackets(&notes))
}
