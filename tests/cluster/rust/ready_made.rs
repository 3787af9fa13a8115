//! The four ready-made plugins in one host, as a process of its own, with the real kube-apiserver and its controllers.

mod receiver;
mod world;

use std::collections::BTreeSet;

use serde_json::json;

use world::{NAMESPACES, World};

/// Deployments of each namespace. Each of them refers to the ConfigMap and to the Secret of its number.
const WORKLOADS: usize = 5;

/// Each change rolls its own Deployments once, also if the host is killed before it sees the change. Copies follow their source and
/// their namespaces, a namespace is deleted at its time, each Event is exported once, and a restart writes and exports nothing.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_four_plugins_act_on_each_change_once_and_a_restart_does_nothing() {
    let mut world = World::start(WORKLOADS).await;
    world.start_host().await;
    world.until("copies everywhere", |world| Box::pin(world.are_copied("1"))).await;
    let all: BTreeSet<(usize, usize)> =
        (0..NAMESPACES).flat_map(|namespace| (0..WORKLOADS).map(move |one| (namespace, one))).collect();
    world.rolled(&[]).await;

    // One change, and then many at once.
    world.set("configmaps", 0, 0, "2").await;
    world.rolled(&[(0, 0)]).await;
    let many: Vec<_> = all.iter().copied().filter(|(_, one)| *one == 1).collect();
    for (namespace, one) in &many {
        world.set("configmaps", *namespace, *one, "2").await;
        world.set("secrets", *namespace, *one, "2").await;
    }
    world.set_original("2").await;
    let mut rolled = vec![(0, 0)];
    rolled.extend(&many);
    world.rolled(&rolled).await;
    world.until("copies that follow", |world| Box::pin(world.are_copied("2"))).await;

    // The host is killed right after a change, and another change comes while it is down.
    world.set("secrets", 1, 2, "2").await;
    world.kill_host().await;
    world.set("configmaps", 2, 2, "2").await;
    world.set_original("3").await;
    world.start_host().await;
    rolled.extend([(1, 2), (2, 2)]);
    world.rolled(&rolled).await;
    world.until("copies after the crash", |world| Box::pin(world.are_copied("3"))).await;

    let doomed = json!({"metadata": {"name": "doomed", "annotations": {"janitor/ttl": "5s"}}});
    world.create_namespace(doomed).await;
    world.until("a copy in the new namespace", |world| Box::pin(world.has_copy("doomed"))).await;
    world.until("the deletion", |world| Box::pin(async { world.lived("doomed").await.is_some() })).await;
    // The API server writes both times in whole seconds.
    let lived = world.lived("doomed").await.unwrap().as_secs();
    assert!((5..=7).contains(&lived), "the namespace lived {lived} s");
    world.until("the end of the namespace", |world| Box::pin(world.is_gone("doomed"))).await;

    world.idle().await;
    world.exported_once().await;
    world.stop_host().await;
    let (received, _) = (world.receiver.received().len(), world.gateway.take());
    world.start_host().await;
    world.idle().await;
    let again: Vec<_> = world.gateway.take().into_iter().filter(|passed| passed.is_write()).collect();
    assert!(again.is_empty(), "the restart writes: {again:?}");
    assert_eq!(world.receiver.received().len(), received, "the restart exports nothing");
    world.rolled(&rolled).await;
    world.end().await;
}
