//! The markers of reloads: which hash of a source a workload was rolled for. The original has the same ones, so a cluster
//! migrates without a roll.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    decision::Annotations,
    kind::SourceId,
    settings::Strategy,
    source::{NOTHING, sha1},
};

/// The annotation of the pod template that the strategy `annotations` writes. It names the last source only.
const LAST: &str = "reloader.stakater.com/last-reloaded-from";

/// The annotation of the workload with the hash of each source, written with `LAST`, with a restart of a Rollout, and on a new
/// Job. The original has no such annotation: its roll for several sources at once leaves a marker of only one of them.
pub(crate) const APPLIED: &str = "reloader.informer.dev/applied";

/// The markers of a workload.
#[derive(Debug, Default)]
pub(crate) struct Markers {
    strategy: Strategy,
    variables: BTreeMap<String, Vec<String>>,
    last: Option<Last>,
    applied: BTreeMap<SourceId, String>,
    /// True if a roll is the restart of an Argo Rollout, which writes [`APPLIED`] and leaves the template as it is.
    are_of_restarts: bool,
}

/// The value of [`LAST`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Last {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    #[serde(default)]
    namespace: String,
    hash: String,
    #[serde(default)]
    container_refs: Vec<String>,
    #[serde(default)]
    observed_at: i64,
}

/// A source whose change the pods of a workload have not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) source: SourceId,
    /// `None` if the source was deleted.
    pub(crate) hash: Option<String>,
    /// The index of the container that the marker belongs to.
    pub(crate) container: usize,
}

// === impl Change ===

impl Change {
    /// The hash that marks the change. A deletion has the hash of no data, so that it leaves a trace.
    pub(crate) fn marked(&self) -> &str {
        self.hash.as_deref().unwrap_or(NOTHING)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.source, if self.hash.is_some() { "changed" } else { "was deleted" })
    }
}

// === impl Markers ===

impl Markers {
    /// Reads the markers of both strategies, so that a change of the strategy rolls nothing.
    pub(crate) fn read(
        template: &Value,
        own: &Annotations,
        strategy: Strategy,
        problems: &mut Vec<String>,
    ) -> Self {
        let mut markers = Self { strategy, ..Self::default() };
        let containers = template.pointer("/spec/containers").and_then(Value::as_array);
        let env = |container: &Value| container.get("env").and_then(Value::as_array).cloned();
        for variable in containers.into_iter().flatten().filter_map(env).flatten() {
            if let (Some(name), Some(value)) = (text(&variable, "name"), text(&variable, "value"))
                && name.starts_with("STAKATER_")
            {
                markers.variables.entry(name.to_owned()).or_default().push(value.to_owned());
            }
        }
        let last = template.pointer("/metadata/annotations").and_then(|all| text(all, LAST));
        markers.last = last.and_then(|text| parse(LAST, text, problems));
        let applied = own.get(APPLIED).and_then(|text| parse(APPLIED, text, problems));
        markers.applied = applied.unwrap_or_default();
        markers
    }

    /// Sets whether the workload is an Argo Rollout whose roll is a restart. The template of such a Rollout may have markers of earlier
    /// rolls. They do not count for a source that [`APPLIED`] names.
    pub(crate) fn of_restarts(self, are_of_restarts: bool) -> Self {
        Self { are_of_restarts, ..self }
    }

