//! The command `informer explain`, with a running host.

use std::fs;

use informer_devserver::DevServer;
use informer_guests::guest;
use serde_json::Value;
use tempfile::TempDir;

use super::binary::{Finished, Running, informer, until, well};
use crate::configmaps::ConfigMaps;

const GVR: &str = "v1/configmaps";

/// A running host with three plugins: `picky` selects by a label, `echo` accepts everything, and `flaky` fails twice
/// and then succeeds.
struct Host {
    running: Running,
    admin: String,
    objects: ConfigMaps,
    _server: DevServer,
    _directory: TempDir,
}

impl Host {
    async fn start(host: &str, flaky: &str) -> Self {
        let (echo, fails) = (guest("echo"), guest("flaky"));
        let on = format!("[[plugin.on]]\nwatch = \"{GVR}\"\n");
        let plugins = format!(
            "[[plugin]]\nname = \"picky\"\nsource = {echo:?}\n{on}labels = \"wanted=yes\"\n\
             [[plugin]]\nname = \"echo\"\nsource = {echo:?}\n{on}\
             [[plugin]]\nname = \"flaky\"\nsource = {fails:?}\nconfig = {flaky}\nretry = {{ min = \"50ms\", max = \"50ms\" }}\n{on}",
        );
        Self::with(host, &plugins).await
    }

    /// Starts a host with these plugins instead.
    async fn with(host: &str, plugins: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let path = directory.path().join("informer.toml");
        let configuration = format!(
            "[cluster]\nserver = \"{}\"\n[host]\nadmin = \"127.0.0.1:0\"\nstate-dir = \"off\"\n{host}\n\
             [[watch]]\ngvr = \"{GVR}\"\n[[watch]]\ngvr = \"v1/secrets\"\n{plugins}",
            server.url()
        );
        fs::write(&path, configuration).unwrap();
        let mut running = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
        let admin = running.admin().await;
        well(&admin).await;
        let objects = ConfigMaps::at(&server.url()).await;
        Self { running, admin, objects, _server: server, _directory: directory }
    }

    async fn explain(&self, arguments: &[&str]) -> Finished {
        informer(&[&["explain"], arguments, &["--admin", &self.admin]].concat()).await
    }

    /// Polls the answer until the condition holds. Returns the answer.
    async fn explained(
        &self,
        key: &str,
        what: &str,
        condition: impl Fn(&[Step]) -> bool,
    ) -> (Value, Vec<Step>) {
        let arguments = ["explain", GVR, key, "--output", "json", "--admin", &self.admin];
        let answer = until(what, &arguments, |answer| condition(&steps(&answer.json()))).await.json();
        let steps = steps(&answer);
        (answer, steps)
    }

    async fn stop(self) {
        self.running.stop().await;
    }
}

/// The `stage`, `plugin`, `verdict` and verb or condition of each step.
type Step = (String, String, String, String);

fn steps(answer: &Value) -> Vec<Step> {
    let word = |step: &Value, key: &str| step[key].as_str().unwrap_or("-").to_owned();
    let steps = answer["steps"].as_array().unwrap().iter();
    let last = |step: &Value| if step["by"].is_null() { word(step, "verb") } else { word(step, "by") };
    steps.map(|step| (word(step, "stage"), word(step, "plugin"), word(step, "verdict"), last(step))).collect()
}

/// The steps of one plugin, without its name. `-` selects the steps without a plugin.
fn of<'a>(steps: &'a [Step], plugin: &str) -> Vec<(&'a str, &'a str, &'a str)> {
    let own = steps.iter().filter(|step| step.1 == plugin);
    own.map(|(stage, _, verdict, last)| (stage.as_str(), verdict.as_str(), last.as_str())).collect()
}

fn has(steps: &[Step], plugin: &str, verdict: &str) -> bool {
    steps.iter().any(|step| step.1 == plugin && step.2 == verdict)
}

