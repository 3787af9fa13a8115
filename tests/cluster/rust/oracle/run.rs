//! One seeded run: the same churn and the same faults for client-go and for us.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Instant};

use informer_tests::cluster::User;
use serde_json::Value;
use tokio::task::JoinSet;

use super::{
    client_go::{Cache, ClientGo, key},
    compare::{Differences, Finding, Side, compare},
    fault,
    informers::Informers,
    injector::{Injector, Struck},
    journal::Journal,
    list_mode::ListMode,
    pace::Pace,
    plan::Plan,
    resource::Resource,
    truth::Truth,
    world::Round,
    writer::{Writer, list},
};

/// What a run showed.
pub(super) struct Report {
    pub(super) seed: u64,
    pub(super) changes: usize,
    pub(super) struck: Struck,
    pub(super) differences: Differences,
    pub(super) theirs: Side,
    pub(super) ours: Side,
    /// Unchanged objects that we did not tell.
    suppressed: u64,
    seconds: f64,
    truth: Truth,
    findings: Vec<Finding>,
    /// How our informers were doing at the end.
    status: String,
}

/// A list of each resource, by key.
type Fresh = BTreeMap<Resource, BTreeMap<String, Value>>;

/// Both sides at work.
struct Sides {
    theirs: (ClientGo, Journal),
    ours: (Informers, Journal),
}

pub(super) async fn run(seed: u64, changes: usize, round: Arc<Round>) -> Report {
    let started = Instant::now();
    let name = format!("run-{seed}");
    let plan = Plan::draw(seed, changes);
    let schedule = fault::schedule(seed, plan.len(), round.world.watch_cache);
    round.world.create_namespace(&name).await;
    let pace = Arc::new(Pace::new());
    let server = round.world.cluster.lock().await.address();
    let injector = Injector::new(Arc::clone(&round), Arc::clone(&pace), plan.len(), server);

    let mut writers = Vec::new();
    for changes in &plan.before {
        let mut writer = Writer::new(Arc::clone(&round.world.gate), &name);
        for change in changes {
            writer.apply(*change).await;
        }
        writers.push(writer);
    }
    let mode = ListMode::of(seed);
    let sides = Sides::start(&name, mode, &injector).await;
    let mut working = JoinSet::new();
    for (writer, changes) in writers.into_iter().zip(plan.during.clone()) {
        working.spawn(writer.work(changes, Arc::clone(&pace)));
    }
    let (truths, struck) = tokio::join!(working.join_all(), injector.strike_all(schedule));
    let sentinels = Writer::new(Arc::clone(&round.world.gate), &name).sentinels().await;
    let mut truth = Truth::default();
    truths.into_iter().chain([sentinels]).for_each(|part| truth.merge(part));

    let fresh = fresh(&round, &name).await;
    let mut report = sides.finish(truth, mode, &fresh).await;
    report.seed = seed;
    report.changes = plan.len();
    report.struck = struck;
    report.seconds = started.elapsed().as_secs_f64();
    report
}

async fn fresh(round: &Round, name: &str) -> Fresh {
    let client = round.world.gate.read().await;
    let mut lists = BTreeMap::new();
    for resource in Resource::ALL {
        let objects = list(&client, resource, name).await;
        lists.insert(resource, objects.into_iter().map(|object| (key(&object), object)).collect());
    }
    lists
}

// === impl Sides ===

impl Sides {
    async fn start(name: &str, mode: ListMode, injector: &Injector) -> Self {
        let (configs, directory) = {
            let cluster = injector.round.world.cluster.lock().await;
            let config = |address| cluster.kubeconfig_through(User::Admin, address);
            (injector.addresses().map(config), cluster.directory().to_owned())
        };
        let [theirs, ours] = [(); 2].map(|()| Journal::default());
        let [their_config, our_config] = configs;
        let client_go = ClientGo::start(&directory, &their_config, name, mode, &theirs).await;
        let informers = Informers::start(&our_config, name, mode, &ours).await;
        Self { theirs: (client_go, theirs), ours: (informers, ours) }
    }

