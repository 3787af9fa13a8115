//! The reloader: rolls workloads whose ConfigMaps and Secrets changed, by the annotations of stakater/Reloader.
//!
//! Each workload has a key in the workqueue. `reconcile` computes from the cache which sources the workload chooses and their
//! hashes, and compares them with its markers and with the key-value state. Notifications add keys and decide nothing. So a
//! change that happens while the host is down is found afterwards, and an unchanged source never rolls anything.
//!
//! The roll of a Deployment, a StatefulSet or a DaemonSet is written from the cache: it names the version that was judged, so it
//! changes nothing if the cache is behind, and it is a strategic merge, so fields that the watch drops stay. Before another roll,
//! and after such a refusal, the plugin reads the workload from the API server and compares once more.

mod affected;
mod attempt;
mod decision;
mod http;
mod kind;
mod marker;
mod memory;
mod pace;
mod pause;
mod plan;
mod recreate;
mod references;
mod report;
mod roll;
mod rollouts;
mod selector;
mod settings;
mod source;
mod span;
mod store;
mod subject;
mod window;

use std::time::Duration;

use informer_sdk::{
    Cause, Config, Controller, Event, Handler, ObjectKey, ReconcileError, ReconcileResult, Reconciled,
    Result, SyncHandler, Synced, Update,
    client::{self, ApiCode},
    lister::{self, Selector},
    log, workqueue,
};
use jiff::Timestamp;

use kind::{SourceId, SourceKind, Workload, WorkloadKind};
use memory::Memory;
use pause::Pause;
use plan::Plan;
use recreate::Progress;
use roll::Rolled;
use settings::Settings;
use store::Unavailable;
use subject::Subject;

const NAMESPACES: &str = "v1/namespaces";

/// The longest time after which a key is reconciled again. The host bounds such delays, and the clock of the machine may be set
/// during one.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// The plugin. All state that must not be lost is in the objects and in the key-value state of the host.
#[derive(Debug)]
pub struct Reloader {
    settings: Settings,
    /// The pointers whose changes in a source may roll a workload, without those of its data.
    relevant: Vec<String>,
    /// True if this instance has looked for workloads that went away while the host was down.
    has_swept: bool,
    now: fn() -> Timestamp,
}

informer_sdk::export_controller!(Reloader);
informer_sdk::export_synced!(Reloader);

// === impl Reloader ===

impl Handler for Reloader {
    fn start(config: Config) -> std::result::Result<Self, String> {
        let settings: Settings = config.parse()?;
        settings.check()?;
        let names = &settings.annotations;
        let mut relevant = vec!["/metadata/labels".to_owned()];
        relevant.extend([&names.ignore, &names.matched].map(|name| source::annotation(name)));
        Ok(Self { settings, relevant, has_swept: false, now: Timestamp::now })
    }

    fn on_add(&mut self, object: Event, cause: Cause) -> Result {
        self.sweep()?;
        self.changed(&object, cause == Cause::Initial)
    }

    fn on_update(&mut self, update: Update, _cause: Cause) -> Result {
        let mut relevant: Vec<&str> = self.relevant.iter().map(String::as_str).collect();
        if let Some(kind) = SourceKind::of_gvr(update.new.gvr()) {
            relevant.extend_from_slice(&source::digests(kind));
        }
        let is_workload = WorkloadKind::of_gvr(update.new.gvr()).is_some();
        if is_workload || update.changed(&relevant)? {
            self.changed(&update.new, false)?;
        }
        Ok(())
    }

    fn on_delete(&mut self, object: Event, _final_state_known: bool) -> Result {
        self.changed(&object, false)
    }
}

