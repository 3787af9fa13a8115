//! Compares the notifications of both sides with the truth and with each other.
//!
//! The notifications of each side must form a possible story of each object ([`Story`]). A side may leave out only states
//! that one of its lists passed over. Each difference between both stories has a name ([`Difference`]); any other
//! deviation is a finding.

use std::{collections::BTreeMap, fmt};

mod difference;
mod lists;
mod story;

pub(super) use difference::Differences;

use super::{
    journal::Call,
    resource::Resource,
    truth::{Id, Life, Truth},
};
use lists::Lists;
use story::{End, Notified, Rules, Story};

/// The notifications of one side.
pub(super) struct Side {
    pub(super) calls: BTreeMap<Resource, Vec<Call>>,
    /// The number of lists of each resource.
    pub(super) lists: BTreeMap<Resource, u64>,
}

/// A deviation that no documented difference explains.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) id: Id,
    pub(super) text: String,
}

/// Compares all notifications with the truth.
pub(super) fn compare(truth: &Truth, theirs: &Side, ours: &Side) -> (Differences, Vec<Finding>) {
    let mut differences = Differences::default();
    let mut findings = Vec::new();
    let known = |id: &Id| truth.objects().any(|(other, _)| other == id);
    for side in [theirs, ours] {
        let strangers = side.calls.values().flatten().filter(|call| !known(&call.id));
        let finding =
            |call: &Call| Finding { id: call.id.clone(), text: "this object was never written".into() };
        findings.extend(strangers.map(finding));
    }
    for resource in Resource::ALL {
        let [their_lists, our_lists] = [theirs, ours].map(|side| {
            let lists = side.lists.get(&resource).copied().unwrap_or_default();
            Lists::of(side.calls_of(resource), lists)
        });
        for (id, lives) in truth.objects().filter(|((of, _), _)| *of == resource) {
            let their = tell(theirs.calls_about(id), Rules::ClientGo, lives, &their_lists);
            let our = tell(ours.calls_about(id), Rules::Ours, lives, &our_lists);
            if let (Ok(their), Ok(our)) = (&their, &our) {
                differences.of(lives, their, our);
            }
            let failed = [("client-go", their.err()), ("ours", our.err())].into_iter();
            findings.extend(failed.filter_map(|(side, text)| {
                text.map(|text| Finding { id: id.clone(), text: format!("{side}: {text}") })
            }));
        }
    }
    (differences, findings)
}

/// One side's story of one object, or the reason why the story is impossible.
fn tell<'a>(
    calls: impl Iterator<Item = &'a Call>,
    rules: Rules,
    lives: &[Life],
    lists: &Lists,
) -> Result<Story, String> {
    let story = Story::of(calls, rules)?;
    story.agrees_with(lives)?;
    for life in lives {
        let Some(notified) = story.life(&life.uid) else {
            if lists.passed_over(life) {
                continue;
            }
            return Err(format!("{} was never notified, and no list explains that", life.uid));
        };
        // client-go does not report which notifications come from a list.
        let unsaid = rules == Rules::ClientGo && lists.silent;
        let missed = |version: &&u64| !notified.states.contains(version) && !notified.passed_over(**version);
        if let Some(version) = life.versions.iter().find(missed).filter(|_| !unsaid) {
            return Err(format!("version {version} was never notified, and no list explains that"));
        }
    }
    Ok(story)
}

// === impl Side ===

impl Side {
    fn calls_of(&self, resource: Resource) -> &[Call] {
        self.calls.get(&resource).map_or(&[], Vec::as_slice)
    }

    pub(super) fn calls_about<'a>(&'a self, id: &'a Id) -> impl Iterator<Item = &'a Call> {
        self.calls_of(id.0).iter().filter(move |call| call.id == *id)
    }

    pub(super) fn len(&self) -> usize {
        self.calls.values().map(Vec::len).sum()
    }

    /// The number of lists of all resources after the first lists.
    pub(super) fn relists(&self) -> u64 {
        self.lists.values().map(|lists| lists.saturating_sub(1)).sum()
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls, {} relists", self.len(), self.relists())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.id.0, self.id.1, self.text)
    }
}

#[cfg(test)]
mod tests;
