//! From the sources of a project to its component.

mod c;
mod go;
mod javascript;
mod python;
mod rust;
mod step;

use std::{
    fs,
    path::{Path, PathBuf},
};

pub use step::BuildError;

use crate::{
    Language, Manifest, Project, component,
    tool::{self, Cache},
};
use step::Build;

/// A component that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The file.
    pub file: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// Builds the project in a folder. Writes the component to `NAME.wasm` there, in one step, so that a host that runs it loads a
/// whole file. Compilers print to stderr. Blocks until they end.
///
/// # Errors
/// [`BuildError`], with what to change or to install.
pub fn build(project: &Path, manifest: &Manifest, cache: &Cache) -> Result<Built, BuildError> {
    Project::check_name(&manifest.name)?;
    let scratch = tempfile::tempdir().map_err(|error| tool::io_error(&std::env::temp_dir(), error))?;
    // Compilers run in the folder, and get whole paths.
    let folder = project.canonicalize().map_err(|error| tool::io_error(project, error))?;
    let build = Build { project: &folder, manifest, cache, scratch };
    let mut component = match manifest.language {
        Language::Rust => rust::build(&build),
        Language::Js | Language::Ts => javascript::build(&build),
        Language::Python => python::build(&build),
        Language::Go => go::build(&build),
        Language::C => c::build(&build),
    }?;
    component::declare(&mut component, manifest.language);
    let file = project.join(format!("{}.wasm", manifest.name));
    let partial = project.join(format!(".{}.wasm.partial", manifest.name));
    fs::write(&partial, &component)
        .and_then(|()| fs::rename(&partial, &file))
        .map_err(|error| tool::io_error(&file, error))?;
    Ok(Built { file, bytes: component.len() as u64 })
}
