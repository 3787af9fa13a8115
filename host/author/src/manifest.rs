//! How a project is built: the contents of `informer-plugin.toml`.

use informer_types::DeclaredReads;
use serde::Deserialize;

use crate::{Engine, Language};

/// The name of the file, in the folder of the project.
pub const MANIFEST: &str = "informer-plugin.toml";

/// The keys of the file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Manifest {
    /// The name of the plugin. The component is written to `NAME.wasm`.
    pub name: String,
    /// The language of the sources.
    pub language: Language,
    /// The world of the WIT files that the component is built for. `None` in Rust, because the SDK chooses the interfaces.
    pub world: Option<String>,
    /// The engine of a plugin in JavaScript or TypeScript. `None` means QuickJS, and any other language has none.
    pub engine: Option<Engine>,
    /// What the plugin reads of the objects of each resource. `informer build` writes it into the component.
    #[serde(default)]
    pub reads: DeclaredReads,
}
