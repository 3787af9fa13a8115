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

/// Reads what a file includes, and adds its watches and plugins. `include` then has the absolute paths.
pub(super) fn include(file: &mut Draft<FileKeys>, context: &mut Context<'_, '_>) {
    let places = file.items("include").to_vec();
    let written = std::mem::take(&mut file.value.include);
    let mut seen: Vec<PathBuf> = Vec::new();
    for (path, place) in written.iter().zip(places) {
        let Some(path) = context.path(path, &place) else { continue };
        match files_at(&path) {
            Ok(files) => files.iter().for_each(|path| read_once(path, &place, &mut seen, file, context)),
            Err(error) => refuse(context, &place, &path, &error),
        }
        file.value.include.push(path);
    }
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

fn read_once(
    path: &Path,
    place: &Located<impl Sized>,
    seen: &mut Vec<PathBuf>,
    file: &mut Draft<FileKeys>,
    context: &mut Context<'_, '_>,
) {
    if context.problems.is_first(path) {
        let message = format!("{} is the file that includes it", path.display());
        let remedy = "remove it, or name a directory with the other files only";
        context.problems.refuse(place, Fault::new(message, remedy));
    } else if seen.iter().any(|earlier| earlier == path) {
        let message = format!("{} is included twice", path.display());
        context.problems.refuse(place, Fault::new(message, "remove one"));
    } else if seen.len() == FILES {
        let message = format!("more than {FILES} files are included, and {} is one more", path.display());
        context.problems.refuse(place, Fault::new(message, "write several plugins into one file"));
    } else {
        read(path, place, file, context);
        seen.push(path.to_owned());
    }
}

fn read(path: &Path, place: &Located<impl Sized>, file: &mut Draft<FileKeys>, context: &mut Context<'_, '_>) {
    let text = read_file(path, BYTES).map_err(io::Error::from).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::other(format!("it is not UTF-8: {error}")))
    });
    match text {
        Ok(text) => {
            let base = path.parent().unwrap_or(path).to_owned();
            context.problems.begin(path.to_owned(), base, text.clone());
            read_included(&text, file, &mut context.problems);
        }
        Err(error) => refuse(context, place, path, &error),
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
