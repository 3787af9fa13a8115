//! One watch for the `[[watch]]` of one resource in several files.

use informer_types::Pointer;

use super::{
    key::Draft,
    problem::{Fault, Problems},
    watch::Watch,
};

/// The parts of objects that a watch keeps, besides those that identify an object.
struct Kept<'w> {
    /// Only these parts; `None` means all.
    only: Option<Vec<Pointer>>,
    /// None of these parts.
    dropped: &'w [Pointer],
}

/// Extends the watch of one file, so that it also serves the plugins of another file. It keeps what either of them keeps, and has
/// the indexes of both. They must agree on the objects that they select.
pub(super) fn join(one: &mut Draft<Watch>, other: &Draft<Watch>, problems: &mut Problems<'_>) {
    let Some(places) = one.written("gvr").zip(other.written("gvr")) else { return };
    let (earlier, later) = (places.0.at, places.1);
    let line = problems.line(earlier, later.at);
    let gvr = &one.value.gvr;
    if problems.is_same_file(earlier, later.at) {
        let remedy = "remove one: all plugins share one watch, and namespaces are listed in it";
        problems.refuse(later, Fault::new(format!("`{gvr}` is watched already {line}"), remedy));
        return;
    }
    for key in differing(&one.value, &other.value) {
        let place = other.written(key).unwrap_or(later);
        let message =
            format!("`{gvr}` is watched {line} too, with another `{key}`, and both share one watch");
        let remedy =
            format!("write the same in both, or leave it out in both and write `{key}` under [[plugin.on]]");
        problems.refuse(place, Fault::new(message, remedy));
    }
    join_compression(one, other, problems);
    join_indexes(one, other, &line, problems);
    join_kept(&mut one.value, &other.value);
}

/// The keys that decide what subscribers without keys of their own receive, if they differ.
fn differing(one: &Watch, other: &Watch) -> impl Iterator<Item = &'static str> + use<> {
    let sorted = |watch: &Watch| {
        let mut namespaces = watch.namespaces.clone();
        namespaces.sort();
        namespaces
    };
    let excluded = |watch: &Watch| {
        let mut exclude = watch.exclude.clone();
        exclude.sort();
        exclude
    };
    [
        ("exclude", excluded(one) != excluded(other)),
        ("namespaces", sorted(one) != sorted(other)),
        ("labels", one.labels != other.labels),
        ("fields", one.fields != other.fields),
        ("resync", one.resync != other.resync),
    ]
    .into_iter()
    .filter_map(|(key, differs)| differs.then_some(key))
}

/// A file without the key leaves the choice to the other one.
fn join_compression(one: &mut Draft<Watch>, other: &Draft<Watch>, problems: &mut Problems<'_>) {
    let Some(place) = other.written("compression") else { return };
    match one.written("compression") {
        Some(earlier) if one.value.compression != other.value.compression => {
            let line = problems.line(earlier.at, place.at);
            let gvr = &one.value.gvr;
            let message = format!("`{gvr}` has another `compression` {line}, and both share one watch");
            problems.refuse(place, Fault::new(message, "remove one of them"));
        }
        Some(_) => {}
        // A third file is compared with this one.
        None => {
            one.adopt("compression", place);
            one.value.compression = other.value.compression;
        }
    }
}

fn join_indexes(one: &mut Draft<Watch>, other: &Draft<Watch>, line: &str, problems: &mut Problems<'_>) {
    for (name, paths) in &other.value.indexes {
        let known = one.value.indexes.entry(name.clone()).or_insert_with(|| paths.clone());
        if known != paths {
            let place = other.items("index").iter().find(|place| place.value == *name);
            let message = format!("the index `{name}` has other pointers in the [[watch]] {line}");
            let fault = Fault::new(message, "give one of the two another name");
            place.into_iter().for_each(|place| problems.refuse(place, fault.clone()));
        }
    }
}

fn join_kept(one: &mut Watch, other: &Watch) {
    let metadata_only = one.metadata_only && other.metadata_only;
    let (own, others) = (Kept::of(one, metadata_only), Kept::of(other, metadata_only));
    let keep = match (&own.only, &others.only) {
        (Some(own), Some(others)) => outermost(own.iter().chain(others)),
        _ => Vec::new(),
    };
    let dropped = own.dropped.iter().chain(others.dropped);
    let drop = outermost(dropped.filter(|part| own.lacks(part) && others.lacks(part)));
    (one.metadata_only, one.keep, one.drop) = (metadata_only, keep, drop);
}

/// The pointers that no other one covers, each once.
fn outermost<'p>(pointers: impl Iterator<Item = &'p Pointer>) -> Vec<Pointer> {
    let mut all: Vec<Pointer> = Vec::new();
    for pointer in pointers {
        if !all.iter().any(|own| own.covers(pointer)) {
            all.retain(|own| !pointer.covers(own));
            all.push(pointer.clone());
        }
    }
    all
}

// === impl Kept ===

impl<'w> Kept<'w> {
    /// The parts that a watch keeps, of whole objects or of their metadata.
    fn of(watch: &'w Watch, metadata_only: bool) -> Self {
        let only = match (watch.keep.is_empty(), watch.metadata_only && !metadata_only) {
            (true, true) => "/metadata".parse().ok().map(|metadata| vec![metadata]),
            (true, false) => None,
            (false, _) => Some(watch.keep.clone()),
        };
        Self { only, dropped: &watch.drop }
    }

    /// Returns true if nothing of this part is kept.
    fn lacks(&self, part: &Pointer) -> bool {
        let touches = |kept: &Pointer| kept.covers(part) || part.covers(kept);
        self.dropped.iter().any(|dropped| dropped.covers(part))
            || self.only.as_ref().is_some_and(|only| !only.iter().any(touches))
    }
}
