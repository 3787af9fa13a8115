//! Why a component does not become a plugin's version.

use std::{collections::BTreeSet, io, path::PathBuf, time::Duration};

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
    /// It takes longer to compile than it may.
    #[error(
        "the component takes longer than {limit:?} to compile: split its largest functions, or raise `compile-timeout` under [host]; if it is compiled in the end, `informer reload` takes it from `cache-dir`"
    )]
    TooLong {
        /// What is allowed.
        limit: Duration,
    },
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
    /// Imports that the configuration does not grant, or that this host serves to nobody; all of them.
    #[error("{}", imports(not_granted, not_served, served))]
    Imports {
        /// Each interface that is not granted, with the line to add.
        not_granted: Vec<(String, &'static str)>,
        /// The interfaces that nobody is served.
        not_served: Vec<String>,
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
    /// It does not start with fewer grants while what serves may keep those it had.
    #[error(
        "the component does not start within {limit:?} with what is left of its grants: that long, its `deadline` under [plugin.limits], what is revoked may be used"
    )]
    Overdue {
        /// From when it was configured on, waits for its turn and its share included.
        limit: Duration,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn imports(not_granted: &[(String, &'static str)], not_served: &[String], served: &str) -> String {
    let mut said = Vec::new();
    if !not_granted.is_empty() {
        let names: Vec<String> = not_granted.iter().map(|(import, _)| import.clone()).collect();
        let lines: BTreeSet<String> = not_granted.iter().map(|(_, line)| format!("`{line}`")).collect();
        let (are, lines) =
            (if names.len() > 1 { "are" } else { "is" }, lines.into_iter().collect::<Vec<_>>());
        let names = list(&names);
        said.push(format!(
            "{names}, which {are} not granted: add {} under [plugin.grant]",
            lines.join(" and ")
        ));
    }
    if !not_served.is_empty() {
        said.push(format!("{}, which this host does not serve; it serves {served}", list(not_served)));
    }
    format!("the component imports {}", said.join("; and "))
}
