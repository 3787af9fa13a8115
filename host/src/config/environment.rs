//! What a path of the file depends on besides the file.

use std::path::{Path, PathBuf};

/// Below the cache and the state directory of the user (XDG), so that several programs share them in peace.
const OWN_NAME: &str = "informer";

/// What a path of the file depends on besides the file. Read once, so that a test can have its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `~` in a path.
    pub home: Option<PathBuf>,
    /// Where compiled components are kept unless the file says where.
    pub cache_dir: Option<PathBuf>,
    /// Where the state is kept unless the file says where.
    pub state_dir: Option<PathBuf>,
}

// === impl Environment ===

impl Environment {
    /// That of this process: `$HOME`, and `informer` in `$XDG_CACHE_HOME` or else in `~/.cache`, and in
    /// `$XDG_STATE_HOME` or else in `~/.local/state`, as the XDG base directory specification says. A process with
    /// neither has no place to cache in, and keeps its state in memory.
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

    /// The path meant by a text: below the home directory, absolute, or relative to `base`. None: `~`, and there
    /// is no home.
    pub(super) fn resolve(&self, text: &str, base: &Path) -> Option<PathBuf> {
        let path = match text.strip_prefix("~/") {
            Some(below) => self.home.as_ref()?.join(below),
            None => base.join(text),
        };
        // Without `.` in the middle: the same path compares equal at the next reload.
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
