//! Whatever happens to a collection and to the watch of it, the cache ends equal to the collection, and what
//! a listener was told adds up to it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    dead_code,
    reason = "the helpers of tests are tests too, and the server has more than this file needs"
)]

#[path = "server/server.rs"]
mod server;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use informer_cache::{
    FactoryConfig, InformerFactory, ListQuery, ListenerConfig, SharedInformer, WatchConfig, WatchListMode,
};
use informer_types::{Change, Gvr, LabelSelector, Notification, NotificationSink, Object};
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};
use server::{Answer, Script};

/// The last object to come; when it is there, everything before it is.
const LAST: &str = "zz-last";

/// One thing that happens to the collection or to the connection.
#[derive(Clone, Debug)]
enum Step {
    /// Created or changed, on a node.
    Put {
        name: u8,
        node: u8,
    },
    /// Changed into something that does not decode.
    Break {
        name: u8,
    },
    Delete {
        name: u8,
    },
    /// Deleted and created anew.
    Recreate {
        name: u8,
    },
    Bookmark,
    /// The watch ends and goes on.
    Reconnect,
    /// The watch loses its place; what happens in between is not seen.
    Gap {
        hidden: Vec<Step>,
    },
}

fn any_step() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        4 => (0..6_u8, 0..3_u8).prop_map(|(name, node)| Step::Put { name, node }),
        2 => (0..6_u8).prop_map(|name| Step::Delete { name }),
        1 => (0..6_u8).prop_map(|name| Step::Recreate { name }),
        1 => (0..6_u8).prop_map(|name| Step::Break { name }),
        1 => Just(Step::Bookmark),
        1 => Just(Step::Reconnect),
    ];
    prop_oneof![
        8 => leaf.clone(),
        1 => prop::collection::vec(leaf, 0..6).prop_map(|hidden| Step::Gap { hidden }),
    ]
}

/// One object as the server has it, and as the cache can have it.
#[derive(Clone)]
struct Stored {
    uid: u64,
    current: Value,
    /// The last state that decodes.
    good: Option<Value>,
}

/// The collection, and the script that tells of it.
#[derive(Default)]
struct Collection {
    objects: BTreeMap<String, Stored>,
    version: u64,
    uids: u64,
}

fn name_of(name: u8) -> String {
    format!("pod-{name}")
}

impl Collection {
    /// Applies a step; returns its event.
    fn apply(&mut self, step: &Step) -> Vec<Value> {
        match step {
            Step::Put { name, node } => vec![self.put(&name_of(*name), *node, false)],
            Step::Break { name } => vec![self.put(&name_of(*name), 0, true)],
            Step::Delete { name } => self.delete(&name_of(*name)).into_iter().collect(),
            Step::Recreate { name } => {
                let mut events: Vec<Value> = self.delete(&name_of(*name)).into_iter().collect();
                events.push(self.put(&name_of(*name), 1, false));
                events
            }
            Step::Bookmark => {
                let metadata = json!({"resourceVersion": self.version.to_string()});
                vec![
                    json!({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}}),
                ]
            }
            Step::Reconnect | Step::Gap { .. } => Vec::new(),
        }
    }

    fn put(&mut self, name: &str, node: u8, broken: bool) -> Value {
        self.version += 1;
        let kind = if self.objects.contains_key(name) { "MODIFIED" } else { "ADDED" };
        self.uids += 1;
        let uid = self.objects.get(name).map_or(self.uids, |stored| stored.uid);
        let labels = if broken { json!([]) } else { json!({"version": self.version.to_string()}) };
        let object = json!({
            "kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "shop", "uid": uid.to_string(),
                "resourceVersion": self.version.to_string(), "labels": labels},
            "spec": {"nodeName": format!("node-{node}")},
        });
        let good = self.objects.get(name).and_then(|stored| stored.good.clone());
        let good = if broken { good } else { Some(object.clone()) };
        self.objects.insert(name.to_owned(), Stored { uid, current: object.clone(), good });
        json!({"type": kind, "object": object})
    }

    fn delete(&mut self, name: &str) -> Option<Value> {
        let mut object = self.objects.remove(name)?.current;
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        Some(json!({"type": "DELETED", "object": object}))
    }

    fn list(&self) -> Answer {
        let items: Vec<&Value> = self.objects.values().map(|stored| &stored.current).collect();
        let metadata = json!({"resourceVersion": self.version.to_string()});
        Answer::json(&json!({"kind": "PodList", "metadata": metadata, "items": items}))
    }

    /// What the cache must hold. After a gap the cache can only know good states it was shown: of an object
    /// that was broken while nobody looked it keeps the one before.
    fn expected(&self) -> BTreeMap<String, Value> {
        self.objects.iter().filter_map(|(name, stored)| Some((name.clone(), stored.good.clone()?))).collect()
    }
}

