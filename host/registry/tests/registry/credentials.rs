//! Passwords, tokens, and where they are sent.

use std::fs;

use informer_registry::{Digest, Puller, Push, Settings};
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

/// The password goes to the realm of the challenge, so the challenge must come from the registry itself.
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

fn component() -> Push {
    Push { component: b"component".to_vec(), ..Push::default() }
}

#[tokio::test]
async fn a_push_gets_a_token_for_the_password_or_for_an_identity_token() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    registry.set(|faults| faults.token = true);
    let reference = named(&registry, ":1");
    let identity = format!(r#"{{"auths": {{"{}": {{"identitytoken": "the-identity"}}}}}}"#, registry.host());

    let error = puller(&registry).push(&reference, component()).await.unwrap_err().to_string();
    assert!(error.contains("no token without the credentials of this host (401)"), "{error}");

    let settings = with_secret(&registry, &directory, "secret");
    let puller = Puller::without_store(settings, LARGEST);
    puller.push(&reference, component()).await.unwrap();
    fs::write(directory.path().join(".dockerconfigjson"), identity).unwrap();
    puller.push(&reference, component()).await.unwrap();

    let requests = registry.requests();
    let basic = requests.iter().filter(|(_, own)| own.as_ref().is_some_and(|own| own.starts_with("Basic")));
    let basic: Vec<&str> = basic.map(|(request, _)| request.as_str()).collect();
    assert!(!basic.is_empty(), "{requests:?}");
    assert!(
        basic.iter().all(|request| *request == "GET /token"),
        "the password is for the token: {requests:?}"
    );
}

#[tokio::test]
async fn a_push_sends_a_password_that_the_registry_accepts_to_no_server_of_tokens() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    registry.set(|faults| (faults.password, faults.token) = (true, true));
    let puller = Puller::without_store(with_secret(&registry, &directory, "secret"), LARGEST);

    puller.push(&named(&registry, ":1"), component()).await.unwrap();

    let requests = registry.requests();
    assert!(requests.iter().all(|(request, _)| request != "GET /token"), "{requests:?}");
}

#[tokio::test]
async fn a_token_that_no_header_may_have_is_an_error() {
    let (registry, directory) = (Registry::start().await, TempDir::new().unwrap());
    registry.set(|faults| (faults.token, faults.strange_token) = (true, true));
    let (settings, reference) = (with_secret(&registry, &directory, "secret"), named(&registry, ":1"));
    let puller = Puller::without_store(settings, LARGEST);

    let pushed = puller.push(&reference, component()).await.unwrap_err().to_string();

    for error in [pull_error(&puller, &reference).await, pushed] {
        assert!(error.contains("the token has a character that no header may have"), "{error}");
    }
}

/// The password goes to the realm of the challenge, so the challenge must come from the registry itself.
#[tokio::test]
async fn a_push_gives_no_password_to_a_host_that_the_registry_redirects_to() {
    let (registry, other) = (Registry::start().await, Registry::start().await);
    let place = format!("http://localhost:{}", other.address().port());
    registry.set(|faults| faults.redirect = Some(place));
    other.set(|faults| faults.token = true);
    let directory = TempDir::new().unwrap();

    let puller = Puller::without_store(with_secret(&registry, &directory, "secret"), LARGEST);
    let pushed = puller.push(&named(&registry, ":1"), component()).await;

    let requests = other.requests();
    assert!(
        !requests.is_empty() && requests.iter().all(|(_, authorization)| authorization.is_none()),
        "{pushed:?}: {requests:?}"
    );
}
