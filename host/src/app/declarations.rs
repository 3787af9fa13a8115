//! What components declare to read. If the configuration does not define what a plugin reads, the declaration of its component does.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use informer_runtime::offline;
use informer_system::read_file;
use informer_types::{DeclaredReads, Gvr, Part};
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::config::{Config, Plugin, Source};

/// The number of versions of a component that may serve: the one in service, its successor, and those that may come back.
const VERSIONS: usize = 4;

/// Time for the configuration to follow a declaration. If it takes longer, the version is loaded all the same; until then it cannot
/// read what is new in its declaration.
const APPLIED_WITHIN: Duration = Duration::from_secs(30);

/// The declarations of the components of all plugins.
pub(super) struct Declarations {
    of_plugins: Mutex<BTreeMap<String, Versions>>,
    changed: mpsc::UnboundedSender<WaitingLoad>,
    changes: tokio::sync::Mutex<mpsc::UnboundedReceiver<WaitingLoad>>,
}

/// A load that waits until the configuration in force follows the declaration of its component.
pub(super) type WaitingLoad = oneshot::Sender<()>;

/// The latest declarations of one plugin, each once, the newest first.
#[derive(Clone, Debug, Default)]
struct Versions {
    /// The source of the newest.
    source: Option<Source>,
    declared: VecDeque<DeclaredReads>,
}

// === impl Declarations ===

impl Declarations {
    pub(super) fn new() -> Arc<Self> {
        let (changed, changes) = mpsc::unbounded_channel();
        let changes = tokio::sync::Mutex::new(changes);
        Arc::new(Self { of_plugins: Mutex::default(), changed, changes })
    }

    /// Completes a configuration: if it does not say what a plugin reads, the declaration of its component applies. The component
    /// in a file is read for that, unless a declaration of the same source is known. Forgets all other plugins.
    ///
    /// # Blocking
    /// It reads files.
    pub(super) fn complete(&self, config: &mut Config) {
        let longest = config.host.component_bytes as u64;
        let mut of_plugins = self.of_plugins.lock();
        of_plugins.retain(|name, _| config.plugins.iter().any(|plugin| plugin.name == *name));
        for plugin in config.plugins.iter_mut().filter(|plugin| plugin.follows_declaration()) {
            let versions = of_plugins.entry(plugin.name.clone()).or_default();
            if versions.source.as_ref() != Some(&plugin.source)
                && let Some(declared) = in_file(plugin, longest)
            {
                versions.add(&plugin.source, declared);
            }
            plugin.declare(|gvr| versions.reads(gvr));
        }
    }

    /// Adds the declaration of a version that serves, or is about to be put into service. Returns once the configuration in force
    /// follows the declaration, or after [`APPLIED_WITHIN`].
    ///
    /// # Cancel safety
    /// The configuration follows the declaration even if the future is dropped.
    pub(super) async fn announce(&self, plugin: &str, source: &Source, declared: &DeclaredReads) {
        {
            let mut of_plugins = self.of_plugins.lock();
            // The configuration of other plugins says what they read.
            let Some(versions) = of_plugins.get_mut(plugin) else { return };
            if !versions.add(source, declared.clone()) {
                return;
            }
        }
        let (applied, is_applied) = oneshot::channel();
        if self.changed.send(applied).is_ok() {
            timeout(APPLIED_WITHIN, is_applied).await.ok();
        }
    }

    /// Waits until declarations have changed. Returns the loads that wait for the configuration to follow.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub(super) async fn changed(&self) -> Vec<WaitingLoad> {
        let mut changes = self.changes.lock().await;
        let mut waiting: Vec<WaitingLoad> = changes.recv().await.into_iter().collect();
        while let Ok(another) = changes.try_recv() {
            waiting.push(another);
        }
        waiting
    }
}

/// What the component in the file of a plugin declares. Returns `None` if there is none, or if it cannot be read.
fn in_file(plugin: &Plugin, longest: u64) -> Option<DeclaredReads> {
    let bytes = read_file(plugin.source.file()?, longest).ok()?;
    Some(offline::declared_reads(&bytes))
}

