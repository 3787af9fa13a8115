//! What the author of a plugin needs besides the compiler of the language: the WIT files, and a look into components.
//!
//! - [`WIT`] is the interface, which [`write()`] puts into a folder.
//! - [`Inspection`] is what a WebAssembly file contains and what made it.
//!
//! This crate has no part in running plugins: it uses nothing of `cache`, `dispatch` and `runtime`, and they use nothing of it.
#![forbid(unsafe_code)]

mod files;
mod inspect;
mod language;
mod wit;

pub use files::{Existing, TextFile, WriteError, write};
pub use inspect::{Inspection, Kind, NotWasm, Toolchain};
pub use language::Language;
pub use wit::WIT;
