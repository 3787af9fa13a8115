//! The changes of a run, which follow from the seed.

use fastrand::Rng;

use super::resource::Resource;

/// The number of concurrent writers. Each object belongs to one writer, which makes one change after the other.
const WRITERS: usize = 4;
const NAMES_PER_RESOURCE: usize = 24;
/// The number of changes before the informers start.
const BEFORE: usize = 80;

/// One request, which changes one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) resource: Resource,
    /// The index of the object's name.
    pub(super) name: usize,
    pub(super) step: Step,
    /// A value that grows with each change.
    pub(super) value: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `held` adds a finalizer.
    Create {
        held: bool,
    },
    Label,
    Spec,
    Status,
    /// An object with a finalizer is only marked for deletion.
    Delete {
        held: bool,
    },
    /// Removes the finalizer, which completes the deletion.
    Release,
}

pub(super) struct Plan {
    /// The changes before the informers start.
    pub(super) before: Vec<Vec<Change>>,
    /// The changes while the informers run, one list for each writer.
    pub(super) during: Vec<Vec<Change>>,
}

#[derive(Clone, Copy)]
enum Now {
    Absent,
    Present { held: bool },
    Terminating,
}

/// Draws random changes that the API server accepts.
struct Drawing {
    rng: Rng,
    now: Vec<Now>,
    changes: Vec<Change>,
    /// The number of changes drawn so far.
    value: usize,
}

// === impl Plan ===

impl Plan {
    /// Draws at least `changes` changes while the informers run. The same seed always gives the same plan.
    pub(super) fn draw(seed: u64, changes: usize) -> Self {
        let now = vec![Now::Absent; Resource::ALL.len() * NAMES_PER_RESOURCE];
        let mut drawing = Drawing { rng: Rng::with_seed(seed), now, changes: Vec::new(), value: 0 };
        drawing.until(BEFORE);
        let before = std::mem::take(&mut drawing.changes);
        drawing.until(changes);
        Self { before: dealt(&before), during: dealt(&drawing.changes) }
    }

    pub(super) fn len(&self) -> usize {
        self.during.iter().map(Vec::len).sum()
    }
}

/// Deals the changes to the writers. All changes of an object go to the same writer.
fn dealt(changes: &[Change]) -> Vec<Vec<Change>> {
    let of = |writer| changes.iter().filter(move |it| it.name % WRITERS == writer).copied().collect();
    (0..WRITERS).map(of).collect()
}

// === impl Drawing ===

impl Drawing {
    fn until(&mut self, changes: usize) {
        while self.changes.len() < changes {
            let object = self.rng.usize(..self.now.len());
            // Sometimes draw many changes of one object in a row.
            let times = if self.rng.u8(..8) == 0 { self.rng.usize(3..10) } else { 1 };
            for _ in 0..times {
                self.change(object);
            }
        }
    }

    fn change(&mut self, object: usize) {
        let resource = Resource::ALL[object / NAMES_PER_RESOURCE];
        match self.now[object] {
            Now::Absent => self.create(object),
            Now::Present { held } => match self.rng.u8(..10) {
                0..=2 => self.push(object, Step::Label),
                3 | 4 if resource.has_status() => self.push(object, Step::Status),
                8 => self.delete(object, held),
                9 => {
                    self.delete(object, held);
                    if held {
                        self.release(object);
                    }
                    self.create(object);
                }
                _ => self.push(object, Step::Spec),
            },
            Now::Terminating if self.rng.u8(..4) == 0 => self.push(object, Step::Label),
            Now::Terminating => self.release(object),
        }
    }

    fn create(&mut self, object: usize) {
        let held = self.rng.u8(..5) == 0;
        self.push(object, Step::Create { held });
        self.now[object] = Now::Present { held };
    }

    fn delete(&mut self, object: usize, held: bool) {
        self.push(object, Step::Delete { held });
        self.now[object] = if held { Now::Terminating } else { Now::Absent };
    }

    fn release(&mut self, object: usize) {
        self.push(object, Step::Release);
        self.now[object] = Now::Absent;
    }

    fn push(&mut self, object: usize, step: Step) {
        let resource = Resource::ALL[object / NAMES_PER_RESOURCE];
        self.value += 1;
        let name = object % NAMES_PER_RESOURCE;
        self.changes.push(Change { resource, name, step, value: self.value });
    }
}
