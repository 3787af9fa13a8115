//! Reloads: when the configuration and the components are read again.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::future::join_all;
use informer_runtime::VersionInfo;
use parking_lot::Mutex;
use tokio::{
    select,
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{
    applier::Applier,
    directories::{Directories, settle},
    followed::Followed,
};
use crate::{
    admin::types::{Report, Verdict},
    config::{self, Components, Config, LoadError},
};

/// Most requests that wait for the present reload. One reload answers all of them.
const WAITING: usize = 64;

/// Time for a component to load. If it takes longer it is loaded all the same, but the request does not wait for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Changes a configuration that was read.
pub type Adjust = Arc<dyn Fn(&mut Config) + Send + Sync>;

/// A request that waits for its report.
struct Request {
    /// Name of the plugin whose component is loaded; `None` means the configuration and every component.
    plugin: Option<String>,
    answer: oneshot::Sender<Report>,
}

/// Requests reloads. Cheap to clone.
#[derive(Clone)]
pub(super) struct Reload {
    requests: mpsc::Sender<Request>,
    refused: Arc<Mutex<Option<Vec<String>>>>,
}

/// Performs the reloads one after the other. All requests that come during one reload are answered by the next.
pub(super) struct Reloader {
    applier: Arc<Applier>,
    /// The configuration file; without it, only components are reloaded.
    file: Option<Followed>,
    /// True if the file must be read even if `file` shows no change.
    is_unread: bool,
    adjust: Adjust,
    requests: mpsc::Receiver<Request>,
    refused: Arc<Mutex<Option<Vec<String>>>>,
}

/// The host takes no reload now.
#[derive(Debug, thiserror::Error)]
#[error("the host takes no reload now: it is stopping, or {WAITING} requests wait already; try again")]
pub struct ReloadRefused;

// === impl Reload ===

impl Reload {
    /// Without a file, only components are reloaded.
    pub(super) fn new(applier: Arc<Applier>, file: Option<Followed>, adjust: Adjust) -> (Self, Reloader) {
        let (sender, requests) = mpsc::channel(WAITING);
        let refused = Arc::default();
        let reloader =
            Reloader { applier, file, is_unread: false, adjust, requests, refused: Arc::clone(&refused) };
        (Self { requests: sender, refused }, reloader)
    }

    /// Reads the configuration and every component again, or the component of one plugin, even if the files look as before.
    /// A version that was tried and failed is tried again.
    ///
    /// # Errors
    /// [`ReloadRefused`]. What is wrong with the files is in the report.
    ///
    /// # Cancel safety
    /// The reload happens even if the future is dropped.
    pub(super) async fn request(&self, plugin: Option<String>) -> Result<Report, ReloadRefused> {
        let (answer, answered) = oneshot::channel();
        self.requests.try_send(Request { plugin, answer }).map_err(|_| ReloadRefused)?;
        answered.await.map_err(|_| ReloadRefused)
    }

    /// The problems of the configuration file; `None` if the file is in force.
    pub(super) fn refused(&self) -> Option<Vec<String>> {
        self.refused.lock().clone()
    }
}

// === impl Reloader ===

impl Reloader {
    /// Runs until it is dropped.
    pub(super) async fn run(mut self) {
        self.look_at_content().await;
        loop {
            let directories = Arc::clone(&self.applier);
            let changed = directories.directories().changed();
            let file = self.file.as_ref().map(|followed| followed.file().to_owned());
            let unread = file.as_deref().filter(|_| self.is_unread);
            if let Some(changed) = self.file.as_ref().and_then(Followed::changed).or(unread) {
                // The file may still be written.
                settle(changed).await;
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

    /// Compares the content of the file with the configuration in force. The host reads the file first and begins to follow the file
    /// later. Only this comparison finds a change in between. `informer dev` builds the projects in between, which may take minutes.
    async fn look_at_content(&mut self) {
        let Some(path) = self.file.as_ref().map(|followed| followed.file().to_owned()) else { return };
        let reading = tokio::task::spawn_blocking(move || config::load(&path, Components::Unseen));
        // If the file is refused, the next read reports why.
        self.is_unread = match reading.await.map(|loaded| self.adjusted(loaded)) {
            Ok(Ok(present)) => !self.applier.has_applied(&present).await,
            Ok(Err(_)) | Err(_) => true,
        };
    }

    /// Applies the file, which has changed. The report also goes to requests that came meanwhile.
    async fn noticed(&mut self) {
        if let Ok(first) = self.requests.try_recv() {
            // The request reads the file, or leaves it for the next look.
            return self.answer(first, Report::default()).await;
        }
        let mut report = Report::default();
        self.configuration(&mut report).await;
        self.applier.in_force().reloaded(&report);
        if let Ok(first) = self.requests.try_recv() {
            self.answer(first, report).await;
        }
    }

    /// Performs one reload for all requests so far. Their reports include the changes `before`.
    async fn answer(&mut self, first: Request, before: Report) {
        let mut requests = vec![first];
        while let Ok(request) = self.requests.try_recv() {
            requests.push(request);
        }
        let mut report = Report::default();
        let all = requests.iter().any(|request| request.plugin.is_none());
        if all {
            self.configuration(&mut report).await;
        }
        let earlier = before.changes.len();
        report.changes.splice(..0, before.changes);
        let named: BTreeSet<&str> = requests.iter().filter_map(|request| request.plugin.as_deref()).collect();
        if report.problems.is_empty() {
            self.components(all, &named, &mut report).await;
        }
        let changes = report.changes.iter().skip(earlier).cloned().collect();
        self.applier.in_force().reloaded(&Report { problems: report.problems.clone(), changes });
        for request in requests {
            let report = match &request.plugin {
                Some(name) => report.of_plugin(name),
                None => report.clone(),
            };
            // The requester may be gone.
            request.answer.send(report).ok();
        }
    }

    /// Applies the file. An invalid file changes nothing.
    async fn configuration(&mut self, report: &mut Report) {
        let Some(followed) = &mut self.file else { return };
        let file = followed.file().to_owned();
        let path = file.clone();
        self.is_unread = false;
        let reading = tokio::task::spawn_blocking(move || {
            // The state of the files is noted before the read, so that a change during the read is noticed.
            (Followed::read_now(&path), config::load(&path, Components::Unseen))
        });
        let read = match reading.await {
            Ok((read, loaded)) => {
                *followed = read;
                self.adjusted(loaded)
            }
            Err(error) => Err(vec![error.to_string()]),
        };
        match read {
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
                tracing::error!(file = %file.display(), ?problems, "the changed configuration is refused; the configuration in force stays");
                *self.refused.lock() = Some(problems.clone());
                report.problems = problems;
            }
        }
    }

    fn adjusted(&self, loaded: Result<Config, LoadError>) -> Result<Config, Vec<String>> {
        match loaded {
            Ok(mut config) => {
                (self.adjust)(&mut config);
                Ok(config)
            }
            Err(LoadError::Invalid(error)) => {
                Err(error.problems.iter().map(config::Problem::to_string).collect())
            }
            // The text of this error helps to write a first file. A running host had a file before.
            Err(LoadError::Absent { path }) => Err(vec![format!(
                "the file {} is missing, so the host keeps the previous configuration; put the file back",
                path.display()
            )]),
            Err(error) => Err(vec![format!("{:#}", anyhow::Error::from(error))]),
        }
    }

    async fn components(&self, all: bool, named: &BTreeSet<&str>, report: &mut Report) {
        let plugins = self.applier.plugins().all();
        for name in named.iter().filter(|name| plugins.iter().all(|plugin| plugin.name() != **name)) {
            let names: Vec<&str> = plugins.iter().map(|plugin| plugin.name()).collect();
            let detail = format!("there is no plugin of this name; there are {}", names.join(", "));
            report.note("plugin", name, Verdict::Refused, detail);
        }
        let wanted = plugins.iter().filter(|plugin| all || named.contains(plugin.name()));
        let loads = wanted.map(async |plugin| (plugin, timeout(PATIENCE, self.applier.load(plugin)).await));
        for (plugin, loaded) in join_all(loads).await {
            note(plugin.name(), loaded.ok(), report);
        }
    }
}

/// `loaded` is `None` if the load takes too long.
fn note(plugin: &str, loaded: Option<Result<Option<VersionInfo>, String>>, report: &mut Report) {
    match loaded {
        Some(Ok(Some(version))) => {
            let detail = format!("{} {}, digest {}", version.name, version.version, version.digest);
            report.note("plugin", plugin, Verdict::Loaded, detail);
        }
        Some(Ok(None)) => {}
        Some(Err(error)) => report.note("plugin", plugin, Verdict::Refused, error),
        None => {
            let detail = format!("it is not loaded after {PATIENCE:?}; see `informer status`");
            report.note("plugin", plugin, Verdict::Refused, detail);
        }
    }
}

#[cfg(test)]
mod tests;
