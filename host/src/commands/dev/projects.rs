//! The projects that `informer dev` builds: at the start, and when their sources change.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Context;
use informer_author::{Built, Cache, build};
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
#[derive(Default)]
pub(super) struct Projects(Vec<Project>);

/// A plugin that is built from its sources.
struct Project {
    /// The name in `informer.toml`.
    plugin: String,
    /// The component that the host runs.
    source: Source,
    folder: PathBuf,
    /// The sources of the last build, whether it succeeded or not; `None` before the first one.
    built: Option<Sources>,
}

// === impl Projects ===

impl Projects {
    /// The projects of a configuration.
    pub(super) fn of(config: &Config) -> Self {
        let projects = config.plugins.iter().filter_map(|plugin| {
            let folder = plugin.build.clone()?;
            let (plugin, source) = (plugin.name.clone(), plugin.source.clone());
            Some(Project { plugin, source, folder, built: None })
        });
        Self(projects.collect())
    }

    /// Builds every project whose sources changed since its last build, one after another. At first, that build may be one of an
    /// earlier process. A mistake in one project is logged, and the host keeps the component that it has.
    pub(super) async fn build_changed(&mut self) {
        for project in &mut self.0 {
            let (folder, first) = (project.folder.clone(), project.built.is_none());
            let look = move || {
                let sources = Sources::of(&folder);
                let built = first
                    && manifest(&folder).is_ok_and(|manifest| Record::is_of(&folder, &manifest, &sources));
                (sources, built)
            };
            let (sources, built) = spawn_blocking(look).await.unwrap_or_default();
            if built {
                info!(plugin = project.plugin, "the sources have not changed since the last build");
            } else if project.built.as_ref() != Some(&sources) {
                project.build(&sources).await;
            }
            project.built = Some(sources);
        }
    }

    /// Builds what changes. It never returns.
    pub(super) async fn follow(mut self) {
        if self.0.is_empty() {
            std::future::pending::<()>().await;
        }
        loop {
            sleep(LOOK_EVERY).await;
            self.build_changed().await;
        }
    }
}

// === impl Project ===

impl Project {
    async fn build(&self, sources: &Sources) {
        let begun = Instant::now();
        info!(plugin = self.plugin, "building {}", self.folder.display());
        let (folder, sources) = (self.folder.clone(), sources.clone());
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
                info!(plugin = self.plugin, "built {file}: {kibibytes} KiB in {seconds:.1} s");
                self.compare(&built.file);
            }
            Err(problem) => error!(plugin = self.plugin, "the build failed: {problem:#}"),
        }
    }

    /// Warns if the host runs another file than the one that is built.
    fn compare(&self, built: &Path) {
        let Source::File(source) = &self.source else { return };
        let same = source.canonicalize().ok() == built.canonicalize().ok();
        if !same {
            warn!(
                plugin = self.plugin,
                "the plugin runs {}, but `build` writes {}: correct `source`",
                source.display(),
                built.display()
            );
        }
    }
}
