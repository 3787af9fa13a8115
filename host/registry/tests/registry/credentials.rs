//! Passwords, tokens, and where they are sent.

use std::fs;

use informer_registry::{Digest, Puller, Settings};
use tempfile::TempDir;

use crate::{LARGEST, add, named, pull, pull_error, puller, server::Registry, settings};

/// The settings with an image pull secret for the registry.
fn with_secret(registry: &Registry, directory: &TempDir, password: &str) -> Settings {
    let path = directory.path().join(".dockerconfigjson");
    let auth =
        format!(r#"{{"auths": {{"{}": {{"username": "me", "password": "{password}"}}}}}}"#, registry.host());
    fs::write(&path, auth).unwrap();
    let mut settings = settings(registry);
    settings.registries[0].credentials = Some(path);
    settings
}

#[tokio::test]
async fn a_registry_with_a_password_gets_the_one_of_the_secret() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    add(&registry, "1", b"component");
    registry.set(|faults| faults.password = true);
    let reference = named(&registry, ":1");

    let error = pull_error(&puller(&registry), &reference).await;
    assert!(
        error.contains("does not let this host read or write acme/plugin: ")
            && error.contains("`docker login"),
        "{error}"
    );

    let puller = Puller::without_store(with_secret(&registry, &directory, "secret"), LARGEST);
    assert!(pull(&puller, &reference).await.is_ok());
}

#[tokio::test]
async fn a_token_is_issued_for_the_password_and_used_for_every_request() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    add(&registry, "1", b"component");
    registry.set(|faults| faults.token = true);
    let reference = named(&registry, ":1");

    let puller = Puller::without_store(with_secret(&registry, &directory, "secret"), LARGEST);
    pull(&puller, &reference).await.unwrap();

    let requests = registry.requests();
    assert_eq!(requests.iter().filter(|(request, _)| request == "GET /token").count(), 1, "{requests:?}");
    let basic = requests.iter().filter(|(_, own)| own.as_ref().is_some_and(|own| own.starts_with("Basic")));
    assert!(
        basic.clone().all(|(request, _)| request == "GET /token"),
        "the password is for the token: {requests:?}"
    );
    assert_eq!(basic.count(), 1);

    let wrong = Puller::without_store(with_secret(&registry, &directory, "guess"), LARGEST);
    let error = pull_error(&wrong, &reference).await;
    assert!(error.contains("no token with the credentials of this host (401): wrong password"), "{error}");
}

#[tokio::test]
async fn a_token_may_have_any_lifetime() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    add(&registry, "1", b"component");
    let reference = named(&registry, ":1");
    for lifetime in [0, 9, u64::MAX] {
        registry.set(|faults| (faults.token, faults.lifetime) = (true, Some(lifetime)));
        let puller = Puller::without_store(with_secret(&registry, &directory, "secret"), LARGEST);

        assert!(pull(&puller, &reference).await.is_ok(), "{lifetime}");
    }
}

#[tokio::test]
async fn a_secret_that_rotates_is_read_again() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    add(&registry, "1", b"component");
    registry.set(|faults| faults.password = true);
    let puller = Puller::without_store(with_secret(&registry, &directory, "old"), LARGEST);
    let reference = named(&registry, ":1");
    assert!(pull(&puller, &reference).await.is_err());

    with_secret(&registry, &directory, "secret");

    assert!(pull(&puller, &reference).await.is_ok());
}

/// A registry that requires a password and redirects to storage on another host, and the digest of an artifact that both have.
async fn redirecting() -> (Registry, Registry, Digest) {
    let (registry, storage) = (Registry::start().await, Registry::start().await);
    let artifact = add(&registry, "1", b"component");
    add(&storage, "1", b"component");
    let place = format!("http://localhost:{}", storage.address().port());
    registry.set(|faults| (faults.password, faults.redirect) = (true, Some(place)));
    (registry, storage, artifact)
}

#[tokio::test]
async fn no_credentials_follow_a_redirect_to_another_host() {
    let (registry, storage, artifact) = redirecting().await;
    let directory = TempDir::new().unwrap();

    let puller = Puller::without_store(with_secret(&registry, &directory, "secret"), LARGEST);
    pull(&puller, &named(&registry, &format!("@{artifact}"))).await.unwrap();

    let requests = storage.requests();
    assert!(
        !requests.is_empty() && requests.iter().all(|(_, authorization)| authorization.is_none()),
        "{requests:?}"
    );
}

/// The realm of a challenge gets the password, so the challenge must be the registry's own.
#[tokio::test]
async fn storage_that_requires_a_token_does_not_get_the_password() {
    let (registry, storage, artifact) = redirecting().await;
    let directory = TempDir::new().unwrap();
    storage.set(|faults| faults.token = true);

    let puller = Puller::without_store(with_secret(&registry, &directory, "secret"), LARGEST);
    let error = pull_error(&puller, &named(&registry, &format!("@{artifact}"))).await;

    assert!(error.contains("does not let this host read or write acme/plugin: "), "{error}");
    let requests = storage.requests();
    assert!(
        !requests.is_empty() && requests.iter().all(|(_, authorization)| authorization.is_none()),
        "{requests:?}"
    );
}
