//! Builds the components of the examples.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use sha2::{Digest, Sha256};

/// An example with a build script.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scripted {
    JavaScript,
    Python,
    /// A controller without handlers, in JavaScript.
    Controller,
}

/// The directory of the examples.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

// === impl Scripted ===

impl Scripted {
    /// The name of the example's folder.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::JavaScript => "deployments-js",
            Self::Python => "deployments-python",
            Self::Controller => "pods-controller-js",
        }
    }

    /// The component. The example's script builds it unless it was already built from the same sources. Two builds differ
    /// in some bytes, and the host would compile the 18 MB of Python again. Blocks.
    pub(crate) fn component(self) -> PathBuf {
        let directory = examples().join(self.folder());
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("languages");
        let component = kept.join(format!("{}-{}.wasm", self.folder(), digest(&directory)));
        if component.is_file() {
            return component;
        }
        // Rename the file when it is complete, so that a killed build leaves no partial component.
        let partial = component.with_extension(format!("{}.partial", std::process::id()));
        let output =
            Command::new(directory.join("build.sh")).arg(&partial).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{self:?}: {}", String::from_utf8_lossy(&output.stderr));
        fs::rename(&partial, &component).unwrap();
        component
    }
}

/// A digest of all sources of a component: the example, its build tools and the WIT files.
fn digest(directory: &Path) -> String {
    let mut sources = Vec::new();
    let beside = |folder: &str| examples().join("..").join(folder);
    let (javascript, python) = (beside("plugins/sdk/javascript"), beside("plugins/sdk/python"));
    for directory in [directory, &javascript, &python, &beside("wit")] {
        let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        sources.extend(files.filter(|path| path.is_file()));
    }
    sources.sort();
    let mut hash = Sha256::new();
    for source in sources {
        let text = fs::read(&source).unwrap();
        // With the lengths, two files have another digest than their concatenation.
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
