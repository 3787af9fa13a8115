//! Packs the container image of the host: `cargo xtask image` calls it. It needs no container runtime.
//!
//! 1. [`debian`] fetches the packages that the binary needs, as `.deb` files, with the apt of this machine.
//! 2. [`contents`] chooses the files of the image: glibc, certificates, a user, the binary. There is no shell.
//! 3. [`tree`] writes them as layers. Equal files give equal bytes.
//! 4. [`sbom`] lists crates and packages as SPDX.
//! 5. [`layout`] writes an OCI image layout in a tar file, which `ctr`, `skopeo`, `crane` and `podman` read.
//!
//! [`function_order`] decides which functions come first in the binary.

pub mod contents;
pub mod debian;
pub mod function_order;
pub mod layout;
pub mod platform;
pub mod sbom;
pub mod tree;
