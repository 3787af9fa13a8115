//! `informer test`: stories that pass, that fail, and that cannot be played.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt, path::PathBuf};

use informer_guests::{disruption_budgets, guest};
use informer_tests::toml::{plugin, watch};
use tempfile::TempDir;

use super::binary::{Finished, informer, informer_with};

/// A folder with a configuration and stories.
struct Folder(TempDir);

// === impl Folder ===

impl Folder {
    /// A plugin with this component, which receives ConfigMaps. `rest` has further tables of the plugin.
    async fn with(component: &'static str, rest: &str) -> Self {
        let component = tokio::task::spawn_blocking(move || guest(component)).await.unwrap();
        let folder = Self(tempfile::tempdir().unwrap());
        let toml = watch("v1/configmaps") + &plugin("it", &component, "v1/configmaps", rest);
        fs::write(folder.0.path().join("informer.toml"), toml).unwrap();
        folder
    }

    fn write(&self, name: &str, story: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, story).unwrap();
        path
    }

    /// Plays a story.
    async fn play(&self, story: &str, format: &str) -> Finished {
        let path = self.write("it.test.yaml", story);
        informer(&["test", path.to_str().unwrap(), "--format", format]).await
    }

    async fn passes(&self, story: &str) {
        let played = self.play(story, "text").await;
        assert_eq!((played.status, played.stderr.as_str()), (Some(0), ""), "{}", played.stdout);
    }
}

const ADD: &str = concat!(
    "  - name: settings are added\n",
    "    add: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}\n",
);

#[tokio::test]
async fn a_story_sees_each_call_with_its_cause_and_the_lines_of_the_plugin() {
    let folder = Folder::with("echo", "resync = \"10m\"").await;

    folder
        .passes(
            r#"
settings:
  config: {greeting: hello}
objects:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: old}}
start:
  calls: ["on-add v1/configmaps default/old (initial)"]
  log: ['start {"greeting":"hello"}', "add default/old * initial 1 1"]
steps:
  - add: {apiVersion: v1, kind: ConfigMap, metadata: {name: new, namespace: shop}}
    expect:
      calls: ["on-add v1/configmaps shop/new (live)"]
      log: [{line: "add shop/new *", level: info}]
  - update: {apiVersion: v1, kind: ConfigMap, metadata: {name: new, namespace: shop}, data: {a: b}}
    expect:
      calls: ["on-update v1/configmaps shop/new (live)"]
      objects:
        - {apiVersion: v1, kind: ConfigMap, metadata: {name: new, namespace: shop}, data: {a: b}}
  - delete: v1/configmaps shop/new
    expect:
      calls: ["on-delete v1/configmaps shop/new"]
      gone: [v1/configmaps shop/new]
  - pass: 9m
    expect: {calls: []}
  - pass: 2m
    expect:
      calls: ["on-update v1/configmaps default/old (resync)"]
  - resync: v1/configmaps
    expect:
      calls: ["on-update v1/configmaps default/old (resync)"]
  - restart: true
    expect:
      calls: ["on-add v1/configmaps default/old (initial)"]
      log: [stop, 'start {"greeting":"hello"}', "add default/old *"]
  - reload: {config: {greeting: bye}}
    expect:
      log: ["*bye*", "stop*"]
"#,
        )
        .await;
}

