//! From what is written to what is meant: defaults, ranges, doubles, references and paths.

mod bounds;
mod cluster;
mod host;
mod plugin;
mod watch;

use std::path::Path;

use super::{
    Components, Config,
    environment::Environment,
    nearest::nearest,
    problem::{Fault, Problems},
    raw::{Located, PathText, RawConfig},
};

/// What judging a file needs besides the file.
pub(super) struct Context<'t, 'c> {
    pub(super) problems: Problems<'t>,
    /// The directory of the file, absolute: what its paths are relative to.
    pub(super) base: &'c Path,
    pub(super) environment: &'c Environment,
    pub(super) components: Components,
}

/// Judges a file. What is wrong is noted; the result counts only where nothing is.
pub(super) fn config(raw: RawConfig, context: &mut Context<'_, '_>) -> Config {
    let cluster = cluster::cluster(raw.cluster, context);
    let host = host::host(raw.host, context);
    let watched = watch::watches(raw.watches, context);
    let plugins = plugin::plugins(raw.plugins.unwrap_or_default(), &watched, context);
    Config { cluster, host, watches: watched.watches, plugins }
}

// === impl Context ===

impl Context<'_, '_> {
    fn refuse<T>(&mut self, what: &Located<T>, fault: Fault) {
        self.problems.add(what.at, &what.key, fault);
    }

    /// The absolute path meant.
    fn path(&mut self, text: &Located<PathText>) -> Option<std::path::PathBuf> {
        let path = self.environment.resolve(&text.value.0, self.base);
        if path.is_none() {
            let message = format!("`{}`: this process has no home directory", text.value.0);
            self.refuse(text, Fault::new(message, "set $HOME, or write the path in full"));
        }
        path
    }

    /// Keeps the first of each value; the others are noted. `said` names one in the problem.
    fn distinct<T: PartialEq>(&mut self, items: Vec<Located<T>>, said: impl Fn(&T) -> String) -> Vec<T> {
        let mut kept: Vec<Located<T>> = Vec::with_capacity(items.len());
        for item in items {
            if kept.iter().any(|earlier| earlier.value == item.value) {
                let fault = Fault::new(format!("`{}` is listed twice", said(&item.value)), "remove one");
                self.refuse(&item, fault);
            } else {
                kept.push(item);
            }
        }
        kept.into_iter().map(|item| item.value).collect()
    }

    /// As [`distinct`](Self::distinct), and an empty list is noted too: does it mean all, or none?
    fn some_distinct<T: PartialEq>(
        &mut self,
        list: Located<Vec<Located<T>>>,
        unlisted: &str,
        said: impl Fn(&T) -> String,
    ) -> Vec<T> {
        if list.value.is_empty() {
            let fault = Fault::new("the list is empty", format!("leave the key out for {unlisted}"));
            self.refuse(&list, fault);
        }
        self.distinct(list.value, said)
    }
}

/// `did you mean ...?` with the nearest of the words, or which words there are.
fn suggestion(word: &str, known: &[String], otherwise: &str) -> String {
    match nearest(word, known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => otherwise.to_owned(),
    }
}
