//! The platforms that images are built for.

use anyhow::{Result, bail};

/// A processor architecture, by the names that the tools have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The name of OCI and Debian.
    pub architecture: &'static str,
    /// The target of Rust.
    pub target: &'static str,
    /// The directory of libraries of Debian.
    pub libraries: &'static str,
}

/// All platforms.
pub const PLATFORMS: [Platform; 2] = [
    Platform { architecture: "amd64", target: "x86_64-unknown-linux-gnu", libraries: "x86_64-linux-gnu" },
    Platform { architecture: "arm64", target: "aarch64-unknown-linux-gnu", libraries: "aarch64-linux-gnu" },
];

impl Platform {
    /// The platform with this architecture.
    ///
    /// # Errors
    /// There is none.
    pub fn named(architecture: &str) -> Result<Self> {
        match PLATFORMS.into_iter().find(|platform| platform.architecture == architecture) {
            Some(platform) => Ok(platform),
            None => bail!("there is no platform `{architecture}`; write amd64 or arm64"),
        }
    }
}
