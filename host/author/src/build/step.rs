//! The steps that the builds of all languages share.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{
    Existing, InvalidName, Manifest, SDK, TextFile, WitVersion, WriteError,
    bindings::{Generated, NoBindings},
    component::NotOfTheWorld,
    sdk,
    tool::{self, Cache, ToolError},
    wit_world::{Uncalled, World, WorldError},
    write,
};

/// The folders of the WIT files and of the generated bindings in a project.
const WIT_FOLDER: &str = "wit";
pub(super) const BINDINGS: &str = "bindings";

/// Why a project cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The file of the component cannot have this name.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// A compiler is missing, or fails.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The WIT files cannot be used.
    #[error(transparent)]
    World(#[from] WorldError),
    /// No bindings can be generated.
    #[error(transparent)]
    Bindings(#[from] NoBindings),
    /// A generated file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The compiled module is no plugin.
    #[error(transparent)]
    Component(#[from] NotOfTheWorld),
    /// The project lacks a file, or a file says something that cannot be built.
    #[error("{0}")]
    Project(String),
}

/// A build.
pub(super) struct Build<'a> {
    pub(super) project: &'a Path,
    pub(super) manifest: &'a Manifest,
    pub(super) cache: &'a Cache,
    pub(super) scratch: TempDir,
}

// === impl Build ===

impl Build<'_> {
    /// The name of the world.
    pub(super) fn world_name(&self) -> Result<&str, BuildError> {
        let missing = || BuildError::Project("`world` is missing in informer-plugin.toml".to_owned());
        self.manifest.world.as_deref().ok_or_else(missing)
    }

    /// The folder of the WIT files: the project's own, or the interface that the SDK of the language is made for.
    pub(super) fn wit(&self) -> Result<PathBuf, BuildError> {
        self.folder(WIT_FOLDER, &WitVersion::NEWEST.files())
    }

    /// The folder of the SDK: the project's own, or the SDK in this program.
    pub(super) fn sdk(&self) -> Result<PathBuf, BuildError> {
        self.folder(SDK, sdk(self.manifest.language))
    }

    /// A folder of the project. If the project has none, a folder with these files that ends with the build.
    fn folder(&self, name: &str, files: &[TextFile<'_>]) -> Result<PathBuf, BuildError> {
        let own = self.project.join(name);
        if own.is_dir() {
            return Ok(own);
        }
        let folder = self.scratch(name);
        write(&folder, files, Existing::Replace)?;
        Ok(folder)
    }

    /// The WIT files with a world that has the exports of another one, and imports only these interfaces: a component that imports
    /// less needs fewer grants. Returns their folder, which ends with the build, and the name of the world.
    pub(super) fn narrowed(
        &self,
        world: &World,
        imports: &[&str],
    ) -> Result<(PathBuf, &'static str), BuildError> {
        const NAME: &str = "built-by-informer";
        let (from, to) = (self.wit()?, self.scratch("narrowed"));
        for source in sources(&from, "wit")? {
            let copy = to.join(source.strip_prefix(&from).unwrap_or(&source));
            let copied =
                copy.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::copy(&source, &copy));
            copied.map_err(|error| tool::io_error(&source, error))?;
        }
        let file = TextFile { path: "built-by-informer.wit", text: &world.with_imports(NAME, imports) };
        write(&to, &[file], Existing::Replace)?;
        Ok((to, NAME))
    }

    pub(super) fn world(&self) -> Result<World, BuildError> {
        Ok(World::read(&self.wit()?, self.world_name()?)?)
    }

    /// Refuses a world that exports `handler` beside the function for batches of the plugin. Without this check, the build would ask for
    /// handlers that the host never calls.
    pub(super) fn check_batches(world: &World) -> Result<(), BuildError> {
        world.both().map_or(Ok(()), |problem| Err(BuildError::Project(problem)))
    }

    /// Refuses handlers that the host would never call in a component of the world. For an interface, `defined` describes where the
    /// sources define a function of the interface, or returns `None` if they define no such function.
    pub(super) fn check_called(
        world: &World,
        defined: impl Fn(&Uncalled) -> Option<String>,
    ) -> Result<(), BuildError> {
        for uncalled in world.uncalled() {
            if let Some(handler) = defined(&uncalled) {
                let problem = format!("{handler}, which the host would never call: {}", uncalled.why);
                return Err(BuildError::Project(problem));
            }
        }
        Ok(())
    }

    /// Writes the bindings into the project. Files that are as they should be are not touched.
    pub(super) fn bindings(&self, files: &Generated) -> Result<PathBuf, BuildError> {
        let folder = self.project.join(BINDINGS);
        let files: Vec<TextFile<'_>> = files.iter().map(|(path, text)| TextFile { path, text }).collect();
        write(&folder, &files, Existing::Replace)?;
        Ok(folder)
    }

    /// A file in the folder that ends with the build.
    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub(super) fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
        fs::read(path).map_err(|error| tool::io_error(path, error).into())
    }
}

/// The files below a folder with this extension, sorted. Folders whose name starts with a dot are left out.
pub(super) fn sources(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, BuildError> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| tool::io_error(&folder, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| tool::io_error(&folder, error))?;
            let (path, hidden) = (entry.path(), entry.file_name().as_encoded_bytes().starts_with(b"."));
            if path.is_dir() && !hidden {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    if found.is_empty() {
        let problem = format!("{} has no file that ends in .{extension}", folder.display());
        return Err(BuildError::Project(problem));
    }
    Ok(found)
}
