//! Why a component is refused.

use std::{collections::BTreeSet, io, path::PathBuf, time::Duration};

use informer_types::{Gvr, excerpt, some_of};

/// The most bytes shown of a name that a component has chosen.
const NAME_BYTES: usize = 256;

/// The most bytes shown of a message that quotes a component, or that its code has written.
const MESSAGE_BYTES: usize = 4 << 10;

/// The resource in the examples of grants.
const EXAMPLE: &str = "apps/v1/deployments";

/// Why a component was refused. The version in service stays.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read the component {}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The component is larger than this host compiles.
    #[error(
        "the component has {bytes} bytes, and this host accepts at most {limit}: build it without debug information (`wasm-tools strip`), or raise `component-size` under [host]"
    )]
    TooLarge {
        /// Size of the component.
        bytes: u64,
        /// Largest size allowed.
        limit: u64,
    },
    /// The component cannot be obtained, or is not the one that is pinned.
    #[error("{}", excerpt(_0, MESSAGE_BYTES))]
    Source(String),
    /// The file is not WebAssembly.
    #[error("not a WebAssembly component: {found}")]
    NotWasm {
        /// A description of the file.
        found: String,
    },
    /// The file is a core module.
    #[error("a core module, not a component: {advice}")]
    CoreModule {
        /// How to make a component from it.
        advice: String,
    },
    /// The component does not validate or compile.
    #[error(
        "the component does not compile; the file may be cut off or damaged: {}",
        excerpt(_0, MESSAGE_BYTES)
    )]
    Compile(String),
    /// The component, or one instance of it, has more of something than this host allows.
    #[error(
        "the component has {found} {what}, counted once for each instance, and this host allows at most {limit}: link fewer libraries into it, or make several plugins of it"
    )]
    TooMany {
        /// What is counted.
        what: &'static str,
        /// The number. `u64::MAX` means that many or more.
        found: u64,
        /// The largest number allowed.
        limit: u64,
    },
    /// The component instantiates a definition that it does not define itself.
    #[error(
        "the component instantiates a core module or a component that it receives as an argument or from an instance, so this host cannot count how much memory that takes: define it in the component itself, as `wasm-tools component link` and `wac` do"
    )]
    Unknowable,
    /// The compilation takes too long.
    #[error(
        "the component takes longer than {limit:?} to compile: split its largest functions, or raise `compile-timeout` under [host]"
    )]
    TooLong {
        /// Longest time allowed.
        limit: Duration,
    },
    /// The compilation needs too much memory.
    #[error(
        "the component needs more than {} MiB of memory to compile: split its largest functions, or raise `compile-memory` under [host]",
        limit >> 20
    )]
    TooMuchMemory {
        /// The most bytes allowed.
        limit: u64,
    },
    /// The process that compiles failed.
    #[error("the process that compiles components failed: {0}")]
    Compiler(String),
    /// The component is not a plugin.
    #[error(
        "the component does not export {}; it exports {}. Build it against the world `event-handler` or `controller` of wit/",
        some_of(missing),
        some_of(found)
    )]
    MissingExport {
        /// Required interfaces that it does not export.
        missing: Vec<String>,
        /// Interfaces that it exports.
        found: Vec<String>,
    },
    /// The component was built against another version of our package.
    #[error(
        "the component was built against {}; this host serves {served}: build it against one of them (`informer wit` writes their files)",
        excerpt(found, NAME_BYTES)
    )]
    OtherVersion {
        /// Interface with the version that it names.
        found: String,
        /// Package with each version that this host serves.
        served: String,
    },
    /// The component imports an interface whose effects it would never see, because it does not export the other half.
    #[error(
        "the component imports {} and does not export {missing}, so {lost}: build it against the world `{world}` of wit/",
        excerpt(import, NAME_BYTES)
    )]
    Half {
        /// The interface that it imports.
        import: String,
        /// The interface that it should export.
        missing: String,
        /// The effect that is lost.
        lost: &'static str,
        /// A world with both.
        world: &'static str,
    },
    /// The component imports interfaces that are not granted or not served.
    #[error("{}", imports(not_granted, not_served, served))]
    Imports {
        /// Interfaces that are not granted, each with the line to add.
        not_granted: Vec<(String, String)>,
        /// Interfaces that this host does not serve.
        not_served: Vec<String>,
        /// Interfaces that this host serves.
        served: String,
    },
    /// The component cannot be linked or instantiated.
    #[error("the component cannot be instantiated: {}", excerpt(_0, MESSAGE_BYTES))]
    Instantiate(String),
    /// `describe` failed.
    #[error("the call of describe failed: {}", excerpt(_0, MESSAGE_BYTES))]
    Describe(String),
    /// `start` failed. The message is the guest's own.
    #[error("the component does not start: {}", excerpt(_0, MESSAGE_BYTES))]
    Start(String),
    /// The component did not start with its reduced grants in the time that the old version may keep its grants.
    #[error(
        "the component did not start with its reduced grants within {limit:?}: revoked grants end after the `deadline` under [plugin.limits]"
    )]
    Overdue {
        /// Time since the configuration, including waits for turns and for the processor share.
        limit: Duration,
    },
}