// === impl Versions ===

impl Versions {
    /// Adds the newest declaration. Returns true if the plugin may read something else than before.
    fn add(&mut self, source: &Source, declared: DeclaredReads) -> bool {
        self.source = Some(source.clone());
        let before = self.declared.clone();
        self.declared.retain(|one| *one != declared);
        self.declared.push_front(declared);
        self.declared.truncate(VERSIONS);
        let nothing = DeclaredReads::default();
        let is_first = before.is_empty();
        // Without a declaration everything is kept, so the first one that declares nothing changes nothing.
        if is_first {
            self.declared.front() != Some(&nothing)
        } else {
            self.declared.iter().any(|one| !before.contains(one))
        }
    }

    /// What the versions read of the objects of a resource. Returns `None` if one of them does not declare it.
    fn reads(&self, gvr: &Gvr) -> Option<Vec<Part>> {
        let parts = self.declared.iter().map(|DeclaredReads(declared)| declared.get(gvr).cloned());
        let parts: Vec<Vec<Part>> = parts.collect::<Option<_>>()?;
        (!parts.is_empty()).then(|| Part::union(parts.into_iter().flatten()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(text: &str) -> DeclaredReads {
        DeclaredReads::of_section(text.as_bytes())
    }

    fn reads(versions: &Versions) -> Option<Vec<String>> {
        let parts = versions.reads(&"v1/pods".parse().unwrap())?;
        Some(parts.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_plugin_reads_what_the_latest_versions_declare_or_everything() {
        let (mut versions, source) = (Versions::default(), Source::File("a.wasm".into()));
        assert_eq!(reads(&versions), None);

        assert!(versions.add(&source, declared(r#"{"v1/pods": ["/spec/a"]}"#)));
        assert_eq!(reads(&versions).unwrap(), ["/spec/a"]);
        assert!(!versions.add(&source, declared(r#"{"v1/pods": ["/spec/a"]}"#)), "the same version");
        assert!(versions.add(&source, declared(r#"{"v1/pods": ["/spec/b"], "v1/nodes": []}"#)));
        assert_eq!(reads(&versions).unwrap(), ["/spec/a", "/spec/b"], "the version before may come back");
        assert!(!versions.add(&source, declared(r#"{"v1/pods": ["/spec/a"]}"#)), "it comes back");

        assert!(versions.add(&source, DeclaredReads::default()));
        assert_eq!(reads(&versions), None, "a version that declares nothing may read everything");
    }

    #[test]
    fn versions_that_cannot_come_back_are_forgotten() {
        let (mut versions, source) = (Versions::default(), Source::File("a.wasm".into()));
        versions.add(&source, DeclaredReads::default());
        for version in 0..VERSIONS {
            versions.add(&source, declared(&format!(r#"{{"v1/pods": ["/spec/{version}"]}}"#)));
        }

        assert_eq!(reads(&versions).unwrap(), ["/spec/0", "/spec/1", "/spec/2", "/spec/3"]);
    }

    #[test]
    fn the_version_in_service_stays_however_many_versions_are_refused_after_it() {
        let (mut versions, source) = (Versions::default(), Source::File("a.wasm".into()));
        let in_service = declared(r#"{"v1/pods": ["/spec/a"]}"#);
        versions.add(&source, in_service.clone());
        for refused in 0..2 * VERSIONS {
            versions.add(&source, declared(&format!(r#"{{"v1/pods": ["/spec/{refused}"]}}"#)));
            versions.add(&source, in_service.clone());
        }

        assert!(reads(&versions).unwrap().contains(&"/spec/a".to_owned()));
    }

    #[test]
    fn the_first_version_without_a_declaration_changes_nothing() {
        let (mut versions, source) = (Versions::default(), Source::File("a.wasm".into()));

        assert!(!versions.add(&source, DeclaredReads::default()));
    }
}
