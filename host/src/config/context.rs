//! What judging a file needs besides the file, and the checks that several sections share.

use std::path::{Path, PathBuf};

use super::{
    environment::Environment,
    nearest::nearest,
    problem::{Fault, Problems},
    table::Located,
    value::PathText,
};

/// Selects if the files of the components must exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Components {
    /// The files are not looked at. Loading a component reports a missing file.
    #[default]
    Unseen,
    /// A missing file is a problem of the configuration.
    Present,
}

/// What judging a file needs besides the file.
pub(super) struct Context<'t, 'c> {
    pub(super) problems: Problems<'t>,
    /// The directory of the file, absolute. Paths in the file are relative to it.
    pub(super) base: &'c Path,
    pub(super) environment: &'c Environment,
    pub(super) components: Components,
}

// === impl Context ===

impl Context<'_, '_> {
    pub(super) fn refuse<T>(&mut self, what: &Located<T>, fault: Fault) {
        self.problems.add(what.at, &what.key, fault);
    }

    /// The absolute path of a text. Returns `None` if there is no home directory for `~`, which is noted.
    pub(super) fn path(&mut self, text: &Located<PathText>) -> Option<PathBuf> {
        let path = self.environment.resolve(&text.value.0, self.base);
        if path.is_none() {
            let message = format!("`{}`: this process has no home directory", text.value.0);
            self.refuse(text, Fault::new(message, "set $HOME, or write the path in full"));
        }
        path
    }

    /// The first of each value; repetitions are noted. `shown` is a value in the text of a problem.
    pub(super) fn distinct<T: PartialEq>(
        &mut self,
        items: Vec<Located<T>>,
        shown: impl Fn(&T) -> String,
    ) -> Vec<T> {
        let mut kept: Vec<Located<T>> = Vec::with_capacity(items.len());
        for item in items {
            if kept.iter().any(|earlier| earlier.value == item.value) {
                let fault = Fault::new(format!("`{}` is listed twice", shown(&item.value)), "remove one");
                self.refuse(&item, fault);
            } else {
                kept.push(item);
            }
        }
        kept.into_iter().map(|item| item.value).collect()
    }

    /// As [`distinct`](Self::distinct). An empty list is noted as well, because it could mean all or none. `unlisted` is
    /// what the key means if it is left out.
    pub(super) fn some_distinct<T: PartialEq>(
        &mut self,
        list: Located<Vec<Located<T>>>,
        unlisted: &str,
        shown: impl Fn(&T) -> String,
    ) -> Vec<T> {
        if list.value.is_empty() {
            let fault = Fault::new("the list is empty", format!("leave the key out for {unlisted}"));
            self.refuse(&list, fault);
        }
        self.distinct(list.value, shown)
    }

    /// Refuses a key that its section makes useless. A key of `[defaults]` may be useful to other plugins.
    pub(super) fn useless(&mut self, key: Option<&Located<()>>, message: &str, remedy: &str) {
        if let Some(key) = key.filter(|key| !is_default(key)) {
            self.refuse(key, Fault::new(message, remedy));
        }
    }
}

/// Returns true if the value is written in `[defaults]`.
pub(super) fn is_default<T>(value: &Located<T>) -> bool {
    value.key.starts_with("defaults.")
}

/// `did you mean ...?` with the nearest of the words, else `otherwise`.
pub(super) fn suggestion(word: &str, known: &[String], otherwise: &str) -> String {
    match nearest(word, known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => otherwise.to_owned(),
    }
}
