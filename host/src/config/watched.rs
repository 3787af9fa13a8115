//! The watches of a file and of what it includes.

use informer_types::{Gvr, LabelSelector};

use super::{
    joined_watch::join,
    key::Draft,
    nearest::nearest,
    problem::{Fault, Located, Problems},
    value::built_in,
    watch::{Watch, judge, never_if_zero},
};

/// The watches of a file.
pub(super) struct Watched {
    pub(super) watches: Vec<Watch>,
    /// False if some watch cannot be read: then a reference to a missing watch is not reported.
    complete: bool,
}

// === impl Watched ===

impl Watched {
    /// The watches of a valid configuration.
    pub(super) fn of(watches: &[Watch]) -> Self {
        Self { watches: watches.to_vec(), complete: true }
    }

    /// The first watch of the file.
    pub(super) fn first(&self) -> Option<&Watch> {
        self.watches.first()
    }

    /// The fault of a subscription to this resource with `namespaces-labels`, for which the host must watch all namespaces.
    pub(super) fn follows_namespaces(&self, gvr: &Gvr) -> Option<Fault> {
        if gvr.is_namespaces() {
            return Some(Fault::new("`namespaces-labels` never selects a namespace", "write `labels`"));
        }
        let watch = self.watches.iter().find(|watch| watch.gvr == Gvr::namespaces())?;
        let selectors = [("labels", watch.labels.is_empty()), ("fields", watch.fields.is_empty())];
        let (key, _) = selectors.into_iter().find(|(_, is_empty)| !is_empty)?;
        let message = format!(
            "the [[watch]] of `v1/namespaces` leaves out namespaces by `{key}`, and all have to be known"
        );
        Some(Fault::new(message, format!("remove `{key}` there, and write it under [[plugin.on]] instead")))
    }

    /// The watches. If namespaces are needed and no `[[watch]]` names them, a watch of all namespaces is added. The added watch has the
    /// settings of the narrowest pattern that stands for namespaces. If no pattern stands for them, the added watch requests only
    /// metadata. The host has to know all namespaces, so the added watch does not have the `labels` of the pattern. The `labels` limit
    /// the subscriptions to the pattern ([`Subscription::of_pattern`](super::Subscription::of_pattern)).
    pub(super) fn with_namespaces(self, are_needed: bool) -> Vec<Watch> {
        let mut watches = self.watches;
        let is_watched = watches.iter().any(|watch| watch.gvr == Gvr::namespaces());
        if are_needed && !is_watched {
            let (gvr, labels, exclude) = (Gvr::namespaces(), LabelSelector::default(), Vec::new());
            // A namespace is in no namespace, so a pattern with `namespaces` does not stand for the resource.
            let patterns = watches.iter().filter(|watch| watch.namespaces.is_empty());
            let patterns = patterns.filter(|watch| watch.stands_for(std::slice::from_ref(&gvr)));
            let pattern = patterns.min_by_key(|pattern| pattern.gvr.is_of_all_groups()).cloned();
            let settings = pattern.unwrap_or_else(|| Watch { metadata_only: true, ..Watch::default() });
            watches.push(Watch { gvr, labels, exclude, ..settings });
        }
        watches
    }

    /// The watches of single resources whose objects a subscription to this pattern receives.
    pub(super) fn of_pattern(&self, pattern: &Gvr) -> impl Iterator<Item = &Watch> {
        let pattern = self.watches.iter().find(|watch| watch.gvr.is_pattern() && watch.gvr == *pattern);
        let watches = self.watches.iter().filter(|watch| !watch.gvr.is_pattern());
        watches.filter(move |watch| {
            pattern.is_some_and(|pattern| pattern.stands_for(std::slice::from_ref(&watch.gvr)))
        })
    }

    /// The watch of this resource. A resource without a watch is noted.
    pub(super) fn find(&self, gvr: &Located<Gvr>, problems: &mut Problems<'_>) -> Option<&Watch> {
        let found = self.watches.iter().find(|watch| watch.gvr == gvr.value);
        if found.is_none() && self.complete {
            problems
                .refuse(gvr, Fault::new(format!("`{}` is not watched", gvr.value), self.remedy(&gvr.value)));
        }
        found
    }

    /// How a resource that is not watched gets a watch, or a misspelt name is corrected: here, or in the `[[watch]]`.
    fn remedy(&self, missing: &Gvr) -> String {
        let add = format!("add [[watch]] with gvr = \"{missing}\"");
        let known: Vec<String> = self.watches.iter().map(|watch| watch.gvr.to_string()).collect();
        let Some(similar) = nearest(&missing.to_string(), known.iter().map(String::as_str)) else {
            return add;
        };
        let is_built_in = |name: &str| built_in().any(|gvr| gvr.to_string() == name);
        match (is_built_in(&missing.to_string()), is_built_in(similar)) {
            (true, true) => add,
            (true, false) => format!("correct gvr = \"{similar}\" under [[watch]], or {add}"),
            (false, _) => format!("did you mean `{similar}`?"),
        }
    }
}

/// Judges the watches of a file and of the files that it includes. `None` stands for a `watch` that is no array of tables. `is_whole` is
/// false if an included file, or a part of it, could not be read. A missing watch is then a consequence of another problem, and is not
/// noted.
pub(super) fn watches(
    written: Option<Vec<Draft<Watch>>>,
    is_whole: bool,
    problems: &mut Problems<'_>,
) -> Watched {
    let Some(written) = written else { return Watched { watches: Vec::new(), complete: false } };
    if written.is_empty() && is_whole {
        let remedy = "add [[watch]] with gvr = \"apps/v1/deployments\", or another resource";
        problems.add(0, "", Fault::new("nothing is watched", remedy));
    }
    let complete =
        is_whole && !written.is_empty() && written.iter().all(|draft| draft.written("gvr").is_some());
    let mut drafts: Vec<Draft<Watch>> = Vec::with_capacity(written.len());
    for mut draft in written.into_iter().filter(|draft| draft.written("gvr").is_some()) {
        judge(&draft, problems);
        draft.value.resync = never_if_zero(draft.value.resync);
        match drafts.iter_mut().find(|earlier| earlier.value.gvr == draft.value.gvr) {
            Some(earlier) => join(earlier, &draft, problems),
            None => drafts.push(draft),
        }
    }
    Watched { watches: drafts.into_iter().map(|draft| draft.value).collect(), complete }
}