/// A cache has no order, and each resource has a watch of its own.
#[tokio::test]
async fn the_order_of_calls_is_the_same_in_each_run() {
    let folder = Folder::with(
        "echo",
        "resync = \"10m\"\n[[plugin.on]]\nwatch = \"v1/services\"\n[[watch]]\ngvr = \"v1/services\"",
    )
    .await;
    let object = |kind: &str, name: &str| {
        format!("  - {{apiVersion: v1, kind: {kind}, metadata: {{name: {name}}}}}\n")
    };
    let names = ["f", "b", "h", "d", "a", "g", "c", "e"];
    let objects = names.map(|name| object("Service", name) + &object("ConfigMap", name)).concat();
    let mut sorted = names;
    sorted.sort_unstable();
    let calls = |verb: &str, plural: &str, cause: &str| {
        sorted.map(|name| format!("      - {verb} v1/{plural} default/{name} ({cause})\n")).concat()
    };
    let initial = calls("on-add", "configmaps", "initial") + &calls("on-add", "services", "initial");
    let resynced = calls("on-update", "configmaps", "resync");
    let added = [("Service", "z"), ("ConfigMap", "v"), ("Service", "x"), ("ConfigMap", "w")];
    let added = added.map(|(kind, name)| format!("    {}", object(kind, name))).concat();

    folder
        .passes(&format!(
            "
objects:
{objects}
steps:
  - restart: true
    expect:
      calls:
{initial}
  - resync: v1/configmaps
    expect:
      calls:
{resynced}
  - name: several objects of several resources
    add:
{added}
    expect:
      calls:
        - on-add v1/services default/z (live)
        - on-add v1/configmaps default/v (live)
        - on-add v1/services default/x (live)
        - on-add v1/configmaps default/w (live)
  - name: changes of one object in one step are one call
    update:
      - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: v}}, data: {{a: '1'}}}}
      - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: v}}, data: {{a: '2'}}}}
    expect:
      calls: [on-update v1/configmaps default/v (live)]
"
        ))
        .await;
}

#[tokio::test]
async fn a_failed_call_for_several_notifications_is_a_failure_of_the_step() {
    let folder = Folder::with("batches", "[plugin.config]\noutcomes = { two = \"trap\" }").await;
    let object = |name: &str| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}");

    folder
        .passes(&format!(
            "steps:
  - add: [{}, {}]
    expect:
      calls:
        - on-add v1/configmaps default/one (live)
        - on-add v1/configmaps default/two (live)
      failures:
        - 'batch: trap: 2 notifications, *'
        - 'on-add v1/configmaps default/two (live): trap: *'
",
            object("one"),
            object("two")
        ))
        .await;
}

#[tokio::test]
async fn a_namespace_is_emptied_in_the_step_that_deletes_it() {
    let folder = Folder::with("echo", "").await;

    folder
        .passes(
            r#"
objects:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}
steps:
  - delete: v1/namespaces shop
    expect:
      calls: [on-delete v1/configmaps shop/a]
      gone: [v1/namespaces shop, v1/configmaps shop/a]
"#,
        )
        .await;
}

#[tokio::test]
async fn an_object_that_cannot_exist_is_not_gone() {
    let folder = Folder::with("echo", "").await;
    for gone in ["v1/configmap default/a", "v1/configmaps a"] {
        let played = folder.play(&format!("steps:\n{ADD}    expect: {{gone: [{gone}]}}\n"), "text").await;

        let what = gone.replace(' ', " with a key like ");
        let said = format!("gone: the API server of the test has no resource {what}");
        assert_eq!(played.status, Some(1), "{}", played.stdout);
        assert!(played.stdout.contains(&said), "{said} is not in\n{}", played.stdout);
    }
}

/// A component in Python compiles for seconds.
#[tokio::test]
async fn a_component_is_compiled_for_the_first_of_its_stories_only() {
    let folder = Folder::with("echo", "").await;
    let path = |name: &str| folder.0.path().join(name);
    let host = format!("[host]\ncache-dir = {:?}\nstate-dir = {:?}\n", path("code"), path("state"));
    let plugins = fs::read_to_string(path("informer.toml")).unwrap();
    fs::write(path("informer.toml"), host + &plugins).unwrap();
    let story = format!("steps:\n{ADD}    expect: {{log: ['add default/settings *']}}\n");
    let compiled = || -> BTreeSet<(PathBuf, u64)> {
        let entries = fs::read_dir(path("code")).unwrap().map(|entry| entry.unwrap());
        entries.map(|entry| (entry.path(), entry.metadata().unwrap().ino())).collect()
    };

    folder.passes(&story).await;
    let first = compiled();
    folder.passes(&story).await;

    assert!(!first.is_empty());
    assert_eq!(compiled(), first, "new code is a new file");
}

