//! Single changes, each with its own kubectl command.

use crate::stage::Stage;

const CONTAINERS: &str = r#".spec.template.spec.containers[*]['name','image']"#;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, built with Go: run by cargo xtask test --all"]
async fn the_component_receives_each_change_of_metadata() {
    let mut stage = Stage::start().await;
    let create = ["create", "deployment", "nginx", "--image=nginx:1.29", "--replicas=2"];
    stage.creates("nginx", &create, "deployment.apps/nginx created\n").await;

    let label = |change| ["label", "deployment", "nginx", change];
    stage.changes("nginx", &label("tier=web"), "deployment.apps/nginx labeled\n").await;
    assert_eq!(stage.kubectl.field("nginx", ".metadata.labels").await, r#"{"app":"nginx","tier":"web"}"#);
    let refused = stage.kubectl.fails(&label("tier=db")).await;
    assert!(refused.contains("'tier' already has a value (web), and --overwrite is false"), "{refused}");
    stage.changes("nginx", &label("tier-"), "deployment.apps/nginx unlabeled\n").await;
    assert_eq!(stage.kubectl.field("nginx", ".metadata.labels").await, r#"{"app":"nginx"}"#);

    let annotate = |change| ["annotate", "deployment", "nginx", change];
    stage.changes("nginx", &annotate("note=hello"), "deployment.apps/nginx annotated\n").await;
    assert_eq!(stage.kubectl.field("nginx", ".metadata.annotations.note").await, "hello");
    stage.changes("nginx", &annotate("note-"), "deployment.apps/nginx annotated\n").await;
    assert_eq!(stage.kubectl.field("nginx", ".metadata.annotations").await, "");

    // The generation counts changes of the spec, which did not change.
    assert_eq!(stage.kubectl.field("nginx", ".metadata.generation").await, "1");
    stage.deletes("nginx", &["delete", "deployment", "nginx"]).await;
    let gone = stage.kubectl.fails(&["get", "deployment", "nginx"]).await;
    assert_eq!(gone, "Error from server (NotFound): deployments.apps \"nginx\" not found\n");
    stage.creates("nginx", &create, "deployment.apps/nginx created\n").await;
    let twice = stage.kubectl.fails(&create).await;
    assert!(twice.contains("deployments.apps \"nginx\" already exists"), "{twice}");
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, built with Go: run by cargo xtask test --all"]
async fn the_component_receives_each_change_of_the_spec() {
    let mut stage = Stage::start().await;
    let create = ["create", "deployment", "nginx", "--image=nginx:1.29"];
    stage.creates("nginx", &create, "deployment.apps/nginx created\n").await;

    let scale = ["scale", "deployment", "nginx", "--replicas=3"];
    stage.changes("nginx", &scale, "deployment.apps/nginx scaled\n").await;
    assert_eq!(stage.kubectl.field("nginx", ".spec.replicas").await, "3");
    let unmet = stage.kubectl.fails(&[&scale[..], &["--current-replicas=9"]].concat()).await;
    assert!(unmet.contains("Expected replicas to be 9, was 3"), "{unmet}");

    let image = ["set", "image", "deployment/nginx", "nginx=nginx:1.30"];
    stage.changes("nginx", &image, "deployment.apps/nginx image updated\n").await;
    assert_eq!(stage.kubectl.field("nginx", CONTAINERS).await, "nginx nginx:1.30");

    let restart = ["rollout", "restart", "deployment", "nginx"];
    stage.changes("nginx", &restart, "deployment.apps/nginx restarted\n").await;
    assert_eq!(stage.kubectl.field("nginx", ".metadata.generation").await, "4");
    stage.leave().await;
}

fn patch<'a>(kind: &'a str, patch: &'a str) -> [&'a str; 7] {
    ["patch", "deployment", "nginx", "--type", kind, "-p", patch]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, built with Go: run by cargo xtask test --all"]
async fn each_kind_of_patch_changes_its_fields_and_keeps_the_rest() {
    let mut stage = Stage::start().await;
    let create = ["create", "deployment", "nginx", "--image=nginx:1", "--image=busybox:1"];
    stage.creates("nginx", &create, "deployment.apps/nginx created\n").await;
    let output = "deployment.apps/nginx patched\n";

    stage.changes("nginx", &patch("merge", r#"{"spec":{"replicas":4}}"#), output).await;
    assert_eq!(stage.kubectl.field("nginx", ".spec.replicas").await, "4");

    let json = r#"[{"op":"test","path":"/spec/replicas","value":4},{"op":"replace","path":"/spec/replicas","value":5}]"#;
    stage.changes("nginx", &patch("json", json), output).await;
    assert_eq!(stage.kubectl.field("nginx", ".spec.replicas").await, "5");
    // The second time, the test in the patch fails and nothing changes.
    let failed = stage.kubectl.fails(&patch("json", json)).await;
    assert!(failed.contains("The request is invalid") || failed.contains("test"), "{failed}");
    assert_eq!(stage.kubectl.field("nginx", ".spec.replicas").await, "5");

    let variable = |value: &str| {
        let container = format!(r#"{{"name":"nginx","env":[{{"name":"A","value":"{value}"}}]}}"#);
        format!(r#"{{"spec":{{"template":{{"spec":{{"containers":[{container}]}}}}}}}}"#)
    };
    for value in ["1", "2"] {
        stage.changes("nginx", &patch("strategic", &variable(value)), output).await;
        let found = stage.kubectl.field("nginx", ".spec.template.spec.containers[*].env").await;
        assert_eq!(found, format!(r#"[{{"name":"A","value":"{value}"}}]"#));
        assert_eq!(stage.kubectl.field("nginx", CONTAINERS).await, "nginx busybox nginx:1 busybox:1");
    }
    let nothing_new = "deployment.apps/nginx patched (no change)\n";
    stage.changes_nothing(&patch("strategic", &variable("2")), nothing_new).await;
    stage.leave().await;
}
