//! One target and one source: compares them in the cache, and writes the target if it is not right.

use informer_sdk::{
    Error, ErrorCode, ObjectKey, ReconcileError, ReconcileResult, Reconciled,
    client::{self, ApiCode},
    lister, log, workqueue,
};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::{
    annotations::Annotations,
    bond::{Bond, Plan, Release},
    cache::{self, Namespace},
    key::{Key, Pair},
    kind::Kind,
    rules::{Rules, Verdict},
    settings::Settings,
    target::{Role, Style, Target, is_unnamed_copy},
    write::Writer,
};

/// The most objects in a row that name each other as their source.
const LONGEST_CHAIN: usize = 16;

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
    namespace: Namespace,
    source: Option<Value>,
    /// The known annotations of the source.
    rules: Annotations,
    target: Value,
    now: String,
}

/// Makes the target of a pair right.
pub(crate) fn reconcile(settings: &Settings, pair: &Pair, now: String) -> ReconcileResult {
    let unknown = || ReconcileError::terminal(format!("the replicator does not copy {}", pair.gvr));
    let kind = Kind::of(&pair.gvr).ok_or_else(unknown)?;
    let Some(namespace) = Namespace::of(&pair.target.namespace)?.filter(|own| !settings.excludes(&own.name))
    else {
        return Ok(Reconciled::Done);
    };
    let writer = Writer { settings, kind, target: &pair.target };
    let (Some(source), Some(target)) = (read(kind, &pair.source)?, read(kind, &pair.target)?) else {
        return Ok(Reconciled::Done);
    };
    if target.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null()) {
        return Ok(Reconciled::Done);
    }
    let rules = Annotations::of_object(&source);
    let source = Some(source).filter(|source| !source.is_null());
    State { pair, writer, namespace, source, rules, target, now }.reconcile()
}

