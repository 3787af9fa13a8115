//! One target and one source: compares them in the cache, and writes the target if it differs.
//!
//! Before the plugin removes anything from a target, it reads the source from the API server. The cache may have only parts of the
//! source, or nothing of it, and then the target would lose what the source still has.

use std::time::Duration;

use informer_sdk::{
    Error, ObjectKey, ReconcileError, ReconcileResult, Reconciled,
    client::{self, ApiCode},
    log, workqueue,
};
use jiff::Timestamp;
use serde::de::IgnoredAny;

use crate::{
    annotations::Annotations,
    bond::{Bond, Plan, Release},
    cache::{self, Namespace},
    contested::Contested,
    found::{Extent, Found},
    key::{Key, Pair},
    kind::Kind,
    rules::{Rules, Verdict},
    settings::Settings,
    target::{Role, Style, Target, is_unnamed_copy},
    write::{Writer, identity},
};

/// The most objects in a row that name each other as their source.
const LONGEST_CHAIN: usize = 16;

/// The delay of [`Key::Name`]. Copies that are deleted together lead to one look at the sources of their name.
const A_MOMENT: Duration = Duration::from_secs(1);

/// What the target is to the source.
enum Relation {
    /// There is no such object.
    Absent,
    /// The object names the source.
    Bound(Role, Style),
    /// kubernetes-replicator pushed it, from some source of this name.
    Unnamed,
    /// Another object, for this reason. It is never written.
    Foreign(String),
}

/// The state of a pair.
struct State<'a> {
    pair: &'a Pair,
    writer: Writer<'a>,
    contested: &'a mut Contested,
    namespace: Namespace,
    source: Found,
    target: Found,
    now: Timestamp,
}

/// Compares the target of a pair with its source, and writes the target if it differs.
pub(crate) fn reconcile(
    settings: &Settings,
    contested: &mut Contested,
    pair: &Pair,
    now: Timestamp,
) -> ReconcileResult {
    let unknown = || ReconcileError::terminal(format!("the replicator does not copy {}", pair.gvr));
    let kind = Kind::of(&pair.gvr).ok_or_else(unknown)?;
    let Some(namespace) = Namespace::of(&pair.target.namespace)?.filter(|own| !settings.excludes(&own.name))
    else {
        return Ok(Reconciled::Done);
    };
    let writer = Writer { settings, kind, target: &pair.target };
    let (Some(source), Some(target)) =
        (Found::in_cache(kind, &pair.source)?, Found::in_cache(kind, &pair.target)?)
    else {
        return Ok(Reconciled::Done);
    };
    State { pair, writer, contested, namespace, source, target, now }.reconcile()
}

// === impl State ===