#[tokio::test]
async fn retries_wait_for_the_time_of_the_story_and_not_for_real_time() {
    let folder =
        Folder::with("flaky", "[plugin.retry]\nmin = \"10m\"\nmax = \"10m\"\n[plugin.config]\ntimes = 1")
            .await;

    let story = format!(
        "steps:\n{ADD}    expect:
      failures: ['on-add v1/configmaps default/settings (live): retry: failure 1 for default/settings']
  - pass: 5m
    expect: {{calls: []}}
  - pass: 10m
    expect:
      calls: ['on-add v1/configmaps default/settings (live, attempt 2)']
"
    );
    folder.passes(&story).await;
}

#[tokio::test]
async fn a_handler_is_called_again_for_an_object_after_the_requested_time() {
    let folder = Folder::with("signals", "").await;

    let again = |name: &str, data: &str| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {data}}}")
    };
    let (asks, changed) = (again("a", "{again: '60000'}"), again("a", "{again: '60000', more: x}"));
    let (fails, quiet) = (again("a", "{again: '60000', fail: why}"), again("b", "{again: '1000'}"));
    let story = format!(
        "steps:
  - add: {asks}
    expect: {{calls: ['on-add v1/configmaps default/a (live, again after 60s)']}}
  - pass: 59s
    expect: {{calls: []}}
  - pass: 1s
    expect: {{calls: ['on-update v1/configmaps default/a (resync, again after 60s)']}}
  - pass: 30s
  - name: a change ends the wait and begins another one
    update: {changed}
    expect: {{calls: ['on-update v1/configmaps default/a (live, again after 60s)']}}
  - pass: 59s
    expect: {{calls: []}}
  - pass: 1s
    expect: {{calls: ['on-update v1/configmaps default/a (resync, again after 60s)']}}
  - name: a call that fails asks for nothing
    update: {fails}
    expect:
      calls: ['on-update v1/configmaps default/a (live)']
      failures: ['on-update v1/configmaps default/a (live): permanent: why']
  - pass: 1h
    expect: {{calls: []}}
  - add: {quiet}
    expect: {{calls: ['on-add v1/configmaps default/b (live, again after 1s)']}}
  - name: an object that is gone is not delivered
    delete: v1/configmaps default/b
    expect: {{calls: ['on-delete v1/configmaps default/b (again after 1s)']}}
  - pass: 1h
    expect: {{calls: []}}
"
    );
    folder.passes(&story).await;
}

/// The calls begin once all objects that are due at the same moment are in the queue.
#[tokio::test]
async fn objects_that_are_called_for_again_at_the_same_time_come_in_the_order_of_their_names() {
    let folder = Folder::with("signals", "").await;
    let object = |name: &str| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{again: '60000'}}}}")
    };

    folder
        .passes(&format!(
            "steps:
  - add: [{}, {}]
  - pass: 1m
    expect:
      calls:
        - on-update v1/configmaps default/a (resync, again after 60s)
        - on-update v1/configmaps default/z (resync, again after 60s)
",
            object("z"),
            object("a")
        ))
        .await;
}

#[tokio::test]
async fn an_object_is_quiet_after_the_time_of_the_story() {
    let folder = Folder::with("echo", "settle = \"1m\"").await;

    let story = format!(
        "steps:\n{ADD}    expect: {{calls: []}}
  - update: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings}}, data: {{a: c}}}}
    expect: {{calls: []}}
  - pass: 59s
    expect: {{calls: []}}
  - pass: 1s
    expect:
      calls: ['on-add v1/configmaps default/settings (live)']
  - delete: v1/configmaps default/settings
    expect:
      calls: ['on-delete v1/configmaps default/settings']
