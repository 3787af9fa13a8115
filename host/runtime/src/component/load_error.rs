//! Why a component does not become a plugin's version.

use std::{io, path::PathBuf};

/// Why a component was refused. The version that served before goes on.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read the component {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// More than this host compiles.
    #[error(
        "the component has {bytes} bytes, and this host takes {limit} at most: build it without debug information (`wasm-tools strip`), or raise `component-size` under [host]"
    )]
    TooLarge {
        /// The file.
        bytes: u64,
        /// What is allowed.
        limit: u64,
    },
    /// Something else than WebAssembly.
    #[error("not a WebAssembly component: {found}")]
    NotWasm {
        /// What it looks like.
        found: String,
    },
    /// A core module.
    #[error(
        "a core module, not a component: build it for the target wasm32-wasip2 (Rust), or turn it into a component with `wasm-tools component new`"
    )]
    CoreModule,
    /// WebAssembly that does not validate.
    #[error("the component does not compile; the file may be cut off or damaged: {0}")]
    Compile(String),
    /// A component that is no plugin.
    #[error(
        "the component does not export {}; it exports {}. Build it against the world `event-handler` or `controller` of wit/",
        list(missing),
        list(found)
    )]
    MissingExport {
        /// The interfaces a plugin must export and this does not.
        missing: Vec<String>,
        /// What it exports.
        found: Vec<String>,
    },
    /// Built against another version of our package.
    #[error(
        "the component was built against {found}; this host serves {served}: build it against the wit/ of this host"
    )]
    OtherVersion {
        /// The interface it names.
        found: String,
        /// The version served.
        served: String,
    },
    /// It fills a queue that nobody empties.
    #[error(
        "the component imports {import} and does not export informer:plugin/reconciler@0.1.0, so nobody would take the keys it adds: build it against the world `controller-with-handlers` of wit/"
    )]
    WithoutReconciler {
        /// The interface.
        import: String,
    },
    /// An import that the configuration does not grant.
    #[error("the component imports {import}, which is not granted: add `{remedy}` under [plugin.grant]")]
    NotGranted {
        /// The interface.
        import: String,
        /// The line to add.
        remedy: String,
    },
    /// Imports that this host does not serve to anybody.
    #[error("the component imports {}, which this host does not serve; it serves {served}", list(imports))]
    NotServed {
        /// The interfaces.
        imports: Vec<String>,
        /// What there is.
        served: String,
    },
    /// It cannot be linked or instantiated.
    #[error("the component cannot be instantiated: {0}")]
    Instantiate(String),
    /// `describe` failed.
    #[error("the component does not say who it is: describe failed: {0}")]
    Describe(String),
    /// `start` failed, in the guest's own words.
    #[error("the component does not start: {0}")]
    Start(String),
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
