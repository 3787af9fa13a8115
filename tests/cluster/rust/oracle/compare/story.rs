//! The notifications of one object name on one side, as a sequence of lives.

use std::collections::BTreeSet;

use crate::oracle::{
    journal::{Call, State, What, Why},
    truth::Life,
};

/// The contract that a story must follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// client-go's contract: unchanged objects may be notified (C-15), and an update may lead to another UID (C-13).
    ClientGo,
    /// Our contract: neither is allowed (D-5, D-6).
    Ours,
}

#[derive(Debug, Default)]
pub(super) struct Story {
    pub(super) lives: Vec<Notified>,
    /// The number of updates from a state to itself.
    pub(super) unchanged: usize,
}

/// The notifications of one object with one UID.
#[derive(Debug)]
pub(super) struct Notified {
    pub(super) uid: String,
    pub(super) states: Vec<u64>,
    /// The versions that are known to come from a list.
    listed: BTreeSet<u64>,
    pub(super) initial: bool,
    pub(super) end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A deletion with the final state.
    Seen,
    /// A deletion with the last known state.
    Inferred,
    /// An update to the next UID.
    Replaced,
}

// === impl Story ===

impl Story {
    /// # Errors
    /// The calls are not in an order that the rules allow.
    pub(super) fn of<'a>(calls: impl Iterator<Item = &'a Call>, rules: Rules) -> Result<Self, String> {
        let mut story = Self::default();
        for call in calls {
            story.take(call, rules).map_err(|problem| format!("`{call}` {problem}"))?;
        }
        Ok(story)
    }

    fn take(&mut self, call: &Call, rules: Rules) -> Result<(), &'static str> {
        match &call.what {
            What::Add(state) => self.begin(state, call.why),
            What::Update { old, new } => self.update(old, new, call.why, rules),
            What::Delete { state, known } => {
                let live = matches!(call.why, Why::Live);
                if rules == Rules::Ours && live != *known {
                    return Err("has the final state if and only if it comes from a watch");
                }
                self.end(state, if *known { End::Seen } else { End::Inferred })
            }
        }
    }

    fn begin(&mut self, state: &State, why: Why) -> Result<(), &'static str> {
        if self.present().is_some() {
            return Err("adds an object that already exists");
        }
        if self.lives.iter().flat_map(|life| life.states.last()).any(|last| *last >= state.version) {
            return Err("goes back in time");
        }
        let mut notified = Notified {
            uid: state.uid.clone(),
            states: Vec::new(),
            listed: BTreeSet::new(),
            initial: why.initial(),
            end: None,
        };
        notified.state(state.version, why);
        self.lives.push(notified);
        Ok(())
    }

    fn update(&mut self, old: &State, new: &State, why: Why, rules: Rules) -> Result<(), &'static str> {
        let present = self.present().ok_or("is about an object that does not exist")?;
        if present.uid != old.uid || present.states.last() != Some(&old.version) {
            return Err("starts from another state than the last one");
        }
        if new.uid != old.uid {
            if rules == Rules::Ours {
                return Err("leads from one UID to another");
            }
            present.end = Some(End::Replaced);
            return self.begin(new, why);
        }
        if new.version < old.version {
            return Err("goes back in time");
        }
        if new.version > old.version {
            present.state(new.version, why);
        } else if rules == Rules::Ours {
            return Err("contains nothing new");
        } else {
            self.unchanged += 1;
        }
        Ok(())
    }

    fn end(&mut self, state: &State, end: End) -> Result<(), &'static str> {
        let present = self.present().ok_or("is about an object that does not exist")?;
        if present.uid != state.uid {
            return Err("has another UID than the existing object");
        }
        let last = present.states.last().copied().unwrap_or_default();
        match end {
            End::Seen if state.version <= last => Err("is not newer than the last state"),
            End::Inferred if state.version != last => Err("does not carry the last state"),
            _ => {
                present.end = Some(end);
                Ok(())
            }
        }
    }

    fn present(&mut self) -> Option<&mut Notified> {
        self.lives.last_mut().filter(|life| life.end.is_none())
    }

    pub(super) fn life(&self, uid: &str) -> Option<&Notified> {
        self.lives.iter().find(|life| life.uid == uid)
    }

    /// Checks that the story contains only true states, in order, and that it ends like the object.
    ///
    /// # Errors
    /// The first deviation.
    pub(super) fn agrees_with(&self, lives: &[Life]) -> Result<(), String> {
        let mut real = lives.iter();
        for notified in &self.lives {
            let life = real.find(|life| life.uid == notified.uid);
            let life = life.ok_or_else(|| format!("{} never existed, or not in this order", notified.uid))?;
            if let Some(never) = notified.states.iter().find(|state| !life.had(**state)) {
                return Err(format!("the object never had version {never}"));
            }
        }
        let Some(last) = lives.last() else { return Ok(()) };
        let notified = self.lives.last().filter(|notified| notified.end.is_none());
        let notified = notified.map(|notified| (notified.uid.as_str(), notified.states.last().copied()));
        let real = last.last_version().map(|version| (last.uid.as_str(), Some(version)));
        if notified == real {
            Ok(())
        } else {
            Err(format!("the story ends with {notified:?}, the object with {real:?}"))
        }
    }
}

// === impl Notified ===

impl Notified {
    fn state(&mut self, version: u64, why: Why) {
        self.states.push(version);
        if matches!(why, Why::Listed { .. }) || why.initial() {
            self.listed.insert(version);
        }
    }

    /// Returns true if a list came between this version and the next notification. A later list would have delivered this
    /// version itself, and an earlier list is irrelevant.
    pub(super) fn passed_over(&self, version: u64) -> bool {
        match self.states.iter().find(|state| **state > version) {
            Some(next) => self.listed.contains(next),
            None => self.end.is_some_and(|end| end != End::Seen),
        }
    }
}