"
    );
    folder.passes(&story).await;
}

#[tokio::test]
async fn an_expectation_that_fails_shows_the_place_and_the_difference_in_each_format() {
    let folder = Folder::with("echo", "").await;
    let story = format!(
        "steps:\n{ADD}    expect:\n      log: ['start*', 'add default/other*']\n      keyvalue: {{b: {{k: v}}}}\n"
    );

    let text = folder.play(&story, "text").await;
    assert_eq!((text.status, text.stderr.as_str()), (Some(1), ""));
    for part in [
        "ok      the plugin starts",
        "FAILED  settings are added",
        "it.test.yaml:5: log: - is expected, + happened",
        "  - start*\n",
        "  - add default/other*\n",
        "  + add default/settings",
        "it.test.yaml:6: keyvalue: bucket `b` has {}, not {\"k\": \"v\"}",
        "1 of 2 steps failed (stories: 1)",
    ] {
        assert!(text.stdout.contains(part), "{part} is not in\n{}", text.stdout);
    }

    let tap = folder.play(&story, "tap").await;
    assert_eq!(tap.status, Some(1));
    assert_eq!(tap_results(&tap.stdout), [true, false]);

    let junit = folder.play(&story, "junit").await;
    assert_eq!(junit.status, Some(1));
    assert_eq!(elements(&junit.stdout), ["testsuites", "testsuite", "testcase", "testcase", "failure"]);
}

/// Reads TAP: the plan, then one result for each number of the plan.
fn tap_results(text: &str) -> Vec<bool> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("TAP version 14"));
    let planned: usize = lines.next().unwrap().strip_prefix("1..").unwrap().parse().unwrap();
    let results = lines.filter(|line| !line.starts_with(' ')).enumerate().map(|(at, line)| {
        let (ok, rest) = match line.strip_prefix("not ok ") {
            Some(rest) => (false, rest),
            None => (true, line.strip_prefix("ok ").unwrap()),
        };
        assert!(rest.starts_with(&format!("{} - ", at + 1)), "{line}");
        ok
    });
    let results: Vec<bool> = results.collect();
    assert_eq!(results.len(), planned, "{text}");
    results
}

/// Reads XML: the names of the elements, in order. Each is closed.
fn elements(text: &str) -> Vec<String> {
    let (mut open, mut names) = (Vec::new(), Vec::new());
    let text = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").unwrap();
    for tag in text.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap();
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap().to_owned();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{text}");
            continue;
        }
        names.push(name.clone());
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{text}");
    names
}

#[tokio::test]
async fn a_trap_and_a_missed_deadline_fail_the_step_that_does_not_expect_them() {
    let traps = Folder::with("trap", "").await;
    let played = traps.play(&format!("steps:\n{ADD}"), "text").await;
    assert_eq!(played.status, Some(1), "{}", played.stdout);
    assert!(
        played.stdout.contains("the plugin failed: on-add v1/configmaps default/settings (live): trap: "),
        "{}",
        played.stdout
    );
    // What the panic printed helps.
    assert!(played.stdout.contains("no way: default/settings"), "{}", played.stdout);
    traps
        .passes(&format!(
            "steps:\n{ADD}    expect:\n      failures: ['on-add * default/settings (live): trap: *']\n"
        ))
        .await;

    let slow =
        Folder::with("slow", "[plugin.limits]\ndeadline = \"100ms\"\n[plugin.config]\nmillis = 60000").await;
    slow.passes(&format!("steps:\n{ADD}    expect:\n      failures: ['*: deadline: *']\n")).await;
}

#[tokio::test]
async fn a_story_expects_writes_and_answers_in_place_of_the_api_server() {
    let config = "[plugin.grant]\nread = []\nwrite = [\"patch v1/configmaps\"]\n[plugin.config]\nsteps = [{ do = \"merge\", \
                  body = { data = { seen = \"yes\" } } }]";
    let folder = Folder::with("writer", config).await;

    let story = format!(
        "steps:\n{ADD}    expect:
      writes:
        - {{request: patch v1/configmaps default/settings, body: {{data: {{seen: yes}}}}}}
      log: ['merge ok*']
      objects:
        - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings}}, data: {{a: b, seen: 'yes'}}}}
