//! Confines the conditions of an object's subscription: their number, and what they reveal of Secrets.
//!
//! The host evaluates the conditions of all plugins on one path, for each object and each change. So the number of conditions in a
//! `spec` is limited. A condition on a field of a Secret also reveals the value to its plugin, because the plugin sees whether the
//! object is delivered.

use informer_runtime::capabilities::is_shown_of_secrets;
use informer_types::{LabelSelector, Pointer, SecretGrants};

use crate::config::Subscription;

/// The most requirements of one selector, of any kind.
const REQUIREMENTS: usize = LabelSelector::UNTRUSTED_REQUIREMENTS;

/// Returns what is wrong with the conditions. `secrets` are the grants that the plugin requests.
pub(super) fn faults(on: &Subscription, secrets: &SecretGrants) -> Vec<String> {
    let mut faults = too_many(on);
    if on.watch.is_secrets() {
        faults.extend(revealing(on, secrets));
    }
    faults
}

fn too_many(on: &Subscription) -> Vec<String> {
    let filter = &on.filter;
    let selectors = [
        ("labels", filter.labels.requirements()),
        ("namespaces-labels", filter.namespaces_labels.requirements()),
        ("annotations", filter.annotations.pointers().len()),
        ("fields", filter.fields.pointers().count()),
    ];
    let too_many = selectors.into_iter().filter(|(_, count)| *count > REQUIREMENTS);
    too_many
        .map(|(key, count)| {
            format!("`{key}` has {count} requirements, and {REQUIREMENTS} are allowed; decide the rest in the plugin")
        })
        .collect()
}

/// The conditions on values that the plugin may not see.
fn revealing(on: &Subscription, secrets: &SecretGrants) -> Vec<String> {
    let in_each = |granted: &dyn Fn(Option<&str>) -> bool| match on.filter.namespaces.is_empty() {
        true => granted(None),
        false => on.filter.namespaces.iter().all(|namespace| granted(Some(namespace))),
    };
    if in_each(&|namespace| secrets.contain_all(namespace)) {
        return Vec::new();
    }
    let shows_digests = in_each(&|namespace| secrets.contain_all_digests(namespace));
    let filter = &on.filter;
    let hidden = |pointer: &Pointer| !is_shown_of_secrets(pointer);
    // A whole field has a digest, which shows whether it changed.
    let changes = |pointer: &Pointer| hidden(pointer) && !(shows_digests && pointer.tokens().len() == 1);
    let conditions = [
        ("fields", filter.fields.pointers().any(|pointer| hidden(&pointer))),
        ("annotations", filter.annotations.pointers().iter().any(hidden)),
        (
            "changed",
            filter.changed.pointers.iter().any(changes) || (filter.changed.generation && !shows_digests),
        ),
        ("when", filter.when.is_some()),
        // When one informer replaces another, the condition decides which Secrets the plugin receives again.
        ("whole-if", on.whole_if.is_some()),
    ];
    let revealing = conditions.into_iter().filter(|(_, reveals)| *reveals);
    revealing
        .map(|(key, _)| {
            format!(
                "`{key}` would tell the plugin about values that it may not see; add a line for the whole namespace to `secrets`, or \
                 name only labels, the type and annotations that are not masked"
            )
        })
        .collect()
}
