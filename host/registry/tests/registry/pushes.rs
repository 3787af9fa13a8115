//! The layout that is pushed.

use std::collections::BTreeMap;

use informer_registry::{Digest, Interfaces, Push};

use crate::{named, pull, puller, server::Registry};

fn component() -> Push {
    Push {
        component: b"component".to_vec(),
        interfaces: Interfaces {
            imports: vec!["a:b/c@0.1.0".to_owned()],
            exports: vec!["informer:plugin/handler@0.1.0".to_owned()],
            target: Some("informer:plugin/event-handler@0.1.0".to_owned()),
        },
        created: Some("2026-01-01T00:00:00Z".to_owned()),
        author: Some("Ann".to_owned()),
        annotations: BTreeMap::from([(
            "org.opencontainers.image.licenses".to_owned(),
            "Apache-2.0".to_owned(),
        )]),
    }
}

#[tokio::test]
async fn a_pushed_artifact_can_be_inspected_and_pulled() {
    let registry = Registry::start().await;
    let (puller, reference) = (puller(&registry), named(&registry, ":1"));

    let digest = puller.push(&reference, component()).await.unwrap();

    let seen = puller.inspect(&reference).await.unwrap();
    assert_eq!((seen.artifact, seen.layer.digest, seen.layer.bytes), (digest, Digest::of(b"component"), 9));
    assert_eq!(seen.contents.component.unwrap(), component().interfaces);
    assert!(seen.manifest.contains("org.opencontainers.image.licenses") && seen.signatures.is_empty());
    assert_eq!(pull(&puller, &reference).await.unwrap().component.unwrap(), b"component");
    assert_eq!(
        puller.push(&reference, component()).await.unwrap(),
        digest,
        "the same component has the same digest"
    );
}

#[tokio::test]
async fn a_digest_is_no_place_to_push_to() {
    let registry = Registry::start().await;
    let reference = named(&registry, &format!("@{}", Digest::of(b"x")));

    let error = puller(&registry).push(&reference, component()).await.unwrap_err().to_string();

    assert!(error.ends_with("push to a tag: its digest follows from what is pushed"), "{error}");
}
