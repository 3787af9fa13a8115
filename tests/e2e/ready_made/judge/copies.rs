//! The copies of the replicator.

use serde_json::{Value, json};

use super::super::{
    fixture::{APPS, COPIED, GUARDED, SHOP, Source, TEAMS},
    history::Seen,
};

/// Copies that are missing, stale or should not exist.
pub(super) fn problems(seen: &Seen) -> Vec<String> {
    let mut problems = Vec::new();
    let namespaces: Vec<(&str, &Value)> = seen
        .all("namespaces")
        .filter(|(_, _, namespace)| namespace["metadata"]["deletionTimestamp"].is_null())
        .map(|(_, name, namespace)| (name, namespace))
        .collect();
    for (source, _) in COPIED.into_iter().filter(|(source, _)| source.1 != "pulled") {
        let original = seen.now(source.0, SHOP, source.1);
        for (name, namespace) in
            namespaces.iter().filter(|(name, _)| [APPS, GUARDED].contains(name) || is_team(name))
        {
            let expected = original.filter(|original| is_wanted(original, name, namespace));
            let expected = expected.map(|original| original["data"].clone());
            let is_foreign = *name == GUARDED && source.1 == "shared";
            let expected = if is_foreign { Some(json!({"key": "foreign"})) } else { expected };
            problems.extend(problem(seen, source, name, expected.as_ref()));
        }
    }
    for (name, _) in namespaces.iter().filter(|(name, _)| is_team(name)) {
        if seen.now("configmaps", name, "mine").is_some() {
            problems.extend(problem(seen, ("configmaps", "mine"), name, Some(&pulled(seen))));
        }
    }
    problems
}

fn is_team(name: &str) -> bool {
    TEAMS.contains(&name)
}

fn problem(seen: &Seen, (plural, name): Source, namespace: &str, expected: Option<&Value>) -> Option<String> {
    let found = seen.now(plural, namespace, name).map(|copy| copy["data"].clone());
    (found.as_ref() != expected)
        .then(|| format!("{plural} {namespace}/{name} is {found:?} and not {expected:?}"))
}

/// The content of an object that has a key of its own and names a source.
fn pulled(seen: &Seen) -> Value {
    let mut data = json!({"own": "x"});
    let source = seen.now("configmaps", SHOP, "pulled");
    let allowed = |source: &&Value| {
        source["metadata"]["annotations"]["replicator.v1.mittwald.de/replication-allowed"] == "true"
    };
    if let Some(source) = source.filter(allowed) {
        data["key"] = source["data"]["key"].clone();
    }
    data
}

/// Returns true if the annotations of a source ask for a copy in a namespace.
fn is_wanted(source: &Value, name: &str, namespace: &Value) -> bool {
    let annotations = &source["metadata"]["annotations"];
    let text = |key: &str| annotations[key].as_str().unwrap_or_default();
    let listed = |list: &str| {
        list.split(',').any(|entry| match entry {
            "team-.*" => is_team(name),
            "team-[01]" => ["team-0", "team-1"].contains(&name),
            "team-[12]" => ["team-1", "team-2"].contains(&name),
            entry => entry == name,
        })
    };
    let matching = !text("replicator.v1.mittwald.de/replicate-to-matching").is_empty();
    listed(text("replicator.v1.mittwald.de/replicate-to"))
        || listed(text("reflector.v1.k8s.emberstack.com/reflection-auto-namespaces"))
        || (matching && namespace["metadata"]["labels"]["tier"] == "web")
}
