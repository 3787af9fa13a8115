//! Plugins as objects of the cluster: what a tenant may do, what the object says of it, and what it changes for others.

mod hostile;
mod stage;

use informer_guests::guest;
use serde_json::{Value, json};

use crate::{configmaps::ConfigMaps, tenancy::stage::Stage};

/// A Plugin receives its namespace and nothing else, and leaves with its object. The plugin of the file with the same name is
/// another plugin.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_object_is_loaded_receives_its_namespace_and_ends_with_its_object() {
    let stage = Stage::start("").await;
    let (shop, other) = (stage.configmaps("shop").await, stage.configmaps("other").await);
    other.create("before").await;
    shop.create("before").await;

    stage.create("shop", "echo", &stage.echo(json!({}))).await;
    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;
    stage.condition("shop", "echo", "Synced", "True", "Synced").await;
    stage.condition("shop", "echo", "Quarantined", "False", "Working").await;
    let status = stage.status("shop", "echo").await;
    assert_eq!((&status["state"], &status["name"]), (&json!("Serving"), &json!("shop/echo")), "{status:#}");
    assert_eq!(status["observedGeneration"], 1);
    stage.event("shop", "echo", "Loaded").await;
    assert_eq!(stage.events("shop", "echo").await, ["Loaded"]);

    other.create("after").await;
    shop.create("after").await;
    stage.host.lines.said("shop/echo", "add shop/after ", "").await;
    stage.host.lines.said("echo", "add other/after ", "").await;
    let heard = stage.host.lines.of("shop/echo");
    assert!(heard.iter().all(|line| !line.contains("other/")), "{heard:?}");
    assert!(heard.iter().any(|line| line.starts_with("add shop/before ")), "{heard:?}");

    stage.delete("shop", "echo").await;
    stage.host.until("the end of the plugin", |_| stage.host.plugin("shop/echo").is_null()).await;
    shop.create("later").await;
    stage.host.lines.said("echo", "add shop/later ", "").await;
    assert!(stage.host.lines.of("shop/echo").iter().all(|line| !line.contains("later")));
    stage.stop().await;
}

/// A changed spec is applied like a changed file: what is refused changes nothing, and says why.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_spec_is_applied_and_a_refused_one_leaves_the_spec_before_in_force() {
    let stage = Stage::start("").await;
    let shop = stage.configmaps("shop").await;
    stage.create("shop", "echo", &stage.echo(json!({}))).await;
    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;

    stage.merge("shop", "echo", json!({"on": [{"watch": "v1/configmaps", "labels": "wanted"}]})).await;
    stage
        .until_status("shop", "echo", "the second generation", |status| status["observedGeneration"] == 2)
        .await;
    shop.create("plain").await;
    shop.create_labelled("labelled", "wanted").await;
    stage.host.lines.said("shop/echo", "add shop/labelled ", "").await;
    assert!(stage.host.lines.of("shop/echo").iter().all(|line| !line.contains("plain")));

    stage.merge("shop", "echo", json!({"limits": {"memory": "4GiB"}})).await;
    let condition = stage.condition("shop", "echo", "Loaded", "False", "NotAllowed").await;
    let message = condition["message"].as_str().unwrap();
    assert!(message.contains("spec.limits.memory: [tenancy.limits] allows at most \"64MiB\""), "{message}");
    assert!(message.ends_with("The spec of generation 2 stays in force"), "{message}");
    assert_eq!(stage.status("shop", "echo").await["state"], "Outdated");
    shop.create_labelled("again", "wanted").await;
    stage.host.lines.said("shop/echo", "add shop/again ", "").await;

    stage.merge("shop", "echo", json!({"limits": null})).await;
    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;
    stage.stop().await;
}

/// The previous version stays in service, and the status reports that the component of the present source is not in service.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_cannot_be_pulled_is_reported_and_the_previous_version_stays() {
    let stage = Stage::start("").await;
    stage.create("shop", "echo", &stage.echo(json!({}))).await;
    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;

    stage.merge("shop", "echo", json!({"source": stage.source("acme/nowhere")})).await;

    let condition = stage.condition("shop", "echo", "Loaded", "False", "NewVersionRefused").await;
    let message = condition["message"].as_str().unwrap();
    let start = "the version in service stays: the component cannot be pulled: ";
    assert!(message.starts_with(start) && message.contains(" has no "), "{message}");
    assert_eq!(stage.status("shop", "echo").await["state"], "Outdated");

    stage.merge("shop", "echo", json!({"source": stage.source("acme/echo")})).await;
    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;
    stage.stop().await;
}

