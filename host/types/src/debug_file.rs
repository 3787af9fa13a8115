//! The debug information of a component, in a file beside it: `hello.wasm` has `hello.wasm.debug`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What the name of the file ends with, after the whole name of the component.
pub const DEBUG_FILE: &str = "debug";

/// What a debug file is for. The file is the component as it was before its debug information was removed, and this is the
/// contents of its custom section [`DebugOf::SECTION`], as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugOf {
    /// Lower-case hex of the SHA-256 of the component.
    pub component: String,
    /// The folder of the project. Paths of sources are shown relative to it.
    pub folder: String,
}

// === impl DebugOf ===

impl DebugOf {
    /// The name of the section.
    pub const SECTION: &str = "informer-debug";

    /// The debug file of a component.
    #[must_use]
    pub fn file(component: &Path) -> PathBuf {
        let mut path = component.as_os_str().to_owned();
        path.push(".");
        path.push(DEBUG_FILE);
        path.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_file_stands_beside_the_component() {
        assert_eq!(DebugOf::file(Path::new("a/hello.wasm")), Path::new("a/hello.wasm.debug"));
    }
}