"
    );
    folder.passes(&story.replace("{seen: yes}", "{seen: 'yes'}")).await;

    let conflict = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","message":"changed","code":409}"#;
    let story = format!(
        "api:\n  - request: patch v1/configmaps *\n    status: 409\n    times: 1\n    body: '{conflict}'\nsteps:\n{ADD}    expect:
      writes: [patch v1/configmaps default/settings (409)]
      log: ['merge error *changed*']
"
    );
    folder.passes(&story).await;
}

#[tokio::test]
async fn http_requests_are_answered_from_the_story_and_compared() {
    let config = "[plugin.grant]\nhttp = [\"GET https://example.com\", \"POST https://example.com\"]\n\
                  [plugin.config]\nrequests = [{ scheme = \"https\", authority = \"example.com\", path = \"/a?b=c\", \
                  headers = [[\"x-team\", \"a\"]] }, { method = \"POST\", scheme = \"https\", authority = \
                  \"example.com\", path = \"/nowhere\", send_bytes = 3 }]";
    let folder = Folder::with("fetch", config).await;

    let story = format!(
        "http:\n  - request: GET https://example.com/a*\n    status: 418\n    json: {{tea: true}}\nsteps:\n{ADD}    expect:
      http:
        - {{request: 'GET https://example.com/a?b=c', headers: {{x-team: a}}}}
        - {{request: 'POST https://example.com/nowhere (no answer)', body: xxx}}
      log: ['418 {{\"tea\":true}}', '*']
"
    );
    folder.passes(&story).await;
}

#[tokio::test]
async fn key_values_and_the_clock_come_from_the_story_and_outlive_a_restart() {
    let config = "[plugin.grant]\nkeyvalue = \"1MiB\"\n[plugin.config]\nbucket = \"b\"\nsteps = [{ increment = \
                  [\"n\", 1] }]";
    let folder = Folder::with("keeper", config).await;
    let story = format!(
        "keyvalue: {{b: {{n: '41'}}}}\nsteps:\n{ADD}    expect:\n      log: ['42']\n      keyvalue: {{b: {{n: '42'}}}}
  - restart: true
    expect: {{log: ['43']}}
"
    );
    folder.passes(&story).await;

    // The guest refuses to start before 2020.
    let config = "[plugin.config]\nmood = \"well\"\nfails_until = 1577836800000";
    let folder = Folder::with("moody", config).await;
    folder.passes("clock: 2020-01-01T00:00:01Z\nstart: {log: ['started 0']}\n").await;
    let early = folder.play("clock: 2019-12-31T23:59:59Z\nsteps: [{pass: 1s}]\n", "tap").await;
    assert_eq!(early.status, Some(1));
    assert!(early.stdout.contains("away"), "{}", early.stdout);
    assert!(early.stdout.contains("ok 2 - ") && early.stdout.contains("# SKIP the plugin did not start"));
}

#[tokio::test]
async fn a_reconciler_gets_keys_of_objects_and_of_the_story() {
    let folder = Folder::with("reconciles", "[plugin.config]\ntimes = 1\nhow = \"requeue-after\"").await;

    let story = format!(
        "steps:\n{ADD}    expect:\n      calls: [reconcile default/settings (requeue after 1.5s)]
  - key: shop/other
    expect: {{calls: [reconcile shop/other (requeue after 1.5s)]}}
  - pass: 1s
    expect: {{calls: []}}
  - pass: 1s
    expect: {{log: ['reconcile default/settings attempt 1', 'reconcile shop/other attempt 1']}}
"
    );
    folder.passes(&story).await;
}

