//! Objects that are delivered again: one, or all.

use std::{collections::VecDeque, sync::Arc};

use informer_cache::{Registration, SharedInformer};
use informer_dispatch::{DeadLetter, Filter, ObjectRef, Queue};
use informer_types::{
    Cause, Change, Gvr, Notification, NotificationSink, Object, ObjectKey, Source, SyncToken,
};
use tokio::time::Instant;

use super::{Announcement, Listening, Subscriptions};
use crate::{
    app::{blocking::off_the_workers, running_plugin::letters::NotReplayed},
    wiring::Repeats,
};

// === impl Subscriptions ===

impl Subscriptions {
    /// Delivers the object of a dead letter again, with the cause `replay`: as an addition or an update in its present
    /// state, or as a deletion if it is gone. If the letter has a deletion and the subscription does not select the object, the object is
    /// delivered as a deletion too. Returns the verb. The letter is deleted once the plugin acknowledges the notification.
    pub(in crate::app) fn replay(&self, letter: &DeadLetter) -> Result<&'static str, NotReplayed> {
        let ObjectRef { source, key } = &letter.object;
        let (informer, registration, filter) = self.certain(source.gvr(), key)?;
        // Read the quarantine first and the cache second. In the other order, an object that becomes decodable in between
        // would be missing in both.
        let undecoded = informer.undecoded();
        if undecoded.may_have(key) && informer.lister().get(key).is_none() {
            return Err(NotReplayed::NotDecoded);
        }
        let mut verb = None;
        let offered = informer.replay_object(&registration, key, Cause::Replay, |cached| {
            // The filter turned an update into this deletion, and the object still exists.
            let is_left = |object: &Arc<Object>| letter.verb == "delete" && filter.excludes(object).is_some();
            let change = again(letter, cached.filter(|object| !is_left(object)))?;
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

    /// Delivers an object as a resync does, if there is one. Returns false if it is not certain yet whether there is one, or if
    /// another informer is about to replace the informer.
    ///
    /// # Blocking
    /// Waits for the informer's lock.
    pub(super) fn deliver_unchanged(&self, gvr: &Gvr, key: &ObjectKey) -> bool {
        match self.certain(gvr, key) {
            Ok((informer, registration, _)) => {
                // An informer that has ended does not call the closure.
                let mut is_known = false;
                informer.replay_object(&registration, key, Cause::Resync, |cached| {
                    is_known = true;
                    cached.map(|object| Change::Updated { old: Arc::clone(&object), new: object })
                });
                is_known
            }
            Err(why) => !matches!(why, NotReplayed::NotSynced | NotReplayed::NotDecoded),
        }
    }

    /// Delivers every object that the plugin subscribes to again, with the cause `replay`. The token that `settled` returns for a
    /// resource is dropped once its notifications are settled. `settled` is not called for a subscription whose announcement has not
    /// begun: the announcement waits until the replay is settled.
    ///
    /// # Blocking
    /// It visits every cached object under the lock of its informer.
    pub(in crate::app::running_plugin) fn replay_all(&self, settled: impl Fn(&Gvr) -> SyncToken) {
        for (gvr, claim) in &*self.claims.lock() {
            if let Some(listening) = &claim.listening {
                let is_waiting = listening.announcement == Announcement::Waits;
                let token = if is_waiting { listening.initials.hold() } else { settled(gvr) };
                // The successor comes first and the cache second. In the other order, an object that leaves the successor in
                // between would not be replayed.
                if let Some(successor) = &listening.successor {
                    let added = |object: &Arc<Object>| Some(Change::Added { object: Arc::clone(object) });
                    successor.retarget(Arc::clone(&listening.filter) as _, Some(&token), added);
                }
                let informer = claim.subscription.informer();
                if !informer.replay(&listening.registration, token.clone()) {
                    listening.replay_last(informer, &token);
                }
            }
        }
    }

    /// The informer of a resource, if its cache decides whether an object exists, with the registration and the filter of the
    /// subscription.
    fn certain(
        &self,
        gvr: &Gvr,
        key: &ObjectKey,
    ) -> Result<(SharedInformer, Registration, Arc<Filter<Queue>>), NotReplayed> {
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
        Ok((informer.clone(), listening.registration.clone(), Arc::clone(&listening.filter)))
    }
}

// === impl Listening ===

impl Listening {
    /// Delivers every object in the cache of an informer that has ended, as [`SharedInformer::replay`] does for a running one. The
    /// next informer delivers only the difference to this cache.
    fn replay_last(&self, informer: &SharedInformer, settled: &SyncToken) {
        let source = Source::new(informer.key().gvr.clone());
        let observed = Instant::now().into_std();
        let again = informer.cached().into_iter().map(|object| Notification {
            source: source.clone(),
            change: Change::Added { object },
            cause: Cause::Replay,
            initial: Some(settled.clone()),
            observed: observed.into(),
        });
        let mut again: VecDeque<Notification> = again.collect();
        match &self.successor {
            Some(successor) => successor.offer_all(&mut again),
            None => self.filter.offer_all(&mut again),
        }
    }
}

fn again(letter: &DeadLetter, cached: Option<Arc<Object>>) -> Option<Change> {
    Some(match cached {
        Some(object) if letter.verb == "update" => Change::Updated { old: Arc::clone(&object), new: object },
        Some(object) => Change::Added { object },
        None => Change::Deleted { object: letter.last_known()?, final_state_known: false },
    })
}