/// An object in the cache, or `null` if it does not exist. Returns `None` if the plugin may not see it, or its values.
fn read(kind: &Kind, key: &ObjectKey) -> Result<Option<Value>, Error> {
    match lister::get::<Value>(kind.gvr, key) {
        Ok(object) if object.as_ref().is_some_and(|object| cache::is_masked(kind, object)) => {
            log::warn!("{} {key} is left alone: `secrets` of [plugin.grant] does not name it", kind.gvr);
            Ok(None)
        }
        Ok(object) => Ok(Some(object.unwrap_or_default())),
        Err(error) if error.code() == Some(ErrorCode::NotGranted) => {
            log::info!("{} {key} is left alone: {error}", kind.gvr);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

// === impl State ===

impl State<'_> {
    fn reconcile(self) -> ReconcileResult {
        let mut rules = Rules::new(self.writer.settings, &self.rules);
        let Namespace { name, labels } = &self.namespace;
        let relation = self.relation();
        let (verdict, style) = match relation {
            Relation::Bound(Role::Pulls, style) => (rules.pull(style, name, labels), style),
            // A copy has the name of its source. An object that a person made from a copy, under another name, is not touched.
            _ if self.pair.source.name == self.pair.target.name => {
                rules.push(&self.pair.source, name, labels)
            }
            _ => return Ok(Reconciled::Done),
        };
        match (verdict, relation, &self.source) {
            (Verdict::Unclear, ..) => {
                log::debug!("{} stays as it is: {}", self.writer, rules.problems.join("; "));
                Ok(Reconciled::Done)
            }
            (Verdict::Yes, Relation::Foreign(why), Some(_)) => {
                let note = format!("{} should be copied there, but {why}", self.pair.source);
                self.writer.refuse(&self.pair.source, &note);
                Ok(Reconciled::Done)
            }
            (Verdict::Yes, Relation::Bound(Role::Pulls, _), Some(source)) => {
                self.bind(source, Role::Pulls, style)
            }
            (Verdict::Yes, _, Some(source)) => self.bind(source, Role::Copy, style),
            (_, Relation::Bound(role, style), _) => self.release(role, style),
            _ => Ok(Reconciled::Done),
        }
    }

    fn relation(&self) -> Relation {
        let source = &self.pair.source;
        if self.target.is_null() {
            return Relation::Absent;
        }
        let annotations = Annotations::of_object(&self.target);
        match Target::of(&annotations) {
            Ok(Some(own)) if own.source != *source => {
                Relation::Foreign(format!("it is a copy of {}", own.source))
            }
            Ok(Some(own)) => Relation::Bound(own.role, own.style),
            Ok(None) if is_unnamed_copy(&annotations) => Relation::Unnamed,
            Ok(None) => Relation::Foreign("an object of another origin has this name".to_owned()),
            Err(error) => Relation::Foreign(error.to_string()),
        }
    }

    /// Makes the target a copy of the source.
    fn bind(&self, source: &Value, role: Role, style: Style) -> ReconcileResult {
        let (kind, pair) = (self.writer.kind, self.pair);
        if let Some(chain) = cycle(kind, pair)? {
            self.writer
                .refuse(&pair.target, &format!("objects that name each other as their source: {chain}"));
            return Ok(Reconciled::Done);
        }
        let bond = Bond { kind, key: &pair.source, source, role, style };
        let from = format!("copy of {}", pair.source);
        if self.target.is_null() {
            return self.writer.create(&bond.fresh(&pair.target.name, &self.now), &from);
        }
        match bond.plan(&self.target, &self.now) {
            Plan::Nothing => Ok(Reconciled::Done),
            Plan::Change(patch) => self.writer.change(&self.target, patch, &from),
            // The deletion adds the key once more, and the next call creates the object.
            Plan::Replace(field) if Release::of(kind, role, style, &self.target) == Release::Delete => {
                self.writer.delete(&self.target, &format!("{from} with another `{field}`"))
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
    fn release(&self, role: Role, style: Style) -> ReconcileResult {
        let Pair { gvr, source, target } = self.pair;
        let release = Release::of(self.writer.kind, role, style, &self.target);
        let why = if self.source.is_some() { "does not permit this copy" } else { "does not exist" };
        if release == Release::Nothing {
            self.writer.refuse(target, &format!("its source {source} {why}"));
            return Ok(Reconciled::Done);
        }
        if self.source.is_none() && !is_gone(self.writer.kind, source)? {
            log::warn!("{gvr} {target} stays as it is: the watch does not cover its source {source}");
            return Ok(Reconciled::Done);
        }
        let note = format!("its source {source} {why}");
        let done = match release {
            Release::Nothing => Ok(Reconciled::Done),
            Release::Change(patch) => self.writer.change(&self.target, patch, &note),
            Release::Delete => self.writer.delete(&self.target, &note),
        }?;
        if role == Role::Copy {
            let name = Key::Name { gvr: gvr.clone(), name: target.name.clone() };
            workqueue::add_after(name, std::time::Duration::from_secs(1))?;
        }
        Ok(done)
    }
}

/// Asks the API server whether the source is gone. A watch that does not cover the source must not cost its copies.
fn is_gone(kind: &Kind, source: &ObjectKey) -> Result<bool, Error> {
    match client::get::<IgnoredAny>(kind.gvr, source) {
        Ok(_) => Ok(false),
        Err(error) => match error.api_code() {
            Some(ApiCode::NotFound) => Ok(true),
            // The plugin may not see this source, so it does not judge about it.
            Some(ApiCode::NotGranted) => Ok(false),
            _ => Err(error),
        },
    }
}

/// The objects on the way from the source back to the target, if the source is a copy of the target in the end.
fn cycle(kind: &Kind, pair: &Pair) -> Result<Option<String>, Error> {
    let mut chain = vec![pair.target.to_string(), pair.source.to_string()];
    let mut current = pair.source.clone();
    for _ in 0..LONGEST_CHAIN {
        let annotations = cache::annotations(kind.gvr, &current)?.unwrap_or_default();
        let Ok(Some(next)) = Target::of(&annotations) else { return Ok(None) };
        chain.push(next.source.to_string());
        if next.source == pair.target {
            return Ok(Some(chain.join(", ")));
        }
        current = next.source;
    }
    Ok(None)
}
