//! A host with a plugin that is reloaded, its neighbour, and the calls that both received.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use informer::app::Verdict;
use informer_devserver::{Config, DevServer};
use informer_guests::guest;
use informer_tests::host::TestHost;
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::{Tally, events::Events};
use crate::{
    configmaps::ConfigMaps,
    reload::{
        assert_no_relist,
        files::{replace, with_section},
    },
};

/// The plugin that is reloaded, and the plugin that is not.
const SUBJECT: &str = "subject";
const NEIGHBOUR: &str = "neighbour";

/// The behaviour of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Well,
    Slow,
    Busy,
    Traps,
    TrapsInStart,
    Refuses,
    StartsSlowly,
    SpinsInStart,
}

/// One call that returned ok, parsed from a line of the guest: `update default/web 7 3`.
#[derive(Debug)]
struct Call {
    deletes: bool,
    key: String,
    version: u64,
    /// The number of the configuration that the instance was started with.
    by: u64,
}

pub(super) struct Stage {
    server: DevServer,
    host: Arc<TestHost>,
    objects: Arc<ConfigMaps>,
    directory: TempDir,
    /// The changes of the objects. It is taken when all of them are written.
    events: Option<Events>,
    /// The number of the last configuration.
    version: u64,
    /// The numbers of the configurations whose versions must be promoted.
    took_over: BTreeSet<u64>,
    components: usize,
    refused: u64,
}

// === impl Mood ===

impl Mood {
    fn as_str(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Slow => "slow",
            Self::Busy => "busy",
            Self::Traps => "traps",
            Self::TrapsInStart => "traps-in-start",
            Self::Refuses => "refuses",
            Self::StartsSlowly => "starts-slowly",
            Self::SpinsInStart => "spins-in-start",
        }
    }

    fn starts(self) -> bool {
        !matches!(self, Self::TrapsInStart | Self::Refuses)
    }
}

// === impl Call ===

impl Call {
    fn all(host: &TestHost, plugin: &str) -> Vec<Self> {
        host.lines.of(plugin).iter().filter_map(|line| Self::parse(line)).collect()
    }

    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [verb @ ("add" | "update" | "delete"), key, version, by] = words[..] else { return None };
        Some(Self {
            deletes: verb == "delete",
            key: key.to_owned(),
            version: version.parse().unwrap(),
            by: by.parse().unwrap(),
        })
    }
}

/// The last delivered version of each object that exists.
fn last_versions(calls: &[Call]) -> BTreeMap<String, u64> {
    let mut last = BTreeMap::new();
    for Call { deletes, key, version, .. } in calls {
        if *deletes {
            last.remove(key);
        } else {
            last.insert(key.clone(), *version);
        }
    }
    last
}

/// Both plugins have the same component, in separate files. Failures are retried at once and without a limit: a
/// notification that is given up is lost.
fn configuration(directory: &Path, (mood, version, workers): (Mood, u64, usize)) -> String {
    let plugin = |name: &str, mood: Mood, version: u64, workers: usize| {
        let (source, mood) = (directory.join(format!("{name}.wasm")), mood.as_str());
        format!(
            r#"
            [[plugin]]
            name = "{name}"
            source = {source:?}
            max-calls = 50
              [[plugin.on]]
              watch = "v1/configmaps"
              [plugin.queue]
              workers = {workers}
              [plugin.retry]
              min = "1ms"
              max = "5ms"
              attempts = 0
              budget = 0
              [plugin.quarantine]
              after = 0
              [plugin.limits]
              deadline = "15m"
              [plugin.config]
              mood = "{mood}"
              version = {version}
            "#
        )
    };
    format!(
        "[host]\nadmin = \"off\"\nstate-dir = \"off\"\nshutdown-timeout = \"5s\"\n\
         [[watch]]\ngvr = \"v1/configmaps\"\n{}{}",
        plugin(SUBJECT, mood, version, workers),
        plugin(NEIGHBOUR, Mood::Well, 0, 1)
    )
}

