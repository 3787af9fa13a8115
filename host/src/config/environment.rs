//! The directories of the user, which paths in the file depend on.

use std::path::{Path, PathBuf};

/// The directory of this program below the cache and the state directory of the user (XDG).
const OWN_NAME: &str = "informer";

/// The directories of the user. They are read once, so that a test can have its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The home directory, for `~` in a path.
    pub home: Option<PathBuf>,
    /// The default directory of compiled components.
    pub cache_dir: Option<PathBuf>,
    /// The default directory of the state.
    pub state_dir: Option<PathBuf>,
}

// === impl Environment ===

impl Environment {
    /// The directories of this process: `$HOME`, and `informer` in `$XDG_CACHE_HOME`, else `~/.cache`, and in
    /// `$XDG_STATE_HOME`, else `~/.local/state`, by the XDG base directory specification. A process without them caches
    /// nothing and keeps its state in memory.
    pub fn of_process() -> Self {
        let path_in =
            |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = path_in("HOME");
        let below_home = |path| home.as_ref().map(|home: &PathBuf| home.join(path));
        let cache = path_in("XDG_CACHE_HOME").or_else(|| below_home(".cache"));
        let state = path_in("XDG_STATE_HOME").or_else(|| below_home(".local/state"));
        Self {
            cache_dir: cache.map(|cache| cache.join(OWN_NAME)),
            state_dir: state.map(|state| state.join(OWN_NAME)),
            home,
        }
    }

    /// The absolute path of a text: below the home directory, absolute already, or relative to `base`. Returns `None` if the
    /// text starts with `~/` and there is no home directory.
    pub(super) fn resolve(&self, text: &str, base: &Path) -> Option<PathBuf> {
        let path = match text.strip_prefix("~/") {
            Some(below) => self.home.as_ref()?.join(below),
            None => base.join(text),
        };
        // Removes `.` components, so that the same path is equal at the next reload.
        Some(path.components().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_to_the_file_and_not_to_the_process() {
        let environment = Environment { home: Some("/home/me".into()), ..Environment::default() };
        let resolve = |text| environment.resolve(text, Path::new("/etc/informer"));

        assert_eq!(resolve("./plugins/a.wasm"), Some("/etc/informer/plugins/a.wasm".into()));
        assert_eq!(resolve("/opt/a.wasm"), Some("/opt/a.wasm".into()));
        assert_eq!(resolve("~/a.wasm"), Some("/home/me/a.wasm".into()));
        assert_eq!(Environment::default().resolve("~/a.wasm", Path::new("/")), None);
    }
}