/// The example plays its own story with its own configuration, except for the path of the component.
#[tokio::test]
async fn the_reconciler_of_disruption_budgets_plays_its_story() {
    let component = tokio::task::spawn_blocking(disruption_budgets).await.unwrap();
    let read = |name: &str| fs::read_to_string(format!("../examples/disruption-budgets/{name}")).unwrap();
    let source = "\"disruption-budgets.wasm\"";
    let toml = read("informer.toml");
    assert!(toml.contains(source), "{toml}");
    let folder = Folder(tempfile::tempdir().unwrap());
    folder.write("informer.toml", &toml.replace(source, &format!("{component:?}")));

    folder.passes(&read("disruption-budgets.test.yaml")).await;
}

#[tokio::test]
async fn a_story_that_cannot_be_played_says_where_and_what_would_be_right() {
    let folder = Folder::with("echo", "").await;
    let add = "add: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}";
    for (story, said) in [
        ("stepz: []\n".to_owned(), "it.test.yaml:1: unknown field `stepz`"),
        (
            format!("steps:\n  - {add}\n    pass: 1s\n"),
            "it.test.yaml:2: a step has one action, and this one has 2",
        ),
        ("steps:\n  - name: x\n".to_owned(), "write one of `add`, `update`"),
        ("steps:\n  - add: {kind: ConfigMap}\n".to_owned(), "it.test.yaml:2: the object has no `apiVersion`"),
        ("steps:\n  - delete: settings\n".to_owned(), "like `apps/v1/deployments default/web`"),
        ("steps:\n  - pass: soon\n".to_owned(), "it.test.yaml:2: `soon` is no duration: write `30s`"),
        ("clock: noon\n".to_owned(), "it.test.yaml:1: `noon` is no time"),
        ("plugin: that\n".to_owned(), "informer.toml has no plugin `that`; it has it"),
        ("config: no.toml\n".to_owned(), "no.toml"),
        ("\nsettings: {quux: 1}\n".to_owned(), "it.test.yaml:2: with these settings of the plugin: "),
        ("settings: {source: none.wasm}\n".to_owned(), "none.wasm: build it first"),
        ("start:\n  log: [{lines: a}]\n".to_owned(), "`lines` is no key of an entry of `log`; it has `line`"),
        (
            "objects:\n  - {apiVersion: a.b/v1, kind: C, metadata: {name: d}}\n".to_owned(),
            "add its CustomResourceDefinition",
        ),
    ] {
        let played = folder.play(&story, "text").await;
        assert_eq!((played.status, played.stdout.as_str()), (Some(2), ""), "{story}");
        assert!(played.stderr.contains(said), "{said} is not in\n{}", played.stderr);
    }

    let empty = tempfile::tempdir().unwrap();
    let none = informer(&["test", empty.path().to_str().unwrap()]).await;
    assert_eq!(none.status, Some(2));
    assert!(none.stderr.contains("has no story: write one to NAME.test.yaml"), "{}", none.stderr);
}

#[tokio::test]
async fn an_option_that_would_change_nothing_is_refused() {
    let folder = Folder::with("echo", "").await;
    let (story, config) =
        (folder.write("it.test.yaml", "steps: []\n"), folder.0.path().join("informer.toml"));
    let (story, config) = (story.to_str().unwrap(), config.to_str().unwrap());
    for (options, said) in [
        (["--config", config], "--config names the host of --record"),
        (["--admin", "127.0.0.1:8080"], "--admin names the host of --record"),
        (["--output", "json"], "choose the form by --format text, tap or junit"),
        (["--calls", "5"], "cannot be used with"),
    ] {
        let refused = informer(&[["test", story], options].concat()).await;

        assert_eq!((refused.status, refused.stdout.as_str()), (Some(2), ""), "{options:?}");
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    // The variable is for all commands.
    let played = informer_with(&["test", story], [("INFORMER_CONFIG", config.into())]).await;
    assert_eq!(played.status, Some(0), "{}{}", played.stdout, played.stderr);
}
