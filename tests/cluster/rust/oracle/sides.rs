//! client-go's informers and ours on the same resources, with two handlers on each side.

use std::collections::BTreeMap;

use informer_tests::cluster::User;
use serde_json::Value;

use super::{
    client_go::{Cache, ClientGo, Lists},
    compare::{Differences, Finding, Side, compare},
    informers::Informers,
    injector::Injector,
    journal::{Journal, Journals},
    list_mode::ListMode,
    resource::Resource,
    truth::Truth,
};

pub(super) struct Sides {
    mode: ListMode,
    client_go: ClientGo,
    theirs: Journals,
    informers: Informers,
    ours: Journals,
    /// The number of lists on each side when the late handlers joined.
    listed: [Lists; 2],
}

/// A fresh list of each resource, by key.
pub(super) type Fresh = BTreeMap<Resource, BTreeMap<String, Value>>;

/// The results of both sides.
pub(super) struct Outcome {
    pub(super) mode: ListMode,
    pub(super) early: Compared,
    /// The results of the late handlers.
    pub(super) late: Compared,
    /// The number of unchanged objects that our side did not notify.
    pub(super) suppressed: u64,
    /// The status of our informers at the end.
    pub(super) status: String,
}

/// The notifications of one handler of client-go and one of ours.
pub(super) struct Compared {
    pub(super) theirs: Side,
    pub(super) ours: Side,
    pub(super) differences: Differences,
    pub(super) findings: Vec<Finding>,
}

// === impl Sides ===

impl Sides {
    pub(super) async fn start(name: &str, mode: ListMode, injector: &Injector) -> Self {
        let (configs, directory) = {
            let cluster = injector.round.world.cluster.lock().await;
            let config = |address| cluster.kubeconfig_through(User::Admin, address);
            (injector.addresses().map(config), cluster.directory().to_owned())
        };
        let [theirs, ours] = [(); 2].map(|()| Journals::default());
        let [their_config, our_config] = configs;
        let client_go = ClientGo::start(&directory, &their_config, name, mode, &theirs).await;
        let informers = Informers::start(&our_config, name, mode, &ours.early).await;
        Self { mode, client_go, theirs, informers, ours, listed: Default::default() }
    }

    /// Adds the late handlers.
    pub(super) async fn join(&mut self) {
        self.listed = [self.client_go.lists(), self.our_lists()];
        self.client_go.join().await;
        self.informers.join(&self.ours.late);
    }

    /// Waits until all handlers have received the final states, and compares.
    pub(super) async fn finish(self, truth: &Truth, fresh: &Fresh) -> Outcome {
        let mut unfinished = self.unfinished(truth).await;
        let status = self.informers.status();
        let (counters, our_lists) = (self.informers.counters(), self.our_lists());
        let Self { mode, client_go, theirs, informers, ours, listed: [they_had, we_had] } = self;
        let (caches, their_lists) = client_go.finish().await;
        for resource in Resource::ALL {
            let Cache { objects: theirs, synced, version } = &caches[&resource];
            assert!(*synced, "client-go has not synced {resource}");
            for (whose, version) in [("client-go's", version), ("our", &informers.version(resource))] {
                let (newest, version) = (truth.newest(resource), version.parse::<u64>().ok());
                assert!(
                    version >= Some(newest),
                    "{whose} last version of {resource} is {version:?}, not {newest}"
                );
            }
            unfinished.extend(unequal(resource, &fresh[&resource], theirs, "client-go's cache"));
            let ours = informers.cache(resource);
            unfinished.extend(unequal(resource, &fresh[&resource], &ours, "our cache"));
        }
        assert!(informers.synced(), "{status}");
        counters.values().for_each(|counters| mode.check(counters));
        let suppressed = counters.values().map(|counters| counters.suppressed_unchanged).sum();
        informers.stop().await;
        let late = Compared::of(
            truth,
            side(&theirs.late, since(&their_lists, &they_had, undelivered_by_client_go)),
            side(&ours.late, since(&our_lists, &we_had, |_| 0)),
        );
        let mut early = Compared::of(truth, side(&theirs.early, their_lists), side(&ours.early, our_lists));
        early.findings.splice(..0, unfinished);
        Outcome { mode, early, late, suppressed, status }
    }

    /// The objects whose final state did not arrive before the deadline.
    async fn unfinished(&self, truth: &Truth) -> Vec<Finding> {
        let sides = [
            ("client-go was", &self.theirs.early),
            ("client-go's late handler was", &self.theirs.late),
            ("we were", &self.ours.early),
            ("our late listener was", &self.ours.late),
        ];
        let ended = futures::future::join_all(sides.map(|(_, journal)| journal.ends_as(truth))).await;
        let unfinished = sides.into_iter().zip(ended).flat_map(|((side, _), ended)| {
            let text = move |id| Finding { id, text: format!("{side} never notified the final state") };
            ended.err().unwrap_or_default().into_iter().map(text)
        });
        unfinished.collect()
    }

    fn our_lists(&self) -> Lists {
        self.informers.counters().into_iter().map(|(resource, counters)| (resource, counters.lists)).collect()
    }
}

fn side(journal: &Journal, lists: Lists) -> Side {
    Side { calls: journal.calls(), lists }
}

/// The lists that may have affected a late handler: those since it joined, its initial notifications, and lists that were made before and
/// not delivered yet.
fn since(lists: &Lists, before: &Lists, undelivered: impl Fn(u64) -> u64) -> Lists {
    let since = |(resource, lists): (&Resource, &u64)| {
        let before = before.get(resource).copied().unwrap_or_default();
        (*resource, lists - before + 1 + undelivered(before))
    };
    lists.iter().map(since).collect()
}

/// The lists of client-go are counted when they are requested, so the last one may not have been delivered when the late handler joined.
/// The first one was: the cache had synced.
fn undelivered_by_client_go(before: u64) -> u64 {
    u64::from(before > 1)
}

/// The objects that differ in canonical JSON, without spaces and with sorted keys.
fn unequal(
    resource: Resource,
    fresh: &BTreeMap<String, Value>,
    cache: &BTreeMap<String, Value>,
    whose: &str,
) -> Vec<Finding> {
    let text = |objects: &BTreeMap<String, Value>, key: &String| {
        objects.get(key).map_or_else(|| "nothing".to_owned(), Value::to_string)
    };
    let keys = fresh.keys().chain(cache.keys().filter(|key| !fresh.contains_key(*key)));
    let different = keys.filter_map(|key| {
        let (listed, cached) = (text(fresh, key), text(cache, key));
        let text = format!("{whose} holds\n{cached}\nand a fresh list\n{listed}");
        (listed != cached).then(|| Finding { id: (resource, key.clone()), text })
    });
    different.collect()
}

// === impl Compared ===

impl Compared {
    fn of(truth: &Truth, theirs: Side, ours: Side) -> Self {
        let (differences, findings) = compare(truth, &theirs, &ours);
        Self { theirs, ours, differences, findings }
    }
}
