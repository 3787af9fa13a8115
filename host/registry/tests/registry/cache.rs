//! What is kept, and what a host does without its registry.

use std::fs;

use informer_registry::{Digest, Puller, Reference, RegistryError, Wish};
use tempfile::TempDir;

use crate::{LARGEST, add, named, pull, server::Registry, settings};

fn keeping(registry: &Registry, directory: &TempDir) -> Puller {
    Puller::new(settings(registry), Some(directory.path()), LARGEST).unwrap()
}

#[tokio::test]
async fn a_component_that_was_pulled_once_outlives_its_registry() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    let artifact = add(&registry, "1", b"component");
    let reference = named(&registry, ":1");
    let wish = Wish { reference: &reference, pin: None, interfaces: &|_| Ok(()), known: &|_| false };
    let absent = keeping(&registry, &directory).cached(wish).await.unwrap_err();
    assert!(matches!(absent, RegistryError::NotCached(_)));
    pull(&keeping(&registry, &directory), &reference).await.unwrap();
    let settings = settings(&registry);
    drop(registry);

    let puller = Puller::new(settings, Some(directory.path()), LARGEST).unwrap();
    assert!(puller.pull(wish).await.unwrap_err().is_about_registry());
    let cached = puller.cached(wish).await.unwrap();

    assert_eq!((cached.artifact, cached.component.unwrap().as_slice()), (artifact, b"component".as_slice()));
    let exact = named_exact(&reference, artifact);
    assert!(pull(&puller, &exact).await.is_ok(), "a digest needs no registry");
}

fn named_exact(reference: &Reference, artifact: Digest) -> Reference {
    reference.with_digest(artifact)
}

/// A digest names the same artifact in each repository, and a tenant may use some repositories only.
#[tokio::test]
async fn an_artifact_of_another_repository_is_not_taken_from_the_cache() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    let artifact = add(&registry, "1", b"component");
    let puller = keeping(&registry, &directory);
    pull(&puller, &named(&registry, ":1")).await.unwrap();
    let other: Reference = format!("oci://{}/acme/other@{artifact}", registry.host()).parse().unwrap();
    let wish = Wish { reference: &other, pin: None, interfaces: &|_| Ok(()), known: &|_| false };

    let absent = puller.pull(wish).await.unwrap_err();
    assert!(matches!(absent, RegistryError::Absent { .. }), "{absent}");
    assert!(matches!(puller.cached(wish).await.unwrap_err(), RegistryError::NotCached(_)));

    // Now the other repository has the artifact, too.
    let names = (&["a:b/imported@0.1.0"][..], &["a:b/exported@0.1.0"][..]);
    assert_eq!(registry.add_component("acme/other", "1", b"component", names), artifact);
    registry.forget_requests();
    assert_eq!(puller.pull(wish).await.unwrap().component.unwrap(), b"component");
    let layer = format!("GET /v2/acme/other/blobs/{}", Digest::of(b"component"));
    let requests = registry.requests();
    assert!(requests.iter().any(|(request, _)| *request == layer), "{requests:?}");
    registry.forget_requests();
    for reference in [named(&registry, &format!("@{artifact}")), other] {
        assert!(pull(&puller, &reference).await.is_ok(), "{reference}");
    }
    let requests = registry.requests();
    assert!(requests.is_empty(), "both repositories are noted: {requests:?}");
}

/// The cache of an earlier version has no notes of repositories.
#[tokio::test]
async fn an_artifact_without_a_repository_is_pulled_again_and_used_if_the_registry_fails() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    let artifact = add(&registry, "1", b"component");
    let puller = keeping(&registry, &directory);
    let reference = named(&registry, &format!("@{artifact}"));
    let wish = Wish { reference: &reference, pin: None, interfaces: &|_| Ok(()), known: &|_| false };
    let forget = || fs::remove_file(directory.path().join(format!("{}.from", artifact.hex()))).unwrap();
    pull(&puller, &reference).await.unwrap();
    forget();
    registry.forget_requests();

    assert!(puller.pull(wish).await.is_ok());
    assert!(!registry.requests().is_empty());

    forget();
    let settings = settings(&registry);
    drop(registry);
    let puller = Puller::new(settings, Some(directory.path()), LARGEST).unwrap();
    assert!(puller.pull(wish).await.unwrap_err().is_about_registry());
    assert_eq!(puller.cached(wish).await.unwrap().component.unwrap(), b"component");
}

#[tokio::test]
async fn a_tag_that_did_not_move_is_not_pulled_again() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    add(&registry, "1", b"component");
    let (puller, reference) = (keeping(&registry, &directory), named(&registry, ":1"));
    pull(&puller, &reference).await.unwrap();
    registry.forget_requests();

    pull(&puller, &reference).await.unwrap();
    let requests = registry.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].0.starts_with("HEAD "), "{requests:?}");

    let moved = add(&registry, "1", b"another");
    assert_eq!(pull(&puller, &reference).await.unwrap().artifact, moved);
}

/// The host does not pull the component again, because it is in service.
#[tokio::test]
async fn a_tag_that_moved_back_to_the_component_in_service_leads_to_it_without_the_registry() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    let (puller, reference) = (keeping(&registry, &directory), named(&registry, ":1"));
    let first = add(&registry, "1", b"component");
    pull(&puller, &reference).await.unwrap();
    add(&registry, "1", b"another");
    pull(&puller, &reference).await.unwrap();
    add(&registry, "1", b"component");
    let in_service = Digest::of(b"component");
    let known = move |digest: Digest| digest == in_service;
    let wish = Wish { reference: &reference, pin: None, interfaces: &|_| Ok(()), known: &known };

    let unchanged = puller.pull(wish).await.unwrap();

    assert_eq!((unchanged.artifact, unchanged.component), (first, None));
    drop(registry);
    let cached = puller.cached(Wish { known: &|_| false, ..wish }).await.unwrap();
    assert_eq!((cached.artifact, cached.component.unwrap()), (first, b"component".to_vec()));
}

#[tokio::test]
async fn a_pin_decides_and_not_the_tag() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    let first = add(&registry, "1", b"component");
    let second = add(&registry, "1", b"another");
    let reference = named(&registry, ":1");
    let pinned =
        |pin| Wish { reference: &reference, pin: Some(pin), interfaces: &|_| Ok(()), known: &|_| false };
    let puller = keeping(&registry, &directory);

    assert_eq!(puller.pull(pinned(first)).await.unwrap().component.unwrap(), b"component");
    assert_eq!(puller.pull(pinned(second)).await.unwrap().component.unwrap(), b"another");
    let absent = puller.pull(pinned(Digest::of(b"absent"))).await.unwrap_err();
    assert!(absent.is_about_registry() && absent.to_string().contains("has no manifest of"), "{absent}");
}