    /// The sources in the annotation with all of them.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &SourceId> {
        self.applied.keys()
    }

    /// The hashes that the markers have for a source. If the present strategy has no marker for the source, a marker of the other
    /// strategy counts: it was written before the strategy was changed.
    pub(crate) fn of(&self, source: &SourceId) -> Vec<&str> {
        if let Some(hash) = self.applied.get(source).filter(|_| self.are_of_restarts) {
            return vec![hash.as_str()];
        }
        let variables = self.variables.get(&variable(source)).into_iter().flatten().map(String::as_str);
        let variables: Vec<_> = variables.collect();
        let is_last =
            |last: &&Last| last.name == source.name && last.kind.eq_ignore_ascii_case(source.kind.marker());
        // Each roll writes the last source, and the original writes nothing else.
        let last = self.last.as_ref().filter(is_last).map(|last| last.hash.as_str());
        let annotation = last.or_else(|| self.applied.get(source).map(String::as_str));
        match (self.strategy, annotation) {
            (Strategy::Annotations, Some(hash)) => vec![hash],
            (Strategy::EnvVars, Some(hash)) if variables.is_empty() => vec![hash],
            _ => variables,
        }
    }
}

fn text<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get(field)?.as_str()
}

/// Parses an annotation. An annotation that does not parse is a problem, and counts as absent.
fn parse<'a, T: Deserialize<'a>>(name: &str, text: &'a str, problems: &mut Vec<String>) -> Option<T> {
    let parsed = serde_json::from_str(text);
    parsed.map_err(|error| problems.push(format!("{name}: not in the form that is written: {error}"))).ok()
}

/// The name of the environment variable of a source: capital letters and digits, and `_` for each run of other characters.
pub(crate) fn variable(source: &SourceId) -> String {
    let words = source.name.split(|character: char| !character.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).map(str::to_ascii_uppercase).collect();
    format!("STAKATER_{}_{}", words.join("_"), source.kind.marker())
}

/// Marks a pod template, so that its pods are replaced. Returns the part of the template that changed, for a strategic merge
/// patch, which changes no other field of the containers. Returns `None` if the template has no container.
pub(crate) fn mark(
    template: &mut Value,
    strategy: Strategy,
    namespace: &str,
    changes: &[Change],
    now: Timestamp,
) -> Option<Value> {
    let containers = template.pointer_mut("/spec/containers").and_then(Value::as_array_mut)?;
    if containers.is_empty() {
        return None;
    }
    if strategy == Strategy::EnvVars {
        let before = containers.clone();
        changes.iter().for_each(|change| mark_containers(containers, change));
        let names: BTreeSet<String> = changes.iter().map(|change| variable(&change.source)).collect();
        let marked: Vec<Value> = containers
            .iter()
            .zip(&before)
            .filter(|(container, before)| container != before)
            .map(|(container, _)| marks_of(container, &names))
            .collect();
        if !marked.is_empty() {
            return Some(json!({"spec": {"containers": marked}}));
        }
        // A rollback has restored variables with these hashes. Without another change of the template, the pods would not be replaced.
    }
    let change = changes.last()?;
    let container = containers.get(change.container).or_else(|| containers.first())?;
    let last = Last {
        kind: change.source.kind.marker().to_owned(),
        name: change.source.name.clone(),
        namespace: namespace.to_owned(),
        hash: change.marked().to_owned(),
        container_refs: text(container, "name").map(str::to_owned).into_iter().collect(),
        observed_at: now.as_second(),
    };
    let patch = json!({"metadata": {"annotations": {LAST: serde_json::to_string(&last).ok()?}}});
    merge(template, &patch);
    Some(patch)
}

/// The name of a container, and those of its variables that have these names.
fn marks_of(container: &Value, names: &BTreeSet<String>) -> Value {
    let env = container.get("env").and_then(Value::as_array).into_iter().flatten();
    let is_mark = |variable: &&Value| text(variable, "name").is_some_and(|name| names.contains(name));
    json!({"name": text(container, "name"), "env": env.filter(is_mark).collect::<Vec<_>>()})
}

