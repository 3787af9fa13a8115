//! The command `informer check`.

use std::{fs, path::PathBuf};

use informer_devserver::DevServer;
use informer_guests::{guest, guest_with};
use informer_tests::toml;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::binary::informer;

fn file(content: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    fs::write(&path, content).unwrap();
    (directory, path)
}

/// A configuration with one watch and one plugin with this component.
fn configuration(server: &str, gvr: &str, component: &str) -> String {
    let source = guest(component);
    format!(
        "[cluster]\nserver = \"{server}\"\n[[watch]]\ngvr = \"{gvr}\"\n\
         [[plugin]]\nname = \"some\"\nsource = {source:?}\n[[plugin.on]]\nwatch = \"{gvr}\"\n"
    )
}

const CLOSED_PORT: &str = "http://127.0.0.1:1";

const MISTAKES: &str = "\
[[watch]]
gvr = \"v1/configmaps\"

[[plugin]]
name = \"some\"
sorce = \"some.wasm\"

[[plugin.on]]
  watch = \"v1/configmapps\"
";

#[tokio::test]
async fn every_problem_of_a_file_is_reported_with_line_and_column() {
    let (_directory, path) = file(MISTAKES);
    let path = path.to_str().unwrap();

    let checked = informer(&["check", "--config", path]).await;

    assert_eq!(checked.status, Some(1), "{}", checked.stderr);
    let problem = |place: &str, words: &[&str]| {
        let found = checked.stdout.lines().find(|line| line.starts_with(&format!("{path}:{place}: ")));
        let found = found.unwrap_or_else(|| panic!("nothing at {place}:\n{}", checked.stdout));
        assert!(words.iter().all(|word| found.contains(word)), "{found}");
    };
    problem("6:1", &["sorce", "source"]);
    problem("9:11", &["v1/configmapps", "v1/configmaps"]);
    assert!(checked.stdout.trim_end().ends_with(&format!("problems in {path}")), "{}", checked.stdout);
}

#[tokio::test]
async fn the_json_output_is_one_object_with_every_problem() {
    let (_directory, path) = file(MISTAKES);

    let checked = informer(&["check", "--output", "json", "--config", path.to_str().unwrap()]).await;

    assert_eq!(checked.status, Some(1), "{}", checked.stderr);
    let answer: Value = serde_json::from_str(&checked.stdout).unwrap();
    let problems = answer["problems"].as_array().unwrap();
    assert!(problems.iter().any(|problem| problem["line"] == 6 && problem["column"] == 1), "{answer:#}");
}

#[tokio::test]
async fn a_valid_file_is_reported_as_valid_without_a_cluster() {
    let (_directory, path) = file(&configuration(CLOSED_PORT, "v1/configmaps", "echo"));
    let path = path.to_str().unwrap();

    let checked = informer(&["check", "--config", path]).await;

    assert_eq!((checked.status, checked.stdout), (Some(0), format!("{path}: no problems\n")));
}

#[tokio::test]
async fn a_missing_component_is_reported_unless_only_the_file_is_checked() {
    let missing = configuration(CLOSED_PORT, "v1/configmaps", "echo").replace("echo.wasm", "nothing.wasm");
    let (_directory, path) = file(&missing);
    let path = path.to_str().unwrap();

    let checked = informer(&["check", "--config", path]).await;
    assert_eq!(checked.status, Some(1), "{}", checked.stderr);
    assert!(checked.stdout.contains("nothing.wasm"), "{}", checked.stdout);

    let checked = informer(&["check", "--file-only", "--config", path]).await;
    assert_eq!((checked.status, checked.stdout), (Some(0), format!("{path}: no problems\n")));
}

#[tokio::test]
async fn a_component_that_needs_more_than_its_grants_is_reported_before_it_runs() {
    let (_directory, path) = file(&configuration(CLOSED_PORT, "v1/configmaps", "reader"));

    let checked = informer(&["check", "--config", path.to_str().unwrap()]).await;

    let problem = "the component imports informer:plugin/lister@0.2.0, which is not granted: \
                   add `read = [\"v1/configmaps\"]` under [plugin.grant]";
    assert_eq!(checked.status, Some(1), "{}", checked.stderr);
    assert_eq!(checked.stdout, format!("plugin some: {problem}\n"));
    let checked = informer(&["check", "--output", "json", "--config", path.to_str().unwrap()]).await;
    let answer: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!(answer["problems"], json!([{"plugin": "some", "message": problem}]));
}

