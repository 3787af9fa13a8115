//! The parts of its objects that a watch keeps: `drop`, `keep` and `metadata-only`, and the indexes over them.

use std::collections::BTreeMap;

use informer_types::Pointer;

use crate::config::{context::Context, problem::Fault, table::Located, value::Name, watch::DROP};

/// What an informer identifies objects and their versions by.
const IDENTITY: [&str; 4] =
    ["/metadata/name", "/metadata/namespace", "/metadata/uid", "/metadata/resourceVersion"];

/// The parts of its objects that a watch keeps.
pub(in crate::config::validate) struct Kept<'a> {
    keep: &'a [Pointer],
    drop: &'a [Pointer],
    metadata_only: bool,
}

pub(in crate::config::validate) fn kept<'a>(
    keep: &'a [Pointer],
    drop: &'a [Pointer],
    metadata_only: bool,
) -> Kept<'a> {
    Kept { keep, drop, metadata_only }
}

pub(super) fn drop(
    raw: Option<Located<Vec<Located<Pointer>>>>,
    context: &mut Context<'_, '_>,
) -> Vec<Pointer> {
    let Some(list) = raw else {
        return DROP.iter().filter_map(|pointer| pointer.parse().ok()).collect();
    };
    for pointer in &list.value {
        // A pointer above one of them removes it, too.
        let needed = IDENTITY
            .iter()
            .find(|needed| needed.parse().is_ok_and(|needed: Pointer| covers(&pointer.value, &needed)));
        if let Some(needed) = needed {
            let message = format!("\"{}\" removes {needed}, which the informer itself needs", pointer.value);
            context.refuse(
                pointer,
                Fault::new(message, "drop something else, like \"/metadata/managedFields\""),
            );
        }
    }
    context.distinct(list.value, Pointer::to_string)
}

/// `dropped` is the place of `drop`, if it is written.
pub(super) fn keep(
    raw: Option<Located<Vec<Located<Pointer>>>>,
    dropped: Option<usize>,
    metadata_only: bool,
    context: &mut Context<'_, '_>,
) -> Vec<Pointer> {
    let Some(list) = raw else { return Vec::new() };
    if let Some(dropped) = dropped {
        let line = context.problems.line(dropped);
        let message = format!("`keep` lists all that is kept, and `drop` on line {line} what is removed");
        context.refuse(&list, Fault::new(message, "remove one of them"));
    }
    for pointer in &list.value {
        if pointer.value.tokens().is_empty() {
            let remedy = "leave `keep` out to keep everything";
            context.refuse(pointer, Fault::new("\"\" is the whole object", remedy));
        } else if metadata_only && !is_metadata(&pointer.value) {
            let message = format!("nothing is at \"{}\" with metadata-only = true", pointer.value);
            context.refuse(pointer, Fault::new(message, "remove it, or keep something below \"/metadata\""));
        }
    }
    context.some_distinct(list, "everything", Pointer::to_string)
}

pub(super) fn indexes(
    raw: Vec<(Name, Located<Pointer>)>,
    kept: &Kept<'_>,
    context: &mut Context<'_, '_>,
) -> BTreeMap<String, Pointer> {
    let mut indexes = BTreeMap::new();
    for (name, pointer) in raw {
        if pointer.value.tokens().is_empty() {
            let remedy = "write the pointer of a field, like \"/spec/nodeName\"";
            context.refuse(&pointer, Fault::new("the whole object cannot be an index", remedy));
        } else if let Some(remedy) = kept.without(&pointer.value) {
            let message = format!("nothing is at \"{}\" in what is kept of the objects", pointer.value);
            context.refuse(&pointer, Fault::new(message, remedy));
        }
        indexes.insert(name.0, pointer.value);
    }
    indexes
}

// === impl Kept ===

impl Kept<'_> {
    /// The remedy, if nothing is kept at the pointer.
    pub(in crate::config::validate) fn without(&self, pointer: &Pointer) -> Option<String> {
        if self.metadata_only && !is_metadata(pointer) {
            return Some("remove metadata-only, or name something below \"/metadata\"".to_owned());
        }
        if let Some(dropped) = self.drop.iter().find(|dropped| covers(dropped, pointer)) {
            return Some(format!("remove \"{dropped}\" from `drop`"));
        }
        let always = ["/metadata/labels", "/metadata/ownerReferences", "/metadata/generation"];
        let mut always = IDENTITY.iter().chain(&always).filter_map(|pointer| pointer.parse().ok());
        let stays = self.keep.is_empty()
            || self.keep.iter().any(|kept| covers(kept, pointer))
            || always.any(|always: Pointer| covers(&always, pointer));
        (!stays).then(|| format!("add \"{pointer}\" to `keep`"))
    }
}

/// Returns true if `lower` is at `upper` or below it.
fn covers(upper: &Pointer, lower: &Pointer) -> bool {
    lower.tokens().starts_with(upper.tokens())
}

fn is_metadata(pointer: &Pointer) -> bool {
    pointer.tokens().first().is_some_and(|first| first == "metadata")
}
