//! The replicator: copies Secrets, ConfigMaps, Roles, RoleBindings and ServiceAccounts to other namespaces, by the annotations of
//! kubernetes-replicator (mittwald) and of Reflector (emberstack).
//!
//! A handler adds keys. A key names a pair of a source and a target, or something that leads to pairs, such as a source or a
//! namespace: `spread` adds the keys of these pairs. `pair` compares a source with a target in the cache, and writes the target
//! if it differs. If the cache has only parts of the source, or if the target would lose something, `pair` first reads the source
//! from the API server. Each target names its source in an annotation, so the plugin keeps no state of its own.

mod annotations;
mod bond;
mod cache;
mod contested;
mod found;
mod key;
mod kind;
mod pair;
mod rules;
mod settings;
mod spread;
mod target;
mod write;

use std::time::Duration;

use informer_sdk::{
    Cause, Config, Controller, Error, Event, Handler, Object, ReconcileError, ReconcileResult, Reconciled,
    Result, Update, log, workqueue,
};
use jiff::Timestamp;

use annotations::Annotations;
use cache::NAMESPACES;
use contested::Contested;
use key::Key;
use settings::Settings;
use target::{Role, Target};

/// The delay of [`Key::All`], and of the key of a copy that disappears if `allow-all` is set. The first list brings many namespaces at
/// once, and within this time they lead to one scan only.
const A_MOMENT: Duration = Duration::from_secs(1);

/// The plugin. All state that must not be lost is in the objects and in the workqueue.
#[derive(Debug)]
pub struct Replicator {
    settings: Settings,
    contested: Contested,
    now: fn() -> Timestamp,
}

informer_sdk::export_controller!(Replicator);

// === impl Replicator ===

impl Handler for Replicator {
    fn start(config: Config) -> std::result::Result<Self, String> {
        Ok(Self { settings: config.parse()?, contested: Contested::default(), now: Timestamp::now })
    }

    fn on_add(&mut self, object: Event, cause: Cause) -> Result {
        match (object.gvr(), cause) {
            (NAMESPACES, Cause::Initial | Cause::Replay) => Ok(workqueue::add_after(Key::All, A_MOMENT)?),
            (NAMESPACES, _) => Ok(workqueue::add(Key::Namespace(object.name().to_owned()))?),
            _ => self.changed(&object, None),
        }
    }

    fn on_update(&mut self, update: Update, _cause: Cause) -> Result {
        let Update { old, new, .. } = &update;
        if new.gvr() != NAMESPACES {
            return self.changed(new, Some(old));
        }
        if update.changed(&["/metadata/labels"])? {
            workqueue::add(Key::Namespace(new.name().to_owned()))?;
        }
        Ok(())
    }

    fn on_delete(&mut self, object: Event, _final_state_known: bool) -> Result {
        if object.gvr() == NAMESPACES {
            return Ok(());
        }
        let (gvr, key, annotations) = (object.gvr(), object.key(), known(object.object())?);
        let copy = Target::of(&annotations).ok().flatten().filter(|target| target.role == Role::Copy);
        if let Some(Target { source, .. }) = &copy {
            workqueue::add(Key::pair(gvr, source, &key))?;
        }
        // If a copy disappears, its source decides first. Any other object may have been a source, or have occupied the place of a copy.
        if annotations.is_source() || copy.is_none() {
            workqueue::add(Key::source(gvr, &key))?;
        } else if self.settings.allow_all {
            // An object may name a copy as its source although the copy has no annotation of a source.
            workqueue::add_after(Key::source(gvr, &key), A_MOMENT)?;
        }
        Ok(())
    }
}

impl Controller for Replicator {
    fn reconcile(&mut self, key: &str) -> ReconcileResult {
        // A key that does not parse fails each time.
        let key = key.parse::<Key>().map_err(|invalid| ReconcileError::terminal(invalid.to_string()))?;
        match key {
            Key::Pair(pair) => {
                return pair::reconcile(&self.settings, &mut self.contested, &pair, (self.now)());
            }
            Key::Source { gvr, object } => spread::source(&self.settings, &gvr, &object)?,
            Key::Name { gvr, name } => spread::name(&gvr, &name)?,
            Key::Namespace(name) => spread::namespace(&self.settings, &name)?,
            Key::All => spread::all()?,
        }
        Ok(Reconciled::Done)
    }
}

impl Replicator {
    /// Adds the keys of an object that may be a source or a target, or was one until now.
    fn changed(&self, object: &Event, old: Option<&Object>) -> Result {
        let (gvr, key, annotations) = (object.gvr(), object.key(), known(object.object())?);
        let before = old.map(known).transpose()?.unwrap_or_default();
        let target = Target::of(&annotations).unwrap_or_else(|error| {
            log::warn!("{gvr} {key}: {error}");
            None
        });
        let was_target = Target::of(&before).ok().flatten().filter(|before| Some(before) != target.as_ref());
        for Target { source, .. } in target.iter().chain(&was_target) {
            workqueue::add(Key::pair(gvr, source, &key))?;
        }
        if self.settings.allow_all || before.is_source() || annotations.is_source() {
            workqueue::add(Key::source(gvr, &key))?;
        }
        Ok(())
    }
}

/// The known annotations of an object.
fn known(object: &Object) -> std::result::Result<Annotations, Error> {
    Ok(Annotations::of_fields(&object.get_many(Annotations::POINTERS)?))
}

#[cfg(test)]
mod tests;