/// Such a component compiles, and has all that a plugin imports and exports.
#[tokio::test]
async fn a_component_that_traps_before_it_has_described_itself_is_reported() {
    let whole = include_str!("broken.wat");
    for (start, problem) in [
        (
            "(start $broken)",
            "the component cannot be instantiated: wasm trap: wasm `unreachable` instruction executed",
        ),
        ("", "the call of describe failed: wasm trap: wasm `unreachable` instruction executed"),
    ] {
        let (directory, path) = file(&configuration(CLOSED_PORT, "v1/configmaps", "echo"));
        let source = directory.path().join("broken.wasm");
        fs::write(&source, wat::parse_str(whole.replace("START", start)).unwrap()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let echo = format!("{:?}", guest("echo"));
        fs::write(&path, text.replace(&echo, &format!("{source:?}"))).unwrap();

        let checked = informer(&["check", "--config", path.to_str().unwrap()]).await;

        assert_eq!(checked.status, Some(1), "{}", checked.stderr);
        assert!(checked.stdout.starts_with(&format!("plugin some: {problem}")), "{}", checked.stdout);
    }
}

#[tokio::test]
async fn a_timer_of_a_component_that_handles_none_is_reported() {
    let timer = "[[plugin.timer]]\nname = \"pulse\"\nevery = \"1s\"\n";
    let (_directory, path) = file(&(configuration(CLOSED_PORT, "v1/configmaps", "echo") + timer));

    let checked = informer(&["check", "--config", path.to_str().unwrap()]).await;

    let problem = "plugin some: the timer `pulse` calls nothing, because the component does not export `timer-handler`: remove \
                   [[plugin.timer]], or export `timer-handler` (world `controller-with-signals` of wit/)\n";
    assert_eq!((checked.status, checked.stdout.as_str()), (Some(1), problem));
    let (_directory, path) = file(&(configuration(CLOSED_PORT, "v1/configmaps", "signals") + timer));
    let checked = informer(&["check", "--config", path.to_str().unwrap()]).await;
    assert_eq!(checked.status, Some(0), "{}", checked.stdout);
}

#[tokio::test]
async fn a_resource_that_the_cluster_does_not_serve_is_reported_before_it_is_watched() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let (_directory, wrong) = file(&configuration(&server.url(), "apps/v1/deploymentz", "echo"));
    let (_other, right) = file(&configuration(&server.url(), "apps/v1/deployments", "echo"));

    let checked = informer(&["check", "--cluster", "--config", wrong.to_str().unwrap()]).await;
    assert_eq!(checked.status, Some(1), "{}", checked.stderr);
    assert!(
        checked.stdout.starts_with(
            "watch apps/v1/deploymentz: apps/v1 has no resource `deploymentz`; did you mean `deployments`"
        ),
        "{}",
        checked.stdout
    );

    let checked = informer(&["check", "--cluster", "--config", right.to_str().unwrap()]).await;
    assert_eq!(checked.status, Some(0), "{}{}", checked.stdout, checked.stderr);
}

#[tokio::test]
async fn a_cluster_that_is_down_is_reported_at_once() {
    let (_directory, path) = file(&configuration(CLOSED_PORT, "v1/configmaps", "echo"));

    let checked = informer(&["check", "--cluster", "--config", path.to_str().unwrap()]).await;

    assert_eq!(checked.status, Some(1), "{}", checked.stderr);
    assert_eq!(
        checked.stdout,
        format!(
            "watch v1/configmaps: cannot look up v1/configmaps: the API server at {CLOSED_PORT} \
             cannot be reached: Connection refused (os error 111) (GET /api/v1); is it running?\n"
        )
    );
}

#[tokio::test]
async fn a_watch_whose_name_is_nearly_that_of_a_built_in_resource_leads_to_a_question() {
    // The last one is a resource of Kubernetes that the built-in API server does not serve, and its name is similar to `ingresses`.
    let watches = ["apps/v1/deploymets", "example.com/v1/deploymets", "networking.k8s.io/v1/ipaddresses"];
    let (_directory, path) = file(&watches.map(toml::watch).concat());
    let path = path.to_str().unwrap();

    let checked = informer(&["check", "--file-only", "--config", path]).await;

    let question =
        "watch apps/v1/deploymets: no built-in resource has this name; did you mean `apps/v1/deployments`?";
    assert_eq!((checked.status, checked.stdout), (Some(0), format!("{path}: no problems\n{question}\n")));
}

#[tokio::test]
async fn the_selector_that_all_subscriptions_share_is_reported() {
    let text = configuration(CLOSED_PORT, "v1/configmaps", "echo") + "labels = \"app=web\"\n";
    let (_directory, path) = file(&text);
    let path = path.to_str().unwrap();

    let checked = informer(&["check", "--config", path]).await;
    let narrowed = "watch v1/configmaps: narrowed to labels app in (web), which every subscription needs";
    assert_eq!(checked.stdout, format!("{path}: no problems\n{narrowed}\n"), "{}", checked.stderr);

    let checked = informer(&["check", "--config", path, "--output", "json"]).await;
    let answer: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!(answer["narrowed"], json!([{"watch": "v1/configmaps", "added": "labels app in (web)"}]));
}

