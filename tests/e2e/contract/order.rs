//! Point 2: order per object. Calls for one object never overlap and never go back in time. With one worker, the
//! queue is first in, first out across objects.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Stage,
    witness::{Said, WITNESS, calls, said, story, wait_for_calls},
};

const OBJECTS: usize = 8;
const ROUNDS: usize = 30;

/// Returns true if a call began before another call ended.
fn overlapped(lines: &[String]) -> bool {
    said(lines).windows(2).any(|two| matches!(two, [Said::Begin(_), Said::Begin(_)]))
}

#[tokio::test(flavor = "multi_thread")]
async fn with_many_workers_calls_of_one_object_never_overlap_and_never_go_back() {
    let stage = Stage::new().await;
    // One call waits, so that the others can overtake it.
    let config = "[plugin.queue]\nworkers = 4\n[plugin.config]\nhold = \"object-0\"\nmillis = 15";
    let host = stage.host(WITNESS, "", config).await;
    host.synced().await;
    for object in 0..OBJECTS {
        stage.objects.create(&format!("object-{object}")).await;
    }
    let mut rounds = 0;
    while rounds < ROUNDS || !overlapped(&host.lines.of(WITNESS)) {
        assert!(rounds < 50 * ROUNDS, "four workers never work at once: the test shows nothing");
        for object in 0..OBJECTS {
            stage.objects.update(&format!("object-{object}"), rounds).await;
        }
        rounds += 1;
    }
    let last = (rounds - 1).to_string();
    host.lines
        .until(WITNESS, "the last round of every object", |lines| {
            let calls = calls(lines);
            let finished = calls.iter().filter(|call| call.round == last);
            finished.map(|call| &call.name).collect::<BTreeSet<_>>().len() == OBJECTS
        })
        .await;

    let (mut in_flight, mut versions) = (BTreeSet::new(), BTreeMap::new());
    for said in said(&host.lines.of(WITNESS)) {
        match said {
            Said::Begin(call) => {
                assert!(in_flight.insert(call.name.clone()), "two calls at once: {call:?}");
                let before = versions.insert(call.name.clone(), call.version);
                assert!(before.is_none_or(|before| before < call.version), "back in time: {call:?}");
            }
            Said::End(name) => assert!(in_flight.remove(&name), "{name} ended twice"),
        }
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_one_worker_objects_are_delivered_in_the_order_of_their_changes() {
    let stage = Stage::new().await;
    let host = stage.host(WITNESS, "", "").await;
    host.synced().await;
    let names: Vec<String> = (0..OBJECTS).rev().map(|object| format!("object-{object}")).collect();
    for name in &names {
        stage.objects.create(name).await;
    }
    wait_for_calls(&host, OBJECTS).await;

    let expected: Vec<String> = names.iter().map(|name| format!("add {name} live")).collect();
    assert_eq!(story(&host, ""), expected);
    host.stop().await;
}
