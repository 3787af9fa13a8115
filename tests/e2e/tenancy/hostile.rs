//! Hostile Plugin objects: each is told why it is refused, and none changes anything for others.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};

use super::stage::Stage;

/// The name of a Plugin, what its spec has besides the smallest one, and the reason and the words of its refusal.
type Case = (&'static str, Value, &'static str, &'static str);

fn cases(stage: &Stage) -> Vec<Case> {
    let mut all = beyond(stage);
    all.extend(senseless());
    all
}

/// Specs that want more than a tenant may have.
fn beyond(stage: &Stage) -> Vec<Case> {
    let on = |watch: &str, lines: Value| {
        let mut on = json!({"watch": watch});
        on.as_object_mut().unwrap().extend(lines.as_object().unwrap().clone());
        json!({"on": [on]})
    };
    vec![
        (
            "other-namespace",
            on("v1/configmaps", json!({"namespaces": ["other"]})),
            "NotAllowed",
            "it names @other",
        ),
        (
            "other-reads",
            json!({"grant": {"read": ["v1/configmaps @other"]}}),
            "NotAllowed",
            "it names @other",
        ),
        (
            "other-writes",
            json!({"grant": {"write": ["create v1/configmaps @other"]}}),
            "NotAllowed",
            "it names @other",
        ),
        ("all-secrets", json!({"grant": {"secrets": ["*"]}}), "NotAllowed", "not of the namespace"),
        ("nodes", on("v1/nodes", json!({})), "NotAllowed", "its objects have no namespace"),
        (
            "write-nodes",
            json!({"grant": {"write": ["create v1/nodes"]}}),
            "NotAllowed",
            "its objects have no namespace",
        ),
        ("services", on("v1/services", json!({})), "NotAllowed", "does not let plugins read `v1/services`"),
        (
            "delete",
            json!({"grant": {"write": ["delete v1/configmaps"]}}),
            "NotAllowed",
            "delete of `v1/configmaps`",
        ),
        (
            "registry",
            json!({"source": stage.source("evil/echo")}),
            "NotAllowed",
            "does not allow components from",
        ),
        ("file", json!({"source": "/etc/passwd"}), "NotAllowed", "a file of the host"),
        (
            "http",
            json!({"grant": {"http": ["https://evil.example.com/"]}}),
            "NotAllowed",
            "does not allow `https://evil",
        ),
        ("disk", json!({"grant": {"keyvalue": "1GiB"}}), "NotAllowed", "at most nothing"),
        ("memory", json!({"limits": {"memory": "4GiB"}}), "NotAllowed", "spec.limits.memory"),
        ("deadline", json!({"limits": {"deadline": "1h"}}), "NotAllowed", "spec.limits.deadline"),
        ("workers", json!({"queue": {"workers": 256}}), "NotAllowed", "spec.queue.workers"),
        ("expression", on("v1/configmaps", json!({"when": "true"})), "NotAllowed", "does not allow `when`"),
    ]
}

/// Specs without a meaning.
fn senseless() -> Vec<Case> {
    vec![
        (
            "account",
            json!({"as": "system:serviceaccount:kube-system:admin"}),
            "InvalidSpec",
            "spec.as: unknown key",
        ),
        ("paths", json!({"config-files": ["/run/secrets"]}), "InvalidSpec", "spec.config-files: unknown key"),
        ("unknown", json!({"limts": {"memory": "1MiB"}}), "InvalidSpec", "did you mean `limits`?"),
        (
            "types",
            json!({"on": {"watch": 3}, "limits": [], "source": {}}),
            "InvalidSpec",
            "spec.on: expected an array",
        ),
        ("nothing", json!({"on": null}), "InvalidSpec", "subscribes to nothing"),
        ("name.with.dots", json!({}), "InvalidSpec", "not a name of a plugin"),
    ]
}

/// A server with a schema refuses some of these itself; the embedded one stores objects as they are sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_spec_beyond_tenancy_is_refused_with_the_reason_and_changes_nothing_for_others() {
    let stage = Stage::start("plugins-per-namespace = 50\n").await;
    let shop = stage.configmaps("shop").await;
    stage.create("shop", "good", &stage.echo(json!({}))).await;
    stage.condition("shop", "good", "Loaded", "True", "Loaded").await;
    let cases = cases(&stage);
    for (name, members, ..) in &cases {
        stage.create("shop", name, &stage.echo(members.clone())).await;
    }
    stage.create("shop", "no-object", &json!("text")).await;
    stage.create("stranger", "echo", &stage.echo(json!({}))).await;
    stage.create("", "echo", &stage.echo(json!({}))).await;

    for (name, _, reason, words) in &cases {
        let condition = stage.condition("shop", name, "Loaded", "False", reason).await;
        let message = condition["message"].as_str().unwrap();
        assert!(message.contains(words), "{name}: {message}");
        assert!(stage.host.plugin(&format!("shop/{name}")).is_null(), "{name}");
    }
    stage.condition("shop", "no-object", "Loaded", "False", "InvalidSpec").await;
    let status = stage.host.status();
    assert_eq!(status["objects"]["accepted"], 1, "{:#}", status["objects"]);
    // ClusterPlugins are not watched, so this one has no status.
    assert_eq!(stage.status("", "echo").await, Value::Null);
    stage.condition("stranger", "echo", "Loaded", "False", "NotAccepted").await;
    stage.event("shop", "nodes", "Refused").await;

    shop.create("one").await;
    stage.host.lines.said("shop/good", "add shop/one ", "").await;
    stage.host.lines.said("echo", "add shop/one ", "").await;
    assert_eq!((stage.host.unready(), stage.host.degraded()), (Vec::new(), Vec::new()));
    stage.stop().await;
}