// === impl Stage ===

impl Stage {
    pub(super) async fn new(mood: Mood) -> Self {
        let server = DevServer::start(Config::default()).await.unwrap();
        let objects = Arc::new(ConfigMaps::at(&server.url()).await);
        let directory = tempfile::tempdir().unwrap();
        for plugin in [SUBJECT, NEIGHBOUR] {
            std::fs::copy(guest("moody"), directory.path().join(format!("{plugin}.wasm"))).unwrap();
        }
        let file = directory.path().join("informer.toml");
        std::fs::write(&file, configuration(directory.path(), (mood, 0, 1))).unwrap();
        let host = TestHost::start_file(&server.url(), &file).await.unwrap();
        host.synced().await;
        Self {
            server,
            host: Arc::new(host),
            events: Some(Events::new(Arc::clone(&objects))),
            objects,
            directory,
            version: 0,
            took_over: BTreeSet::from([0]),
            components: 0,
            refused: 0,
        }
    }

    /// Changes some objects. Both plugins receive the changes.
    pub(super) async fn events(&self, first: usize, count: usize) {
        self.events.as_ref().unwrap().add((first, count)).await;
    }

    /// Writes another configuration, and makes the host apply it.
    pub(super) async fn reload(&mut self, mood: Mood, workers: usize) {
        self.write(mood, workers);
        let report = self.host.app().reload(None).await.unwrap();
        assert!(report.problems.is_empty(), "{report:?}");
        let of_subject =
            |verdict| report.changes.iter().any(|change| change.name == SUBJECT && change.verdict == verdict);
        assert!(report.changes.iter().all(|change| change.name == SUBJECT), "{report:?}");
        assert_eq!(of_subject(Verdict::Refused), !mood.starts(), "{report:?}");
        if mood.starts() {
            self.took_over.insert(self.version);
        } else {
            self.refused += 1;
        }
    }

    /// Writes another configuration.
    pub(super) fn write(&mut self, mood: Mood, workers: usize) {
        self.version += 1;
        let text = configuration(self.directory.path(), (mood, self.version, workers));
        replace(&self.directory.path().join("informer.toml"), text.as_bytes());
    }

