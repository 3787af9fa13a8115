//! Plans between two files.

use std::{fs, path::Path};

use tempfile::TempDir;

use super::*;
use crate::config::{self, Components, Environment, Place};

const FILE: &str = r#"
[[watch]]
gvr = "v1/pods"
[[watch]]
gvr = "v1/secrets"
[[plugin]]
name = "one"
source = "one.wasm"
  [[plugin.on]]
  watch = "v1/pods"
[[plugin]]
name = "two"
source = "two.wasm"
  [[plugin.on]]
  watch = "v1/pods"
"#;

fn read(text: &str) -> Config {
    let environment = Environment::default();
    let place = Place { file: Path::new("f.toml"), base: Path::new("/"), environment: &environment };
    config::parse(text, &place, Components::Unseen).unwrap()
}

fn plan(old: &str, new: &str) -> Plan {
    Plan::between(Some(&read(old)), &read(new))
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn at_the_start_everything_is_new() {
    let plan = Plan::between(None, &read(FILE));

    assert_eq!(plan.plugins.added, names(&["one", "two"]));
    assert_eq!(plan.watches.added.len(), 2);
    assert!(plan.plugins.changed.is_empty() && plan.plugins.removed.is_empty());
}

#[test]
fn another_spelling_of_the_same_meaning_changes_nothing() {
    let rewritten =
        FILE.replace("source = \"one.wasm\"", "instance = \"warm\" # the default\nsource = \"./one.wasm\"");

    let plan = plan(FILE, &rewritten);

    let nothing = Plan {
        watches: Difference { added: vec![], removed: vec![], changed: vec![] },
        plugins: Difference { added: vec![], removed: vec![], changed: vec![] },
    };
    assert_eq!(plan, nothing);
}

#[test]
fn only_differences_are_planned() {
    let new = FILE.replace("name = \"two\"", "name = \"three\"").replace("one.wasm", "other.wasm");

    let plan = plan(FILE, &new.replace("gvr = \"v1/secrets\"", "gvr = \"v1/secrets\"\nlabels = \"a=b\""));

    assert_eq!(plan.plugins.added, names(&["three"]));
    assert_eq!(plan.plugins.removed, names(&["two"]));
    assert_eq!(plan.plugins.changed, names(&["one"]));
    assert_eq!(plan.watches.changed, ["v1/secrets".parse::<Gvr>().unwrap()]);
    assert!(plan.watches.added.is_empty() && plan.watches.removed.is_empty());
}

#[test]
fn another_resync_period_of_a_watch_changes_its_listeners_only() {
    let plan = plan(FILE, &FILE.replacen("gvr = \"v1/pods\"", "gvr = \"v1/pods\"\nresync = \"5m\"", 1));

    assert!(plan.watches.changed.is_empty(), "the watch itself stays");
    assert_eq!(plan.plugins.changed, names(&["one", "two"]), "they inherit it");
}

#[test]
fn changed_keys_that_are_read_only_at_the_start_are_named() {
    let (old, new) = (
        read(FILE),
        read(&format!(
            "[host]\nadmin = \"off\"\nhealth = \"[::]:8081\"\nmetrics-auth = \"kubernetes\"\ntrace = 0\nshutdown-timeout = \"7s\"\nlog = \"warn\"\n[telemetry]\nendpoint = \"http://a:4317\"\n{FILE}"
        )),
    );

    let keys = needs_restart(&Started::of(&old), &new);

    assert_eq!(
        keys,
        ["[telemetry]", "[host] admin", "[host] health", "[host] metrics-auth", "[host] trace"],
        "the other keys change while the host runs"
    );
    assert!(needs_restart(&Started::of(&new), &new).is_empty());
}

/// Without this notice, an operator who rotates the authority sees only that the HTTP requests of plugins fail.
#[test]
fn a_file_of_authorities_with_other_content_is_noticed() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("ca.pem");
    let config = |name: &str| {
        read(&format!("[host]\nhttp-ca = \"{}\"\n{FILE}", directory.path().join(name).display()))
    };
    fs::write(&file, "one").unwrap();
    let started = Started::of(&config("ca.pem"));
    let is_other = |name: &str| started.has_other_authorities(&config(name).host);
    assert!(!is_other("ca.pem"));

    fs::write(&file, "two").unwrap();
    assert!(is_other("ca.pem"));
    assert!(needs_restart(&started, &config("ca.pem")).is_empty(), "no key has changed");
    fs::write(directory.path().join("other.pem"), "two").unwrap();
    assert!(!is_other("other.pem"), "the key has changed");
    assert_eq!(needs_restart(&started, &config("other.pem")), ["[host] http-ca"]);

    fs::remove_file(&file).unwrap();
    assert!(!is_other("ca.pem"));
    assert!(!started.has_other_authorities(&read(FILE).host));
}
