//! Point 4: Merging: only what is still pending for one object merges. The queue is held by a call about `gate` while the
//! changes come in, until the test opens it.

use serde_json::json;

use super::{
    Stage,
    witness::{Call, WITNESS, calls, heard, story},
};

/// The call about `gate` ends once this one is there, of which the plugin does not hear.
const OPEN: &str = "open";
const UNHEARD: &str = "labels = \"!unheard\"";
const HELD: &str =
    "[plugin.limits]\ndeadline = \"10m\"\n[plugin.config]\nhold = \"gate\"\nuntil = \"default/open\"";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pending_for_one_object_is_told_as_one() {
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
    objects.create("never-told").await;
    objects.update("never-told", 1).await;
    objects.delete("never-told").await;
    objects.delete("replaced").await;
    objects.create("replaced").await;
    objects.create("last").await;
    let after = objects.versions().await;
    host.until("the last change in the queue", |_| host.plugin(WITNESS)["queue"]["pending"] == 6).await;
    objects.create_labelled(OPEN, "unheard").await;
    heard(&host, 3 + 1 + 6).await;

    // Behind the three initial ones and the gate: in the order of each object's oldest pending change. What stays two
    // calls does not jump the queue with the second one.
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
    // From the oldest state to the newest one.
    let merged = call("update", "updated-twice");
    assert_eq!(
        (merged.old, merged.version),
        (before["default/updated-twice"].to_string(), after["default/updated-twice"])
    );
    assert_ne!(call("delete", "replaced").uid, call("add", "replaced").uid);
    let queue = &host.plugin(WITNESS)["queue"];
    // The addition that was never told, its update and its deletion.
    assert_eq!(queue["cancelled"], 2, "{queue:#}");
    assert_eq!((&queue["merged"]["add"], &queue["merged"]["update"]), (&json!(2), &json!(1)), "{queue:#}");
    host.stop().await;
}
