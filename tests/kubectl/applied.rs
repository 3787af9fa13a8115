//! `kubectl apply` removes fields that a manifest no longer has, and keeps fields that no manifest had.

use crate::{manifest, stage::Stage};

const SHOP_IMAGE: &str = ".spec.template.spec.containers[?(@.name=='shop')].image";
const SHOP_VARIABLES: &str = ".spec.template.spec.containers[?(@.name=='shop')].env[*].name";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, built with Go: run by cargo xtask test --all"]
async fn client_side_apply_merges_the_old_and_new_manifest_into_the_live_object() {
    let mut stage = Stage::start().await;
    let (first, changed) = (manifest("shop.yaml"), manifest("shop-changed.yaml"));
    stage.creates("shop", &["apply", "-f", &first], "deployment.apps/shop created\n").await;
    assert_eq!(stage.kubectl.field("shop", SHOP_VARIABLES).await, "A B");

    // A label of another manager, which is in no manifest.
    let label = ["label", "deployment", "shop", "foreign=yes"];
    stage.changes("shop", &label, "deployment.apps/shop labeled\n").await;
    let differs = stage.kubectl.run(&["diff", "-f", &changed]).await;
    assert_eq!(differs.status.code(), Some(1), "{differs:?}");
    assert!(differs.stdout.contains("\n-    tier: web\n"), "{differs:?}");

    stage.changes("shop", &["apply", "-f", &changed], "deployment.apps/shop configured\n").await;
    let labels = stage.kubectl.field("shop", ".metadata.labels").await;
    assert_eq!(labels, r#"{"app":"shop","foreign":"yes"}"#);
    assert_eq!(stage.kubectl.field("shop", SHOP_VARIABLES).await, "A");
    assert_eq!(stage.kubectl.field("shop", SHOP_IMAGE).await, "shop:2");
    assert_eq!(stage.kubectl.field("shop", ".spec.replicas").await, "3");
    let names = stage.kubectl.field("shop", ".spec.template.spec.containers[*].name").await;
    assert_eq!(names, "shop proxy");

    stage.changes_nothing(&["apply", "-f", &changed], "deployment.apps/shop unchanged\n").await;
    stage.deletes("shop", &["delete", "-f", &changed]).await;
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, built with Go: run by cargo xtask test --all"]
async fn server_side_apply_removes_fields_that_its_manager_left_out_and_refuses_others() {
    let mut stage = Stage::start().await;
    let (first, changed) = (manifest("shop.yaml"), manifest("shop-changed.yaml"));
    let output = "deployment.apps/shop serverside-applied\n";
    stage.creates("shop", &["apply", "--server-side", "-f", &first], output).await;
    let label = ["label", "deployment", "shop", "foreign=yes"];
    stage.changes("shop", &label, "deployment.apps/shop labeled\n").await;

    stage.changes("shop", &["apply", "--server-side", "-f", &changed], output).await;
    let labels = stage.kubectl.field("shop", ".metadata.labels").await;
    assert_eq!(labels, r#"{"app":"shop","foreign":"yes"}"#);
    assert_eq!(stage.kubectl.field("shop", SHOP_VARIABLES).await, "A");
    assert_eq!(stage.kubectl.field("shop", SHOP_IMAGE).await, "shop:2");

    let other = ["apply", "--server-side", "--field-manager=other", "-f", &first];
    let conflict = stage.kubectl.fails(&other).await;
    assert!(conflict.contains("Apply failed with 2 conflicts: conflicts with \"kubectl\""), "{conflict}");
    assert!(conflict.contains("- .spec.replicas\n"), "{conflict}");
    assert_eq!(stage.kubectl.field("shop", SHOP_IMAGE).await, "shop:2");
    stage.changes("shop", &[&other[..], &["--force-conflicts"]].concat(), output).await;
    assert_eq!(stage.kubectl.field("shop", SHOP_IMAGE).await, "shop:1");
    stage.leave().await;
}
