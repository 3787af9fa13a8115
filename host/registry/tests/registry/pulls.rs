//! What is pulled, from where, and within which bounds.

use std::time::Duration;

use informer_registry::{Digest, Wish};
use serde_json::json;

use crate::{
    add, named, pull, pull_error, puller,
    server::{CONFIG, LAYER, MANIFEST, Registry},
};

#[tokio::test]
async fn a_component_is_pulled_by_its_tag_and_by_its_digest() {
    let registry = Registry::start().await;
    let artifact = add(&registry, "1", b"component");

    for version in [":1".to_owned(), format!("@{artifact}"), format!(":other@{artifact}")] {
        let pulled = pull(&puller(&registry), &named(&registry, &version)).await.unwrap();

        assert_eq!((pulled.artifact, pulled.layer), (artifact, Digest::of(b"component")));
        assert_eq!(pulled.component.unwrap(), b"component");
    }
}

#[tokio::test]
async fn a_registry_that_hides_digests_is_read_all_the_same() {
    let registry = Registry::start().await;
    let artifact = add(&registry, "1", b"component");
    registry.set(|faults| faults.hides_digests = true);

    assert_eq!(pull(&puller(&registry), &named(&registry, ":1")).await.unwrap().artifact, artifact);
    assert_eq!(puller(&registry).resolve(&named(&registry, ":1")).await.unwrap(), artifact);
}

/// The imports and exports in the config decide before the layer is pulled.
#[tokio::test]
async fn a_component_with_the_wrong_interfaces_is_refused_before_it_is_pulled() {
    let registry = Registry::start().await;
    add(&registry, "1", b"component");
    let reference = named(&registry, ":1");
    let refuse = |names: &informer_registry::Interfaces| Err(format!("{:?} is not granted", names.imports));

    let wish = Wish { reference: &reference, pin: None, interfaces: &refuse, known: &|_| false };
    let error = puller(&registry).pull(wish).await.unwrap_err();

    assert_eq!(
        error.to_string(),
        format!(
            "{reference} is not pulled, by what its config says: [\"a:b/imported@0.1.0\"] is not granted"
        )
    );
    let layer = format!("blobs/{}", Digest::of(b"component"));
    assert!(
        registry.requests().iter().all(|(request, _)| !request.ends_with(&layer)),
        "{:?}",
        registry.requests()
    );
    assert!(!error.is_about_registry());
}

#[tokio::test]
async fn a_component_that_is_in_service_is_not_pulled() {
    let registry = Registry::start().await;
    add(&registry, "1", b"component");
    let reference = named(&registry, ":1");

    let known = |digest| digest == Digest::of(b"component");
    let wish = Wish { reference: &reference, pin: None, interfaces: &|_| Ok(()), known: &known };
    let pulled = puller(&registry).pull(wish).await.unwrap();

    assert_eq!(pulled.component, None);
}

#[tokio::test]
async fn other_bytes_than_the_digest_names_are_refused() {
    let registry = Registry::start().await;
    let artifact = add(&registry, "1", b"component");
    let exact = named(&registry, &format!("@{artifact}"));

    registry.set(|faults| faults.padding = 1);
    let error = pull_error(&puller(&registry), &exact).await;
    assert!(error.starts_with("manifest of oci://") && error.contains("and sha256:"), "{error}");

    registry.set(|faults| faults.padding = 0);
    let config = registry.requests().len();
    registry.set(|faults| faults.blob = Some(b"evil".to_vec()));
    let error = pull_error(&puller(&registry), &exact).await;
    assert!(error.starts_with("the config of oci://"), "{error}");
    assert!(registry.requests().len() > config);
}

#[tokio::test]
async fn nothing_is_read_beyond_its_bound() {
    let registry = Registry::start().await;
    add(&registry, "1", b"component");
    let (puller, reference) = (puller(&registry), named(&registry, ":1"));

    registry.set(|faults| faults.padding = 5 << 20);
    let error = pull_error(&puller, &reference).await;
    assert!(
        error.starts_with("manifest of oci://") && error.contains("is larger than 4194304 bytes"),
        "{error}"
    );
    registry.set(|faults| faults.padding = 0);

    add(&registry, "1", &vec![0; 1_001]);
    let error = pull_error(&puller, &reference).await;
    assert!(
        error.contains("larger than 1000 bytes") && error.ends_with("raise `component-size` under [host]"),
        "{error}"
    );

    // A layer that is longer than its manifest says.
    add(&registry, "1", b"short");
    let (layer, long) = (Digest::of(b"short"), vec![b'x'; 1_000]);
    let config = registry.add_typed(
        CONFIG,
        json!({"architecture": "wasm", "os": "wasip2", "layerDigests": [layer.to_string()]})
            .to_string()
            .as_bytes(),
    );
    let own = json!({"mediaType": LAYER, "digest": Digest::of(&long).to_string(), "size": 5});
    registry.add_blob(&long);
    let layers = json!({"architecture": "wasm", "os": "wasip2", "layerDigests": [own["digest"]]});
    let config_of_long = registry.add_typed(CONFIG, layers.to_string().as_bytes());
    assert_ne!(config, config_of_long);
    let manifest =
        json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config_of_long, "layers": [own]});
    registry.add_manifest("acme/plugin", "1", &manifest);
    let error = pull_error(&puller, &reference).await;
    assert!(error.contains("is larger than 5 bytes") && error.ends_with("(the manifest says so)"), "{error}");
}

