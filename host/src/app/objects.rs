//! The Plugin objects of the cluster, and which of them run: the choice depends on the configuration in force, so the applier
//! makes it each time that it applies one.

mod choice;
mod judged;

use std::{collections::HashMap, sync::Arc};

use informer_types::Gvr;
use parking_lot::Mutex;
use tokio::sync::{Notify, futures::Notified};

use crate::config::{Config, Plugin, Tenancy};
use choice::{Choice, Specs};
pub(super) use judged::{Candidate, Judged, Verdict};

/// The objects of the cluster. Cheap to clone; all clones share one state.
#[derive(Clone, Default)]
pub(super) struct Objects(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when `[tenancy]` changes, and when an informer of the objects may have ended.
    changed: Notify,
}

#[derive(Default)]
struct State {
    tenancy: Option<Tenancy>,
    present: Arc<[Candidate]>,
    /// Resources whose objects have no namespace, as far as that is known.
    cluster_scoped: Arc<[Gvr]>,
    specs: Specs,
    judged: Arc<[Judged]>,
    /// The verdicts about objects that are not among `present` yet.
    held: Vec<Judged>,
}

// === impl Objects ===

impl Objects {
    /// Replaces the objects. The verdict about an object whose spec is the same remains.
    pub(super) fn set(&self, present: Vec<Candidate>) {
        let mut state = self.0.state.lock();
        let judged: Arc<[Judged]> = {
            let newest: HashMap<_, _> = present.iter().map(|one| (one.identity(), &one.0)).collect();
            let judged = state.judged.iter().map(|one| {
                let newer = newest.get(&(one.object.uid().to_string(), one.object.generation())).copied();
                Judged { object: Arc::clone(newer.unwrap_or(&one.object)), ..one.clone() }
            });
            judged.collect()
        };
        (state.present, state.judged) = (present.into(), judged);
    }

    /// The objects of the last [`set`](Self::set).
    pub(super) fn present(&self) -> Arc<[Candidate]> {
        Arc::clone(&self.0.state.lock().present)
    }

    /// Replaces the verdicts about objects that must not run yet, whatever the configuration is. These objects are not among the
    /// objects of [`set`](Self::set).
    pub(super) fn hold(&self, held: Vec<Judged>) {
        self.0.state.lock().held = held;
    }

    /// Replaces the resources that are known to be cluster-scoped. Returns true if nothing changed.
    pub(super) fn set_cluster_scoped(&self, resources: Vec<Gvr>) -> bool {
        let mut state = self.0.state.lock();
        let same = *state.cluster_scoped == *resources;
        state.cluster_scoped = resources.into();
        same
    }

    /// Returns the plugins of the objects that run with this configuration, the oldest first, and keeps the verdict about each object.
    /// If a changed spec is refused, the previous spec stays in force.
    pub(super) fn choose(&self, config: &Config) -> Vec<Plugin> {
        let (present, cluster_scoped, mut specs) = {
            let mut state = self.0.state.lock();
            if state.tenancy != config.tenancy {
                state.tenancy.clone_from(&config.tenancy);
                self.0.changed.notify_waiters();
            }
            (Arc::clone(&state.present), Arc::clone(&state.cluster_scoped), std::mem::take(&mut state.specs))
        };
        let choice = Choice { config, cluster_scoped: &cluster_scoped };
        let (plugins, judged) = choice.of(&present, &mut specs);
        let mut state = self.0.state.lock();
        state.specs = specs;
        state.judged = judged.into();
        plugins
    }

    /// The verdict about each object.
    pub(super) fn judged(&self) -> Arc<[Judged]> {
        let state = self.0.state.lock();
        if state.held.is_empty() {
            return Arc::clone(&state.judged);
        }
        state.judged.iter().chain(&state.held).cloned().collect()
    }

    /// `[tenancy]` as it is in force.
    pub(super) fn tenancy(&self) -> Option<Tenancy> {
        self.0.state.lock().tenancy.clone()
    }

    /// Completes [`changed`](Self::changed). Call this function after another informer replaced the informer of a watch: the host may have
    /// followed Plugin objects with the replaced informer.
    pub(super) fn follow_anew(&self) {
        self.0.changed.notify_waiters();
    }

    /// Completes when, after this call, `[tenancy]` changes or [`follow_anew`](Self::follow_anew) is called.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }
}

/// Returns true if a plugin of this name belongs to an object.
pub(super) fn is_of_object(plugin: &str) -> bool {
    plugin.contains(['/', ':'])
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Header, Object};

    use super::*;

    /// The writer of the status compares with it.
    #[test]
    fn a_verdict_has_the_newest_state_of_its_object_until_the_spec_changes() {
        let at = |version: &str, generation: i64| {
            let header = Header {
                uid: "u".into(),
                resource_version: version.into(),
                generation: Some(generation),
                ..Header::default()
            };
            Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
        };
        let objects = Objects::default();
        let judged = Judged { object: at("1", 1), name: "shop/a".to_owned(), verdict: Verdict::Accepted };
        objects.0.state.lock().judged = vec![judged].into();

        objects.set(vec![Candidate(at("2", 1))]);
        assert_eq!(objects.judged()[0].object.resource_version(), "2");

        objects.set(vec![Candidate(at("3", 2))]);
        assert_eq!(objects.judged()[0].object.resource_version(), "2", "no verdict about the new spec yet");
    }
}