#[tokio::test]
async fn a_pattern_is_explained_and_with_a_cluster_listed() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let settings = "metadata-only = true\nexclude = [\"apps/v1/replicasets\", \"apps/v1/controllerrevisions\"]\n[[plugin]]";
    let text = configuration(&server.url(), "apps/*/*", "echo").replacen("[[plugin]]", settings, 1);
    let (_directory, path) = file(&text);
    let path = path.to_str().unwrap();

    let offline = informer(&["check", "--config", path]).await;
    let meaning = "watch apps/*/*: each resource that the API server serves in the group apps except apps/v1/replicasets, \
                   apps/v1/controllerrevisions; `informer check --cluster` lists them";
    assert_eq!(offline.stdout, format!("{path}: no problems\n{meaning}\n"), "{}", offline.stderr);

    let online = informer(&["check", "--cluster", "--config", path, "--output", "json"]).await;
    let answer: Value = serde_json::from_str(&online.stdout).unwrap();
    let listed = "3 resources: apps/v1/daemonsets, apps/v1/deployments, apps/v1/statefulsets";
    assert_eq!(answer["patterns"], json!([{"watch": "apps/*/*", "stands-for": listed}]));
    assert_eq!((&answer["problems"], online.status), (&json!([]), Some(0)));
}

#[tokio::test]
async fn what_a_component_declares_to_read_is_shown_and_compared_with_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let (component, configuration) =
        (directory.path().join("echo.wasm"), directory.path().join("informer.toml"));
    // As `informer build` writes it.
    fs::write(&component, guest_with("echo", "informer:reads", r#"{"v1/configmaps": ["/data"]}"#)).unwrap();
    let check = async |reads: &str| {
        let plugin = "[[watch]]\ngvr = \"v1/configmaps\"\n[[plugin]]\nname = \"echo\"\nsource = \"echo.wasm\"\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n";
        fs::write(&configuration, format!("{plugin}{reads}")).unwrap();
        informer(&["check", "--config", configuration.to_str().unwrap()]).await
    };

    let inspected = informer(&["inspect", component.to_str().unwrap()]).await;
    assert!(inspected.stdout.contains("\nreads of v1/configmaps: /data\n"), "{}", inspected.stdout);
    let nothing = check("").await;
    let line = "watch v1/configmaps: keeps /data, which is all that its plugins read";
    assert!(nothing.status == Some(0) && nothing.stdout.contains(line), "{}", nothing.stdout);
    let other = check("reads = [\"/metadata/annotations\"]\n").await;
    let line =
        "plugin echo: the component reads \"/data\" of v1/configmaps: add it to `reads` under [[plugin.on]]";
    assert!(other.status == Some(1) && other.stdout.contains(line), "{}", other.stdout);
    let all = check("reads = \"all\"\n").await;
    assert!(all.status == Some(0) && !all.stdout.contains("keeps /data"), "{}", all.stdout);
    let same = check("reads = [\"/data\"]\n").await;
    assert!(same.status == Some(0) && !same.stdout.contains("plugin echo"), "{}", same.stdout);
}

#[tokio::test]
async fn a_component_whose_instances_grow_is_shown_with_the_line_that_limits_them() {
    let directory = tempfile::tempdir().unwrap();
    let configuration = directory.path().join("informer.toml");
    // The name stands in the engine of each such component.
    fs::write(directory.path().join("echo.wasm"), guest_with("echo", "engine", "StarlingMonkey")).unwrap();
    let check = async |limit: &str| {
        let watch = "[[watch]]\ngvr = \"v1/configmaps\"\n";
        let plugin = format!("[[plugin]]\nname = \"echo\"\nsource = \"echo.wasm\"\n{limit}");
        let on = "[[plugin.on]]\nwatch = \"v1/configmaps\"\n";
        fs::write(&configuration, format!("{watch}{plugin}{on}")).unwrap();
        informer(&["check", "--config", configuration.to_str().unwrap(), "--output", "json"]).await
    };

    let checked: Value = serde_json::from_str(&check("").await.stdout).unwrap();
    let advice = "an instance in StarlingMonkey keeps some memory of each call; under [[plugin]] you can write: max-calls = 1000";
    assert_eq!(checked["plugins"], json!([{"plugin": "echo", "advice": advice}]));
    for limit in ["max-calls = 1000\n", "instance = \"fresh\"\n"] {
        let checked: Value = serde_json::from_str(&check(limit).await.stdout).unwrap();
        assert_eq!((&checked["plugins"], &checked["problems"]), (&json!([]), &json!([])), "{limit}");
    }
}
