//! The decision whether a workload is rolled when a source changes, in the order of the original.

use std::{collections::BTreeMap, fmt};

use informer_sdk::patterns::Patterns;

use crate::{
    kind::SourceKind,
    settings::{Names, Settings},
};

pub(crate) type Annotations = BTreeMap<String, String>;

/// What the annotations of a workload say about sources of one kind.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    named: Patterns,
    excluded: Vec<String>,
    search: bool,
    auto: Option<bool>,
    typed_auto: Option<bool>,
}

/// What the annotations of a workload say about sources of each kind.
#[derive(Debug, Default)]
pub(crate) struct Choices(Vec<(SourceKind, Choice)>);

/// The decision, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ignored,
    Excluded,
    /// A `reload` list names the source. The workload need not refer to it.
    Named,
    Matched,
    Auto,
    AutoReloadAll,
    NotReferenced,
    NotChosen,
}

// === impl Choices ===

impl Choices {
    /// Reads the annotations of a workload and of its pod template, for the kinds of sources that count.
    pub(crate) fn of(
        settings: &Settings,
        own: &Annotations,
        template: &Annotations,
        problems: &mut Vec<String>,
    ) -> Self {
        let kinds = SourceKind::ALL.into_iter().filter(|kind| settings.reads(*kind));
        let mut choice = |kind| Choice::of(&settings.annotations, kind, own, template, problems);
        Self(kinds.map(|kind| (kind, choice(kind))).collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(SourceKind, Choice)> {
        self.0.iter()
    }

    /// Returns true if some source could be chosen.
    pub(crate) fn is_open(&self, auto_reload_all: bool) -> bool {
        self.0.iter().any(|(_, choice)| !choice.named.is_empty() || choice.by_reference(auto_reload_all))
    }
}

// === impl Choice ===

impl Choice {
    /// Reads the annotations of the workload. Those of the pod template count if the workload has none that chooses sources.
    pub(crate) fn of(
        names: &Names,
        kind: SourceKind,
        own: &Annotations,
        template: &Annotations,
        problems: &mut Vec<String>,
    ) -> Self {
        let (reload, exclude, typed) = match kind {
            SourceKind::ConfigMap => {
                (&names.configmap_reload, &names.configmaps_exclude, &names.configmap_auto)
            }
            SourceKind::Secret => (&names.secret_reload, &names.secrets_exclude, &names.secret_auto),
        };
        let choosing = [reload, &names.search, &names.auto, typed];
        let from = if choosing.iter().any(|name| own.contains_key(*name)) { own } else { template };
        // As in the original, an empty value leaves the decision to `auto-reload-all`.
        let set = |name: &String| from.get(name).filter(|text| !text.is_empty());
        let mut flag = |name: &String| set(name).map(|text| switch(name, text, problems));
        let (auto, typed_auto) = (flag(&names.auto), flag(typed));
        let named = from.get(reload).map(|list| patterns(reload, list, problems)).unwrap_or_default();
        Self {
            named,
            excluded: own
                .get(exclude)
                .map(|list| items(list).map(str::to_owned).collect())
                .unwrap_or_default(),
            search: from.get(&names.search).is_some_and(|text| text == "true"),
            auto,
            typed_auto,
        }
    }

    /// Returns true if the workload may choose a source because it refers to the source, without a `reload` list.
    pub(crate) fn by_reference(&self, auto_reload_all: bool) -> bool {
        self.search || self.is_auto() || self.is_auto_by_default(auto_reload_all)
    }

    /// Returns true if a `reload` list names this source.
    pub(crate) fn names(&self, source: &str) -> bool {
        self.named.matches(source)
    }

    /// Returns true if [`Self::judge`] would choose the source with suitable annotations of the source.
    pub(crate) fn could_choose(&self, source: &str, referenced: bool, auto_reload_all: bool) -> bool {
        !self.excludes(source) && (self.names(source) || referenced && self.by_reference(auto_reload_all))
    }

    pub(crate) fn named(&self) -> &Patterns {
        &self.named
    }

    /// Decides about one source of this kind.
    pub(crate) fn judge(
        &self,
        names: &Names,
        auto_reload_all: bool,
        source: &str,
        annotations: &Annotations,
        referenced: bool,
    ) -> Verdict {
        let says = |name: &String| annotations.get(name).is_some_and(|text| text == "true");
        if says(&names.ignore) {
            return Verdict::Ignored;
        }
        if self.excludes(source) {
            return Verdict::Excluded;
        }
        if self.names(source) {
            return Verdict::Named;
        }
        let verdict = if self.search && says(&names.matched) {
            Verdict::Matched
        } else if self.is_auto() {
            Verdict::Auto
        } else if self.is_auto_by_default(auto_reload_all) {
            Verdict::AutoReloadAll
        } else {
            return Verdict::NotChosen;
        };
        if referenced { verdict } else { Verdict::NotReferenced }
    }

    fn excludes(&self, source: &str) -> bool {
        self.excluded.iter().any(|name| name == source)
    }

    fn is_auto(&self) -> bool {
        self.auto == Some(true) || self.typed_auto == Some(true)
    }

    fn is_auto_by_default(&self, auto_reload_all: bool) -> bool {
        auto_reload_all && self.auto.is_none() && self.typed_auto.is_none()
    }
}

// === impl Verdict ===

impl Verdict {
    pub(crate) fn is_chosen(self) -> bool {
        matches!(self, Self::Named | Self::Matched | Self::Auto | Self::AutoReloadAll)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ignored => "the source has the annotation `ignore`",
            Self::Excluded => "the workload excludes it",
            Self::Named => "the workload names it",
            Self::Matched => "`search` of the workload meets `match` of the source",
            Self::Auto => "`auto` of the workload is true",
            Self::AutoReloadAll => "`auto-reload-all` is set",
            Self::NotReferenced => "no container of the workload refers to it",
            Self::NotChosen => "no annotation of the workload chooses it",
        })
    }
}

/// Reads a truth value in the forms of Go. Another text counts as false, and is a problem.
fn switch(name: &str, text: &str, problems: &mut Vec<String>) -> bool {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
        "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
        _ => {
            problems.push(format!("{name}: `{text}` is neither `true` nor `false`"));
            false
        }
    }
}

fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn patterns(name: &str, list: &str, problems: &mut Vec<String>) -> Patterns {
    let patterns = Patterns::parse(list);
    problems.extend(patterns.problems().iter().map(|problem| format!("{name}: {problem}")));
    patterns
}

#[cfg(test)]
mod tests;
