//! What the annotations of a source request and permit.

use std::collections::BTreeMap;

use informer_sdk::{ObjectKey, labels::LabelSelector, patterns::Patterns};

use crate::{
    annotations::{
        Annotations, REFLECTION_ALLOWED, REFLECTION_ALLOWED_NAMESPACES, REFLECTION_ALLOWED_SELECTOR,
        REFLECTION_AUTO_ENABLED, REFLECTION_AUTO_NAMESPACES, REFLECTION_AUTO_SELECTOR, REPLICATE_TO,
        REPLICATE_TO_MATCHING, REPLICATION_ALLOWED, REPLICATION_ALLOWED_NAMESPACES, flag,
    },
    settings::Settings,
    target::Style,
};

type Labels = [(String, String)];

/// What annotations decide about a namespace. Some of the annotations may be invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Yes,
    No,
    /// The decision depends on an invalid annotation. Nothing is copied, and nothing is removed.
    Unclear,
}

/// The rules of one source.
pub(crate) struct Rules<'a> {
    settings: &'a Settings,
    annotations: &'a Annotations,
    /// The lists of namespaces that were read so far. Parsing takes longer than matching.
    lists: BTreeMap<&'static str, Patterns>,
    /// The problems with invalid annotations so far, for the log.
    pub(crate) problems: Vec<String>,
    /// A list of namespaces that has too many expressions, so that some of them match nothing.
    pub(crate) cut: Option<&'static str>,
}

// === impl Verdict ===

impl Verdict {
    fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Unclear,
        }
    }

    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::No, Self::No) => Self::No,
            _ => Self::Unclear,
        }
    }
}

// === impl Rules ===

impl<'a> Rules<'a> {
    pub(crate) fn new(settings: &'a Settings, annotations: &'a Annotations) -> Self {
        Self { settings, annotations, lists: BTreeMap::new(), problems: Vec::new(), cut: None }
    }

    /// Returns whether the source asks for a copy in a namespace, and in which style.
    pub(crate) fn push(&mut self, source: &ObjectKey, namespace: &str, labels: &Labels) -> (Verdict, Style) {
        if source.namespace == namespace || self.settings.excludes(namespace) {
            return (Verdict::No, Style::Replicator);
        }
        let replicator = self.replication(namespace, labels);
        if replicator == Verdict::Yes {
            return (replicator, Style::Replicator);
        }
        let reflector = self.auto_reflection(namespace, labels);
        if reflector == Verdict::Yes {
            return (reflector, Style::Reflector);
        }
        (replicator.or(reflector), Style::Replicator)
    }

    /// Returns whether the source asks for a copy in a namespace in the style of kubernetes-replicator.
    pub(crate) fn replication(&mut self, namespace: &str, labels: &Labels) -> Verdict {
        self.names(REPLICATE_TO, namespace).or(self.labels(REPLICATE_TO_MATCHING, labels))
    }

    /// Returns whether an object in a namespace may name the source as its own.
    pub(crate) fn pull(&mut self, style: Style, namespace: &str, labels: &Labels) -> Verdict {
        match style {
            Style::Replicator if self.settings.allow_all => Verdict::Yes,
            Style::Replicator => {
                self.flag(REPLICATION_ALLOWED).and(self.names(REPLICATION_ALLOWED_NAMESPACES, namespace))
            }
            Style::Reflector => self.reflection(namespace, labels),
        }
    }

    fn reflection(&mut self, namespace: &str, labels: &Labels) -> Verdict {
        match self.flag(REFLECTION_ALLOWED) {
            Verdict::No => Verdict::No,
            allowed => allowed.and(self.within(
                [REFLECTION_ALLOWED_NAMESPACES, REFLECTION_ALLOWED_SELECTOR],
                namespace,
                labels,
            )),
        }
    }

    fn auto_reflection(&mut self, namespace: &str, labels: &Labels) -> Verdict {
        match self.flag(REFLECTION_AUTO_ENABLED) {
            Verdict::No => Verdict::No,
            enabled => enabled.and(self.reflection(namespace, labels)).and(self.within(
                [REFLECTION_AUTO_NAMESPACES, REFLECTION_AUTO_SELECTOR],
                namespace,
                labels,
            )),
        }
    }