// === impl LoadError ===

impl LoadError {
    /// Returns true if the same component may load later: the cause may be temporary. For example, the file could not be read, the machine
    /// was busy, or `start` failed because a service was down.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Read { .. }
            | Self::Compiler(_)
            | Self::Instantiate(_)
            | Self::Describe(_)
            | Self::Start(_)
            | Self::Overdue { .. }
            // The machine may have been busy.
            | Self::TooLong { .. } => true,
            // The host repeats a pull by itself, and loads a file again when the file changes.
            Self::Source(_)
            | Self::TooLarge { .. }
            | Self::NotWasm { .. }
            | Self::CoreModule { .. }
            | Self::Compile(_)
            | Self::TooMany { .. }
            | Self::Unknowable
            | Self::TooMuchMemory { .. }
            | Self::MissingExport { .. }
            | Self::OtherVersion { .. }
            | Self::Half { .. }
            | Self::Imports { .. } => false,
        }
    }

    /// The least time until the component should be tried again, if it [may load later](Self::may_pass). After a compilation that took too
    /// long, this is ten times the time limit of a compilation. So the attempts take at most a tenth of the time of a compiler.
    pub fn rest(&self) -> Duration {
        match self {
            Self::TooLong { limit } => limit.saturating_mul(10),
            _ => Duration::ZERO,
        }
    }

    /// The same error, whose advice names this resource instead of an example.
    #[must_use]
    pub fn naming(self, resource: &Gvr) -> Self {
        match self {
            Self::Imports { mut not_granted, not_served, served } => {
                for (_, line) in &mut not_granted {
                    *line = line.replace(EXAMPLE, &resource.to_string());
                }
                Self::Imports { not_granted, not_served, served }
            }
            other => other,
        }
    }
}

fn imports(not_granted: &[(String, String)], not_served: &[String], served: &str) -> String {
    let mut parts = Vec::new();
    if !not_granted.is_empty() {
        let names: Vec<&str> = not_granted.iter().map(|(import, _)| import.as_str()).collect();
        let lines: BTreeSet<String> = not_granted.iter().map(|(_, line)| format!("`{line}`")).collect();
        let (are, lines) =
            (if names.len() > 1 { "are" } else { "is" }, lines.into_iter().collect::<Vec<_>>());
        let names = some_of(&names);
        parts.push(format!(
            "{names}, which {are} not granted: add {} under [plugin.grant]",
            lines.join(" and ")
        ));
    }
    if !not_served.is_empty() {
        parts.push(format!("{}, which this host does not serve; it serves {served}", some_of(not_served)));
    }
    format!("the component imports {}", parts.join("; and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_grows_with_what_a_component_contains() {
        let long = || "x".repeat(1 << 20);
        let many = || vec![long(); 50];
        for error in [
            LoadError::Compile(long()),
            LoadError::MissingExport { missing: vec!["a".to_owned()], found: many() },
            LoadError::OtherVersion { found: long(), served: "b".to_owned() },
            LoadError::Half { import: long(), missing: "a".to_owned(), lost: "b", world: "c" },
            LoadError::Imports {
                not_granted: many().into_iter().map(|name| (name, "a = 1".to_owned())).collect(),
                not_served: many(),
                served: "b".to_owned(),
            },
            LoadError::Instantiate(long()),
            LoadError::Describe(long()),
            LoadError::Start(long()),
        ] {
            let message = error.to_string();
            assert!(message.len() < 6 << 10, "{} bytes: {}", message.len(), excerpt(&message, 200));
            assert!(message.contains("(1048576 bytes)"), "{message}");
        }
    }

    #[test]
    fn the_line_to_add_names_the_resource_of_the_plugin() {
        let line = "read = [\"apps/v1/deployments\"]".to_owned();
        let not_granted = vec![("informer:plugin/lister@0.1.0".to_owned(), line)];
        let error = LoadError::Imports { not_granted, not_served: Vec::new(), served: String::new() };

        let error = error.naming(&"example.com/v1/widgets".parse().unwrap());

        let advice = "add `read = [\"example.com/v1/widgets\"]` under [plugin.grant]";
        assert!(error.to_string().ends_with(advice), "{error}");
    }

    #[test]
    fn fifty_thousand_imports_are_one_short_line() {
        let not_served: Vec<String> = (0..50_000).map(|number| format!("a:b/c{number:05}")).collect();
        let error = LoadError::Imports { not_granted: Vec::new(), not_served, served: "d".to_owned() };

        let shown = "the component imports a:b/c00000, a:b/c00001, a:b/c00002, a:b/c00003, a:b/c00004, a:b/c00005, a:b/c00006, \
                     a:b/c00007 and 49992 more, which this host does not serve; it serves d";
        assert_eq!(error.to_string(), shown);
    }
}
