//! The kinds that the API server serves. While the configuration has patterns, the host looks the kinds up, and replaces each
//! pattern by single resources before it applies a configuration (D-22). The later stages see single resources only.

mod expansion;
mod served;

use std::{sync::Arc, time::Duration};

use informer_cache::{InformerFactory, Phase};
use informer_types::Gvr;
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use crate::config::{Config, Plugin, Watch};
pub(super) use expansion::{expanded, meaning};
pub(super) use served::{DiscoveryError, Served, discover};

/// Time between two lookups, and so the longest time until the resource of a new CRD is watched. One lookup is two requests.
const PERIOD: Duration = Duration::from_secs(10);

/// Time for one lookup. The start of the host waits for the first one.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// The kinds as the host knows them. Cheap to clone; all clones share one state.
#[derive(Clone)]
pub(super) struct Kinds(Arc<Shared>);

struct Shared {
    client: kube::Client,
    factory: Arc<InformerFactory>,
    state: Mutex<State>,
    /// True while the configuration in force has patterns.
    wanted: watch::Sender<bool>,
    /// True once a lookup has succeeded.
    known: watch::Sender<bool>,
    /// Held during a lookup.
    looking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    /// `None` until the first lookup has succeeded.
    served: Option<Served>,
    /// Why the last lookup failed; `None` if it succeeded.
    problem: Option<String>,
    /// Plugins that wait for the first lookup.
    waiting: Vec<String>,
}

// === impl Kinds ===

impl Kinds {
    pub(super) fn new(client: kube::Client, factory: Arc<InformerFactory>) -> Self {
        Self(Arc::new(Shared {
            client,
            factory,
            state: Mutex::default(),
            wanted: watch::Sender::new(false),
            known: watch::Sender::new(false),
            looking: tokio::sync::Mutex::default(),
        }))
    }

    /// Looks the kinds up if this configuration needs them. If the lookup fails, the known kinds stay.
    pub(super) async fn look_for(&self, file: &Config) {
        if has_patterns(file) {
            self.look().await;
        }
    }

    /// Waits until the next lookup is due, and makes it. Returns true if the kinds differ from the earlier ones.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(super) async fn look_later(&self) -> bool {
        // The sender lives as long as `self`.
        self.0.wanted.subscribe().wait_for(|wanted| *wanted).await.ok();
        sleep(PERIOD).await;
        self.look().await
    }

    async fn look(&self) -> bool {
        let _one_at_a_time = self.0.looking.lock().await;
        let found = timeout(ANSWERED_WITHIN, discover(&self.0.client)).await;
        let found = found.unwrap_or(Err(DiscoveryError::Silent(ANSWERED_WITHIN)));
        let mut state = self.0.state.lock();
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                let error = format!("{:#}", anyhow::Error::from(error));
                if state.problem.replace(error.clone()).is_none() {
                    tracing::warn!(
                        error,
                        "the kinds that the API server serves cannot be looked up; watches of all kinds stay as they are"
                    );
                }
                return false;
            }
        };
        if state.problem.take().is_some() {
            tracing::info!("the kinds that the API server serves are looked up again");
        }
        let before = state.served.take().unwrap_or_default();
        let now = found.after(&before, |gvr| self.is_followed(gvr));
        for api in now.failing().difference(before.failing()) {
            tracing::warn!(api, "an API does not answer discovery; watches of its kinds stay as they are");
        }
        for api in before.failing().difference(now.failing()) {
            tracing::info!(api, "an API answers discovery again");
        }
        let is_other = now != before;
        state.served = Some(now);
        drop(state);
        self.0.known.send_replace(true);
        is_other
    }

    /// Returns true if an informer has not noticed yet that this resource is no longer served: it delivers the deletions of the
    /// objects, and a subscription that ended before would not receive them (D-22).
    fn is_followed(&self, gvr: &Gvr) -> bool {
        let informers = self.0.factory.superseded().into_iter().chain(self.0.factory.informers());
        let mut statuses = informers.filter(|one| one.key().gvr == *gvr).map(|one| one.status());
        statuses.any(|status| status.phase != Phase::WaitingForResource)
    }

    /// This configuration of the file, with single resources in the place of patterns. Before the kinds are known, a plugin that
    /// uses patterns keeps its configuration and its watches of `before`. If `before` lacks the plugin, the plugin does not run: with
    /// fewer subscriptions, it would lose its acknowledgements.
    pub(super) fn expanded(&self, file: &Config, before: Option<&Config>) -> Config {
        self.0.wanted.send_replace(has_patterns(file));
        let mut state = self.0.state.lock();
        if let Some(served) = &state.served {
            let config = expanded(file, served);
            state.waiting.clear();
            return config;
        }
        let mut config = expanded(file, &Served::default());
        let waits: Vec<String> = file
            .plugins
            .iter()
            .filter(|one| one.patterns().next().is_some())
            .map(|one| one.name.clone())
            .collect();
        config.plugins.retain_mut(|plugin| {
            if !waits.contains(&plugin.name) {
                return true;
            }
            let earlier = before.and_then(|before| before.plugins.iter().find(|one| one.name == plugin.name));
            earlier.inspect(|earlier| plugin.clone_from(earlier)).is_some()
        });
        if let Some(before) = before {
            keep_watches(&mut config, before, &waits);
        }
        state.waiting = waits;
        config
    }

    /// Waits until the kinds are known, if the configuration in force needs them.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(super) async fn known(&self) {
        if *self.0.wanted.borrow() {
            self.0.known.subscribe().wait_for(|known| *known).await.ok();
        }
    }

    /// Returns why plugins wait, or `None` if no plugin waits.
    pub(super) fn unready(&self) -> Option<String> {
        let state = self.0.state.lock();
        let waiting = Some(state.waiting.join(", ")).filter(|waiting| !waiting.is_empty())?;
        let why = state.problem.as_deref().unwrap_or("they are being looked up");
        Some(format!(
            "the kinds that the API server serves are not known, and plugins wait for them ({waiting}): {why}"
        ))
    }

    /// Returns the lookups that fail, while watches stay as they were.
    pub(super) fn degraded(&self) -> Vec<String> {
        let state = self.0.state.lock();
        let Some(served) = state.served.as_ref().filter(|_| *self.0.wanted.borrow()) else {
            return Vec::new();
        };
        let problem = state.problem.iter().map(|why| {
            format!("the kinds that the API server serves cannot be looked up, so watches of all kinds stay as they were: {why}")
        });
        let failing = served.failing().iter().map(|api| {
            format!("the API {api} does not answer discovery, so watches of its kinds stay as they were; check its APIService")
        });
        problem.chain(failing).collect()
    }
}

