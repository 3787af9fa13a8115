//! client-go's side: its shared informers in a separate process (`tests/cluster/oracle`).

use std::{collections::BTreeMap, fs::File, path::Path, process::Stdio, sync::Arc};

use informer_tests::{cluster::oracle, host::PATIENCE};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc,
    task::JoinHandle,
    time::timeout,
};

use super::{
    journal::{Call, Journals, State, What, Why},
    list_mode::ListMode,
    resource::{RUN_LABEL, Resource},
};

/// The process with client-go's informers. Dropping this kills the process.
pub(super) struct ClientGo {
    process: Child,
    commands: ChildStdin,
    caches: mpsc::Receiver<(Resource, Cache)>,
    lists: Arc<Mutex<Lists>>,
    reading: JoinHandle<()>,
}

/// The objects in the cache of one informer, and whether the informer has synced.
pub(super) struct Cache {
    pub(super) objects: BTreeMap<String, Value>,
    pub(super) synced: bool,
    pub(super) version: String,
}

/// The number of requested lists by resource, including streaming lists and failed ones.
pub(super) type Lists = BTreeMap<Resource, u64>;

/// Parses the lines that the process prints.
struct Reader {
    journals: Journals,
    caches: mpsc::Sender<(Resource, Cache)>,
    lists: Arc<Mutex<Lists>>,
}

// === impl ClientGo ===

impl ClientGo {
    pub(super) async fn start(
        directory: &Path,
        kubeconfig: &str,
        run: &str,
        mode: ListMode,
        journals: &Journals,
    ) -> Self {
        let program = tokio::task::spawn_blocking(oracle).await.unwrap().unwrap();
        let file = directory.join(format!("{run}.kubeconfig"));
        std::fs::write(&file, kubeconfig).unwrap();
        let mut command = Command::new(program);
        command.arg("-kubeconfig").arg(file).args(["-namespace", run]);
        command.arg("-selector").arg(format!("{RUN_LABEL}={run}"));
        for resource in Resource::ALL {
            let scope = if resource.is_namespaced() { "-namespaced" } else { "-cluster" };
            command.args([scope, resource.gvr()]);
        }
        let (variable, value) = mode.environment();
        command.env(variable, value);
        let log = File::create(directory.join(format!("{run}.client-go.log"))).unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut process = command.spawn().unwrap();
        let commands = process.stdin.take().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (sender, caches) = mpsc::channel(Resource::ALL.len());
        let lists = Arc::default();
        let reader = Reader { journals: journals.clone(), caches: sender, lists: Arc::clone(&lists) };
        let reading = tokio::spawn(reader.read(lines));
        Self { process, commands, caches, lists, reading }
    }

    /// Adds the late handlers.
    pub(super) async fn join(&mut self) {
        self.commands.write_all(b"join\n").await.unwrap();
    }

    pub(super) fn lists(&self) -> Lists {
        self.lists.lock().clone()
    }

    /// Fetches the caches and ends the process.
    pub(super) async fn finish(mut self) -> (BTreeMap<Resource, Cache>, Lists) {
        self.commands.write_all(b"dump\n").await.unwrap();
        let mut caches = BTreeMap::new();
        while caches.len() < Resource::ALL.len() {
            let cache = timeout(PATIENCE, self.caches.recv()).await.expect("client-go shows no cache");
            caches.extend(cache);
        }
        drop(self.commands);
        let status = timeout(PATIENCE, self.process.wait()).await.expect("client-go does not end").unwrap();
        assert!(status.success(), "client-go ended with {status}");
        self.reading.await.unwrap();
        let lists = self.lists.lock().clone();
        (caches, lists)
    }
}

// === impl Reader ===

impl Reader {
    async fn read(self, mut lines: Lines<BufReader<ChildStdout>>) {
        while let Some(line) = lines.next_line().await.unwrap() {
            let line: Value = serde_json::from_str(&line).unwrap();
            let text = |field: &str| line[field].as_str().unwrap_or_default();
            if let Some(call) = call(&line) {
                let Journals { early, late } = &self.journals;
                let journal = if line["late"] == true { late } else { early };
                journal.push(call);
            } else if let Some(resource) = Resource::of_gvr(text("cache")) {
                self.caches.send((resource, cache(&line))).await.unwrap();
            } else if matches!(text("request"), "list" | "watch-list") {
                let resource = Resource::of_gvr(text("gvr")).unwrap();
                *self.lists.lock().entry(resource).or_default() += 1;
            }
        }
    }
}

fn call(line: &Value) -> Option<Call> {
    let text = |field: &str| line[field].as_str().unwrap_or_default();
    let state = |uid, version| State { uid: text(uid).to_owned(), version: text(version).parse().unwrap() };
    let flag = |name: &str| line[name].as_bool().unwrap_or_default();
    let what = match text("call") {
        "add" => What::Add(state("uid", "rv")),
        "update" => What::Update { old: state("oldUid", "oldRv"), new: state("uid", "rv") },
        "delete" => What::Delete { state: state("uid", "rv"), known: !flag("tombstone") },
        _ => return None,
    };
    let id = (Resource::of_gvr(text("gvr")).unwrap(), text("key").to_owned());
    Some(Call { id, what, why: Why::Unsaid { initial: flag("initial") } })
}

fn cache(line: &Value) -> Cache {
    let objects = line["objects"].as_array().unwrap().iter();
    Cache {
        objects: objects.map(|object| (key(object), object.clone())).collect(),
        synced: line["synced"] == true,
        version: line["rv"].as_str().unwrap().to_owned(),
    }
}

/// `namespace/name`, or only the name of a cluster-scoped object.
pub(super) fn key(object: &Value) -> String {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap();
    metadata["namespace"].as_str().map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}
