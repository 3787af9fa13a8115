//! The expectations of a step, and their comparison with the actions of the plugin.

use std::collections::BTreeMap;

use informer_types::{Gvr, ObjectKey};
use serde_json::Value;

use super::{
    diff,
    expected::Expected,
    file::{Buckets, Located},
    report::Finding,
    seen::{Kind, Seen},
};

/// The expectations of a step. A list that is absent is not compared; but without the list `failures`, each failure fails the step.
#[derive(Debug, Default)]
pub(super) struct Expectation {
    pub(super) lists: Vec<(Kind, Vec<Expected>)>,
    /// Parts of objects that the API server must have.
    pub(super) objects: Vec<Located<Value>>,
    pub(super) gone: Vec<Located<(Gvr, ObjectKey)>>,
    pub(super) keyvalue: Option<Located<Buckets>>,
}

// === impl Expectation ===

impl Expectation {
    /// Compares the lists. `line` is the line of the step.
    pub(super) fn compare(&self, seen: &BTreeMap<Kind, Vec<Seen>>, line: usize) -> Vec<Finding> {
        let nothing = Vec::new();
        let mut findings = Vec::new();
        for kind in Kind::ALL {
            let seen = seen.get(&kind).unwrap_or(&nothing);
            match self.lists.iter().find(|(own, _)| *own == kind) {
                Some((_, expected)) => {
                    findings.extend(diff::lists(kind, expected, seen, line));
                }
                // A failure that no step names is a mistake of the plugin, or of the story.
                None if kind == Kind::Failures => {
                    let text = |failure: &Seen| format!("the plugin failed: {}", failure.text);
                    findings.extend(seen.iter().map(|failure| Finding { line, text: text(failure) }));
                }
                None => {}
            }
        }
        findings
    }
}