/// The hashes in [`APPLIED`] of an object.
pub(crate) fn applied_of(object: &Value) -> BTreeMap<SourceId, String> {
    let written = object.pointer("/metadata/annotations").and_then(|all| text(all, APPLIED));
    written.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The value of [`APPLIED`] after a roll.
pub(crate) fn applied(hashes: &BTreeMap<SourceId, String>) -> String {
    json!(hashes).to_string()
}

/// A digest of texts, for names and comparisons.
pub(crate) fn digest(parts: impl IntoIterator<Item = String>) -> String {
    sha1(parts.into_iter().collect::<Vec<_>>().join("\n").as_bytes())
}

/// Sets the variable of a change in each container that has it, else in the container of the change.
fn mark_containers(containers: &mut [Value], change: &Change) {
    let name = variable(&change.source);
    let ours = json!({"name": name, "value": change.marked()});
    let envs = containers.iter_mut().filter_map(|container| container.get_mut("env")?.as_array_mut());
    let mut found = false;
    for variable in envs.flatten().filter(|variable| text(variable, "name") == Some(name.as_str())) {
        found = true;
        let has_other_value = variable.get("valueFrom").is_some();
        variable.clone_from(&ours);
        if has_other_value {
            merge(variable, &json!({"valueFrom": null}));
        }
    }
    if found {
        return;
    }
    let index = if change.container < containers.len() { change.container } else { 0 };
    if let Some(container) = containers.get_mut(index).and_then(Value::as_object_mut) {
        match container.get_mut("env").and_then(Value::as_array_mut) {
            Some(env) => env.push(ours),
            None => {
                container.insert("env".to_owned(), json!([ours]));
            }
        }
    }
}

/// Sets the values of `patch` in `target`.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if let Some(target) = target.as_object_mut() {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::SourceKind;

    fn map(name: &str) -> SourceId {
        SourceId::new(SourceKind::ConfigMap, name)
    }

    fn change(name: &str, hash: Option<&str>, container: usize) -> Change {
        Change { source: map(name), hash: hash.map(str::to_owned), container }
    }

    fn now() -> Timestamp {
        "2026-05-01T13:00:00Z".parse().unwrap()
    }

    fn read(template: &Value, own: &Annotations) -> Markers {
        Markers::read(template, own, Strategy::EnvVars, &mut Vec::new())
    }

    #[test]
    fn a_variable_has_the_name_of_the_original() {
        assert_eq!(variable(&map("app-config")), "STAKATER_APP_CONFIG_CONFIGMAP");
        assert_eq!(variable(&map("kube-root-ca.crt")), "STAKATER_KUBE_ROOT_CA_CRT_CONFIGMAP");
        assert_eq!(
            variable(&SourceId::new(SourceKind::Secret, "a.-b--2")),
            "STAKATER_A_B_2_SECRET",
            "a run of other characters is one `_`"
        );
    }

    #[test]
    fn a_variable_is_replaced_in_its_container_or_added_to_the_one_with_the_reference() {
        let mut template = json!({"spec": {"containers": [
            {"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "STAKATER_APP_CONFIGMAP", "value": "old"}]},
            {"name": "b", "image": "i"},
        ]}});
        let changes = [change("app", Some("h1"), 1), change("b", Some("h2"), 1), change("c", Some("h3"), 7)];

        let patch = mark(&mut template, Strategy::EnvVars, "shop", &changes, now()).unwrap();

        let expected = json!([
            {"name": "a", "env": [
                {"name": "X", "value": "1"}, {"name": "STAKATER_APP_CONFIGMAP", "value": "h1"},
                {"name": "STAKATER_C_CONFIGMAP", "value": "h3"},
            ]},
            {"name": "b", "image": "i", "env": [{"name": "STAKATER_B_CONFIGMAP", "value": "h2"}]},
        ]);
        assert_eq!(template["spec"]["containers"], expected);
        let marks = json!([
            {"name": "a", "env": [
                {"name": "STAKATER_APP_CONFIGMAP", "value": "h1"}, {"name": "STAKATER_C_CONFIGMAP", "value": "h3"},
            ]},
            {"name": "b", "env": [{"name": "STAKATER_B_CONFIGMAP", "value": "h2"}]},
        ]);
        assert_eq!(patch["spec"]["containers"], marks);
        assert_eq!(read(&template, &Annotations::new()).of(&map("app")), ["h1"]);
    }

    #[test]
    fn a_container_without_a_mark_is_no_part_of_the_patch_and_a_value_from_elsewhere_is_removed() {
        let from = json!({"name": "STAKATER_APP_CONFIGMAP", "valueFrom": {"fieldRef": {"fieldPath": "x"}}});
        let mut template = json!({"spec": {"containers": [{"name": "a"}, {"name": "b", "env": [from]}]}});

        let patch =
            mark(&mut template, Strategy::EnvVars, "shop", &[change("app", Some("h"), 0)], now()).unwrap();

        let mark = json!({"name": "STAKATER_APP_CONFIGMAP", "value": "h", "valueFrom": null});
        assert_eq!(patch["spec"]["containers"], json!([{"name": "b", "env": [mark]}]));
    }

    #[test]
    fn a_deletion_is_marked_with_the_hash_of_no_data() {
        let env = json!([{"name": "STAKATER_APP_CONFIGMAP", "value": "h"}]);
        for mut template in
            [json!({"spec": {"containers": [{"env": env}]}}), json!({"spec": {"containers": [{}]}})]
        {
            mark(&mut template, Strategy::EnvVars, "shop", &[change("app", None, 0)], now()).unwrap();
            assert_eq!(read(&template, &Annotations::new()).of(&map("app")), [NOTHING]);
        }
    }

    #[test]
    fn the_annotation_has_the_form_of_the_original() {
        let mut template = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
        let changes = [change("first", Some("h1"), 0), change("app", Some("h2"), 1)];

        let patch = mark(&mut template, Strategy::Annotations, "shop", &changes, now()).unwrap();

        let text = patch["metadata"]["annotations"][LAST].as_str().unwrap();
        assert_eq!(
            text,
            r#"{"type":"CONFIGMAP","name":"app","namespace":"shop","hash":"h2","containerRefs":["b"],"observedAt":1777640400}"#
        );
        let markers = read(&template, &Annotations::new());
        assert_eq!(markers.of(&map("app")), ["h2"]);
        assert_eq!(markers.of(&SourceId::new(SourceKind::Secret, "app")), [""; 0]);
        assert_eq!(markers.of(&map("first")), [""; 0]);

        let hashes = BTreeMap::from([(map("first"), "h1".to_owned()), (map("app"), "h2".to_owned())]);
        let own = Annotations::from([(APPLIED.to_owned(), applied(&hashes))]);
        assert_eq!(read(&template, &own).of(&map("first")), ["h1"]);
    }

    #[test]
    fn an_annotation_that_the_original_wrote_is_a_marker() {
        let text = r#"{"type":"SECRET","name":"certs","namespace":"foo","hash":"94af434fda756e922affdd1c43d723b26f196f3e","containerRefs":["main"],"observedAt":1700801096}"#;
        let template = json!({"metadata": {"annotations": {LAST: text}}});
        let markers = read(&template, &Annotations::new());
        let certs = SourceId::new(SourceKind::Secret, "certs");
        assert_eq!(markers.of(&certs), ["94af434fda756e922affdd1c43d723b26f196f3e"]);
    }

    #[test]
    fn odd_markers_are_problems_and_odd_templates_have_none() {
        let mut problems = Vec::new();
        let own = Annotations::from([(APPLIED.to_owned(), "{".to_owned())]);
        let template =
            json!({"metadata": {"annotations": {LAST: "soon"}}, "spec": {"containers": [{"env": 1}, 2]}});
        assert_eq!(Markers::read(&template, &own, Strategy::EnvVars, &mut problems).of(&map("app")), [""; 0]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        for mut template in [json!(null), json!({"spec": {"containers": []}})] {
            assert_eq!(mark(&mut template, Strategy::EnvVars, "", &[change("a", None, 0)], now()), None);
        }
    }
}
