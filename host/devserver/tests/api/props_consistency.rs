//! A list and a watch from its version always lead to the collection, whatever is written meanwhile.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    client::{Cluster, JSON, MERGE, Watch, version},
    fixtures::{CONFIG_MAPS, config_map},
};

#[derive(Debug, Clone)]
enum Step {
    Create(u8),
    Change(u8, u8),
    Delete(u8),
    /// Start an observer: a list, and a watch from its version.
    Observe,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = 0..5u8;
    let step = prop_oneof![
        name.clone().prop_map(Step::Create),
        (name.clone(), any::<u8>()).prop_map(|(name, value)| Step::Change(name, value)),
        name.prop_map(Step::Delete),
        Just(Step::Observe),
    ];
    prop::collection::vec(step, 1..30)
}

/// The versions of the objects that one observer has seen, by name.
type Known = BTreeMap<String, Value>;

fn known(list: &Value) -> Known {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| (item["metadata"]["name"].as_str().unwrap().to_owned(), item.clone())).collect()
}

async fn write(cluster: &Cluster, step: &Step) {
    // A step may fail, for example a second creation or a deletion without an object.
    match step {
        Step::Create(name) => {
            cluster.send("POST", CONFIG_MAPS, JSON, &config_map(&format!("n{name}"))).await;
        }
        Step::Change(name, value) => {
            let patch = json!({"data": {"a": value.to_string()}});
            cluster.patch(&format!("{CONFIG_MAPS}/n{name}"), MERGE, &patch).await;
        }
        Step::Delete(name) => {
            cluster.delete(&format!("{CONFIG_MAPS}/n{name}")).await;
        }
        Step::Observe => {}
    }
}

/// Applies the events up to the end mark to the objects of the list.
async fn replay(mut watch: Watch, mut known: Known, mut last: u64) -> Known {
    loop {
        let mut event = watch.next().await.expect("the end mark before the end");
        let mut object = event["object"].take();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let rv = version(&object);
        assert!(rv > last, "event {rv} after {last}");
        last = rv;
        object.as_object_mut().unwrap().retain(|field, _| field != "kind" && field != "apiVersion");
        let before = match event["type"].as_str().unwrap() {
            "DELETED" => known.remove(&name).is_some(),
            "MODIFIED" => known.insert(name.clone(), object).is_some(),
            _ => known.insert(name.clone(), object).is_none(),
        };
        assert!(before, "{} of {name} does not follow from what was known", event["type"]);
        if name == "end" {
            known.remove("end");
            return known;
        }
    }
}

async fn check(steps: Vec<Step>) {
    let cluster = Cluster::start().await;
    let mut observers = Vec::new();
    for step in steps {
        if matches!(step, Step::Observe) {
            let list = cluster.get(CONFIG_MAPS).await;
            let rv = list.version();
            let watch = cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}")).await;
            observers.push((watch, known(&list.body), rv));
        } else {
            write(&cluster, &step).await;
        }
    }
    let truth = known(&cluster.get(CONFIG_MAPS).await.body);
    cluster.create(CONFIG_MAPS, &config_map("end")).await;
    for (watch, known, rv) in observers {
        assert_eq!(replay(watch, known, rv).await, truth);
    }
}

/// `PROPTEST_CASES` overrides the number of cases.
fn config() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(24),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_list_and_its_watch_lead_to_the_collection(steps in steps()) {
        tokio::runtime::Runtime::new().unwrap().block_on(check(steps));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writers_are_observed_completely() {
    let cluster = Cluster::start().await;
    let writer = async {
        for round in 0..60u8 {
            write(&cluster, &Step::Create(round % 5)).await;
            write(&cluster, &Step::Change(round % 3, round)).await;
            write(&cluster, &Step::Delete(round % 4)).await;
        }
    };
    let observer = async {
        let mut observers = Vec::new();
        for _ in 0..20 {
            let list = cluster.get(CONFIG_MAPS).await;
            let rv = list.version();
            let watch = cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}")).await;
            observers.push((watch, known(&list.body), rv));
        }
        observers
    };

    let ((), observers) = tokio::join!(writer, observer);

    let truth = known(&cluster.get(CONFIG_MAPS).await.body);
    cluster.create(CONFIG_MAPS, &config_map("end")).await;
    for (watch, known, rv) in observers {
        assert_eq!(replay(watch, known, rv).await, truth);
    }
}
