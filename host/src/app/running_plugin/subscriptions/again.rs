//! One object, delivered again.

use std::sync::Arc;

use informer_cache::{Registration, SharedInformer};
use informer_dispatch::{DeadLetter, ObjectRef};
use informer_types::{Cause, Change, Gvr, Object, ObjectKey};

use super::Subscriptions;
use crate::{
    app::{blocking::off_the_workers, running_plugin::letters::NotReplayed},
    wiring::Repeats,
};

// === impl Subscriptions ===

impl Subscriptions {
    /// Delivers the object of a dead letter again, with the cause `replay`: as an addition or an update in its present
    /// state, or as a deletion if it is gone. Returns the verb. The letter is deleted once the plugin acknowledges the
    /// notification.
    pub(in crate::app) fn replay(&self, letter: &DeadLetter) -> Result<&'static str, NotReplayed> {
        let ObjectRef { source, key } = &letter.object;
        let (informer, registration) = self.certain(source.gvr(), key)?;
        // Read the quarantine first and the cache second. In the other order, an object that becomes decodable in between
        // would be missing in both.
        let undecoded = informer.undecoded();
        if undecoded.may_have(key) && informer.lister().get(key).is_none() {
            return Err(NotReplayed::NotDecoded);
        }
        let mut verb = None;
        let offered = informer.replay_object(&registration, key, Cause::Replay, |cached| {
            let change = again(letter, cached)?;
            verb = Some(change.verb());
            Some(change)
        });
        verb.filter(|_| offered).ok_or(NotReplayed::Stopping)
    }

    /// Delivers each object for which the handler requested another call, when it is due. Never returns.
    pub(in crate::app::running_plugin) async fn repeat(self: &Arc<Self>, repeats: &Repeats) {
        let deliver = |gvr: Gvr, key: ObjectKey| {
            let subscriptions = Arc::clone(self);
            off_the_workers(move || subscriptions.deliver_unchanged(&gvr, &key))
        };
        repeats.deliver_with(deliver).await;
    }

    /// Delivers an object as a resync does, if there is one. Returns false if it is not certain yet whether there is one.
    ///
    /// # Blocking
    /// Waits for the informer's lock.
    fn deliver_unchanged(&self, gvr: &Gvr, key: &ObjectKey) -> bool {
        match self.certain(gvr, key) {
            Ok((informer, registration)) => {
                informer.replay_object(&registration, key, Cause::Resync, |cached| {
                    cached.map(|object| Change::Updated { old: Arc::clone(&object), new: object })
                });
                true
            }
            Err(why) => !matches!(why, NotReplayed::NotSynced | NotReplayed::NotDecoded),
        }
    }

    /// The informer of a resource, if its cache decides whether an object exists.
    fn certain(&self, gvr: &Gvr, key: &ObjectKey) -> Result<(SharedInformer, Registration), NotReplayed> {
        let claims = self.claims.lock();
        let claim = claims.get(gvr).ok_or(NotReplayed::NotSubscribed)?;
        let listening = claim.listening.as_ref().ok_or(NotReplayed::NotSubscribed)?;
        let informer = claim.subscription.informer();
        // An object that is not in an incomplete cache may exist all the same.
        if !informer.has_synced() {
            return Err(NotReplayed::NotSynced);
        }
        if listening.is_behind(key) {
            let may_exist = informer.undecoded().may_have(key);
            return Err(if may_exist { NotReplayed::NotDecoded } else { NotReplayed::NotSynced });
        }
        Ok((informer.clone(), listening.registration.clone()))
    }
}

fn again(letter: &DeadLetter, cached: Option<Arc<Object>>) -> Option<Change> {
    Some(match cached {
        Some(object) if letter.verb == "update" => Change::Updated { old: Arc::clone(&object), new: object },
        Some(object) => Change::Added { object },
        None => Change::Deleted { object: letter.last_known()?, final_state_known: false },
    })
}
