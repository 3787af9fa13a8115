//! The report of a run.

use std::fmt;

use super::{
    compare::{Finding, Side},
    injector::Struck,
    sides::{Compared, Outcome},
    truth::Truth,
};

/// The largest number of findings that are printed. The rest is only counted.
const SHOWN: usize = 5;

pub(super) struct Report {
    pub(super) seed: u64,
    pub(super) changes: usize,
    pub(super) struck: Struck,
    pub(super) outcome: Outcome,
    pub(super) truth: Truth,
    pub(super) seconds: f64,
}

// === impl Report ===

impl Report {
    pub(super) fn faults(&self) -> usize {
        self.struck.values().sum()
    }

    /// Checks that there is no finding.
    ///
    /// # Panics
    /// There are findings. The message has the seed, the objects and the notifications of both sides.
    pub(super) fn check(&self) {
        let Outcome { early, late, status, .. } = &self.outcome;
        let all = [("", early), ("of the late handlers: ", late)];
        let findings = all
            .map(|(which, compared)| compared.findings.iter().map(move |finding| (which, compared, finding)));
        let findings: Vec<_> = findings.into_iter().flatten().collect();
        if findings.is_empty() {
            return;
        }
        let shown = findings.iter().take(SHOWN);
        let shown =
            shown.map(|(which, compared, finding)| which.to_string() + &self.explain(compared, finding));
        let (seed, count, shown) = (self.seed, findings.len(), shown.collect::<Vec<_>>().join("\n\n"));
        panic!("seed {seed}: {count} findings; our informers:\n{status}\nthe first findings:\n\n{shown}");
    }

    fn explain(&self, compared: &Compared, finding: &Finding) -> String {
        let notified = |side: &Side| -> String {
            side.calls_about(&finding.id).map(|call| format!("\n    {call}")).collect()
        };
        let lives = self.truth.lives(&finding.id);
        let lives: String = lives.iter().map(|life| format!("\n    {life}")).collect();
        let (theirs, ours) = (notified(&compared.theirs), notified(&compared.ours));
        format!("{finding}\n  true states:{lives}\n  client-go notified:{theirs}\n  we notified:{ours}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { mode, early, late, suppressed, .. } = &self.outcome;
        let struck = self.struck.iter().map(|(kind, count)| format!("{count} {kind}"));
        let (seed, changes, faults) = (self.seed, self.changes, self.faults());
        let (struck, seconds) = (struck.collect::<Vec<_>>().join(", "), self.seconds);
        write!(f, "seed {seed} ({mode}): {changes} changes, {faults} faults ({struck}), {seconds:.0} s; ")?;
        write!(f, "client-go: {}; ours: {}, ", early.theirs, early.ours)?;
        write!(f, "{suppressed} unchanged objects not notified; differences: {}; ", early.differences)?;
        write!(f, "joined late: {} and {} calls, ", late.theirs.len(), late.ours.len())?;
        write!(f, "differences: {}", late.differences)
    }
}