fn has_patterns(file: &Config) -> bool {
    file.watches.iter().any(|watch| watch.gvr.is_pattern())
}

/// Adds the earlier watches of the plugins that wait for the kinds, if the configuration has no other watch of the resource. Without the
/// earlier watch, the watch of a pattern would later count as new, and would not replace the informer that the plugin uses.
fn keep_watches(config: &mut Config, before: &Config, waits: &[String]) {
    let staying: Vec<&Plugin> = config.plugins.iter().filter(|one| waits.contains(&one.name)).collect();
    let is_used = |gvr: &Gvr| {
        staying.iter().any(|plugin| {
            plugin.may_read(gvr)
                || plugin.subscriptions.iter().any(|on| on.watch == *gvr)
                || (plugin.follows_namespaces() && *gvr == Gvr::namespaces())
        })
    };
    let is_there = |gvr: &Gvr| config.watches.iter().any(|watch| watch.gvr == *gvr);
    let earlier = before.watches.iter().filter(|watch| is_used(&watch.gvr) && !is_there(&watch.gvr));
    let kept: Vec<Watch> = earlier.cloned().collect();
    config.watches.extend(kept);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use informer_cache::FactoryConfig;

    use super::*;
    use crate::{
        config::{Access, Components, Environment, Place, parse},
        connect::connect,
    };

    fn config(on: &str) -> Config {
        let text = format!(
            "[[watch]]\ngvr = \"*/*/*\"\nmetadata-only = true\n[[watch]]\ngvr = \"v1/pods\"\n\
             [[plugin]]\nname = \"all\"\nsource = \"p\"\n[[plugin.on]]\nwatch = \"{on}\"\n\
             [[plugin]]\nname = \"own\"\nsource = \"p\"\n[[plugin.on]]\nwatch = \"v1/pods\"\n"
        );
        let environment = Environment { home: None, cache_dir: None, state_dir: None };
        let place = Place { file: Path::new("f"), base: Path::new("/"), environment: &environment };
        parse(&text, &place, Components::Unseen).unwrap_or_else(|error| panic!("{error}"))
    }

    fn names(config: &Config) -> Vec<&str> {
        config.plugins.iter().map(|plugin| plugin.name.as_str()).collect()
    }

    /// With fewer subscriptions, a plugin would lose what it acknowledged (D-17, D-22).
    #[tokio::test]
    async fn a_plugin_waits_until_the_kinds_are_known_or_stays_as_it_was() {
        // Nothing listens there.
        let connection = connect(&Access::Server("http://127.0.0.1:9".parse().unwrap())).await.unwrap();
        let factory = Arc::new(InformerFactory::new(connection.client.clone(), FactoryConfig::default()));
        let kinds = Kinds::new(connection.client, factory);
        let (file, before) = (config("*/*/*"), config("v1/pods"));

        kinds.look_for(&file).await;

        assert_eq!(names(&kinds.expanded(&file, None)), ["own"]);
        let unready = kinds.unready().unwrap();
        assert!(unready.contains("(all)") && unready.contains("does not answer discovery"), "{unready}");
        assert_eq!(kinds.expanded(&file, Some(&before)).plugins, before.plugins);
        assert_eq!(kinds.expanded(&before, None).plugins, before.plugins);
        assert_eq!(kinds.unready(), None, "no plugin waits any more");
    }

    /// If the earlier watch were gone, the plugin would keep the informer of that watch for ever, because an added watch replaces no
    /// informer.
    #[tokio::test]
    async fn the_watches_of_a_plugin_that_stays_as_it_was_stay_too() {
        // Nothing listens there.
        let connection = connect(&Access::Server("http://127.0.0.1:9".parse().unwrap())).await.unwrap();
        let factory = Arc::new(InformerFactory::new(connection.client.clone(), FactoryConfig::default()));
        let kinds = Kinds::new(connection.client, factory);
        let mut before = config("v1/pods");
        before.watches.retain(|watch| !watch.gvr.is_pattern());
        let mut file = config("*/*/*");
        file.watches.retain(|watch| watch.gvr.is_pattern());
        file.plugins.retain(|plugin| plugin.name == "all");

        let now = kinds.expanded(&file, Some(&before));

        assert_eq!((names(&now), &now.watches), (vec!["all"], &before.watches));
        // The second reload compares with the result of the first one.
        assert_eq!(kinds.expanded(&file, Some(&now)).watches, before.watches);
        assert!(kinds.expanded(&file, None).watches.is_empty(), "no plugin runs that needs one");
    }
}