impl State<'_> {
    fn reconcile(self) -> ReconcileResult {
        if self.target.is_being_deleted() {
            return Ok(Reconciled::Done);
        }
        let relation = self.relation();
        if self.pair.source == self.pair.target {
            // The object is its own source, so it has no content of another object: nothing is copied, and nothing is removed.
            if matches!(relation, Relation::Bound(..)) {
                self.writer.refuse(&self.pair.target, "it names itself as its source");
            }
            return Ok(Reconciled::Done);
        }
        if self.target.extent == Extent::Parts && !matches!(relation, Relation::Foreign(_)) {
            return self.with_live_target();
        }
        let annotations = Annotations::of_object(&self.source.object);
        let mut rules = Rules::new(self.writer.settings, &annotations);
        let Namespace { name, labels } = &self.namespace;
        let (verdict, style) = match relation {
            Relation::Bound(Role::Pulls, style) => (self.pull(&mut rules, style), style),
            // A copy has the name of its source. An object that a person made from a copy, under another name, is not touched.
            _ if self.pair.source.name == self.pair.target.name => {
                rules.push(&self.pair.source, name, labels)
            }
            _ => return Ok(Reconciled::Done),
        };
        match (verdict, relation, self.source.exists()) {
            (Verdict::Unclear, ..) => {
                log::debug!("{} stays as it is: {}", self.writer, rules.problems.join("; "));
                Ok(Reconciled::Done)
            }
            (Verdict::Yes, Relation::Foreign(why), true) => {
                let note = format!("{} should be copied there, but {why}", self.pair.source);
                self.writer.refuse(&self.pair.source, &note);
                Ok(Reconciled::Done)
            }
            (Verdict::Yes, Relation::Bound(Role::Pulls, _), true) => self.bind(Role::Pulls, style),
            (Verdict::Yes, _, true) => self.bind(Role::Copy, style),
            (_, Relation::Bound(role, style), _) => self.release(role, style),
            (_, Relation::Absent, _) => self.offer(),
            _ => Ok(Reconciled::Done),
        }
    }

    fn relation(&self) -> Relation {
        let source = &self.pair.source;
        if !self.target.exists() {
            return Relation::Absent;
        }
        let annotations = Annotations::of_object(&self.target.object);
        match Target::of(&annotations) {
            Ok(Some(own)) if own.source != *source => {
                Relation::Foreign(format!("it is a copy of {}", own.source))
            }
            Ok(Some(own)) => Relation::Bound(own.role, own.style),
            Ok(None) if is_unnamed_copy(&annotations) => Relation::Unnamed,
            Ok(None) => {
                Relation::Foreign("an object of another origin has this name: delete this object".to_owned())
            }
            Err(error) => Relation::Foreign(error.to_string()),
        }
    }

    /// Returns whether the target may name the source in `replicate-from` or `reflects`. `replicate-from` needs no permission if
    /// `replicate-to` or `replicate-to-matching` of the source requests a copy in this place. A person uses this to merge an object of
    /// another origin with the source.
    fn pull(&self, rules: &mut Rules<'_>, style: Style) -> Verdict {
        let Namespace { name, labels } = &self.namespace;
        let permitted = rules.pull(style, name, labels);
        if style == Style::Reflector || self.pair.source.name != self.pair.target.name {
            return permitted;
        }
        permitted.or(rules.replication(name, labels))
    }

    /// Decides anew with the source that the API server has.
    fn with_live_source(self) -> ReconcileResult {
        match Found::on_server(self.writer.kind, &self.pair.source)? {
            Some(source) => Self { source, ..self }.reconcile(),
            None => Ok(Reconciled::Done),
        }
    }

    /// Decides anew with the target that the API server has.
    fn with_live_target(self) -> ReconcileResult {
        match Found::on_server(self.writer.kind, &self.pair.target)? {
            Some(target) => Self { target, ..self }.reconcile(),
            None => Ok(Reconciled::Done),
        }
    }

    /// Makes the target a copy of the source.
    fn bind(self, role: Role, style: Style) -> ReconcileResult {
        let (kind, pair) = (self.writer.kind, self.pair);
        if let Some(why) = cycle(kind, pair)? {
            self.writer.refuse(&pair.target, &why);
            return Ok(Reconciled::Done);
        }
        if self.source.extent == Extent::Parts {
            return self.with_live_source();
        }
        let bond = Bond { kind, key: &pair.source, source: &self.source.object, role, style };
        let (from, now) = (format!("copy of {}", pair.source), self.now.to_string());
        if !self.target.exists() {
            return self.writer.create(&bond.fresh(&pair.target.name, &now), &from);
        }
        let target = &self.target.object;
        let plan = bond.plan(target, &now);
        if plan.removes() && self.source.extent != Extent::Live {
            return self.with_live_source();
        }
        match plan {
            Plan::Nothing => Ok(Reconciled::Done),
            Plan::Change(patch) => {
                let Some(version) = bond.repeated(target) else {
                    return self.writer.change(target, patch, &from);
                };
                // A new object of the same name is another target.
                let [uid, _] = identity(target);
                let name = format!("{} {uid}", self.writer);
                if let Some(wait) = self.contested.wait(&name, version, self.now) {
                    let note = "another client or a webhook changes it each time after it is written";
                    self.writer.refuse(&pair.target, note);
                    return Ok(Reconciled::RequeueAfter(wait));
                }
                let count = || self.contested.count(&name, version, self.now);
                self.writer.change_and(target, patch, &from, count)
            }
            Plan::Locked => {
                let note = format!("it is immutable and has other content than {}: delete it", pair.source);
                self.writer.refuse(&pair.target, &note);
                Ok(Reconciled::Done)
            }
            // The deletion adds the key once more, and the next call creates the object.
            Plan::Replace(field) if Release::of(kind, role, style, target) == Release::Delete => {
                self.writer.delete(target, &format!("{from} with another `{field}`"))
            }
            Plan::Replace(field) | Plan::Refuse(field) => {
                let note =
                    format!("its `{field}` is not that of {}, and no object can change it", pair.source);
                self.writer.refuse(&pair.target, &note);
                Ok(Reconciled::Done)
            }
        }
    }

    /// Removes what came from the source.
    fn release(self, role: Role, style: Style) -> ReconcileResult {
        let kind = self.writer.kind;
        let Pair { gvr, source, target } = self.pair;
        let release = Release::of(kind, role, style, &self.target.object);
        let why = if self.source.exists() { "does not permit this copy" } else { "does not exist" };
        let note = format!("its source {source} {why}");
        if release == Release::Nothing {
            self.writer.refuse(target, &note);
            return Ok(Reconciled::Done);
        }
        if self.source.extent != Extent::Live {
            if self.source.exists() {
                return self.with_live_source();
            }
            if !is_gone(kind, source)? {
                log::warn!("{gvr} {target} stays as it is: the watch does not cover its source {source}");
                return Ok(Reconciled::Done);
            }
        }
        match release {
            Release::Nothing => Ok(Reconciled::Done),
            Release::Change(patch) => self.writer.change(&self.target.object, patch, &note),
            Release::Delete => self.writer.delete(&self.target.object, &note),
        }
    }

    /// Offers a free place to the other sources of its name, because this source does not request it. The deletion of a copy leads here,
    /// no matter who deleted it. A removal that was not made, as in a dry run, does not: it would be tried again without end.
    fn offer(self) -> ReconcileResult {
        let Pair { gvr, target, .. } = self.pair;
        let name = Key::Name { gvr: gvr.clone(), name: target.name.clone() };
        workqueue::add_after(name, A_MOMENT)?;
        Ok(Reconciled::Done)
    }
}

