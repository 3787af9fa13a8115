//! From the sources of a project to its component.

mod c;
mod go;
mod javascript;
mod python;
mod rust;
mod step;

use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use informer_types::{DebugOf, DeclaredReads};
pub use step::BuildError;

use crate::{
    Language, Manifest, Project, component, debug,
    tool::{self, Cache, ToolError},
};
use step::Build;

/// A component that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The file.
    pub file: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The file with its debug information, if the compiler gives any. The host reads it if it stands beside the component.
    pub debug: Option<PathBuf>,
}

/// Builds the project in a folder. Writes the component to `NAME.wasm` there, in one step, so that a host that runs it loads a
/// whole file. Names of functions and lines of sources go to `NAME.wasm.debug`. Compilers print to stderr. Blocks until they end.
///
/// # Errors
/// [`BuildError`], with what to change or to install.
pub fn build(project: &Path, manifest: &Manifest, cache: &Cache) -> Result<Built, BuildError> {
    Project::check_name(&manifest.name)?;
    if manifest.engine.is_some() && !matches!(manifest.language, Language::Js | Language::Ts) {
        let problem = "`engine` in informer-plugin.toml is for JavaScript and TypeScript";
        return Err(BuildError::Project(problem.to_owned()));
    }
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
    declare_reads(&mut component, &manifest.reads)?;
    let file = project.join(format!("{}.wasm", manifest.name));
    let split = manifest.language.is_compiled().then(|| debug::split(&component, &folder)).flatten();
    let debug = match split {
        // The host reads it when it loads the component, so it comes first.
        Some((stripped, debug)) => {
            component = stripped;
            Some(replace(DebugOf::file(&file), &debug)?)
        }
        None => {
            fs::remove_file(DebugOf::file(&file)).ok();
            None
        }
    };
    let bytes = component.len() as u64;
    Ok(Built { file: replace(file, &component)?, bytes, debug })
}

/// Writes into a component what its plugin reads, unless nothing is declared.
fn declare_reads(component: &mut Vec<u8>, declared: &DeclaredReads) -> Result<(), BuildError> {
    if declared.0.is_empty() {
        return Ok(());
    }
    let section = declared.to_section();
    if section.len() > DeclaredReads::BYTES {
        return Err(BuildError::Project(format!(
            "`reads` in informer-plugin.toml has {} bytes, more than {}: write one pointer to a common parent, such as \"/spec\"",
            section.len(),
            DeclaredReads::BYTES
        )));
    }
    component::section_into(component, DeclaredReads::SECTION, section.as_bytes());
    Ok(())
}

/// Writes a file in one step. Several builds may write the same file, so each of them prepares it under a name of its own.
fn replace(file: PathBuf, bytes: &[u8]) -> Result<PathBuf, ToolError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let written = || -> io::Result<()> {
        let mut partial = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".partial")
            // The permissions of a usual file: the system applies the umask.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(file.parent().unwrap_or(Path::new("")))?;
        partial.write_all(bytes)?;
        partial.persist(&file)?;
        Ok(())
    };
    match written() {
        Ok(()) => Ok(file),
        Err(error) => Err(tool::io_error(&file, error)),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::Inspection;

    fn bare() -> Vec<u8> {
        wat::parse_str("(component (core module))").unwrap()
    }

    #[test]
    fn a_component_shows_the_reads_that_were_declared() {
        let reads: DeclaredReads = serde_json::from_str(
            r#"{"apps/v1/deployments": ["/spec/replicas", "sha256:/data"], "v1/pods": []}"#,
        )
        .unwrap();
        let mut component = bare();

        declare_reads(&mut component, &reads).unwrap();

        assert_eq!(Inspection::of(&component).unwrap().reads, reads);
        assert_eq!(Inspection::of(&bare()).unwrap().reads, DeclaredReads::default());
    }

    #[test]
    fn a_damaged_or_long_declaration_says_nothing() {
        let long = format!("{{\"v1/pods\": [\"/{}\"]}}", "a".repeat(DeclaredReads::BYTES));
        for contents in ["{\"v1/pods\": [7]}", "{\"pods\": []}", "no JSON", &long] {
            let mut component = bare();
            component::section_into(&mut component, DeclaredReads::SECTION, contents.as_bytes());

            assert_eq!(Inspection::of(&component).unwrap().reads, DeclaredReads::default());
        }
    }

    #[test]
    fn a_long_declaration_is_refused_with_what_to_do() {
        let text = format!("{{\"v1/pods\": [\"/{}\"]}}", "a".repeat(DeclaredReads::BYTES));
        let reads: DeclaredReads = serde_json::from_str(&text).unwrap();

        let refused = declare_reads(&mut bare(), &reads).unwrap_err().to_string();

        assert!(refused.contains("more than 65536: write one pointer to a common parent"), "{refused}");
    }

    #[test]
    fn builds_at_the_same_time_leave_a_whole_component() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hello.wasm");
        let components = [1, 2].map(|byte: u8| vec![byte; 1 << 20]);

        thread::scope(|scope| {
            for component in &components {
                let (file, components) = (&file, &components);
                scope.spawn(move || {
                    for _ in 0..20 {
                        replace(file.clone(), component).unwrap();
                        assert!(components.contains(&fs::read(file).unwrap()), "a part of a component");
                    }
                });
            }
        });

        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
        let usual = folder.path().join("usual");
        fs::write(&usual, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&file), mode(&usual));
    }
}
