//! Components from OCI registries.
//!
//! 1. [`Reference`] and [`Digest`] name an artifact.
//! 2. `transport` reads from a registry, each answer up to a bound, with the credentials of docker or of an image pull secret.
//! 3. [`Manifest`] and [`Contents`] are the two documents of a component, in the CNCF layout for WebAssembly. They are compared with
//!    what the host accepts before the component itself is pulled.
//! 4. `verify` compares the signatures with the operator's [`Policy`].
//! 5. `store` keeps what was pulled, so a registry that is down stops no host that has the component.
//! 6. [`Puller`] puts the parts together.
#![forbid(unsafe_code)]

mod contents;
mod credentials;
mod digest;
mod error;
mod manifest;
mod media_type;
mod policy;
mod puller;
mod reference;
mod settings;
mod stats;
mod store;
mod transport;
mod verify;

pub use contents::{Contents, Interfaces, InvalidContents};
pub use digest::{Digest, InvalidDigest};
pub use error::RegistryError;
pub use manifest::{InvalidManifest, Manifest, Part};
pub use policy::{NotVerified, Policy, PolicyError, Signer, SignerKind};
pub use puller::{Inspection, Pulled, Puller, Push, Wish};
pub use reference::{InvalidReference, Reference, SCHEME};
pub use settings::{RegistrySettings, Settings};
pub use stats::PullStats;