impl SyncHandler for Reloader {
    /// Adds the keys of all workloads once more when the first list of a kind of source, or of Namespaces, is delivered:
    /// `changed` adds no keys for that list. A source in it may be newer than the state with which its workloads were reconciled
    /// before.
    fn on_synced(&mut self, synced: Synced) -> Result {
        if WorkloadKind::of_gvr(&synced.gvr).is_some() {
            return Ok(());
        }
        let all = affected::by_selector(&self.settings, &Selector::all())?;
        let mut covered = all.iter().filter(|workload| self.settings.covers(&workload.namespace));
        covered.try_for_each(|workload| Ok(workqueue::add(workload)?))
    }
}

impl Controller for Reloader {
    fn reconcile(&mut self, key: &str) -> ReconcileResult {
        let workload: Workload =
            key.parse().map_err(|unnamed: kind::Unnamed| ReconcileError::terminal(unnamed.to_string()))?;
        let before = self.remembered(&workload)?;
        if let Some(memory) = &before
            && let Some(again) = self.complete(&workload, memory)?
        {
            return Ok(again);
        }
        let Some(mut subject) = Subject::cached(&workload, &self.settings)? else {
            return leave(&workload, before.as_ref());
        };
        let pause = pause::state(&mut subject, &self.settings.annotations, (self.now)());
        if pause == Pause::Over {
            return self.resume(&workload);
        }
        if !subject.is_open(&self.settings) {
            leave(&workload, before.as_ref())?;
            return Ok(until(pause));
        }
        let now = (self.now)();
        let mut plan = subject.plan(&self.settings, before.as_ref())?;
        if before.is_none() && workload.kind == WorkloadKind::CronJob {
            plan.memory.since = Some(now.as_second());
        }
        let has_changes = !plan.changes.is_empty();
        plan.memory.changed_at =
            if has_changes { pace::found(&plan.memory, &self.settings, now) } else { None };
        report::problems(&workload, &subject.problems);
        if subject.is_cut() {
            report::cut(&workload);
        }
        plan.memory.write(&workload, before.as_ref())?;
        if !has_changes {
            log::debug!(sources = plan.memory.hashes.len(); "{workload} has no changes");
            return Ok(until(pause));
        }
        let wait = match pace::wait(&plan.memory, &self.settings, now)? {
            Some(wait) => Some(wait),
            None => rollouts::wait(&workload, &self.settings, now)?,
        };
        if let Some(wait) = wait {
            report::skipped(&workload, &plan.changes, wait.why);
            // A pause may end before the roll may happen.
            return Ok(match pause {
                Pause::For(rest) => after(wait.time.min(rest)),
                Pause::None | Pause::Over => after(wait.time),
            });
        }
        self.roll(subject, &plan.memory)
    }
}

impl Reloader {
    /// Adds the keys of the workloads that an object may roll.
    fn changed(&self, object: &Event, is_initial: bool) -> Result {
        if let Some(kind) = WorkloadKind::of_gvr(object.gvr()) {
            let is_covered = self.settings.rolls(kind) && self.settings.covers(object.namespace());
            if is_covered || self.is_paused(object)? {
                workqueue::add(Workload::new(kind, &object.key()))?;
            }
            return Ok(());
        }
        // When the host starts, the notification of each workload adds its key, and `on_synced` adds all keys again.
        if is_initial {
            return Ok(());
        }
        let affected = match SourceKind::of_gvr(object.gvr()) {
            Some(kind) if self.settings.covers(object.namespace()) => {
                let id = SourceId::new(kind, object.name());
                let affected = affected::by_source(&self.settings, &id, object.namespace())?;
                report::matched(affected.len());
                affected
            }
            None if object.gvr() == NAMESPACES => {
                affected::by_selector(&self.settings, &Selector::all().namespace(object.name()))?
            }
            _ => return Ok(()),
        };
        affected.iter().try_for_each(|workload| Ok(workqueue::add(workload)?))
    }

    /// Returns true if the plugin has paused the workload. The pause ends even if the plugin no longer rolls the workload.
    fn is_paused(&self, workload: &Event) -> Result<bool> {
        Ok(workload
            .get::<serde_json::Value>(&source::annotation(&self.settings.annotations.paused_at))?
            .is_some())
    }