    /// A list or a selector. If both are empty, each namespace fits. As in the original, a list of white space is not empty, and no
    /// namespace fits it.
    fn within(&mut self, [list, selector]: [&'static str; 2], namespace: &str, labels: &Labels) -> Verdict {
        let has_list = self.annotations.get(list).is_some_and(|text| !text.is_empty());
        if !has_list && self.annotations.filled(selector).is_none() {
            return Verdict::Yes;
        }
        self.names(list, namespace).or(self.labels(selector, labels))
    }

    fn names(&mut self, name: &'static str, namespace: &str) -> Verdict {
        let text = self.annotations.get(name).unwrap_or_default();
        let patterns = self.lists.entry(name).or_insert_with(|| Patterns::parse(text));
        if patterns.is_cut() {
            self.cut = Some(name);
        }
        if patterns.matches(namespace) {
            return Verdict::Yes;
        }
        let problems = patterns.problems().iter().map(|problem| format!("{name}: {problem}"));
        let new: Vec<_> = problems.filter(|problem| !self.problems.contains(problem)).collect();
        let verdict = if patterns.problems().is_empty() { Verdict::No } else { Verdict::Unclear };
        self.problems.extend(new);
        verdict
    }

    /// An empty selector selects no namespace here, in contrast to Kubernetes: an annotation without a value must not copy a
    /// source to all namespaces.
    fn labels(&mut self, name: &'static str, labels: &Labels) -> Verdict {
        let label = |key: &str| labels.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str());
        match self.annotations.filled(name).map(str::parse::<LabelSelector>) {
            None => Verdict::No,
            Some(Ok(selector)) => Verdict::of(selector.matches(label)),
            Some(Err(error)) => {
                self.problems.push(format!("{name}: {error}"));
                Verdict::Unclear
            }
        }
    }

    fn flag(&mut self, name: &'static str) -> Verdict {
        let text = self.annotations.get(name).unwrap_or_default();
        if let Some(set) = flag(text) {
            return Verdict::of(set);
        }
        self.problems.push(format!("{name}: `{text}` is not a flag: write `true` or `false`"));
        Verdict::Unclear
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{
        Verdict::{No, Unclear, Yes},
        *,
    };

    const REPLICATOR: &str = "replicator.v1.mittwald.de/";
    const REFLECTOR: &str = "reflector.v1.k8s.emberstack.com/reflection-";

    /// The annotations with their prefix, for a shorter table.
    fn annotations(prefix: &str, of: &Value) -> Annotations {
        let named: serde_json::Map<String, Value> = of
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (format!("{prefix}{name}"), value.clone()))
            .collect();
        Annotations::of_object(&json!({"metadata": {"annotations": named}}))
    }

