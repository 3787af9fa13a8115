//! Points 5 to 8: which calls are made, and their causes. A relist delivers unchanged objects only to subscriptions
//! that request them; a resync delivers them with the cause `resync`. A changed UID is a deletion and an addition. A
//! deletion carries the last known state, and whether that state is final.

use super::{
    Stage,
    witness::{Call, WITNESS, calls, story, wait_for_calls},
};

#[tokio::test(flavor = "multi_thread")]
async fn each_call_has_the_right_cause() {
    let stage = Stage::new().await;
    let objects = &stage.objects;
    for name in ["kept", "changed", "deleted", "recreated"] {
        objects.create(name).await;
    }
    let host = stage.host(WITNESS, "", "").await;
    host.synced().await;
    let initial = sorted(&story(&host, ""));
    assert_eq!(
        initial,
        ["add changed initial", "add deleted initial", "add kept initial", "add recreated initial"]
    );

    objects.update("changed", 1).await;
    objects.create("short-lived").await;
    wait_for_calls(&host, 6).await;
    objects.delete("short-lived").await;
    wait_for_calls(&host, 7).await;
    assert_eq!(
        story(&host, "")[4..],
        ["update changed live", "add short-lived live", "delete short-lived known"]
    );

    stage
        .unseen(async {
            objects.update("changed", 2).await;
            objects.delete("deleted").await;
            objects.delete("recreated").await;
            objects.create("recreated").await;
            objects.create("new").await;
        })
        .await;
    wait_for_calls(&host, 12).await;
    // A marker object: everything that the relist delivers comes before it.
    objects.create("end").await;
    wait_for_calls(&host, 13).await;
    assert_eq!(
        sorted(&story(&host, "")[7..]),
        [
            "add end live",
            "add new relist",
            "add recreated relist",
            "delete deleted unknown",
            "delete recreated unknown",
            "update changed relist",
        ]
    );

    assert_recreated_is_a_deletion_and_an_addition(&calls(&host.lines.of(WITNESS)));
    host.stop().await;
}

fn sorted(story: &[String]) -> Vec<String> {
    let mut sorted = story.to_vec();
    sorted.sort();
    sorted
}

/// The deletion has the UID and the version of the old object. The addition follows with another UID.
fn assert_recreated_is_a_deletion_and_an_addition(calls: &[Call]) {
    let find = |verb: &str, name: &str, why: &str| {
        calls.iter().find(|call| call.verb == verb && call.name == name && call.why == why).unwrap()
    };
    let (first, gone) = (find("add", "recreated", "initial"), find("delete", "recreated", "unknown"));
    assert_eq!((&gone.uid, gone.version), (&first.uid, first.version));
    let place = |wanted| calls.iter().position(|call| std::ptr::eq(call, wanted));
    let again = find("add", "recreated", "relist");
    assert_ne!(again.uid, first.uid);
    assert!(place(gone) < place(again));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_to_all_relisted_objects_receives_unchanged_objects_after_a_relist() {
    let stage = Stage::new().await;
    stage.objects.create("kept").await;
    let host = stage.host(WITNESS, "relist = \"all\"", "").await;
    host.synced().await;

    // A change is needed: a watch that missed nothing resumes without a list.
    stage.unseen(stage.objects.create("new")).await;
    host.lines.said(WITNESS, "add default/new ", "").await;

    host.lines
        .until(WITNESS, "the unchanged object, flagged", |lines| {
            calls(lines)
                .iter()
                .any(|call| call.verb == "update" && call.name == "kept" && call.why == "relist")
        })
        .await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resync_delivers_every_object_as_an_update_to_the_same_state() {
    let stage = Stage::new().await;
    stage.objects.create("a").await;
    stage.objects.create("b").await;
    let host = stage.host(WITNESS, "resync = \"1s\"", "").await;
    host.synced().await;
    wait_for_calls(&host, 6).await;

    let resyncs: Vec<_> =
        calls(&host.lines.of(WITNESS)).into_iter().filter(|call| call.why == "resync").collect();
    assert!(resyncs.iter().any(|call| call.name == "a") && resyncs.iter().any(|call| call.name == "b"));
    for call in resyncs {
        assert_eq!((call.verb.as_str(), call.old), ("update", call.version.to_string()));
    }
    host.stop().await;
}