/// The component itself is hostile: the grants of its object end at its namespace, whatever it requests.
#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_component_reaches_no_other_namespace() {
    let stage = Stage::start("").await;
    let (shop, other) = (stage.configmaps("shop").await, stage.configmaps("other").await);
    other.create("secret-plan").await;
    shop.create("own").await;
    let steps = json!([
        {"do": "create", "namespace": "other", "body": {"metadata": {"name": "planted"}}},
        {"do": "create", "namespace": "", "body": {"metadata": {"name": "planted"}}},
        {"do": "create", "namespace": "shop", "body": {"metadata": {"name": "planted", "namespace": "other"}}},
        {"do": "merge", "namespace": "other", "name": "secret-plan", "body": {"data": {"x": "1"}}},
        {"do": "merge", "namespace": "shop/../other", "name": "secret-plan", "body": {"data": {"x": "1"}}},
        {"do": "get", "namespace": "other", "name": "secret-plan"},
        {"do": "list", "namespace": "other"},
        {"do": "list"},
        {"do": "get", "gvr": "v1/nodes", "namespace": "", "name": "node"},
        {"do": "create", "gvr": "v1/nodes", "namespace": "", "body": {"metadata": {"name": "node"}}},
        {"do": "get", "gvr": "v1/secrets", "namespace": "shop", "name": "any"},
        {"do": "event", "namespace": "other", "name": "secret-plan"},
        {"do": "merge", "namespace": "shop", "name": "own", "body": {"data": {"x": "1"}}},
        {"do": "list", "namespace": "shop", "pointer": "/metadata/name"},
    ]);
    let count = steps.as_array().unwrap().len();
    let spec = json!({
        "source": stage.source("acme/writer"),
        "on": [{"watch": "v1/configmaps"}],
        "grant": {
            "read": ["v1/configmaps"],
            "write": ["create,patch v1/configmaps", "create events.k8s.io/v1/events"],
        },
        "config": {"only": "trigger", "steps": steps},
    });
    stage.create("shop", "writer", &spec).await;
    stage.condition("shop", "writer", "Loaded", "True", "Loaded").await;

    shop.create("trigger").await;

    let lines = &stage.host.lines;
    lines.until("shop/writer", "a line for each step", |lines| lines.len() >= count).await;
    let lines = lines.of("shop/writer");
    let (refused, granted) = lines.split_at(count - 2);
    for line in refused {
        assert!(line.contains(" error "), "{line}");
    }
    assert_eq!(granted, ["merge ok ", "list ok \"own\" \"trigger\""]);
    assert_eq!(other.versions().await.len(), 1, "nothing was planted");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_component_lists_no_other_namespace_of_the_cache() {
    let stage = Stage::start("").await;
    let (shop, other) = (stage.configmaps("shop").await, stage.configmaps("other").await);
    other.create("secret-plan").await;
    shop.create("own").await;
    for (name, config) in [
        ("all", json!({"gvr": "v1/configmaps", "what": "list-meta"})),
        ("named", json!({"gvr": "v1/configmaps", "what": "list-json", "namespace": "other"})),
        ("one", json!({"gvr": "v1/configmaps", "what": "get", "namespace": "other", "name": "secret-plan"})),
    ] {
        let spec = json!({
            "source": stage.source("acme/reader"),
            "on": [{"watch": "v1/configmaps"}],
            "grant": {"read": ["v1/configmaps"]},
            "config": config,
        });
        stage.create("shop", name, &spec).await;
        stage.condition("shop", name, "Loaded", "True", "Loaded").await;
    }

    shop.create("trigger").await;

    for name in ["all", "named", "one"] {
        let plugin = format!("shop/{name}");
        stage.host.lines.until(&plugin, "an answer", |lines| lines.len() >= 2).await;
        let lines = stage.host.lines.of(&plugin);
        assert!(
            lines.iter().all(|line| !line.contains("secret-plan") || line.starts_with("error: ")),
            "{lines:?}"
        );
        let refused = lines.iter().all(|line| line.starts_with("error: "));
        assert_eq!(refused, name != "all", "{lines:?}");
    }
    stage.stop().await;
}

