//! The languages that plugins are written in.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A language with a project template and a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Rust, with the SDK.
    Rust,
    /// JavaScript, on QuickJS.
    #[serde(alias = "javascript")]
    Js,
    /// TypeScript, on QuickJS.
    #[serde(alias = "typescript")]
    Ts,
    /// Python, on CPython.
    Python,
    /// Go.
    Go,
    /// C.
    C,
}

// === impl Language ===

impl Language {
    /// All languages.
    pub const ALL: [Self; 6] = [Self::Rust, Self::Js, Self::Ts, Self::Python, Self::Go, Self::C];

    /// The word for the language on the command line and in `informer-plugin.toml`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Js => "js",
            Self::Ts => "ts",
            Self::Python => "python",
            Self::Go => "go",
            Self::C => "c",
        }
    }

    /// Returns true if the component has the author's functions as code, so that its debug information is about them. In the other
    /// languages the code belongs to an engine, which also makes the stacks.
    #[must_use]
    pub fn is_compiled(self) -> bool {
        matches!(self, Self::Rust | Self::Go | Self::C)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rust => "Rust",
            Self::Js => "JavaScript",
            Self::Ts => "TypeScript",
            Self::Python => "Python",
            Self::Go => "Go",
            Self::C => "C",
        })
    }
}
