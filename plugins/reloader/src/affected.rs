//! The workloads that a changed source may roll. The result may contain workloads that the source does not roll, because
//! `reconcile` decides about each of them.

use std::collections::BTreeSet;

use informer_sdk::{
    Error, ObjectKey,
    lister::{self, Selector},
    log,
};

use crate::{
    decision::{Annotations, Choice},
    kind::{SourceId, Workload, WorkloadKind},
    settings::Settings,
    source::is_not_served,
};

/// The workloads of the namespace whose `reload` list names the source, or that refer to it and choose sources by reference.
pub(crate) fn by_source(settings: &Settings, id: &SourceId, namespace: &str) -> Result<Vec<Workload>, Error> {
    let mut affected = Vec::new();
    if !settings.reads(id.kind) {
        return Ok(affected);
    }
    for kind in WorkloadKind::ALL.into_iter().filter(|kind| settings.rolls(*kind)) {
        match of_kind(settings, kind, id, namespace) {
            Err(error) if is_not_served(&error) => {}
            found => affected.extend(found?),
        }
    }
    Ok(affected)
}

/// All workloads that the selector selects.
pub(crate) fn by_selector(settings: &Settings, all: &Selector) -> Result<Vec<Workload>, Error> {
    let mut affected = Vec::new();
    for kind in WorkloadKind::ALL.into_iter().filter(|kind| settings.rolls(*kind)) {
        for meta in lister::list_meta(kind.gvr(), all) {
            match meta {
                Err(error) if is_not_served(&error) => break,
                meta => affected.push(Workload::new(kind, &meta?.key())),
            }
        }
    }
    Ok(affected)
}

fn of_kind(
    settings: &Settings,
    kind: WorkloadKind,
    id: &SourceId,
    namespace: &str,
) -> Result<Vec<Workload>, Error> {
    let (mut affected, mut choosing_references) = (Vec::new(), Vec::new());
    let all = Selector::all().namespace(namespace);
    let pointers = ["/metadata/annotations", kind.template_annotations()];
    for fields in lister::list_fields(kind.gvr(), &all, pointers) {
        let fields = fields?;
        let [own, template] = fields.values;
        let own: Annotations = own.parse::<Option<_>>()?.flatten().unwrap_or_default();
        let template: Annotations = template.parse::<Option<_>>()?.flatten().unwrap_or_default();
        let choice = Choice::of(&settings.annotations, id.kind, &own, &template, &mut Vec::new());
        if choice.names(&id.name) {
            affected.push(Workload::new(kind, &fields.key));
        } else if choice.by_reference(settings.auto_reload_all) {
            choosing_references.push(fields.key);
        }
    }
    if !choosing_references.is_empty() {
        let referring = referring(kind, id, namespace)?;
        let refers = |key: &ObjectKey| referring.as_ref().is_none_or(|names| names.contains(&key.name));
        let keys = choosing_references.iter().filter(|key| refers(key));
        affected.extend(keys.map(|key| Workload::new(kind, key)));
    }
    Ok(affected)
}

/// The names of the workloads that refer to the source, by the index of the watch. Returns `None` without such an index.
fn referring(kind: WorkloadKind, id: &SourceId, namespace: &str) -> Result<Option<BTreeSet<String>>, Error> {
    let of = Selector::all().namespace(namespace).index(id.kind.index(), &id.name);
    let listed: Result<BTreeSet<_>, Error> =
        lister::list_meta(kind.gvr(), &of).map(|meta| Ok(meta?.name)).collect();
    match listed {
        Err(Error::Host { code: informer_sdk::ErrorCode::Invalid, message }) => {
            log::debug!("all workloads of {namespace} that choose by reference are looked at: {message}");
            Ok(None)
        }
        listed => listed.map(Some),
    }
}