/// Writes the whole story into a script. Returns what the cache must hold in the end.
fn tell(steps: &[Step], cuts: &[usize]) -> (Script, BTreeMap<String, Value>) {
    let script = Script::new();
    let mut collection = Collection { version: 10, ..Collection::default() };
    script.list(collection.list());
    let mut watch = script.live_watch();
    let mut sent = false;
    let mut cuts = cuts.iter().copied().cycle();
    let mut chunks = |frame: &Value| {
        let text = format!("{frame}\n");
        let mut rest = text.as_bytes();
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let (chunk, tail) = rest.split_at(cuts.next().unwrap().min(rest.len()));
            chunks.push(chunk.to_vec());
            rest = tail;
        }
        chunks
    };
    for step in steps {
        match step {
            // Without an event the end would be a very short watch, which is another story.
            Step::Reconnect if sent => {
                watch.end();
                watch = script.live_watch();
                sent = false;
            }
            Step::Gap { hidden } => {
                // What nobody saw is not in the cache either.
                let before = collection.objects.clone();
                for step in hidden {
                    collection.apply(step);
                }
                for (name, stored) in &mut collection.objects {
                    if stored.good.as_ref() != Some(&stored.current) {
                        stored.good = before.get(name).and_then(|known| known.good.clone());
                    }
                }
                watch.frame(
                    &json!({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}),
                );
                script.list(collection.list());
                watch = script.live_watch();
                sent = false;
            }
            step => {
                for event in collection.apply(step) {
                    chunks(&event).into_iter().for_each(|chunk| watch.bytes(chunk));
                    sent = true;
                }
            }
        }
    }
    let last = collection.put(LAST, 2, false);
    chunks(&last).into_iter().for_each(|chunk| watch.bytes(chunk));
    (script, collection.expected())
}

#[derive(Default)]
struct Recorder(Mutex<Vec<Notification>>);

impl NotificationSink for Recorder {
    fn offer(&self, notification: Notification) {
        self.0.lock().push(notification);
    }
}

impl Recorder {
    /// Replays what was told; every step must follow from the one before.
    fn replay(&self) -> BTreeMap<String, Arc<Object>> {
        let mut known: BTreeMap<String, Arc<Object>> = BTreeMap::new();
        for notification in self.0.lock().iter() {
            let name = notification.key().name.to_string();
            match &notification.change {
                Change::Added { object } => {
                    assert!(known.insert(name, Arc::clone(object)).is_none(), "added twice");
                }
                Change::Updated { old, new } => {
                    let before = known.insert(name, Arc::clone(new)).expect("updated before it was added");
                    assert!(Arc::ptr_eq(&before, old), "not the state told before");
                    assert_eq!(old.uid(), new.uid());
                    let version = |object: &Object| object.resource_version().parse::<u64>().unwrap();
                    assert!(version(old) < version(new), "back in time");
                }
                Change::Deleted { object, final_state_known } => {
                    let before = known.remove(&name);
                    // An object that never decoded was never told; its deletion may be (D-11).
                    if let Some(before) = before {
                        assert_eq!(before.uid(), object.uid());
                        assert!(*final_state_known || Arc::ptr_eq(&before, object));
                    }
                }
            }
        }
        known
    }
}

fn list(informer: &SharedInformer, index: Option<(&str, &str)>) -> Vec<Arc<Object>> {
    let labels = LabelSelector::default();
    informer.lister().list(&ListQuery { namespace: None, labels: &labels, index }).unwrap()
}

fn by_name(objects: impl IntoIterator<Item = Arc<Object>>) -> BTreeMap<String, Value> {
    let objects = objects.into_iter();
    objects
        .map(|object| (object.name().to_owned(), serde_json::from_str(&object.json().unwrap()).unwrap()))
        .collect()
}

async fn check(steps: Vec<Step>, cuts: Vec<usize>) {
    let (script, expected) = tell(&steps, &cuts);
    let factory = InformerFactory::new(
        script.client(),
        FactoryConfig { watch_list: WatchListMode::Off, ..FactoryConfig::default() },
    );
    let indexes = [("by-node".to_owned(), "/spec/nodeName".parse().unwrap())].into();
    let informer = factory.informer(WatchConfig { indexes, ..WatchConfig::new(Gvr::new("", "v1", "pods")) });
    let config = || ListenerConfig { name: "recorder".to_owned(), resync: None, relist_all: false };
    let early = Arc::new(Recorder::default());
    informer.add_listener(config(), Arc::clone(&early) as _).unwrap();
    factory.start();
    let last = format!("shop/{LAST}").parse().unwrap();
    let start = std::time::Instant::now();
    while informer.lister().get(&last).is_none() {
        assert!(start.elapsed() < Duration::from_secs(20), "{}", informer.status());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let late = Arc::new(Recorder::default());
    informer.add_listener(config(), Arc::clone(&late) as _).unwrap();

    let cached = list(&informer, None);
    assert_eq!(by_name(cached.clone()), expected);
    assert_eq!(by_name(early.replay().into_values()), expected);
    assert_eq!(by_name(late.replay().into_values()), expected);
    for node in ["node-0", "node-1", "node-2"] {
        let mut on_node = expected.clone();
        on_node.retain(|_, object| object["spec"]["nodeName"] == node);
        assert_eq!(by_name(list(&informer, Some(("by-node", node)))), on_node);
    }
    let status = informer.status();
    assert_eq!(status.objects, expected.len());
    assert_eq!(status.bytes, cached.iter().map(|object| object.memory_bytes()).sum::<usize>());
    factory.shutdown().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn any_story_leaves_the_cache_equal_to_the_collection_c17(
        steps in prop::collection::vec(any_step(), 0..40),
        cuts in prop::collection::vec(1..200_usize, 1..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(check(steps, cuts));
    }
}
