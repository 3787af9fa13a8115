//! The projects that `informer dev` builds: at the start, and when their sources change.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use anyhow::Context;
use ignore::WalkBuilder;
use informer_author::{Built, Cache, build};
use informer_types::DEBUG_FILE;
use tokio::{task::spawn_blocking, time::sleep};
use tracing::{error, info, warn};

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

/// The time of the last change and the length of each file that is a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sources(BTreeMap<PathBuf, (Option<SystemTime>, u64)>);

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

    /// Builds every project whose sources changed since its last build, one after another. A mistake in one is logged, and the host
    /// keeps the component that it has.
    pub(super) async fn build_changed(&mut self) {
        for project in &mut self.0 {
            let folder: Arc<Path> = project.folder.as_path().into();
            let sources = spawn_blocking(move || Sources::of(&folder)).await.unwrap_or_default();
            if project.built.as_ref() != Some(&sources) {
                project.build().await;
                project.built = Some(sources);
            }
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
    async fn build(&self) {
        let begun = Instant::now();
        info!(plugin = self.plugin, "building {}", self.folder.display());
        let folder = self.folder.clone();
        // Compilers run for seconds.
        let building = spawn_blocking(move || -> anyhow::Result<Built> {
            Ok(build(&folder, &manifest(&folder)?, &Cache::of_user())?)
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

// === impl Sources ===

impl Sources {
    /// The files of a folder but hidden ones, logs and those that a `.gitignore` names. A file that cannot be looked at is left out.
    fn of(folder: &Path) -> Self {
        // The folder may be no git repository.
        let files = WalkBuilder::new(folder).require_git(false).build().flatten();
        let files = files.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        // The output of this command may go to a file of the folder, and each build adds to it. A build also writes debug files.
        let made = |extension: &OsStr| extension == "log" || extension == DEBUG_FILE;
        let files = files.filter(|entry| !entry.path().extension().is_some_and(made));
        let known = files.filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some((entry.into_path(), (metadata.modified().ok(), metadata.len())))
        });
        Self(known.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_component_and_what_gitignore_names_are_no_sources() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".gitignore", "*.wasm\n*.partial\ntarget/\n");
        write("src/lib.rs", "one");
        let before = Sources::of(folder.path());

        write("hello.wasm", "component");
        write("hello.wasm.debug", "component");
        write(".hello.wasm.partial", "component");
        write("target/debug/hello", "program");
        write("dev.log", "building");
        assert_eq!(Sources::of(folder.path()), before);

        write("src/lib.rs", "longer");
        let changed = Sources::of(folder.path());
        assert_ne!(changed, before);
        write("src/new.rs", "");
        assert_ne!(Sources::of(folder.path()), changed);
    }
}