    fn allow_all() -> Settings {
        serde_json::from_str(r#"{"allow-all": true}"#).unwrap()
    }

    fn labels() -> Vec<(String, String)> {
        vec![("team".to_owned(), "a".to_owned())]
    }

    fn push(prefix: &str, of: &Value, namespace: &str) -> (Verdict, usize) {
        let (settings, annotations) = (Settings::default(), annotations(prefix, of));
        let mut rules = Rules::new(&settings, &annotations);
        let (verdict, _) = rules.push(&ObjectKey::new("shop", "web"), namespace, &labels());
        (verdict, rules.problems.len())
    }

    #[test]
    fn replicate_to_and_replicate_to_matching_select_namespaces() {
        for (of, namespace, expected) in [
            (json!({"replicate-to": "x,team-.*"}), "team-a", Yes),
            (json!({"replicate-to": "x,team-.*"}), "my-team-a", No),
            (json!({"replicate-to": "x"}), "x", Yes),
            (json!({"replicate-to": ".*"}), "shop", No),
            (json!({"replicate-to": ""}), "x", No),
            (json!({"replicate-to-matching": "team=a"}), "x", Yes),
            (json!({"replicate-to-matching": "team!=a"}), "x", No),
            (json!({"replicate-to-matching": ""}), "x", No),
            (json!({"replicate-to": "y", "replicate-to-matching": "team"}), "x", Yes),
            (json!({"replicate-to": "x", "replicate-to-matching": "other"}), "x", Yes),
            (json!({"replication-allowed": "true"}), "x", No),
        ] {
            assert_eq!(push(REPLICATOR, &of, namespace), (expected, 0), "{of} {namespace}");
        }
    }

    #[test]
    fn a_mistake_leaves_open_what_the_rest_does_not_decide() {
        for (of, expected) in [
            (json!({"replicate-to": "x("}), Unclear),
            (json!({"replicate-to": "x(,x"}), Yes),
            (json!({"replicate-to-matching": "a=b=c"}), Unclear),
            (json!({"replicate-to": "x", "replicate-to-matching": "a=b=c"}), Yes),
        ] {
            assert_eq!(push(REPLICATOR, &of, "x").0, expected, "{of}");
        }
        assert_eq!(push(REPLICATOR, &json!({"replicate-to": "x("}), "x"), (Unclear, 1));
    }

    #[test]
    fn replicate_from_needs_both_permissions_unless_all_are_allowed() {
        for (of, expected) in [
            (json!({"replication-allowed": "true", "replication-allowed-namespaces": "x"}), Yes),
            (json!({"replication-allowed": "true", "replication-allowed-namespaces": "y,x[0-9]"}), No),
            (json!({"replication-allowed": "true"}), No),
            (json!({"replication-allowed-namespaces": "x"}), No),
            (json!({"replication-allowed": "false", "replication-allowed-namespaces": "x"}), No),
            (json!({"replication-allowed": "maybe", "replication-allowed-namespaces": "x"}), Unclear),
            (json!({"replication-allowed": "maybe", "replication-allowed-namespaces": "y"}), No),
            (json!({}), No),
        ] {
            let annotations = annotations(REPLICATOR, &of);
            let settings = Settings::default();
            let verdict = Rules::new(&settings, &annotations).pull(Style::Replicator, "x", &[]);
            assert_eq!(verdict, expected, "{of}");
            let all = allow_all();
            assert_eq!(Rules::new(&all, &annotations).pull(Style::Replicator, "x", &[]), Yes);
        }
    }

    #[test]
    fn reflection_is_allowed_by_a_list_or_a_selector() {
        for (of, expected) in [
            (json!({"allowed": "true"}), Yes),
            (json!({"allowed": "True", "allowed-namespaces": ""}), Yes),
            (json!({"allowed": "true", "allowed-namespaces": "", "allowed-namespaces-selector": " "}), Yes),
            (json!({"allowed": "true", "allowed-namespaces": " "}), No),
            (json!({"allowed": "true", "allowed-namespaces": " ,"}), No),
            (json!({"allowed": "false"}), No),
            (json!({"allowed-namespaces": "x"}), No),
            (json!({"allowed": "true", "allowed-namespaces": "y,x"}), Yes),
            (json!({"allowed": "true", "allowed-namespaces": "y"}), No),
            (json!({"allowed": "true", "allowed-namespaces-selector": "team=a"}), Yes),
            (json!({"allowed": "true", "allowed-namespaces-selector": "team=b"}), No),
            (
                json!({"allowed": "true", "allowed-namespaces": "y", "allowed-namespaces-selector": "team=a"}),
                Yes,
            ),
            (json!({"allowed": "yes"}), Unclear),
            (json!({"allowed": "true", "allowed-namespaces": "("}), Unclear),
        ] {
            let annotations = annotations(REFLECTOR, &of);
            let settings = allow_all();
            let verdict = Rules::new(&settings, &annotations).pull(Style::Reflector, "x", &labels());
            assert_eq!(verdict, expected, "{of}");
        }
    }

    #[test]
    fn auto_reflection_needs_the_permission_too() {
        for (of, expected) in [
            (json!({"allowed": "true", "auto-enabled": "true"}), Yes),
            (json!({"auto-enabled": "true"}), No),
            (json!({"allowed": "true"}), No),
            (json!({"allowed": "true", "auto-enabled": "true", "auto-namespaces": "x"}), Yes),
            (json!({"allowed": "true", "auto-enabled": "true", "auto-namespaces": "y"}), No),
            (json!({"allowed": "true", "auto-enabled": "true", "auto-namespaces": " "}), No),
            (json!({"allowed": "true", "auto-enabled": "true", "auto-namespaces-selector": "team=a"}), Yes),
            (json!({"allowed": "true", "auto-enabled": "true", "auto-namespaces-selector": "team=b"}), No),
            (json!({"allowed": "true", "auto-enabled": "true", "allowed-namespaces": "y"}), No),
        ] {
            assert_eq!(push(REFLECTOR, &of, "x").0, expected, "{of}");
        }
    }

    #[test]
    fn an_excluded_namespace_receives_no_copy() {
        let settings: Settings = serde_json::from_str(r#"{"exclude-namespaces": ["kube-.*"]}"#).unwrap();
        let annotations = annotations(REPLICATOR, &json!({"replicate-to": ".*"}));
        let mut rules = Rules::new(&settings, &annotations);

        assert_eq!(rules.push(&ObjectKey::new("shop", "web"), "kube-system", &[]).0, No);
        assert_eq!(rules.push(&ObjectKey::new("shop", "web"), "blog", &[]).0, Yes);
    }
}