    /// Adds the keys of remembered workloads that are not in the cache, or that the settings exclude. `reconcile` then clears the memory
    /// for such a workload, or creates the Job that was to replace a deleted Job.
    fn sweep(&mut self) -> Result {
        if self.has_swept {
            return Ok(());
        }
        for key in store::keys()? {
            let Ok(workload) = key.parse::<Workload>() else { continue };
            let is_covered = self.settings.rolls(workload.kind) && self.settings.covers(&workload.namespace);
            match lister::get_fields(workload.gvr(), &workload.key(), [""; 0]) {
                Ok(Some([])) if is_covered => {}
                Ok(_) => workqueue::add(&workload)?,
                Err(error) if source::is_not_served(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.has_swept = true;
        Ok(())
    }

    /// Reads the memory of a workload, and records the outcome of a roll that an earlier call began.
    fn remembered(&self, workload: &Workload) -> std::result::Result<Option<Memory>, ReconcileError> {
        let Some(memory) = Memory::read(workload)? else { return Ok(None) };
        let settled = attempt::settle(workload, memory.clone(), &self.settings)?;
        if settled.rolls > memory.rolls {
            // The earlier call made the roll, and ended before it could count the roll.
            self.count(workload, 0)?;
        }
        settled.write(workload, Some(&memory))?;
        Ok(Some(settled))
    }

    /// Completes the replacement of a Job that an earlier call began. Returns `None` if the workload is to be reconciled as usual
    /// afterwards.
    fn complete(
        &self,
        workload: &Workload,
        memory: &Memory,
    ) -> std::result::Result<Option<Reconciled>, ReconcileError> {
        let Some(job) = &memory.recreate else { return Ok(None) };
        let progress = recreate::create(workload, memory, job)?;
        if progress == Progress::Wait {
            return Ok(Some(Reconciled::Requeue));
        }
        let is_created = progress == Progress::Created;
        if is_created {
            self.count(workload, 0)?;
        }
        Memory { recreate: None, ..memory.clone() }.write(workload, Some(memory))?;
        if is_created {
            let how = "was replaced: the Job was deleted before, and is created now";
            report::reloaded(&self.settings, workload, &recreate::changes(memory, job), how);
        }
        Ok(None)
    }

    /// Rolls a workload for what has changed in the state of the cache, or else in the state that the API server has.
    fn roll(&self, cached: Subject, before: &Memory) -> ReconcileResult {
        let workload = cached.workload.clone();
        let mut was_begun = false;
        if roll::can_be_written_from_the_cache(&cached, &self.settings) {
            let mut subject = cached.taken_as_live();
            let plan = subject.plan(&self.settings, Some(before))?;
            if !plan.changes.is_empty() {
                if let Some(done) = self.write(&mut subject, &plan)? {
                    return Ok(done);
                }
                was_begun = true;
            }
        }
        let Some(mut subject) = self.live(&workload)? else { return Ok(Reconciled::Done) };
        if !subject.is_open(&self.settings) {
            // A notification follows.
            return Ok(Reconciled::Done);
        }
        let plan = subject.plan(&self.settings, Some(before))?;
        if plan.changes.is_empty() {
            if was_begun {
                // The memory has a roll that was begun. The next reconciliation finds out its end.
                return Ok(Reconciled::Requeue);
            }
            Memory { changed_at: None, ..plan.memory }.write(&workload, Some(before))?;
            return Ok(Reconciled::Done);
        }
        Ok(self.write(&mut subject, &plan)?.unwrap_or(Reconciled::Requeue))
    }

    /// Writes a roll. Returns `None` if the workload is not in the state that was judged.
    fn write(
        &self,
        subject: &mut Subject,
        plan: &Plan,
    ) -> std::result::Result<Option<Reconciled>, ReconcileError> {
        let rolled = roll::roll(subject, plan, &self.settings, (self.now)());
        let workload = &subject.workload;
        report::problems(workload, &subject.problems);
        match rolled {
            Ok(Rolled::Done { how, generation }) => {
                self.count(workload, generation)?;
                self.remember(workload, plan, how).map(Some)
            }
            Ok(Rolled::Stale) => Ok(None),
            Ok(Rolled::NoContainer) => {
                report::problems(workload, &["its pod template has no container to mark".to_owned()]);
                Ok(Some(Reconciled::Done))
            }
            Err(error) => {
                let (ReconcileError::Retry(why) | ReconcileError::Terminal(why)) = &error;
                report::failed(&self.settings, workload, &plan.changes, why);
                Err(error)
            }
        }
    }

    /// The workload was rolled. The marker in the workload prevents a second roll if this fails.
    fn remember(&self, workload: &Workload, plan: &Plan, how: &str) -> ReconcileResult {
        plan.after().write(workload, None)?;
        report::reloaded(&self.settings, workload, &plan.changes, how);
        // A roll changes most workloads, and the notification of the change leads to the next comparison. The Job of a CronJob and a
        // request to a webhook change no workload.
        Ok(if plan.is_full() { Reconciled::Requeue } else { Reconciled::Done })
    }

    /// Counts a roll for the limits. Each caller writes the memory afterwards. If the host crashes between the two steps, the roll
    /// counts twice. In the other order, the roll would not count at all. `generation` is the generation of the workload after the
    /// roll, or 0 if it is not known.
    fn count(&self, workload: &Workload, generation: u64) -> std::result::Result<(), Unavailable> {
        let now = (self.now)();
        rollouts::began(workload, generation, &self.settings, now)?;
        pace::rolled(&self.settings, now)
    }

    /// Ends the pause of a Deployment, if it is over in the state that the API server has.
    fn resume(&self, workload: &Workload) -> ReconcileResult {
        let Some(mut subject) = self.live(workload)? else { return Ok(Reconciled::Done) };
        if pause::state(&mut subject, &self.settings.annotations, (self.now)()) == Pause::Over {
            report::problems(workload, &subject.problems);
            if roll::resume(&subject, &self.settings)? != Rolled::Stale {
                report::resumed(workload);
            }
        }
        // The next reconciliation reads the new state from the cache.
        Ok(Reconciled::Requeue)
    }

    fn live(&self, workload: &Workload) -> std::result::Result<Option<Subject>, ReconcileError> {
        match client::get(workload.gvr(), &ObjectKey::new(&workload.namespace, &workload.name)) {
            Ok(object) => Ok(Some(Subject::live(workload.clone(), object, &self.settings))),
            Err(error) if error.api_code() == Some(ApiCode::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Forgets a workload that is gone. If the workload exists, and no source may roll it any more, its memory stays without the sources. The
/// workload may choose sources again later, and its pods may then be newer than its markers. Without a memory, the markers would roll the
/// workload.
fn leave(workload: &Workload, before: Option<&Memory>) -> ReconcileResult {
    // Most workloads have no memory, and this runs at each update of a workload: look into the cache only for a memory.
    match before {
        Some(before) if lister::get_fields(workload.gvr(), &workload.key(), [""; 0])?.is_some() => {
            before.of_a_left_workload().write(workload, Some(before))?;
        }
        _ => Memory::forget(workload)?,
    }
    Ok(Reconciled::Done)
}

/// The end of the call for a workload that needs nothing before its pause ends.
fn until(pause: Pause) -> Reconciled {
    match pause {
        Pause::For(time) => after(time),
        Pause::None | Pause::Over => Reconciled::Done,
    }
}

fn after(time: Duration) -> Reconciled {
    Reconciled::RequeueAfter(time.clamp(Duration::from_millis(1), LONGEST_WAIT))
}

#[cfg(test)]
mod tests;
