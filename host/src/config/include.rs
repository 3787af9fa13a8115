//! `include`: further files with watches and plugins.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use informer_system::read_file;

use super::{
    context::Context,
    document::{FileKeys, read_included},
    environment::Environment,
    key::Draft,
    problem::{Fault, Located},
};

/// The most bytes of a file.
pub(super) const BYTES: u64 = 16 << 20;

/// The most files that a file may include.
const FILES: usize = 1000;

/// The ending of the files of a directory that are read.
const ENDING: &str = "toml";

/// Reads the files that a file includes, and adds their watches and plugins. `include` then has the absolute paths. Returns false if a
/// file, or a part of it, could not be read: a missing watch may be in this part.
pub(super) fn include(file: &mut Draft<FileKeys>, context: &mut Context<'_, '_>) -> bool {
    let mut is_whole = !context.problems.has("include");
    let places = file.items("include").to_vec();
    let written = std::mem::take(&mut file.value.include);
    let mut seen: Vec<PathBuf> = Vec::new();
    for (path, place) in written.iter().zip(places) {
        let Some(path) = context.path(path, &place) else {
            is_whole = false;
            continue;
        };
        match files_at(&path) {
            Ok(files) => {
                for path in &files {
                    is_whole &= read_once(path, &place, &mut seen, file, context);
                }
            }
            Err(error) => {
                refuse(context, &place, &path, &error);
                is_whole = false;
            }
        }
        file.value.include.push(path);
    }
    is_whole
}

/// The files and directories that `include` of a file names, absolute, and the files in those directories. What does not exist
/// is named as well: it may be made later.
pub(super) fn paths(file: &Draft<FileKeys>, base: &Path, environment: &Environment) -> Vec<PathBuf> {
    let named = file.value.include.iter();
    let named = named.filter_map(|path| environment.resolve(&path.to_string_lossy(), base));
    let mut all: Vec<PathBuf> = Vec::new();
    for path in named {
        all.extend(files_at(&path).unwrap_or_default());
        all.push(path);
    }
    all
}

/// The file itself, or the files of a directory in the order of their names. Hidden ones are left out: a mounted ConfigMap keeps
/// its versions there.
fn files_at(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) && !is_hidden(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns false if a part of the file could not be read.
fn read_once(
    path: &Path,
    place: &Located<impl Sized>,
    seen: &mut Vec<PathBuf>,
    file: &mut Draft<FileKeys>,
    context: &mut Context<'_, '_>,
) -> bool {
    if context.problems.is_first(path) {
        let message = format!("{} is the file that includes it", path.display());
        let remedy = "remove it, or name a directory with the other files only";
        context.problems.refuse(place, Fault::new(message, remedy));
        true
    } else if seen.iter().any(|earlier| earlier == path) {
        let message = format!("{} is included twice", path.display());
        context.problems.refuse(place, Fault::new(message, "remove one"));
        true
    } else if seen.len() == FILES {
        let message = format!("more than {FILES} files are included, and {} is one more", path.display());
        context.problems.refuse(place, Fault::new(message, "write several plugins into one file"));
        false
    } else {
        seen.push(path.to_owned());
        read(path, place, file, context)
    }
}

/// Returns false if a part of the file could not be read.
fn read(
    path: &Path,
    place: &Located<impl Sized>,
    file: &mut Draft<FileKeys>,
    context: &mut Context<'_, '_>,
) -> bool {
    let text = read_file(path, BYTES).map_err(io::Error::from).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::other(format!("it is not UTF-8: {error}")))
    });
    match text {
        Ok(text) => {
            let base = path.parent().unwrap_or(path).to_owned();
            context.problems.begin(path.to_owned(), base, text.clone());
            read_included(&text, file, &mut context.problems)
        }
        Err(error) => {
            refuse(context, place, path, &error);
            false
        }
    }
}

fn refuse(context: &mut Context<'_, '_>, place: &Located<impl Sized>, path: &Path, error: &io::Error) {
    let shown = path.display();
    let fault = match error.kind() {
        io::ErrorKind::NotFound => {
            let remedy = "make the file or the directory, or correct the path";
            Fault::new(format!("there is nothing at {shown}"), remedy)
        }
        _ => Fault::new(format!("{shown} cannot be read: {error}"), "correct the path, or the file"),
    };
    context.problems.refuse(place, fault);
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use crate::config::{Components, LoadError, load};

    /// The problems of a file that begins with this line and has a plugin for ConfigMaps, beside `a.toml` with this text.
    fn problems(line: &str, included: &str) -> Vec<String> {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("informer.toml");
        let plugin =
            "[[plugin]]\nname = \"p\"\nsource = \"p.wasm\"\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n";
        std::fs::write(&file, format!("{line}\n{plugin}")).unwrap();
        std::fs::write(directory.path().join("a.toml"), included).unwrap();
        let Err(LoadError::Invalid(error)) = load(&file, Components::Unseen) else {
            panic!("the files are good")
        };
        let shown = error.problems.iter().map(|problem| format!("{}: {}", problem.key, problem.message));
        shown.collect()
    }

    #[test]
    fn a_fault_of_an_included_file_is_not_followed_by_the_watches_that_it_may_have() {
        let watch = "[[watch]]\ngvr = \"v1/configmaps\"\n";
        for (line, included, fault) in [
            ("include = [\"gone.toml\"]", watch, "include[0]: there is nothing at "),
            ("include = 3", watch, "include: "),
            ("include = [\"a.toml\", 3]", "", "include[1]: "),
            ("include = [\"a.toml\"]", "[[watch]\ngvr = \"v1/configmaps\"", ": not TOML: "),
            ("include = [\"a.toml\"]", "[[wotch]]\ngvr = \"v1/configmaps\"", "wotch: unknown key"),
            ("include = [\"a.toml\"]", "watch = 3", "watch: expected an array of tables"),
            ("include = [\"a.toml\"]", "[[watch]]\ngrv = \"v1/configmaps\"", "watch[0].grv: unknown key"),
        ] {
            let found = problems(line, included);

            assert!(found.iter().any(|problem| problem.starts_with(fault)), "{line} {included}: {found:?}");
            let consequence = |problem: &&String| problem.contains(" watched");
            assert_eq!(found.iter().find(consequence), None, "{line} {included}");
        }
    }

    #[test]
    fn another_fault_of_an_included_file_hides_no_missing_watch() {
        let other = "[[watch]]\ngvr = \"v1/secrets\"\nkeep = [\"x\"]\n";

        let found = problems("include = [\"a.toml\"]", other);

        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].ends_with("`v1/configmaps` is not watched"), "{found:?}");
        assert!(found[1].starts_with("watch[0].keep[0]: "), "{found:?}");
    }
}
