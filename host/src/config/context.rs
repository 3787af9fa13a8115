//! The context in which a file is checked, and the checks that several sections share.

use std::path::{Path, PathBuf};

use super::{
    environment::Environment,
    problem::{Fault, Located, Problems},
};

/// Selects whether the files of the components must exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Components {
    /// The files are not looked at. Loading a component reports a missing file.
    #[default]
    Unseen,
    /// A missing file is a problem of the configuration.
    Present,
}

/// The context in which a file is checked.
pub(super) struct Context<'t, 'c> {
    pub(super) problems: Problems<'t>,
    pub(super) environment: &'c Environment,
    pub(super) components: Components,
}

// === impl Context ===

impl Context<'_, '_> {
    /// The absolute path of a path in the file, which is relative to the directory of that file. Returns `None`, and notes that, if
    /// there is no home directory for `~`.
    pub(super) fn path(&mut self, path: &Path, place: &Located<impl Sized>) -> Option<PathBuf> {
        let absolute = self.environment.resolve(&path.to_string_lossy(), self.problems.base(place.at));
        if absolute.is_none() {
            let message = format!("`{}`: this process has no home directory", path.display());
            self.problems.refuse(place, Fault::new(message, "set $HOME, or write the path in full"));
        }
        absolute
    }
}

/// Refuses a key that its section makes useless. A key of `[defaults]` may be useful to other plugins.
pub(super) fn useless(
    problems: &mut Problems<'_>,
    key: Option<&Located<impl Sized>>,
    message: &str,
    remedy: &str,
) {
    if let Some(key) = key.filter(|key| !is_default(key)) {
        problems.refuse(key, Fault::new(message, remedy));
    }
}

/// Returns true if the value is written in `[defaults]`.
pub(super) fn is_default(value: &Located<impl Sized>) -> bool {
    value.key.starts_with("defaults.")
}
