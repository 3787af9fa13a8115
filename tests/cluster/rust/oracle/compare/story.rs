//! What a side told of one object, read as the lives of what bore its name.

use std::collections::BTreeSet;

use crate::oracle::{
    journal::{Call, State, What, Why},
    truth::Life,
};

/// By whose contract a story is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// Unchanged objects may be told (C-15), and an update may lead from one UID to another (C-13).
    ClientGo,
    /// Neither (D-5, D-6).
    Ours,
}

#[derive(Debug, Default)]
pub(super) struct Story {
    pub(super) lives: Vec<Told>,
    /// Updates that led from a state to itself.
    pub(super) unchanged: usize,
}

/// What has one UID, as it was told.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) uid: String,
    pub(super) states: Vec<u64>,
    /// Those of them that are known to come from a list.
    listed: BTreeSet<u64>,
    pub(super) initial: bool,
    pub(super) end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With its final state.
    Seen,
    /// With the last state known.
    Inferred,
    /// By an update to the next UID.
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
                    return Err("should know the final state exactly where the watch told it");
                }
                self.end(state, if *known { End::Seen } else { End::Inferred })
            }
        }
    }

    fn begin(&mut self, state: &State, why: Why) -> Result<(), &'static str> {
        if self.present().is_some() {
            return Err("comes while the object is there already");
        }
        if self.lives.iter().flat_map(|life| life.states.last()).any(|last| *last >= state.version) {
            return Err("goes back in time");
        }
        let mut told = Told {
            uid: state.uid.clone(),
            states: Vec::new(),
            listed: BTreeSet::new(),
            initial: why.initial(),
            end: None,
        };
        told.state(state.version, why);
        self.lives.push(told);
        Ok(())
    }

    fn update(&mut self, old: &State, new: &State, why: Why, rules: Rules) -> Result<(), &'static str> {
        let present = self.present().ok_or("comes while the object is not there")?;
        if present.uid != old.uid || present.states.last() != Some(&old.version) {
            return Err("starts from another state than was told last");
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
            return Err("tells nothing new");
        } else {
            self.unchanged += 1;
        }
        Ok(())
    }

    fn end(&mut self, state: &State, end: End) -> Result<(), &'static str> {
        let present = self.present().ok_or("comes while the object is not there")?;
        if present.uid != state.uid {
            return Err("is about another UID than is there");
        }
        let last = present.states.last().copied().unwrap_or_default();
        match end {
            End::Seen if state.version <= last => Err("is not newer than the state told last"),
            End::Inferred if state.version != last => Err("does not carry the state told last"),
            _ => {
                present.end = Some(end);
                Ok(())
            }
        }
    }

    fn present(&mut self) -> Option<&mut Told> {
        self.lives.last_mut().filter(|life| life.end.is_none())
    }

    pub(super) fn life(&self, uid: &str) -> Option<&Told> {
        self.lives.iter().find(|life| life.uid == uid)
    }

    /// Tells only what was, in its order, and ends as it ended.
    ///
    /// # Errors
    /// What disagrees.
    pub(super) fn agrees_with(&self, lives: &[Life]) -> Result<(), String> {
        let mut real = lives.iter();
        for told in &self.lives {
            let life = real.find(|life| life.uid == told.uid);
            let life = life.ok_or_else(|| format!("there was no {}, or not in this order", told.uid))?;
            if let Some(never) = told.states.iter().find(|state| !life.had(**state)) {
                return Err(format!("it never was at {never}"));
            }
        }
        let Some(last) = lives.last() else { return Ok(()) };
        let told = self.lives.last().filter(|told| told.end.is_none());
        let told = told.map(|told| (told.uid.as_str(), told.states.last().copied()));
        let real = last.last_version().map(|version| (last.uid.as_str(), Some(version)));
        if told == real {
            Ok(())
        } else {
            Err(format!("the story ends with {told:?}, the object with {real:?}"))
        }
    }
}

// === impl Told ===

impl Told {
    fn state(&mut self, version: u64, why: Why) {
        self.states.push(version);
        if matches!(why, Why::Listed { .. }) || why.initial() {
            self.listed.insert(version);
        }
    }

    /// Whether a list stood between this version and what was told next. A list that came later would have told this
    /// version itself, and one that came sooner has nothing to do with it.
    pub(super) fn passed_over(&self, version: u64) -> bool {
        match self.states.iter().find(|state| **state > version) {
            Some(next) => self.listed.contains(next),
            None => self.end.is_some_and(|end| end != End::Seen),
        }
    }
}