fn stands<'a>(answer: &'a Value, plugin: &str) -> &'a str {
    let plugins = answer["plugins"].as_array().unwrap().iter();
    plugins.filter(|own| own["plugin"] == plugin).find_map(|own| own["stands"].as_str()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_reports_the_verdict_of_each_stage_for_each_plugin() {
    let host = Host::start("", "{ times = 2 }").await;
    host.objects.create("web").await;

    let (answer, steps) = host
        .explained("default/web", "delivered", |steps| {
            has(steps, "flaky", "delivered") && has(steps, "echo", "delivered")
        })
        .await;

    assert_eq!(
        of(&steps, "-"),
        [("reflector", "ADDED", "-"), ("indexer", "stored", "-"), ("listener", "notified", "add")]
    );
    assert_eq!(of(&steps, "picky"), [("filter", "suppressed", "labels")]);
    assert_eq!(of(&steps, "echo"), [("queue", "queued", "add"), ("dispatch", "delivered", "add")]);
    let failed = ("dispatch", "failed", "add");
    assert_eq!(
        of(&steps, "flaky"),
        [("queue", "queued", "add"), failed, failed, ("dispatch", "delivered", "add")]
    );
    let calls = answer["steps"].as_array().unwrap().iter().filter(|step| step["plugin"] == "flaky");
    let calls: Vec<(&Value, &Value)> =
        calls.skip(1).map(|step| (&step["attempt"], &step["failure"])).collect();
    let failure = |count: usize| Value::from(format!("handler: failure {count} for default/web"));
    assert_eq!(calls, [(&1.into(), &failure(1)), (&2.into(), &failure(2)), (&3.into(), &Value::Null)]);

    assert_eq!(answer["version"], answer["steps"][0]["version"]);
    assert_eq!(
        stands(&answer, "picky"),
        "not selected: its `labels` excludes the object in its present state; nothing is pending"
    );
    assert_eq!(stands(&answer, "echo"), "selected; nothing is pending");

    let text = host.explain(&[GVR, "default/web"]).await;
    let first = format!("{GVR} default/web: in the cache at version {}", answer["version"].as_str().unwrap());
    assert_eq!((text.status, text.stdout.lines().next()), (Some(0), Some(first.as_str())));
    for words in [
        "TIME ",
        "  suppressed  add (live) by `labels`\n",
        "  add (live), call 1 after ",
        ": handler: failure 1 for default/web; again in ",
    ] {
        assert!(text.stdout.contains(words), "{words} is not in:\n{}", text.stdout);
    }
    for name in ["cm", "ConfigMap", "configmaps.v1."] {
        let named = host.explain(&[name, "default/web"]).await;
        assert_eq!((named.status, named.stdout.lines().next()), (Some(0), Some(first.as_str())), "{name}");
    }
    let alone = host.explain(&[GVR, "default/web", "--plugin", "picky"]).await.stdout;
    assert!(alone.contains("picky") && !alone.contains("flaky") && !alone.contains("echo"), "{alone}");
    host.stop().await;
}

/// The watch is narrowed to the one namespace, so the object is in no cache.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_outside_the_namespaces_of_a_subscription_is_explained_by_that_condition() {
    let on = format!("[[plugin.on]]\nwatch = \"{GVR}\"\nnamespaces = [\"kube-system\"]\n");
    let host =
        Host::with("", &format!("[[plugin]]\nname = \"system\"\nsource = {:?}\n{on}", guest("echo"))).await;
    host.objects.create("web").await;

    let (answer, steps) = host.explained("default/web", "answered", |_| true).await;

    assert_eq!(
        stands(&answer, "system"),
        "not selected: its `namespaces` excludes the object in its present state; nothing is pending"
    );
    assert_eq!(answer["plugins"][0]["excluded-by"], "namespaces");
    assert!(steps.is_empty(), "{steps:?}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_reports_the_key_of_the_object_in_the_workqueue_of_a_plugin() {
    let (controller, other) = (guest("reconciles"), guest("enqueues"));
    let plugins = format!(
        "[[plugin]]\nname = \"controller\"\nsource = {controller:?}\nconfig = {{ times = 2 }}\n\
         workqueue = {{ min = \"50ms\", attempts = 2 }}\n[[plugin.on]]\nwatch = \"{GVR}\"\n\
         [[plugin]]\nname = \"other\"\nsource = {other:?}\n[[plugin.on]]\nwatch = \"v1/secrets\"\n"
    );
    let host = Host::with("", &plugins).await;
    host.objects.create("web").await;

    let (answer, steps) =
        host.explained("default/web", "given up", |steps| has(steps, "controller", "given-up")).await;

    let own = of(&steps, "controller").into_iter().filter(|(stage, ..)| *stage == "workqueue");
    let verdicts: Vec<&str> = own.map(|(_, verdict, _)| verdict).collect();
    assert_eq!(verdicts, ["added", "taken", "failed", "taken", "given-up"]);
    let failures = answer["steps"].as_array().unwrap().iter().filter(|step| step["stage"] == "workqueue");
    let failures: Vec<(&Value, &Value)> = failures
        .filter(|step| !step["failure"].is_null())
        .map(|step| (&step["attempt"], &step["failure"]))
        .collect();
    let failure = |count: usize| Value::from(format!("handler: failure {count} of default/web"));
    assert_eq!(failures, [(&1.into(), &failure(1)), (&2.into(), &failure(2))]);
    assert_eq!(
        stands(&answer, "controller"),
        "selected; nothing is pending; its key is a dead letter (2 calls): handler: failure 2 of default/web"
    );
    let text = host.explain(&[GVR, "default/web"]).await.stdout;
    for words in [
        "  workqueue  controller  added     the key waits for a worker\n",
        "  the key, for call 2, after ",
        ": handler: failure 1 of default/web; again in 50.0ms\n",
        ": handler: failure 2 of default/web; the key is a dead letter until it is reconciled\n",
    ] {
        assert!(text.contains(words), "{words} is not in:\n{text}");
    }
    // A plugin that has nothing to do with the resource means something else by the same key.
    let secrets = host.explain(&["v1/secrets", "default/web", "--output", "json"]).await.stdout;
    let secrets: Value = serde_json::from_str(&secrets).unwrap();
    assert_eq!((&secrets["steps"], &secrets["known"]), (&serde_json::json!([]), &Value::Bool(false)));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_reports_where_a_key_waits_and_whether_a_reconciler_handles_it() {
    let (fails, traps) = (guest("reconciles"), guest("trap_keys"));
    let plugins = format!(
        "[[plugin]]\nname = \"failing\"\nsource = {fails:?}\nconfig = {{ times = 2 }}\n\
         workqueue = {{ min = \"1h\" }}\n[[plugin.on]]\nwatch = \"{GVR}\"\n\
         [[plugin]]\nname = \"trapping\"\nsource = {traps:?}\n\
         quarantine = {{ after = 1, min = \"1h\", max = \"1h\" }}\n[[plugin.on]]\nwatch = \"{GVR}\"\n"
    );
    let host = Host::with("", &plugins).await;
    host.objects.create("web").await;

    let (answer, _) = host
        .explained("default/web", "tried", |steps| {
            has(steps, "failing", "failed") && has(steps, "trapping", "spared")
        })
        .await;

    let place = stands(&answer, "failing");
    assert!(
        place.starts_with("selected; its key is due in ") && place.ends_with(", after 1 failed call"),
        "{place}"
    );
    let place = stands(&answer, "trapping");
    let expected = "selected; its key waits for a worker; its reconciler is in quarantine for ";
    assert!(place.starts_with(expected), "{place}");
    let own = |plugin: usize| &answer["plugins"][plugin]["own-key"];
    assert_eq!((&own(0)["workqueue"]["place"], &own(0)["quarantine"]), (&"delayed".into(), &Value::Null));
    assert_eq!((&own(1)["workqueue"]["place"], own(1)["quarantine"].is_string()), (&"ready".into(), true));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_gone_is_still_explained() {
    let host = Host::start("", "{ times = 0 }").await;
    host.objects.create_labelled("web", "app").await;
    host.explained("default/web", "delivered", |steps| has(steps, "echo", "delivered")).await;

    host.objects.delete("web").await;

    let deleted = |steps: &[Step]| {
        steps.iter().any(|step| step.1 == "echo" && step.2 == "delivered" && step.3 == "delete")
    };
    let (answer, steps) = host.explained("default/web", "the delivered deletion", deleted).await;
    assert_eq!(
        of(&steps, "-")[3..],
        [("reflector", "DELETED", "-"), ("indexer", "removed", "-"), ("listener", "notified", "delete")]
    );
    assert_eq!(of(&steps, "picky"), [("filter", "suppressed", "labels"); 2]);
    assert_eq!((&answer["version"], answer["known"].as_bool()), (&Value::Null, Some(true)));
    assert_eq!(answer["cache"], "not in the cache of v1/configmaps");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_explains_its_object_even_without_recorded_steps() {
    let host = Host::start("trace = 0", "{ times = 9, how = \"permanent\" }").await;
    host.objects.create("web").await;

    let arguments = ["explain", GVR, "default/web", "--admin", &host.admin];
    let text =
        until("a dead letter", &arguments, |answer| answer.stdout.contains("dead letter")).await.stdout;

    assert!(text.contains("  flaky: selected; nothing is pending; dead letter of add (1 call): handler: failure 1 for default/web\n"), "{text}");
    assert!(text.ends_with("no steps are kept: [host] trace = 0 switches them off\n"), "{text}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_name_is_reported_with_a_suggestion() {
    let host = Host::start("", "{ times = 0 }").await;
    host.objects.create("web").await;
    host.explained("default/web", "delivered", |steps| has(steps, "echo", "delivered")).await;

    let unknown = host.explain(&[GVR, "web"]).await;
    let expected = "v1/configmaps web: not in the cache of v1/configmaps; did you mean `default/web`?\n";
    assert_eq!(unknown.status, Some(1));
    assert!(unknown.stdout.starts_with(expected), "{}", unknown.stdout);
    assert!(unknown.stdout.ends_with("\nno stage has seen it lately\n"), "{}", unknown.stdout);

    for (arguments, expected) in [
        (
            ["po", "default/web", "--plugin", "echo"],
            "`po` is not watched for any plugin; watched are `v1/configmaps`",
        ),
        (
            ["apps/v1/deployments", "default/web", "--plugin", "echo"],
            "`apps/v1/deployments` is not watched for any plugin; watched are `v1/configmaps`",
        ),
        ([GVR, "default/web", "--plugin", "ecco"], "there is no plugin `ecco`; did you mean `echo`?"),
    ] {
        let refused = host.explain(&arguments).await;
        let words = format!("informer: the host at {} refuses: {expected}\n", host.admin);
        assert_eq!((refused.status, refused.stderr), (Some(1), words));
    }
    let misused = host.explain(&[GVR, "a/b/c"]).await;
    assert_eq!(misused.status, Some(2));
    assert!(misused.stderr.contains("`a/b/c` is not the key of an object"), "{}", misused.stderr);
    host.stop().await;
}
