//! The projects that `informer dev` builds: at the start, and when their sources change.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use informer_author::{Built, Cache, build};
use parking_lot::Mutex;
use tokio::{task::spawn_blocking, time::sleep};
use tracing::{error, info, warn};

use super::sources::{Record, Sources};
use crate::{
    commands::build::manifest,
    config::{Config, Source},
};

/// How often the sources are looked at. A person notices no shorter time.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// The plugins with `build`, in the order of the file.
pub(super) struct Projects {
    wanted: Wanted,
    all: Vec<Project>,
}

/// The projects that the newest configuration names. Cheap to clone; all clones share one list.
#[derive(Clone, Default)]
pub(super) struct Wanted(Arc<Mutex<Vec<Named>>>);

/// A plugin that is built from its sources, as the configuration names it.
#[derive(Clone, PartialEq)]
struct Named {
    /// The name in `informer.toml`.
    plugin: String,
    /// The component that the host runs.
    source: Source,
    folder: PathBuf,
}

/// A plugin that is built from its sources.
struct Project {
    named: Named,
    /// The sources of the last build, whether it succeeded or not; `None` before the first one.
    built: Option<Sources>,
}

// === impl Wanted ===

impl Wanted {
    /// Names the projects of another configuration.
    pub(super) fn set(&self, config: &Config) {
        let projects = config.plugins.iter().filter_map(|plugin| {
            let folder = plugin.build.clone()?;
            Some(Named { plugin: plugin.name.clone(), source: plugin.source.clone(), folder })
        });
        *self.0.lock() = projects.collect();
    }
}

// === impl Projects ===

impl Projects {
    /// The projects of the newest configuration.
    pub(super) fn new(wanted: Wanted) -> Self {
        Self { wanted, all: Vec::new() }
    }

    /// Continues with the projects of a configuration that changed. A project that stays is not built again.
    fn adopt(&mut self) {
        let wanted = self.wanted.0.lock().clone();
        let mut before = std::mem::take(&mut self.all);
        let project = |named: Named| match before.iter().position(|project| project.named == named) {
            Some(at) => before.swap_remove(at),
            None => Project { named, built: None },
        };
        self.all = wanted.into_iter().map(project).collect();
    }

    /// Builds every project whose sources changed since its last build, one after another. At first, that build may be one of an
    /// earlier process. A mistake in one project is logged, and the host keeps the component that it has.
    pub(super) async fn build_changed(&mut self) {
        self.adopt();
        for project in &mut self.all {
            let (folder, first) = (project.named.folder.clone(), project.built.is_none());
            let look = move || {
                let sources = Sources::of(&folder);
                let built = first
                    && manifest(&folder).is_ok_and(|manifest| Record::is_of(&folder, &manifest, &sources));
                (sources, built)
            };
            let (sources, built) = spawn_blocking(look).await.unwrap_or_default();
            if built {
                info!(plugin = project.named.plugin, "the sources have not changed since the last build");
            } else if project.built.as_ref() != Some(&sources) {
                project.build(&sources).await;
            }
            project.built = Some(sources);
        }
    }

    /// Builds what changes. It never returns.
    pub(super) async fn follow(mut self) {
        loop {
            sleep(LOOK_EVERY).await;
            self.build_changed().await;
        }
    }
}

// === impl Project ===

impl Project {
    async fn build(&self, sources: &Sources) {
        let (begun, Named { plugin, folder, .. }) = (Instant::now(), &self.named);
        info!(plugin, "building {}", folder.display());
        let (folder, sources) = (folder.clone(), sources.clone());
        // Compilers run for seconds.
        let building = spawn_blocking(move || -> anyhow::Result<Built> {
            let manifest = manifest(&folder)?;
            let built = build(&folder, &manifest, &Cache::of_user())?;
            Record::write(&folder, &manifest, &sources);
            Ok(built)
        });
        match building.await.context("the build was interrupted").flatten() {
            Ok(built) => {
                let (file, kibibytes) = (built.file.display(), built.bytes.div_ceil(1024));
                let seconds = begun.elapsed().as_secs_f64();
                info!(plugin, "built {file}: {kibibytes} KiB in {seconds:.1} s");
                self.compare(&built.file);
            }
            Err(problem) => error!(plugin, "the build failed: {problem:#}"),
        }
    }

    /// Warns if the host runs another file than the one that is built.
    fn compare(&self, built: &Path) {
        let Named { plugin, source: Source::File(source), .. } = &self.named else { return };
        let same = source.canonicalize().ok() == built.canonicalize().ok();
        if !same {
            warn!(
                plugin,
                "the plugin runs {}, but `build` writes {}: correct `source`",
                source.display(),
                built.display()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Components, Environment, Place, parse};

    fn config(plugins: &[&str]) -> Config {
        let plugins = plugins.iter().map(|name| {
            format!(
                "[[plugin]]\nname = \"{name}\"\nsource = \"{name}.wasm\"\nbuild = \"{name}\"\n[[plugin.on]]\nwatch = \"v1/pods\"\n"
            )
        });
        let text = format!("[[watch]]\ngvr = \"v1/pods\"\n{}", plugins.collect::<String>());
        let place = Place { file: "f".as_ref(), base: "/".as_ref(), environment: &Environment::default() };
        parse(&text, &place, Components::Unseen).unwrap()
    }

    /// The projects, each with true if it was built.
    fn known(projects: &Projects) -> Vec<(&str, bool)> {
        projects.all.iter().map(|one| (one.named.plugin.as_str(), one.built.is_some())).collect()
    }

    #[test]
    fn a_changed_configuration_adds_and_removes_projects_and_the_others_stay_as_they_are() {
        let wanted = Wanted::default();
        let mut projects = Projects::new(wanted.clone());
        wanted.set(&config(&["a", "b"]));
        projects.adopt();
        assert_eq!(known(&projects), [("a", false), ("b", false)]);
        projects.all.iter_mut().for_each(|project| project.built = Some(Sources::default()));

        wanted.set(&config(&["c", "b"]));
        projects.adopt();

        assert_eq!(known(&projects), [("c", false), ("b", true)]);
    }
}
