//! Adds the keys of all pairs that a change may concern. No target is written here.

use std::collections::BTreeSet;

use informer_sdk::{Error, ObjectKey, log, workqueue};

use crate::{
    annotations::Annotations,
    cache::{self, BY_NAME, BY_SOURCE, Namespace},
    key::Key,
    kind::KINDS,
    rules::{Rules, Verdict},
    settings::Settings,
    target::{Style, Target},
    write,
};

/// Adds the pairs of a source: with the copies that it requests, and with the objects that name it. If the object does not exist,
/// a copy of another source may take its place.
pub(crate) fn source(settings: &Settings, gvr: &str, object: &ObjectKey) -> Result<(), Error> {
    match cache::annotations(gvr, object)? {
        Some(annotations) => push(settings, gvr, object, &annotations)?,
        None => contend(settings, gvr, object)?,
    }
    let names = |annotations: &Annotations| {
        Target::of(annotations).ok().flatten().is_some_and(|target| target.source == *object)
    };
    for (target, _) in cache::find(gvr, BY_SOURCE, &object.to_string(), |(_, own)| names(own))? {
        workqueue::add(Key::pair(gvr, object, &target))?;
    }
    Ok(())
}

/// Adds the pairs of a free place and the sources that request a copy there.
fn contend(settings: &Settings, gvr: &str, place: &ObjectKey) -> Result<(), Error> {
    let Some(Namespace { name, labels }) = Namespace::of(&place.namespace)? else { return Ok(()) };
    for (contender, annotations) in sources_named(gvr, &place.name)? {
        if Rules::new(settings, &annotations).push(&contender, &name, &labels).0 == Verdict::Yes {
            workqueue::add(Key::pair(gvr, &contender, place))?;
        }
    }
    Ok(())
}

/// Adds the keys of all sources with this name.
pub(crate) fn name(gvr: &str, name: &str) -> Result<(), Error> {
    for (source, _) in sources_named(gvr, name)? {
        workqueue::add(Key::source(gvr, &source))?;
    }
    Ok(())
}

/// Adds the pairs of a namespace: of the sources that request a copy in it, and of the objects in it that name a source.
pub(crate) fn namespace(settings: &Settings, name: &str) -> Result<(), Error> {
    let Some(Namespace { name, labels }) = Namespace::of(name)? else { return Ok(()) };
    for gvr in KINDS.map(|kind| kind.gvr) {
        served(cache::scan(gvr, |(key, annotations)| {
            if key.namespace == name
                && let Ok(Some(own)) = Target::of(&annotations)
            {
                workqueue::add(Key::pair(gvr, &own.source, &key))?;
            }
            if Rules::new(settings, &annotations).push(&key, &name, &labels).0 == Verdict::Yes {
                workqueue::add(Key::pair(gvr, &key, &ObjectKey::new(&name, &key.name)))?;
            }
            Ok(())
        }))?;
    }
    Ok(())
}

/// Adds the keys of all sources, and the pairs of all objects that name a source.
pub(crate) fn all() -> Result<(), Error> {
    for gvr in KINDS.map(|kind| kind.gvr) {
        served(cache::scan(gvr, |(key, annotations)| {
            if annotations.is_source() {
                workqueue::add(Key::source(gvr, &key))?;
            }
            if let Ok(Some(own)) = Target::of(&annotations) {
                workqueue::add(Key::pair(gvr, &own.source, &key))?;
            }
            Ok(())
        }))?;
    }
    log::debug!("all sources and targets are looked at");
    Ok(())
}

/// Adds the pairs of a source and the copies that it requests, and logs which of its annotations are invalid.
fn push(settings: &Settings, gvr: &str, source: &ObjectKey, annotations: &Annotations) -> Result<(), Error> {
    if !annotations.is_source() {
        return Ok(());
    }
    let mut rules = Rules::new(settings, annotations);
    for Namespace { name, labels } in Namespace::all()? {
        if rules.push(source, &name, &labels).0 == Verdict::Yes {
            workqueue::add(Key::pair(gvr, source, &ObjectKey::new(name, &source.name)))?;
        }
    }
    // Permissions are checked for each target. Here only their mistakes matter.
    for style in [Style::Replicator, Style::Reflector] {
        rules.pull(style, "", &[]);
    }
    for problem in rules.problems.into_iter().collect::<BTreeSet<_>>() {
        log::warn!("{gvr} {source}: {problem}");
    }
    if let Some(name) = rules.cut.filter(|_| !settings.dry_run) {
        let note = format!("{name} has too many regular expressions, and the last ones select nothing");
        write::notify(gvr, source, &format!("{note}: join some of them with `|`"));
    }
    Ok(())
}

fn sources_named(gvr: &str, name: &str) -> Result<Vec<cache::Annotated>, Error> {
    cache::find(gvr, BY_NAME, name, |(key, annotations)| key.name == name && annotations.is_source())
}

/// A kind without a watch or a grant is not copied.
fn served(scanned: Result<(), Error>) -> Result<(), Error> {
    scanned.or_else(|error| if cache::is_unserved(&error) { Ok(()) } else { Err(error) })
}
