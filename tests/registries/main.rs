//! Real registries from their Go modules: go-containerregistry, which keeps lists of referrers, and distribution, which does not.
//!
//! | module | what it shows |
//! |---|---|
//! | `transport` | pushes, pulls, pins, TLS and passwords; a host that follows a tag and outlives its registry |
//! | `signatures` | each policy on what the real cosign uploaded: recorded, and with `cargo xtask test --cosign` made anew |
//!
//! `signing` runs cosign, and `recording` keeps what it uploaded in `tests/recordings/signatures.json`.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test ends by panicking")]

mod http;
mod recording;
mod signatures;
mod signing;
mod transport;

use informer_registry::{Digest, Pulled, Puller, Push, Reference, RegistryError, Wish};
use informer_tests::{host::configuration, toml::watch};

/// The smallest component.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

/// The largest component of these tests.
const LARGEST: u64 = 1 << 24;

/// A puller that keeps nothing, with these sections of `informer.toml`.
fn puller(toml: &str) -> Puller {
    let toml = format!("{toml}{}", watch("v1/configmaps"));
    Puller::without_store(configuration(&toml).unwrap().registries, LARGEST)
}

/// The section of a registry that is reached without TLS.
fn without_tls(host: &str) -> String {
    format!("[[registry]]\nhost = \"{host}\"\ninsecure = true\n")
}

fn named(host: &str, name: &str) -> Reference {
    format!("oci://{host}/{name}").parse().unwrap()
}

async fn pull(puller: &Puller, reference: &Reference) -> Result<Pulled, RegistryError> {
    puller.pull(Wish { reference, pin: None, interfaces: &|_| Ok(()), known: &|_| false }).await
}

/// Pushes the smallest component. The author makes its digest differ from others.
async fn push(puller: &Puller, reference: &Reference, author: &str) -> Digest {
    let push = Push { component: EMPTY.to_vec(), author: Some(author.to_owned()), ..Push::default() };
    puller.push(reference, push).await.unwrap()
}