/// The UID of the next object may be the only sign of the deletion.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_created_anew_has_no_dead_letters_of_the_deleted_object() {
    let stage = Stage::start("").await;
    let shop = stage.configmaps("shop").await;
    let trap = |on: Value| {
        let source = stage.source("acme/trap");
        stage.echo(json!({"source": source, "on": [on], "retry": {"attempts": 1}, "reload": {"trial": 0}}))
    };
    stage.create("shop", "trap", &trap(json!({"watch": "v1/configmaps"}))).await;
    stage.condition("shop", "trap", "Loaded", "True", "Loaded").await;
    shop.create("one").await;
    let letters = || stage.host.plugin("shop/trap")["dead-letters"].as_array().map(Vec::len);
    stage.host.until("a dead letter", |_| letters() == Some(1)).await;

    stage.delete("shop", "trap").await;
    // No object has this label, so the next plugin is not called.
    stage.create("shop", "trap", &trap(json!({"watch": "v1/configmaps", "labels": "none"}))).await;

    let is_loaded = || !stage.host.plugin("shop/trap")["version"].is_null();
    stage.host.until("a plugin without dead letters", |_| is_loaded() && letters() == Some(0)).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_starts_anew_runs_the_objects_that_exist() {
    let stage = Stage::start("").await;
    let shop = stage.configmaps("shop").await;
    stage.create("shop", "echo", &stage.echo(json!({}))).await;
    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;
    let before = stage.status("shop", "echo").await;

    let stage = stage.restart().await;

    stage.host.until("the plugin", |_| !stage.host.plugin("shop/echo")["version"].is_null()).await;
    shop.create("one").await;
    stage.host.lines.said("shop/echo", "add shop/one ", "").await;
    let after = stage.status("shop", "echo").await;
    assert_eq!(after["conditions"], before["conditions"], "a restart changes no condition");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_the_definitions_waits_for_them_and_reports_it() {
    let stage = Stage::without_definitions("cluster-plugins = true\n").await;
    let default = ConfigMaps::at(&stage.url()).await;
    default.create("one").await;
    stage.host.lines.said("echo", "add default/one ", "").await;
    // The other informers may sync later than the one of the object.
    stage.host.until("a ready host", |_| stage.host.unready().is_empty()).await;
    let missing = "Plugin objects are not known: informer.dev/v1alpha1/plugins";
    stage.host.until("the complaint", |_| stage.host.degraded().join("\n").contains(missing)).await;

    stage.install().await;
    stage.create("shop", "echo", &stage.echo(json!({}))).await;
    stage.create("", "echo", &stage.echo(json!({}))).await;

    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;
    stage.condition("", "echo", "Loaded", "True", "Loaded").await;
    stage.host.lines.said("cluster:echo", "add default/one ", "").await;
    stage.host.until("no complaint", |_| stage.host.degraded().is_empty()).await;
    stage.stop().await;
}

/// A Plugin that is no longer allowed ends at once, and one that is allowed now starts. The file decides, not a restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_tenancy_applies_to_the_objects_that_run() {
    let mut stage = Stage::start("").await;
    let (shop, stranger) = (stage.configmaps("shop").await, stage.configmaps("stranger").await);
    stage.create("shop", "echo", &stage.echo(json!({}))).await;
    stage.create("stranger", "echo", &stage.echo(json!({}))).await;
    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;
    stage.condition("stranger", "echo", "Loaded", "False", "NotAccepted").await;
    shop.create("before").await;
    stage.host.lines.said("shop/echo", "add shop/before ", "").await;

    stage.replace("[\"shop\", ", "[\"stranger\", ");

    stage.condition("shop", "echo", "Loaded", "False", "NotAccepted").await;
    stage.condition("stranger", "echo", "Loaded", "True", "Loaded").await;
    shop.create("after").await;
    stranger.create("after").await;
    stage.host.lines.said("stranger/echo", "add stranger/after ", "").await;
    stage.host.lines.said("echo", "add shop/after ", "").await;
    assert!(stage.host.lines.of("shop/echo").iter().all(|line| !line.contains("after")));

    stage.replace("[\"stranger\", ", "[\"stranger\", \"shop\", ");

    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;
    stage.host.lines.said("shop/echo", "add shop/after ", "").await;
    stage.stop().await;
}

/// The API server deletes the objects of a definition before the definition. Other plugins go on.
#[tokio::test(flavor = "multi_thread")]
async fn plugins_end_with_their_definition_and_start_with_a_new_one() {
    let stage = Stage::start("").await;
    let shop = stage.configmaps("shop").await;
    stage.create("shop", "echo", &stage.echo(json!({}))).await;
    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;

    stage.uninstall().await;

    stage.host.until("the end of the plugin", |_| stage.host.plugin("shop/echo").is_null()).await;
    let missing = "informer.dev/v1alpha1/plugins: waiting-for-resource";
    stage.host.until("the complaint", |_| stage.host.degraded().join("\n").contains(missing)).await;
    shop.create("between").await;
    stage.host.lines.said("echo", "add shop/between ", "").await;
    assert_eq!(stage.host.unready(), Vec::<String>::new());

    stage.install().await;
    stage.create("shop", "echo", &stage.echo(json!({}))).await;
    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;
    stage.host.lines.said("shop/echo", "add shop/between ", "").await;
    stage.stop().await;
}

/// What `kubectl get plugins` shows.
#[tokio::test(flavor = "multi_thread")]
async fn the_table_has_version_state_calls_failures_and_age() {
    let stage = Stage::start("").await;
    stage.create("shop", "echo", &stage.echo(json!({}))).await;
    stage.condition("shop", "echo", "Loaded", "True", "Loaded").await;

    let table = stage.table("shop").await;

    let columns = table["columnDefinitions"].as_array().unwrap();
    let names: Vec<&str> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Name", "Version", "State", "Calls", "Failures", "Age", "Source", "Message"]);
    let cells = &table["rows"][0]["cells"];
    assert_eq!((&cells[0], &cells[2], &cells[4]), (&json!("echo"), &json!("Serving"), &json!(0)), "{cells}");
    assert!(guest("echo").is_file());
    stage.stop().await;
}