/// The quota is used by the oldest objects, so a flood of new ones ends no plugin that runs, and a good plugin goes on being
/// called meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_objects_beyond_the_quota_change_nothing_for_others() {
    let stage = Stage::start("plugins = 6\nplugins-per-namespace = 3\n").await;
    let shop = stage.configmaps("shop").await;
    for name in ["good", "second"] {
        stage.create("shop", name, &stage.echo(json!({}))).await;
        stage.condition("shop", name, "Loaded", "True", "Loaded").await;
    }
    let spec = stage.echo(json!({}));

    for round in 0..20 {
        let creating = Instant::now();
        join_all((0..100).map(|one| {
            let (stage, spec, name) = (&stage, &spec, format!("flood-{round:02}-{one:02}"));
            async move { stage.create("flood", &name, spec).await }
        }))
        .await;
        // A machine that creates these objects slowly calls the plugin slowly, too.
        let most = Duration::from_secs(10).max(20 * creating.elapsed());
        let (name, began) = (format!("during-{round}"), Instant::now());
        shop.create(&name).await;
        stage.host.lines.said("shop/good", &format!("add shop/{name} "), "").await;
        let took = began.elapsed();
        assert!(took < most, "round {round} took {took:?}, more than {most:?}");
    }

    stage.host.until("the verdict about all", |status| status["objects"]["refused"] == 1997).await;
    assert_eq!(stage.host.status()["objects"]["accepted"], 5);
    let condition = stage.condition("flood", "flood-00-09", "Loaded", "False", "QuotaExceeded").await;
    let message = condition["message"].as_str().unwrap();
    assert!(message.starts_with("3 older Plugins of this namespace use its quota"), "{message}");
    // A newcomer in another namespace takes the last place of the host, and the next one none.
    stage.create("team-a", "first", &spec).await;
    stage.condition("team-a", "first", "Loaded", "True", "Loaded").await;
    stage.create("team-a", "second", &spec).await;
    let condition = stage.condition("team-a", "second", "Loaded", "False", "QuotaExceeded").await;
    assert!(condition["message"].as_str().unwrap().starts_with("6 older objects use the quota of the host"));
    shop.create("at-last").await;
    stage.host.lines.said("shop/second", "add shop/at-last ", "").await;
    stage.stop().await;
}

/// A component that traps is put into quarantine, which its object shows and the readiness of the host does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_fails_is_in_quarantine_and_the_host_stays_ready() {
    let stage = Stage::start("").await;
    let shop = stage.configmaps("shop").await;
    let quarantine = json!({"source": stage.source("acme/trap"), "quarantine": {"after": 3}, "retry": {"min": "1ms", "max": "5ms"}, "reload": {"trial": 0}});
    stage.create("shop", "trap", &stage.echo(quarantine)).await;
    stage.condition("shop", "trap", "Loaded", "True", "Loaded").await;
    for round in 0..5 {
        shop.create(&format!("one-{round}")).await;
    }

    stage.condition("shop", "trap", "Quarantined", "True", "Failing").await;

    stage.until_status("shop", "trap", "the state", |status| status["state"] == "Quarantined").await;
    stage.event("shop", "trap", "Quarantined").await;
    assert_eq!((stage.host.unready(), stage.host.degraded()), (Vec::new(), Vec::new()));
    let missing = stage.echo(json!({"source": stage.source("acme/missing")}));
    stage.create("shop", "missing", &missing).await;
    stage.condition("shop", "missing", "Loaded", "False", "LoadFailed").await;
    assert_eq!(stage.host.unready(), Vec::<String>::new());
    stage.stop().await;
}