#[tokio::test]
async fn a_config_of_a_gigabyte_is_not_requested() {
    let registry = Registry::start().await;
    let layer = registry.add_typed(LAYER, b"component");
    let config = json!({"mediaType": CONFIG, "digest": Digest::of(b"").to_string(), "size": 1 << 30});
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
    registry.add_manifest("acme/plugin", "1", &manifest);

    let error = pull_error(&puller(&registry), &named(&registry, ":1")).await;

    assert!(error.starts_with("the config of") && error.contains("larger than 1048576 bytes"), "{error}");
    assert!(registry.requests().iter().all(|(request, _)| !request.contains("/blobs/")));
}

#[tokio::test]
async fn an_artifact_that_is_not_a_component_is_refused_with_a_description() {
    let registry = Registry::start().await;
    let layer = registry.add_typed("application/vnd.oci.image.layer.v1.tar", b"x");
    let config = registry.add_typed("application/vnd.oci.image.config.v1+json", b"{}");
    let image = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
    registry.add_manifest("acme/plugin", "image", &image);
    let index =
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []});
    registry.add_manifest("acme/plugin", "index", &index);

    for (tag, problem) in [
        (":image", "is not a component: its config is of the type application/vnd.oci.image.config.v1+json"),
        (":index", "is not a component: it is a list of manifests for several platforms"),
        (":absent", "has no manifest of oci://"),
    ] {
        let error = pull_error(&puller(&registry), &named(&registry, tag)).await;
        assert!(error.contains(problem), "{tag}: {error}");
    }
}

#[tokio::test]
async fn a_registry_that_fails_is_named_with_what_it_says() {
    let registry = Registry::start().await;
    let (puller, reference) = (puller(&registry), named(&registry, ":1"));
    registry.set(|faults| faults.status = Some(429));

    let error = pull(&puller, &reference).await.unwrap_err();
    assert!(error.is_about_registry());
    assert_eq!(
        error.to_string(),
        format!("{} answers 429 for manifest of {reference}: it says nothing more", registry.host())
    );

    drop(registry);
    let error = pull(&puller, &reference).await.unwrap_err();
    assert!(error.is_about_registry() && error.to_string().contains("does not answer: "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_never_answers_is_given_up() {
    let registry = Registry::start().await;
    registry.set(|faults| faults.silent = true);

    // The clock of the test is paused: it jumps to the next deadline while everything waits.
    let (puller, reference) = (puller(&registry), named(&registry, ":1"));
    let pulling = tokio::time::timeout(Duration::from_secs(3600), pull(&puller, &reference));
    let error = pulling.await.unwrap().unwrap_err();

    assert!(error.is_about_registry(), "{error}");
}

#[tokio::test]
async fn a_layer_elsewhere_is_followed_without_the_credentials_of_the_registry() {
    let (registry, storage) = (Registry::start().await, Registry::start().await);
    let artifact = add(&registry, "1", b"component");
    add(&storage, "1", b"component");
    registry.set(|faults| faults.redirect = Some(format!("http://localhost:{}", storage.address().port())));

    let pulled = pull(&puller(&registry), &named(&registry, &format!("@{artifact}"))).await.unwrap();

    assert_eq!(pulled.component.unwrap(), b"component");
    assert_eq!(storage.requests().len(), 2, "{:?}", storage.requests());
}

#[tokio::test]
async fn redirects_in_a_circle_end() {
    let registry = Registry::start().await;
    let artifact = add(&registry, "1", b"component");
    registry.set(|faults| faults.redirect = Some(format!("http://{}", registry.host())));

    let error = pull_error(&puller(&registry), &named(&registry, &format!("@{artifact}"))).await;

    assert!(error.contains("redirects too often"), "{error}");
}
