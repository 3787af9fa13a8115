//! What is wrong with the objects, by the versions that the API server had.

mod copies;
mod markers;

use serde_json::Value;

use super::{
    fixture::{APPS, RESTORED, Source, WORKLOADS, Workload},
    history::{Seen, Version},
};
use markers::{Markers, hash};

/// All problems, in the order of the objects.
pub(super) fn problems(seen: &Seen) -> Vec<String> {
    let mut problems = Vec::new();
    for workload in WORKLOADS {
        let name = format!("{} {}", workload.plural, workload.name);
        let pods = Pods::of(&workload, seen);
        let Some(pods) = pods else {
            problems.push(format!("{name} does not exist"));
            continue;
        };
        problems.extend(pods.lost(&workload, seen).into_iter().map(|why| format!("{name}: {why}")));
        problems.extend(pods.doubled(&workload, seen).into_iter().map(|why| format!("{name}: {why}")));
        let paused = pods.workload.pointer("/spec/paused") == Some(&Value::Bool(true));
        if paused || pods.workload["metadata"]["annotations"].to_string().contains("paused-at") {
            problems.push(format!("{name} stays paused"));
        }
    }
    problems.extend(copies::problems(seen));
    problems.extend(expired(seen));
    problems
}

/// The number of rolls so far.
pub(super) fn rolls(seen: &Seen) -> usize {
    WORKLOADS.iter().filter_map(|workload| Some(Pods::of(workload, seen)?.rolls.len())).sum()
}

/// When the pods of a workload were made, and with which template.
struct Pods<'a> {
    workload: &'a Value,
    /// The version in which the pods of now were made.
    made: u64,
    /// The object with their markers: the workload, or the last Job of a CronJob.
    object: &'a Value,
    /// The markers before and after each roll by the plugin.
    rolls: Vec<Roll>,
}

struct Roll {
    before: Markers,
    after: Markers,
}

// === impl Pods ===

impl<'a> Pods<'a> {
    /// Returns `None` if the workload does not exist.
    fn of(workload: &Workload, seen: &'a Seen) -> Option<Self> {
        let versions = seen.versions(workload.plural, APPS, workload.name);
        let now = versions.last()?.object.as_ref()?;
        match workload.plural {
            "cronjobs" => Some(Self::of_runs(now, versions.first()?.at, seen)),
            _ => Some(Self::of_templates(now, versions)),
        }
    }

    /// Each new template, and each new object of the name, makes new pods.
    fn of_templates(now: &'a Value, versions: &'a [Version]) -> Self {
        let existing: Vec<(u64, &Value)> =
            versions.iter().filter_map(|version| Some((version.at, version.object.as_ref()?))).collect();
        let (mut made, mut rolls) = (existing[0].0, Vec::new());
        for pair in existing.windows(2) {
            let ((_, old), (at, new)) = (pair[0], pair[1]);
            let is_other = old["metadata"]["uid"] != new["metadata"]["uid"];
            if !is_other && old["spec"]["template"] == new["spec"]["template"] {
                continue;
            }
            made = at;
            if is_other || markers::rest(old) == markers::rest(new) {
                rolls.push(Roll { before: Markers::of(old), after: Markers::of(new) });
            }
        }
        Self { workload: now, made, object: now, rolls }
    }

    /// Each Job makes pods.
    fn of_runs(now: &'a Value, created: u64, seen: &'a Seen) -> Self {
        let is_of = |job: &Value| job["metadata"]["ownerReferences"][0]["uid"] == now["metadata"]["uid"];
        let mut jobs: Vec<(u64, &Value)> = seen
            .ever("jobs")
            .filter_map(|version| Some((version.at, version.object.as_ref()?)))
            .filter(|(_, job)| is_of(job))
            .collect();
        jobs.sort_by_key(|(at, _)| *at);
        jobs.dedup_by_key(|(_, job)| job["metadata"]["uid"].to_string());
        let mut before = Markers::default();
        let mut rolls = Vec::new();
        for (_, job) in &jobs {
            let after = Markers::of(job);
            rolls.push(Roll { before: std::mem::replace(&mut before, after.clone()), after });
        }
        let (made, object) = jobs.last().copied().unwrap_or((created, now));
        Self { workload: now, made, object, rolls }
    }

    /// The sources whose content of now the pods have not read.
    fn lost(&self, workload: &Workload, seen: &Seen) -> Vec<String> {
        let mut problems = Vec::new();
        for source in workload.sources {
            let versions = seen.versions(source.0, APPS, source.1);
            let Some(now) = versions.last().and_then(|version| version.object.as_ref()) else { continue };
            // Pods wait until a source exists.
            let before = versions.iter().rev().find(|version| version.at <= self.made);
            let later = versions.iter().filter(|version| version.at > self.made);
            let read = before.into_iter().chain(later).find_map(|version| version.object.as_ref());
            let marked = Markers::of(self.object).hash(*source);
            // A source may have had other content for a moment while the plugin made a roll, and has what it had before. No cache
            // shows that: the marker is right, or there is none because the plugin never saw the other content.
            let had_it_before = || {
                let earlier = versions.iter().filter(|version| version.at < self.made);
                earlier.filter_map(|version| version.object.as_ref()).any(|object| data(object) == data(now))
            };
            let is_right = marked.as_ref().map_or_else(had_it_before, |marked| *marked == hash(*source, now));
            if read.map(data) != Some(data(now)) && !is_right {
                problems.push(format!("its pods have not read {source:?} as it is: {}", data(now)));
            }
            let is_exact = workload.plural != "cronjobs" && workload.name != RESTORED;
            if is_exact && marked.as_ref().is_some_and(|marked| *marked != hash(*source, now)) {
                problems.push(format!("its marker of {source:?} is not right: {marked:?}"));
            }
        }
        problems
    }

    /// The rolls without a change.
    fn doubled(&self, workload: &Workload, seen: &Seen) -> Vec<String> {
        let same = self.rolls.iter().filter(|roll| roll.before == roll.after);
        let mut problems: Vec<_> =
            same.map(|roll| format!("two rolls have the same markers: {:?}", roll.after)).collect();
        let changes: usize = workload.sources.iter().map(|source| changes(*source, seen)).sum();
        if self.rolls.len() > changes && workload.name != RESTORED {
            problems.push(format!("{} rolls for {changes} changes", self.rolls.len()));
        }
        problems
    }
}

/// The number of times that the content of a source changed.
fn changes((plural, name): Source, seen: &Seen) -> usize {
    let versions = seen.versions(plural, APPS, name).iter();
    let contents: Vec<_> = versions.filter_map(|version| version.object.as_ref()).map(data).collect();
    contents.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

fn data(source: &Value) -> &Value {
    &source["data"]
}

/// What the janitor should have deleted, and what it should not.
fn expired(seen: &Seen) -> Vec<String> {
    let maps = seen.all("configmaps").filter(|(_, name, _)| name.starts_with("short-"));
    maps.map(|(namespace, name, _)| format!("configmaps {namespace}/{name} outlives its time")).collect()
}
