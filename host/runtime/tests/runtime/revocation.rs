//! What a plugin was granted and is not any more.

use informer_runtime::{Grants, LoadError};
use informer_types::Outcome;

use crate::host::Setup;

/// More than a version that does nothing right is given.
const CALLS: usize = 6;

#[tokio::test]
async fn by_trapping_a_plugin_does_not_get_back_what_was_revoked() {
    let setup = Setup::new("{}").read(&["v1/pods"]).write(&["* v1/pods"]);
    let granted = setup.config.clone();
    let running = setup.load("trap").await;

    let revoked = informer_runtime::PluginConfig { grants: Grants::default(), ..granted };
    let version = running.plugin.configure(revoked).await.unwrap();
    assert!(version.is_some(), "an instance of its own for the other grants");
    for _ in 0..CALLS {
        running.add_fails("web").await;
    }

    assert_eq!((running.plugin.stats().went_back, running.plugin.rejected()), (0, None));
    assert!(!running.plugin.is_outdated());
}

#[tokio::test]
async fn the_version_that_comes_back_has_the_limits_of_now() {
    let setup = Setup::new("{}");
    let mut config = setup.config.clone();
    let running = setup.load("echo").await;
    running.load("trap").await.unwrap();
    running.add_fails("web").await;

    config.limits.log_bytes = 1;
    running.plugin.configure(config).await.unwrap();
    for _ in 0..CALLS {
        running.add("web").await;
    }
    running.log.clear();
    assert_eq!(running.add("web").await, Outcome::Acknowledged);

    assert_eq!(running.plugin.stats().went_back, 1);
    assert!(running.plugin.stats().log_bytes_dropped > 0, "{:?}", running.log.messages());
    assert!(!running.plugin.is_outdated());
}

#[tokio::test]
async fn a_version_that_needs_what_was_revoked_does_not_come_back() {
    let setup = Setup::new("{}").read(&["v1/pods"]).write(&["* v1/pods"]);
    let mut config = setup.config.clone();
    let running = setup.load("writer").await;
    running.load("trap").await.unwrap();
    let bad = running.plugin.version();

    config.grants.write = None;
    running.plugin.configure(config).await.unwrap();
    for _ in 0..CALLS {
        running.add_fails("web").await;
    }

    assert_eq!(running.plugin.stats().went_back, 0);
    assert_eq!(running.plugin.version().unwrap().digest, bad.unwrap().digest, "it goes on");
}

#[tokio::test]
async fn a_component_that_still_imports_what_was_revoked_is_taken_out_of_service() {
    let setup = Setup::new(r#"{"steps":[]}"#).read(&["v1/pods"]).write(&["* v1/pods"]);
    let granted = setup.config.clone();
    let running = setup.load("writer").await;

    let revoked = informer_runtime::PluginConfig {
        grants: Grants { write: None, ..granted.grants.clone() },
        ..granted.clone()
    };
    let refused = running.plugin.configure(revoked).await.unwrap_err();
    assert!(matches!(refused, LoadError::Imports { .. }), "{refused}");
    assert_eq!(running.plugin.version(), None, "it may not write any more");
    running.add_fails("web").await;

    assert_eq!(running.plugin.configure(granted).await.unwrap(), None);
    running.load("writer").await.unwrap();
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
}

#[tokio::test]
async fn a_component_that_refuses_a_configuration_with_more_grants_goes_on_as_it_was() {
    let setup = Setup::new(r#"{"steps":[]}"#).read(&["v1/pods"]).write(&["* v1/pods"]);
    let mut config = setup.config.clone();
    let running = setup.load("writer").await;
    let version = running.plugin.version();

    config.config_json = r#"{"steps":1}"#.to_owned();
    config.grants.read = Some(["v1/pods", "v1/nodes"].iter().map(|gvr| gvr.parse().unwrap()).collect());
    running.plugin.configure(config).await.unwrap_err();

    assert_eq!(running.plugin.version(), version);
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
}