    /// Waits until both were told everything, and compares.
    async fn finish(self, truth: Truth, mode: ListMode, fresh: &Fresh) -> Report {
        let (client_go, their_journal) = self.theirs;
        let (informers, our_journal) = self.ours;
        let mut findings = Vec::new();
        let (theirs, ours) = tokio::join!(their_journal.ends_as(&truth), our_journal.ends_as(&truth));
        for (side, ended) in [("client-go was", theirs), ("we were", ours)] {
            let text = |id| Finding { id, text: format!("{side} never told the final state") };
            findings.extend(ended.err().unwrap_or_default().into_iter().map(text));
        }
        let status = informers.status();
        let (caches, their_lists) = client_go.finish().await;
        for resource in Resource::ALL {
            let Cache { objects: theirs, synced, version } = &caches[&resource];
            assert!(*synced && !version.is_empty(), "client-go has not synced {resource}");
            let ours = informers.cache(resource);
            findings.extend(unequal(resource, &fresh[&resource], theirs, "client-go's cache"));
            findings.extend(unequal(resource, &fresh[&resource], &ours, "our cache"));
        }
        assert!(informers.synced(), "{status}");
        let counters = Resource::ALL.map(|it| (it, informers.counters(it)));
        counters.iter().for_each(|(_, counters)| mode.check(counters));
        let our_lists = counters.map(|(it, counters)| (it, counters.lists)).into();
        let suppressed = counters.iter().map(|(_, counters)| counters.suppressed_unchanged).sum();
        informers.stop().await;
        let theirs = Side { calls: their_journal.calls(), lists: their_lists };
        let ours = Side { calls: our_journal.calls(), lists: our_lists };
        let (differences, unexplained) = compare(&truth, &theirs, &ours);
        findings.extend(unexplained);
        let struck = Struck::new();
        let (seed, changes, seconds) = (0, 0, 0.0);
        Report {
            seed,
            changes,
            struck,
            differences,
            theirs,
            ours,
            suppressed,
            seconds,
            truth,
            findings,
            status,
        }
    }
}

/// Objects that are not byte for byte the same in canonical JSON: no space, keys sorted.
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

// === impl Report ===

impl Report {
    /// # Panics
    /// Where something is not explained: with the seed, the objects, and what both sides told of each.
    pub(super) fn check(&self) {
        const SHOWN: usize = 5;
        if self.findings.is_empty() {
            return;
        }
        let findings: Vec<String> = self.findings.iter().take(SHOWN).map(|it| self.explain(it)).collect();
        let count = self.findings.len();
        let (seed, status, findings) = (self.seed, &self.status, findings.join("\n\n"));
        panic!("seed {seed}: {count} findings; our informers:\n{status}\nthe first findings:\n\n{findings}");
    }

    fn explain(&self, finding: &Finding) -> String {
        let told = |side: &Side| -> String {
            side.calls_about(&finding.id).map(|call| format!("\n    {call}")).collect()
        };
        let lives = self.truth.lives(&finding.id);
        let lives: String = lives.iter().map(|life| format!("\n    {life}")).collect();
        let (theirs, ours) = (told(&self.theirs), told(&self.ours));
        format!("{finding}\n  there was{lives}\n  client-go told{theirs}\n  we told{ours}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let struck = self.struck.iter().map(|(kind, count)| format!("{count} {kind}"));
        let faults: usize = self.struck.values().sum();
        write!(
            f,
            "seed {} ({}): {} changes, {faults} faults ({}), {:.0} s; client-go: {} calls, {} relists; \
             ours: {} calls, {} relists, {} unchanged not told; differences: {}",
            self.seed,
            ListMode::of(self.seed),
            self.changes,
            struck.collect::<Vec<_>>().join(", "),
            self.seconds,
            self.theirs.len(),
            self.theirs.relists(),
            self.ours.len(),
            self.ours.relists(),
            self.suppressed,
            self.differences,
        )
    }
}
