//! Builds the components of the examples.

use std::{
    fs,
    path::{Path, PathBuf},
};

use informer_tests::host::PATIENT;
use informer_types::DEBUG_FILE;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::projects::informer;

/// An example that `informer build` builds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scripted {
    JavaScript,
    TypeScript,
    Python,
    Go,
    C,
    /// A controller without handlers, in JavaScript.
    Controller,
    /// A report over the cache, in Python.
    Report,
    /// A message for each new image, in JavaScript.
    Webhook,
    /// A package of the Go ecosystem in a handler.
    Downgrades,
    /// The smallest component, in C.
    Scaled,
}

/// The directory of the examples.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

// === impl Scripted ===

impl Scripted {
    /// The name of the example's folder.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::JavaScript => "deployments-js",
            Self::TypeScript => "deployments-ts",
            Self::Python => "deployments-python",
            Self::Go => "deployments-go",
            Self::C => "deployments-c",
            Self::Controller => "pods-controller-js",
            Self::Report => "report-python",
            Self::Webhook => "webhook-js",
            Self::Downgrades => "downgrades-go",
            Self::Scaled => "scaled-c",
        }
    }

    /// The component. `informer build` builds it unless it was already built from the same sources. Two builds differ in some
    /// bytes, and the host would compile the 18 MB of Python again.
    pub(crate) async fn component(self) -> PathBuf {
        let directory = examples().join(self.folder());
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("languages");
        let component = kept.join(format!("{}-{}.wasm", self.folder(), digest(&directory)));
        if component.is_file() {
            return component;
        }
        // A build writes into the project, so that it gets a copy, with the SDKs at the same place beside it.
        let scratch = tempfile::tempdir().unwrap();
        let plugins = examples().join("../plugins").canonicalize().unwrap();
        std::os::unix::fs::symlink(plugins, scratch.path().join("plugins")).unwrap();
        let project = scratch.path().join("examples").join(self.folder());
        self.copy(&project);
        let built: Value =
            serde_json::from_str(&informer(&project, &["build", "--output", "json"]).await).unwrap();
        let built = project.join(built["file"].as_str().unwrap());
        // Rename the file when it is complete, so that a killed test leaves no partial component.
        let partial = component.with_extension(format!("{}.partial", std::process::id()));
        fs::create_dir_all(&kept).unwrap();
        fs::copy(built, &partial).unwrap();
        fs::rename(&partial, &component).unwrap();
        component
    }

    /// Plays the story of the example with its component.
    pub(crate) async fn plays_its_story(self) {
        let component = self.component().await;
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        self.copy(folder);
        let (name, _) = self.folder().rsplit_once('-').unwrap();
        fs::copy(component, folder.join(format!("{name}.wasm"))).unwrap();
        let configuration = folder.join("informer.toml");
        let text = fs::read_to_string(&configuration).unwrap();
        fs::write(configuration, format!("[host]\n{PATIENT}{text}")).unwrap();

        let played = informer(folder, &["test"]).await;

        assert!(played.contains("steps passed (stories: 1)"), "{played}");
    }

    /// Copies the sources of the example.
    pub(crate) fn copy(self, to: &Path) {
        let directory = examples().join(self.folder());
        for source in files(&directory) {
            let copy = to.join(source.strip_prefix(&directory).unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(&source, copy).unwrap();
        }
    }
}

/// A digest of all sources of a component: the example, the SDKs with their build tools, and the WIT files.
fn digest(directory: &Path) -> String {
    let beside = |folder: &str| files(&examples().join("..").join(folder));
    let mut sources = files(directory);
    for folder in [
        "plugins/sdk/javascript",
        "plugins/sdk/python",
        "plugins/sdk/go",
        "plugins/sdk/c",
        "host/author/src/build",
        "wit",
    ] {
        sources.extend(beside(folder));
    }
    let mut hash = Sha256::new();
    for source in sources {
        let text = fs::read(&source).unwrap();
        // With the lengths, two files have another digest than their concatenation.
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// The files below a folder, sorted, without components that were built there and their debug files.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_none_or(|extension| extension != "wasm" && extension != DEBUG_FILE) {
            found.push(path);
        }
    }
    found.sort();
    found
}
