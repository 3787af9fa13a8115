//! The puller over HTTP, against a registry of this suite with faults.
//!
//! | module | what it shows |
//! |---|---|
//! | `pulls` | what is pulled, from where, and within which bounds |
//! | `credentials` | passwords, tokens, and where they are sent |
//! | `cache` | what is kept, and what a host does without its registry |
//! | `pushes` | the layout that is pushed |
//! | `signatures` | what each policy accepts, and what it says about the rest |
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends by panicking")]

mod cache;
mod credentials;
mod pulls;
mod pushes;
mod signatures;

#[path = "../server/server.rs"]
mod server;

use informer_registry::{Digest, Pulled, Puller, Reference, RegistryError, RegistrySettings, Settings, Wish};
use server::Registry;

/// The largest component of these tests.
const LARGEST: u64 = 1_000;

/// How the registry is reached: without TLS.
fn settings(registry: &Registry) -> Settings {
    let own = RegistrySettings { host: registry.host(), insecure: true, ..RegistrySettings::default() };
    Settings { registries: vec![own], policies: Vec::new() }
}

fn puller(registry: &Registry) -> Puller {
    Puller::without_store(settings(registry), LARGEST)
}

/// `acme/plugin` with this tag or digest.
fn named(registry: &Registry, version: &str) -> Reference {
    format!("oci://{}/acme/plugin{version}", registry.host()).parse().unwrap()
}

async fn pull(puller: &Puller, reference: &Reference) -> Result<Pulled, RegistryError> {
    puller.pull(Wish { reference, pin: None, interfaces: &|_| Ok(()), known: &|_| false }).await
}

async fn pull_error(puller: &Puller, reference: &Reference) -> String {
    pull(puller, reference).await.unwrap_err().to_string()
}

fn add(registry: &Registry, tag: &str, component: &[u8]) -> Digest {
    registry.add_component("acme/plugin", tag, component, (&["a:b/imported@0.1.0"], &["a:b/exported@0.1.0"]))
}
