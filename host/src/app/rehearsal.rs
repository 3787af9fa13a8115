//! Checks before the host runs, for `informer check`, and what it will request, for `informer rbac`.

use std::{collections::BTreeMap, time::Duration};

use futures::future::join_all;
use informer_cache::{InformerFactory, SharedInformer};
use informer_runtime::{
    Component, Engine, LoadError, Sources,
    capabilities::{HttpClient, HttpConfig},
};
use informer_types::{Gvr, WriteGrants};
use tokio::time::{Instant, sleep, timeout};

use super::{
    advice,
    keeping::Keeping,
    kinds::{self, DiscoveryError, Served},
    narrowing::Narrowing,
    settings,
};
use crate::{
    config::{self, Config, Watch},
    connect::Connection,
};

/// Time for a first list. A large resource takes some seconds; a server that is down fails at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time between two looks at an informer.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The patterns of a configuration.
pub struct Patterns {
    file: Config,
    expanded: Config,
    /// `None` until a cluster was asked.
    served: Option<Served>,
}

// === impl Patterns ===

impl Patterns {
    /// The patterns, before a cluster says what they stand for.
    pub fn of(file: &Config) -> Self {
        Self { file: file.clone(), expanded: kinds::expanded(file, &Served::default()), served: None }
    }

    /// Looks up in a cluster which resources the patterns stand for. Returns each pattern whose lookup fails, with the reason.
    pub async fn look_up(&mut self, connection: &Connection) -> Vec<(String, String)> {
        let patterns: Vec<String> = self.patterns().map(|watch| watch.gvr.to_string()).collect();
        if patterns.is_empty() {
            return Vec::new();
        }
        let found = match timeout(PATIENCE, kinds::discover(&connection.client)).await {
            Ok(Ok(found)) => {
                self.expanded = kinds::expanded(&self.file, &found);
                self.served = Some(found);
                return Vec::new();
            }
            Ok(Err(error)) => error,
            Err(_) => DiscoveryError::Silent(PATIENCE),
        };
        let why = format!("{:#}", anyhow::Error::from(found));
        patterns.into_iter().map(|pattern| (pattern, why.clone())).collect()
    }

    /// The configuration with single resources in the place of patterns; only those that the file names, before
    /// [`look_up`](Self::look_up).
    pub fn expanded(&self) -> &Config {
        &self.expanded
    }

    /// Returns each pattern with what it stands for, in words.
    pub fn meanings(&self) -> Vec<(String, String)> {
        let meaning = |watch: &Watch| match &self.served {
            None => {
                let excluded: Vec<String> = watch.exclude.iter().map(ToString::to_string).collect();
                let except = if excluded.is_empty() {
                    String::new()
                } else {
                    format!(" except {}", excluded.join(", "))
                };
                let group = match watch.gvr.served_group() {
                    "*" => String::new(),
                    "" => " in the core group".to_owned(),
                    group => format!(" in the group {group}"),
                };
                format!(
                    "each resource that the API server serves{group}{except}; `informer check --cluster` lists them"
                )
            }
            Some(served) => {
                let mut names = kinds::meaning(&self.file, watch, served);
                names.sort();
                format!("{} resources: {}", names.len(), names.join(", "))
            }
        };
        self.patterns().map(|watch| (watch.gvr.to_string(), meaning(watch))).collect()
    }

    fn patterns(&self) -> impl Iterator<Item = &Watch> {
        self.file.watches.iter().filter(|watch| watch.gvr.is_pattern())
    }
}

/// Checks a component as the host would before it puts it into service: interfaces, grants, and a first instance that answers
/// `describe` within the limits of the plugin. The instance reaches neither the API server nor the network nor a key-value.
///
/// # Errors
/// [`LoadError`], with advice for this plugin.
pub async fn check_component(
    engine: &Engine,
    plugin: &config::Plugin,
    component: Result<Component, LoadError>,
) -> Result<(), LoadError> {
    let rehearse = async {
        let mut settings = settings::plugin(plugin);
        let grants = &mut settings.grants;
        // The grants link the interfaces; what they allow is not needed.
        grants.write = grants.write.take().map(|_| WriteGrants::default());
        grants.http = grants.http.take().map(|_| Vec::new());
        let http = HttpClient::new(HttpConfig::default());
        let http = http.map_err(|error| LoadError::Instantiate(error.to_string()))?;
        let plugin = informer_runtime::Plugin::new(engine.clone(), settings, Sources::nothing(http));
        plugin.rehearse(&component?).await
    };
    match rehearse.await {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(advice::advised(error, plugin.source.file(), advice::resource(plugin).as_ref()).await)
        }
    }
}

/// Returns each watch that requests less than its own selector selects, with the requirements that are added because all its
/// subscriptions have them.
pub fn narrowed_watches(config: &Config) -> Vec<(String, String)> {
    let narrowed = |watch: &Watch| Some((watch.gvr.to_string(), Narrowing::of(watch, config)?.to_string()));
    config.watches.iter().filter_map(narrowed).collect()
}

/// Returns the namespaces that the host requests of each watch; an empty list means all.
pub fn watched_namespaces(config: &Config) -> BTreeMap<Gvr, Vec<String>> {
    settings::watches(config).into_iter().map(|(gvr, watch)| (gvr, watch.namespaces)).collect()
}

/// Returns what each watch keeps of its objects and why, if a plugin declares what it reads of them.
pub fn kept_parts(config: &Config) -> Vec<(String, String)> {
    let declared = |watch: &Watch| {
        let mut subscriptions = config.plugins.iter().flat_map(|plugin| &plugin.subscriptions);
        subscriptions.any(|on| on.watch == watch.gvr && on.reads.parts().is_some())
    };
    let kept = |watch: &Watch| Some((watch.gvr.to_string(), Keeping::of(watch, config)?.to_string()));
    config.watches.iter().filter(|watch| declared(watch)).filter_map(kept).collect()
}

/// Lists every watched resource once. Returns each watch that failed, with the reason.
pub async fn check_watches(config: &Config, connection: Connection) -> Vec<(String, String)> {
    let settings = settings::factory(&config.cluster, &config.host, &connection);
    let factory = InformerFactory::new(connection.client, settings);
    let informers: Vec<SharedInformer> =
        settings::watches(config).into_values().map(|watch| factory.informer(watch)).collect();
    factory.start();
    let problems = join_all(informers.iter().map(verdict)).await;
    factory.shutdown().await;
    problems.into_iter().flatten().collect()
}

/// Returns `None` once the informer has synced, or its first failure.
async fn verdict(informer: &SharedInformer) -> Option<(String, String)> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let status = informer.status();
        if status.synced {
            return None;
        }
        let mut errors = status.reflectors.iter().filter_map(|reflector| reflector.last_error.as_ref());
        if let Some(error) = errors.next() {
            return Some((status.key.to_string(), error.text.clone()));
        }
        if Instant::now() >= deadline {
            return Some((status.key.to_string(), format!("no answer within {PATIENCE:?}; {status}")));
        }
        sleep(LOOK_EVERY).await;
    }
}
