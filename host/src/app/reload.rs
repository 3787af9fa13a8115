//! When the configuration and the components are looked at again.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use futures::future::join_all;
use parking_lot::Mutex;
use tokio::{
    select,
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{
    applier::Applier,
    changes::{Report, Verdict},
    directories::{Directories, Seen, look, settle},
    running_plugin::RunningPlugin,
};
use crate::config::{self, Components, Config, LoadError};

/// Reloads that may wait for the one that runs; they are done together.
const WAITING: usize = 64;

/// A component that takes longer to compile is loaded all the same; only nobody waits for the outcome.
const PATIENCE: Duration = Duration::from_secs(60);

/// Somebody waits for the outcome.
struct Request {
    /// None: the configuration and every component.
    plugin: Option<String>,
    answer: oneshot::Sender<Report>,
}

/// Asks for reloads. Cheap to clone.
#[derive(Clone)]
pub(super) struct Reload {
    requests: mpsc::Sender<Request>,
    refused: Arc<Mutex<Option<Vec<String>>>>,
}

/// Does the reloads, one after the other. What is asked for while one runs is done together after it.
pub(super) struct Reloader {
    applier: Arc<Applier>,
    /// With what it looked like when it was read last.
    file: Option<(PathBuf, Option<Seen>)>,
    adjust: fn(&mut Config),
    requests: mpsc::Receiver<Request>,
    refused: Arc<Mutex<Option<Vec<String>>>>,
}

/// Too much is asked for at once, or the host is stopping.
#[derive(Debug, thiserror::Error)]
#[error("the host does not take reloads now: it is stopping, or {WAITING} wait already; try again")]
pub struct ReloadRefused;

// === impl Reload ===

impl Reload {
    /// The one who asks, and the one who does. The file comes with what it looked like when it was read; without one there
    /// are only the components to look at.
    pub(super) fn new(
        applier: Arc<Applier>,
        file: Option<(PathBuf, Option<Seen>)>,
        adjust: fn(&mut Config),
    ) -> (Self, Reloader) {
        let (sender, requests) = mpsc::channel(WAITING);
        let refused = Arc::default();
        let reloader = Reloader { applier, file, adjust, requests, refused: Arc::clone(&refused) };
        (Self { requests: sender, refused }, reloader)
    }

    /// Looks at the configuration and at every component again, or at the component of one plugin, whatever
    /// happened to them; a version that was tried and failed is tried again.
    ///
    /// # Errors
    /// [`ReloadRefused`]. What is wrong with the files is in the report.
    ///
    /// # Cancel safety
    /// Once it was asked for it is done.
    pub(super) async fn ask(&self, plugin: Option<String>) -> Result<Report, ReloadRefused> {
        let (answer, answered) = oneshot::channel();
        self.requests.try_send(Request { plugin, answer }).map_err(|_| ReloadRefused)?;
        answered.await.map_err(|_| ReloadRefused)
    }

    /// What is wrong with the configuration's file as it is now, where it is not in force for that.
    pub(super) fn refused(&self) -> Option<Vec<String>> {
        self.refused.lock().clone()
    }
}

// === impl Reloader ===

impl Reloader {
    /// Runs until it is dropped.
    pub(super) async fn run(mut self) {
        loop {
            let directories = Arc::clone(&self.applier);
            let changed = directories.directories().changed();
            let file = self.file.as_ref().map(|(file, _)| file.clone());
            if let Some((file, _)) = self.file.as_ref().filter(|(file, read)| look(file) != *read) {
                // However this was noticed: it may still be written.
                settle(file).await;
                self.noticed().await;
                continue;
            }
            let settled = async {
                match &file {
                    Some(file) => Directories::settled(changed, file).await,
                    None => std::future::pending().await,
                }
            };
            select! {
                biased;
                request = self.requests.recv() => match request {
                    Some(first) => self.answer(first, Report::default()).await,
                    None => return,
                },
                () = settled => {}
            }
        }
    }

    /// Applies the changed file. Who asked for that meanwhile is told what came of it.
    async fn noticed(&mut self) {
        if let Ok(first) = self.requests.try_recv() {
            // It reads the file, or leaves it for the next look.
            return self.answer(first, Report::default()).await;
        }
        let mut report = Report::default();
        self.configuration(&mut report).await;
        if let Ok(first) = self.requests.try_recv() {
            self.answer(first, report).await;
        }
    }

    /// One reload for everybody who asked by now. They are told of what was done `before` too.
    async fn answer(&mut self, first: Request, before: Report) {
        let mut asked = vec![first];
        while let Ok(request) = self.requests.try_recv() {
            asked.push(request);
        }
        let mut report = Report::default();
        let all = asked.iter().any(|request| request.plugin.is_none());
        if all {
            self.configuration(&mut report).await;
        }
        report.changes.splice(..0, before.changes);
        let named: BTreeSet<&str> = asked.iter().filter_map(|request| request.plugin.as_deref()).collect();
        if report.problems.is_empty() {
            self.components(all, &named, &mut report).await;
        }
        for request in asked {
            let report = match &request.plugin {
                Some(name) => report.of_plugin(name),
                None => report.clone(),
            };
            // Who asked may be gone.
            request.answer.send(report).ok();
        }
    }

    /// Applies what the file says now. A bad file changes nothing.
    async fn configuration(&mut self, report: &mut Report) {
        let Some((file, read)) = &mut self.file else { return };
        // Asked first: what is written while it is read is read again.
        *read = look(file);
        let file = file.clone();
        match self.read(&file).await {
            Ok(config) => {
                *self.refused.lock() = None;
                match self.applier.apply(config).await {
                    Ok(applied) => {
                        applied.changes.iter().for_each(|change| tracing::info!(%change, "reloaded"));
                        *report = applied;
                    }
                    Err(error) => report.problems.push(error.to_string()),
                }
            }
            Err(problems) => {
                tracing::error!(file = %file.display(), ?problems, "the changed configuration is refused; the one in force goes on");
                *self.refused.lock() = Some(problems.clone());
                report.problems = problems;
            }
        }
    }

    async fn read(&self, file: &std::path::Path) -> Result<Config, Vec<String>> {
        let path = file.to_owned();
        let reading = tokio::task::spawn_blocking(move || config::load(&path, Components::Unseen));
        match reading.await {
            Ok(Ok(mut config)) => {
                (self.adjust)(&mut config);
                Ok(config)
            }
            Ok(Err(LoadError::Invalid(error))) => {
                let file = error.file.display();
                Err(error.problems.iter().map(|problem| format!("{file}:{problem}")).collect())
            }
            Ok(Err(error)) => Err(vec![with_causes(&error)]),
            Err(error) => Err(vec![error.to_string()]),
        }
    }

    async fn components(&self, all: bool, named: &BTreeSet<&str>, report: &mut Report) {
        let units = self.applier.units().all();
        for name in named.iter().filter(|name| units.iter().all(|unit| unit.name() != **name)) {
            let known: Vec<&str> = units.iter().map(|unit| unit.name()).collect();
            let detail = format!("there is no plugin of this name; there are {}", known.join(", "));
            report.note("plugin", name, Verdict::Refused, detail);
        }
        let wanted = units.iter().filter(|unit| all || named.contains(unit.name()));
        let loads = wanted.map(async |unit| (unit, timeout(PATIENCE, self.applier.load(unit)).await));
        for (unit, loaded) in join_all(loads).await {
            note(unit, loaded.ok(), report);
        }
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn note(
    unit: &RunningPlugin,
    loaded: Option<Result<Option<informer_runtime::VersionInfo>, String>>,
    report: &mut Report,
) {
    match loaded {
        Some(Ok(Some(version))) => {
            let detail = format!("{} {}, digest {}", version.name, version.version, version.digest);
            report.note("plugin", unit.name(), Verdict::Loaded, detail);
        }
        Some(Ok(None)) => {}
        Some(Err(error)) => report.note("plugin", unit.name(), Verdict::Refused, error),
        None => {
            let detail = format!("it is not loaded after {PATIENCE:?}; see `informer status`");
            report.note("plugin", unit.name(), Verdict::Refused, detail);
        }
    }
}

#[cfg(test)]
mod tests;
