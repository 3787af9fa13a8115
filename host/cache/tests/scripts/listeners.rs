//! The listeners of a script and their invariants.

use std::{sync::Arc, time::Duration};

use informer_cache::{ListenerConfig, Registration, SharedInformer};
use informer_types::{Cause, Change, NotificationSink};

use crate::{recorder::Recorder, script::Listener, world::cached};

/// One listener.
pub(crate) struct Joined {
    pub(crate) config: Listener,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) registration: Registration,
    /// True if it joined before the informer had synced.
    pub(crate) early: bool,
    pub(crate) left: bool,
    had_synced: bool,
}

// === impl Joined ===

impl Joined {
    /// Adds a listener. Returns `None` if the informer has stopped.
    pub(crate) fn try_join(informer: &SharedInformer, config: Listener) -> Option<Self> {
        let recorder = Arc::new(Recorder::new(informer.clone(), config.holds));
        let listener = ListenerConfig {
            name: "recorder".to_owned(),
            resync: (config.resync > 0).then(|| Duration::from_secs(config.resync.into())),
            relist_all: config.relist_all,
        };
        let sink: Arc<dyn NotificationSink> = Arc::clone(&recorder) as _;
        let registration = informer.add_listener(listener, sink).ok()?;
        Some(Self { config, recorder, registration, early: false, left: false, had_synced: false })
    }

    /// Adds a listener while nothing else runs, and compares its replay with the cache (C-10, P-11): both have
    /// the same shared objects (I-4).
    pub(crate) fn join(informer: &SharedInformer, config: Listener) -> Self {
        let early = !informer.has_synced();
        let joined = Self::try_join(informer, config).unwrap();
        let mut replay: Vec<_> = joined
            .recorder
            .received()
            .into_iter()
            .map(|received| {
                assert_eq!(received.cause, Cause::Initial, "a replay is initial");
                match received.change {
                    Change::Added { object } => object,
                    other => panic!("a replay adds, it does not {}", other.verb()),
                }
            })
            .collect();
        replay.sort_by_key(|object| object.key());
        let cache = cached(informer);
        assert_eq!(replay.len(), cache.len(), "the replay is the cache");
        assert!(replay.iter().zip(&cache).all(|(received, cached)| Arc::ptr_eq(received, cached)));
        Self { early, ..joined }
    }

    pub(crate) fn leave(&mut self) {
        self.registration.remove();
        self.recorder.leave();
        self.left = true;
    }

    /// A listener has synced once the informer has and no initial notification is held, and stays synced (P-16).
    pub(crate) fn check_sync(&mut self, informer: &SharedInformer) {
        let synced = self.registration.has_synced();
        assert!(synced || !self.had_synced, "it is not synced any more");
        if !self.had_synced && !self.left {
            let due = informer.has_synced() && !self.recorder.holds_tokens();
            assert_eq!(synced, due, "synced once the informer is and all initial notifications are settled");
        }
        self.had_synced = synced;
        assert_eq!(self.recorder.wrong(), [""; 0]);
    }
}
