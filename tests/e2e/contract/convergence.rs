//! Point 1: eventually consistent. If the collection stops changing and the API server answers, the cache equals the
//! collection, and every handler has seen the final state of every object that it subscribes to.

use std::collections::BTreeMap;

use fastrand::Rng;
use informer_tests::host::TestHost;
use serde_json::Value;

use super::{
    Stage,
    witness::{Call, WITNESS, calls},
};

const OBJECTS: usize = 12;
const STEPS: usize = 240;

/// One step of a random writer: any object may be created, changed or deleted at any time.
async fn step(stage: &Stage, there: &mut [bool; OBJECTS], rng: &mut Rng, step: usize) {
    let object = rng.usize(..OBJECTS);
    let name = format!("object-{object}");
    let goes = there[object] && rng.u8(..4) == 0;
    match (there[object], goes) {
        (false, _) => stage.objects.create(&name).await,
        (true, true) => stage.objects.delete(&name).await,
        (true, false) => stage.objects.update(&name, step).await,
    }
    there[object] = !goes;
}

/// The objects that exist for the handler: the last delivered version, by key.
fn believed(calls: &[Call]) -> BTreeMap<String, u64> {
    let mut objects = BTreeMap::new();
    for Call { verb, name, version, .. } in calls {
        if verb == "delete" {
            objects.remove(&format!("default/{name}"));
        } else {
            objects.insert(format!("default/{name}"), *version);
        }
    }
    objects
}

fn cached(host: &TestHost) -> BTreeMap<String, u64> {
    let text = |object: &Value, field: &str| object["metadata"][field].as_str().unwrap().to_owned();
    let objects = host.cached("v1/configmaps").into_iter();
    objects
        .map(|object| {
            let key = format!("{}/{}", text(&object, "namespace"), text(&object, "name"));
            (key, text(&object, "resourceVersion").parse().unwrap())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_connection_failures_the_cache_and_the_handler_reach_the_final_state() {
    let stage = Stage::new().await;
    let host = stage.host(WITNESS, "", "[plugin.queue]\nworkers = 3").await;
    host.synced().await;

    let seed =
        std::env::var("PROPTEST_RNG_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("PROPTEST_RNG_SEED={seed}");
    let (mut there, mut rng) = ([false; OBJECTS], Rng::with_seed(seed));
    for n in 0..STEPS {
        match n % 60 {
            20 => drop(stage.wire.cut().await),
            40 => {
                stage
                    .unseen(async {
                        for n in n..n + 10 {
                            step(&stage, &mut there, &mut rng, n).await;
                        }
                    })
                    .await;
            }
            _ => step(&stage, &mut there, &mut rng, n).await,
        }
    }

    let expected = stage.objects.versions().await;
    host.lines
        .until(WITNESS, "the final state of every object", |lines| believed(&calls(lines)) == expected)
        .await;
    assert_eq!(cached(&host), expected);
    host.stop().await;
}
