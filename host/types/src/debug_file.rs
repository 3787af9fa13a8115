//! The debug information of a component, in a file beside it: `hello.wasm` has `hello.wasm.debug`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The extension of a debug file. It is appended to the whole name of the component.
pub const DEBUG_FILE: &str = "debug";

/// Links a debug file to its component. A debug file is the component as it was before its debug information was removed. Its
/// custom section [`DebugOf::SECTION`] contains this struct as JSON.
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
    fn the_debug_file_is_beside_the_component() {
        assert_eq!(DebugOf::file(Path::new("a/hello.wasm")), Path::new("a/hello.wasm.debug"));
    }
}
