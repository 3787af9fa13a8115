//! Point 4: merging. Only pending changes of one object merge. A call for `gate` blocks the queue while the changes
//! arrive, until the test ends the call.

use serde_json::json;

use super::{
    Stage,
    witness::{Call, WITNESS, calls, story, wait_for_calls},
};

/// The call for `gate` ends when this object exists. The plugin does not subscribe to this object.
const OPEN: &str = "open";
const UNHEARD: &str = "labels = \"!unheard\"";
const HELD: &str =
    "[plugin.limits]\ndeadline = \"10m\"\n[plugin.config]\nhold = \"gate\"\nuntil = \"default/open\"";

/// The queue of a plugin is bounded by the number of distinct objects (D-7).
#[tokio::test(flavor = "multi_thread")]
async fn pending_changes_of_one_object_are_delivered_as_one_call() {
    let stage = Stage::new().await;
    for name in ["updated-twice", "updated-deleted", "replaced"] {
        stage.objects.create(name).await;
    }
    let host = stage.host(WITNESS, UNHEARD, HELD).await;
    host.synced().await;
    let before = stage.objects.versions().await;
    stage.objects.create("gate").await;
    host.lines.said(WITNESS, "add default/gate ", "").await;

    let objects = &stage.objects;
    objects.create("added-updated").await;
    objects.update("added-updated", 1).await;
    objects.update("updated-twice", 1).await;
    objects.update("updated-twice", 2).await;
    objects.update("updated-deleted", 1).await;
    objects.delete("updated-deleted").await;
    objects.create("undelivered").await;
    objects.update("undelivered", 1).await;
    objects.delete("undelivered").await;
    objects.delete("replaced").await;
    objects.create("replaced").await;
    objects.create("last").await;
    let after = objects.versions().await;
    host.until("the last change in the queue", |_| host.plugin(WITNESS)["queue"]["pending"] == 6).await;
    objects.create_labelled(OPEN, "unheard").await;
    wait_for_calls(&host, 3 + 1 + 6).await;

    // After the three initial calls and the gate come the calls in the order of each object's oldest pending change.
    // If an object has two calls, the second one is placed at the end of the queue.
    assert_eq!(
        story(&host, "gate")[3..],
        [
            "add added-updated live",
            "update updated-twice live",
            "delete updated-deleted known",
            "delete replaced known",
            "add last live",
            "add replaced live",
        ]
    );
    let calls = calls(&host.lines.of(WITNESS));
    let call = |verb: &str, name: &str| -> Call {
        calls.iter().rfind(|call| call.verb == verb && call.name == name).unwrap().clone()
    };
    assert_eq!(call("add", "added-updated").round, "1");
    // One update from the oldest state to the newest state.
    let merged = call("update", "updated-twice");
    assert_eq!(
        (merged.old, merged.version),
        (before["default/updated-twice"].to_string(), after["default/updated-twice"])
    );
    assert_ne!(call("delete", "replaced").uid, call("add", "replaced").uid);
    let queue = &host.plugin(WITNESS)["queue"];
    // The undelivered addition, its update and its deletion merge into nothing.
    assert_eq!(queue["cancelled"], 2, "{queue:#}");
    assert_eq!((&queue["merged"]["add"], &queue["merged"]["update"]), (&json!(2), &json!(1)), "{queue:#}");
    host.stop().await;
}