/// Requests the source from the API server, and returns true if it does not exist. A source that the watch does not cover is not
/// in the cache, but its copies must stay.
fn is_gone(kind: &Kind, source: &ObjectKey) -> Result<bool, Error> {
    match client::get::<IgnoredAny>(kind.gvr, source) {
        Ok(_) => Ok(false),
        Err(error) => match error.api_code() {
            Some(ApiCode::NotFound) => Ok(true),
            // The plugin may not read this source, so the copies stay.
            Some(ApiCode::NotGranted) => Ok(false),
            _ => Err(error),
        },
    }
}

/// Returns the reason if the target must not get the content of the source: the source is a copy of the target, directly or through other
/// objects, or more than [`LONGEST_CHAIN`] objects in a row name each other.
fn cycle(kind: &Kind, pair: &Pair) -> Result<Option<String>, Error> {
    let mut chain = vec![pair.target.to_string(), pair.source.to_string()];
    let mut current = pair.source.clone();
    for _ in 0..LONGEST_CHAIN {
        let annotations = cache::annotations(kind.gvr, &current)?.unwrap_or_default();
        let Ok(Some(next)) = Target::of(&annotations) else { return Ok(None) };
        let name = next.source.to_string();
        // Other objects name each other, and the target is not among them. The plugin refuses those objects.
        let is_of_others = next.source != pair.target && chain.contains(&name);
        if is_of_others {
            return Ok(None);
        }
        chain.push(name);
        if next.source == pair.target {
            return Ok(Some(format!("objects that name each other as their source: {}", chain.join(", "))));
        }
        current = next.source;
    }
    Ok(Some(format!(
        "more than {LONGEST_CHAIN} objects in a row name each other as their source: {}",
        chain.join(", ")
    )))
}

#[cfg(test)]
mod tests;