    /// The number of the configuration that was written last.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn host(&self) -> &TestHost {
        &self.host
    }

    /// The numbers of the configurations that instances were started with.
    pub(super) fn started(&self) -> BTreeSet<u64> {
        let lines = self.host.lines.of(SUBJECT);
        lines.iter().filter_map(|line| line.strip_prefix("started ")?.parse().ok()).collect()
    }

    /// Begins a reload that does not end. Returns when the new version is starting.
    pub(super) async fn reload_without_end(&mut self, mood: Mood) -> JoinHandle<()> {
        self.write(mood, 2);
        let host = Arc::clone(&self.host);
        let reloading = tokio::spawn(async move {
            // The task ends with the host.
            host.app().reload(None).await.ok();
        });
        self.host.lines.said(SUBJECT, "starting", "").await;
        reloading
    }

    /// Replaces the component with the other one of two files that differ but behave the same.
    pub(super) async fn replace_component(&mut self) {
        self.components += 1;
        let component = with_section("moody", self.components % 2);
        replace(&self.directory.path().join(format!("{SUBJECT}.wasm")), &component);
        self.host.app().reload(Some(SUBJECT.to_owned())).await.unwrap();
    }

    /// Waits until nothing changes any more, and both plugins have received the final state.
    pub(super) async fn settled(&mut self) {
        if let Some(events) = self.events.take() {
            events.written().await;
        }
        let versions = self.objects.versions().await;
        self.host
            .until("both plugins told of everything", |status| {
                let queues = status["plugins"].as_array().unwrap().iter().map(|plugin| &plugin["queue"]);
                queues.into_iter().all(|queue| queue["pending"] == 0 && queue["in-flight"] == 0)
                    && [SUBJECT, NEIGHBOUR]
                        .iter()
                        .all(|plugin| last_versions(&Call::all(&self.host, plugin)) == versions)
            })
            .await;
    }

    /// Why the version of the subject is not the expected one.
    pub(super) fn refused(&self) -> String {
        self.host.plugin(SUBJECT)["refused"].as_str().unwrap().to_owned()
    }

    /// Checks the results after [`settled`](Self::settled).
    pub(super) fn assert_nothing_lost_nothing_repeated_and_in_order(&self) {
        for plugin in [SUBJECT, NEIGHBOUR] {
            self.assert_each_once_and_in_order(plugin);
        }
        assert_no_relist(&self.host);
        self.assert_every_version_was_promoted();
        let neighbour = self.host.plugin(NEIGHBOUR);
        assert_eq!(neighbour["queue"]["retried"], 0, "each call succeeds at the first attempt");
        assert_eq!(neighbour["calls"]["swaps"], 1, "the neighbour must not be reloaded");
        let let_pass = neighbour["calls"]["turns-let-pass"].as_u64().unwrap();
        assert!(let_pass <= 1, "a call of the neighbour waited for {let_pass} turns of the other");
    }

    /// Asserts that each state of each object was delivered at most once and in order, and that the counters of the
    /// host agree with the lines of the guest. [`settled`](Self::settled) has checked the last state.
    fn assert_each_once_and_in_order(&self, plugin: &str) {
        let calls = Call::all(&self.host, plugin);
        let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
        for Call { key, version, .. } in &calls {
            let before = seen.insert(key, *version).unwrap_or(0);
            assert!(before < *version, "{plugin}: {key}: {before} and then {version}");
        }
        let status = self.host.plugin(plugin);
        let queue = &status["queue"];
        let count = |counter: &str| queue[counter].as_u64().unwrap();
        assert_eq!(count("acknowledged"), calls.len() as u64, "{plugin}: {status:#}");
        assert_eq!(status["calls"]["acknowledged"], calls.len(), "{plugin}: {status:#}");
        for counter in ["dead", "dropped", "discarded", "given-back"] {
            assert_eq!(count(counter), 0, "{plugin}: {counter}: {status:#}");
        }
        let merged: u64 = queue["merged"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        let places = count("acknowledged") + merged + count("cancelled");
        assert_eq!(count("offered"), places, "{plugin}: each is in one place: {status:#}");
    }

    /// Asserts by the lines of the instances and by the counters of the host that every version was promoted.
    fn assert_every_version_was_promoted(&self) {
        assert_eq!(self.started(), self.took_over);
        let called = Call::all(&self.host, SUBJECT).into_iter().map(|call| call.by);
        assert!(called.into_iter().all(|by| self.took_over.contains(&by)));
        assert!(self.in_force() >= self.took_over.len() as u64, "{}", self.in_force());
    }

    /// The number of versions that were promoted because something changed, without the first version.
    fn in_force(&self) -> u64 {
        let calls = &self.host.plugin(SUBJECT)["calls"];
        calls["swaps"].as_u64().unwrap() - calls["went-back"].as_u64().unwrap()
    }

    pub(super) async fn end(self) -> Tally {
        let (subject, neighbour) = (self.host.plugin(SUBJECT), self.host.plugin(NEIGHBOUR));
        let count = |value: &Value| value.as_u64().unwrap();
        let tally = Tally {
            in_force: self.in_force() - 1,
            refused: self.refused,
            went_back: count(&subject["calls"]["went-back"]),
            acknowledged: count(&subject["queue"]["acknowledged"])
                + count(&neighbour["queue"]["acknowledged"]),
            neighbour_waited: count(&neighbour["calls"]["turns-waited-for"]),
        };
        if let Some(host) = Arc::into_inner(self.host) {
            host.stop().await;
        }
        self.server.shutdown().await;
        tally
    }
}
