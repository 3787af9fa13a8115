//! What the author of a plugin needs besides the compiler of the language: a project to start from, bindings, the steps of a build
//! after the compiler, the WIT files, and a look into components.
//!
//! - [`Project`] is a project that [`Project::write`] puts into a folder. It works as it is.
//! - [`build()`] makes a component of the sources, as the [`Manifest`] of the project says. Compilers are programs of the author's
//!   machine, or pinned packages in a [`Cache`].
//! - [`WitVersion`] is a version of the interface, whose files [`write()`] puts into a folder.
//! - [`sdk()`] is the SDK of a language, for the folder [`SDK`] of a project.
//! - [`Inspection`] is what a WebAssembly file contains and what made it.
//!
//! This crate has no part in running plugins: it uses nothing of `cache`, `dispatch` and `runtime`, and they use nothing of it.
#![forbid(unsafe_code)]

mod bindings;
mod build;
mod component;
mod debug;
mod engine;
mod files;
mod inspect;
mod language;
mod manifest;
mod project;
mod sdk;
mod tool;
mod wit;
mod wit_world;

pub use bindings::NoBindings;
pub use build::{BuildError, Built, build};
pub use component::NotOfTheWorld;
pub use engine::Engine;
pub use files::{Existing, TextFile, WriteError, write, write_all};
pub use inspect::{Inspection, Kind, NotWasm, Toolchain};
pub use language::Language;
pub use manifest::{MANIFEST, Manifest};
pub use project::{InvalidName, Project};
pub use sdk::{SDK, sdk};
pub use tool::{Cache, ToolError};
pub use wit::WitVersion;
pub use wit_world::WorldError;
