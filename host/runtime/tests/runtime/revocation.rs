//! Revoked grants.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::{BoxFuture, pending};
use informer_runtime::{
    Grants, Limits, LoadError, PluginConfig,
    capabilities::{Directory, HttpConfig, HttpOutcome},
};
use informer_types::{FailureKind, Outcome};
use serde_json::json;
use tokio::time::timeout;

use crate::{
    host::{PATIENCE, Setup, component},
    http::server::Server,
};

/// The deadline for a plugin with a hundredth of a processor. A guest that computes until then takes minutes.
const DEADLINE: Duration = Duration::from_secs(2);

fn slowed(config: &str) -> Setup {
    let cpu = |limits: &mut Limits| limits.cpu = Some(Duration::from_millis(10));
    Setup::new(config).deadline(DEADLINE).limits(cpu).read(&["v1/pods"])
}

/// The configuration without grants.
fn revoked(config: &PluginConfig, config_json: &str) -> PluginConfig {
    PluginConfig { grants: Grants::default(), config_json: config_json.to_owned(), ..config.clone() }
}

/// More calls than it takes to reject a version whose calls all fail.
const CALLS: usize = 6;

#[tokio::test]
async fn a_plugin_that_traps_does_not_regain_revoked_grants() {
    let setup = Setup::new("{}").read(&["v1/pods"]).write(&["* v1/pods"]);
    let granted = setup.config.clone();
    let running = setup.load("trap").await;

    let revoked = PluginConfig { grants: Grants::default(), ..granted };
    let version = running.plugin.configure(revoked).await.unwrap();
    assert!(version.is_some(), "the reduced grants need a new version");
    for _ in 0..CALLS {
        running.add_fails("web").await;
    }

    assert_eq!((running.plugin.stats().went_back, running.plugin.rejected()), (0, None));
    assert!(!running.plugin.is_outdated());
}

#[tokio::test]
async fn the_last_good_version_returns_with_the_current_limits() {
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
async fn a_version_that_needs_a_revoked_grant_does_not_return() {
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
    assert_eq!(
        running.plugin.version().unwrap().digest,
        bad.unwrap().digest,
        "the new version stays in service"
    );
}

/// The version that failed its trial stayed in service, and did not become the last good one.
#[tokio::test]
async fn a_version_that_needs_a_revoked_grant_returns_once_the_grant_is_back() {
    let setup = Setup::new("{}").read(&["v1/pods"]).write(&["* v1/pods"]);
    let granted = setup.config.clone();
    let running = setup.load("writer").await;
    let good = running.plugin.version().unwrap().digest;
    running.load("trap").await.unwrap();
    let mut revoked = granted.clone();
    revoked.grants.write = None;
    running.plugin.configure(revoked).await.unwrap();
    for _ in 0..CALLS {
        running.add_fails("web").await;
    }
    assert_eq!(running.plugin.stats().went_back, 0);

    running.plugin.configure(granted).await.unwrap();
    for _ in 1..CALLS {
        running.add_fails("web").await;
    }

    assert_eq!(running.plugin.stats().went_back, 1);
    assert_eq!(running.plugin.version().unwrap().digest, good);
}

#[tokio::test]
async fn a_component_that_imports_a_revoked_interface_is_taken_out_of_service() {
    let setup = Setup::new(r#"{"steps":[]}"#).read(&["v1/pods"]).write(&["* v1/pods"]);
    let granted = setup.config.clone();
    let running = setup.load("writer").await;

    let revoked =
        PluginConfig { grants: Grants { write: None, ..granted.grants.clone() }, ..granted.clone() };
    let refused = running.plugin.configure(revoked).await.unwrap_err();
    assert!(matches!(refused, LoadError::Imports { .. }), "{refused}");
    assert_eq!(running.plugin.version(), None, "its grant to write is revoked");
    running.add_fails("web").await;

    assert_eq!(running.plugin.configure(granted).await.unwrap(), None);
    running.load("writer").await.unwrap();
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
}

#[tokio::test]
async fn a_component_that_refuses_a_configuration_with_more_grants_keeps_the_old_one() {
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

#[tokio::test]
async fn a_plugin_that_spins_in_start_does_not_keep_revoked_grants() {
    let setup = Setup::new(r#"{"mood":"well"}"#).deadline(DEADLINE).read(&["v1/pods"]);
    let mut config = revoked(&setup.config, r#"{"mood":"spins-in-start"}"#);
    config.limits.cpu = Some(Duration::from_millis(10));
    let running = setup.load("moody").await;

    let refused = timeout(PATIENCE, running.plugin.configure(config)).await.unwrap().unwrap_err();

    assert!(matches!(refused, LoadError::Overdue { limit: DEADLINE }), "{refused}");
    assert_eq!(running.plugin.version(), None);
    assert_eq!(running.add_fails("web").await.kind, FailureKind::Start);
}

#[tokio::test]
async fn a_load_that_spins_in_start_keeps_no_version_with_revoked_grants_in_service() {
    let spins = r#"{"mood":"spins-in-start"}"#;
    let setup = slowed(spins);
    let config = revoked(&setup.config, spins);
    let running = setup.load("echo").await;
    let (plugin, moody) = (Arc::clone(&running.plugin), component("moody").await);
    let loading = tokio::spawn(async move { plugin.load(&moody).await });
    running.log.wait_for("starting", 1).await;

    // The load starts again with the new grants.
    let configured = timeout(PATIENCE, running.plugin.configure(config)).await.unwrap();

    assert!(matches!(configured, Err(LoadError::Overdue { .. })), "{configured:?}");
    assert_eq!(running.plugin.version(), None);
    running.log.wait_for("starting", 2).await;
    loading.abort();
}

#[tokio::test]
async fn a_call_in_flight_that_spins_does_not_keep_revoked_grants() {
    for other_version in [false, true] {
        let setup = slowed("{}").instances(2);
        let config = revoked(&setup.config, "{}");
        let running = setup.load("spin").await;
        let call = running.spawn_add("web");
        let begun = Instant::now();
        while running.plugin.stats().throttled == 0 {
            assert!(begun.elapsed() < PATIENCE, "{:?}", running.plugin.stats());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if other_version {
            // The version of the call is out of service already.
            running.load("echo").await.unwrap();
        }
        assert!(!call.is_finished());

        // With so little processor time it may start in time or not.
        drop(running.plugin.configure(config).await);

        assert!(!running.plugin.is_outdated());
        let outcome = timeout(PATIENCE, call).await.unwrap().unwrap();
        let Outcome::Retry { failure, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(failure.kind, FailureKind::Deadline, "{failure}");
        assert!(failure.message.contains("a grant of its version was revoked"), "{failure}");
    }
}

#[tokio::test]
async fn a_call_in_flight_that_ends_in_time_keeps_revoked_grants_until_its_end() {
    let setup = Setup::new(r#"{"millis": 1000}"#).instances(2).read(&["v1/pods"]);
    let config = revoked(&setup.config, r#"{"millis": 1000}"#);
    let running = setup.load("slow").await;
    let call = running.spawn_add("web");
    running.log.wait_for("begin default/web", 1).await;

    assert!(running.plugin.configure(config).await.unwrap().is_some());

    assert_eq!(call.await.unwrap(), Outcome::Acknowledged);
    assert_eq!(running.plugin.stats().instances.retired, 0);
}

#[tokio::test]
async fn a_load_uses_a_configuration_that_arrives_meanwhile() {
    let setup = Setup::new(r#"{"mood":"spins-in-start"}"#);
    let config =
        PluginConfig { config_json: r#"{"mood":"well","version":2}"#.to_owned(), ..setup.config.clone() };
    let running = setup.load("echo").await;
    let (plugin, moody) = (Arc::clone(&running.plugin), component("moody").await);
    let loading = tokio::spawn(async move { plugin.load(&moody).await });
    running.log.wait_for("starting", 1).await;

    let configured = running.plugin.configure(config).await.unwrap();

    assert_eq!(configured, None, "the load has started the new version");
    loading.await.unwrap().unwrap();
    assert_eq!(running.log.count("started 2"), 1);
    assert!(!running.plugin.is_outdated());
}

#[tokio::test]
async fn configure_reports_a_start_that_fails_after_the_deadline_even_if_only_a_call_in_flight_has_the_revoked_grant()
 {
    let config = r#"{"millis": 600000}"#;
    let setup = Setup::new(config).instances(2).read(&["v1/pods"]);
    let mut config = revoked(&setup.config, config);
    let running = setup.load("slow").await;
    let call = running.spawn_add("web");
    running.log.wait_for("begin default/web", 1).await;
    assert!(running.plugin.configure(config.clone()).await.unwrap().is_some(), "a version without the grant");

    // `start` fails at this deadline, not earlier.
    config.config_json = r#"{"millis": 0, "start_millis": 600000}"#.to_owned();
    config.limits.deadline = Duration::from_millis(500);
    let refused = timeout(PATIENCE, running.plugin.configure(config)).await.unwrap().unwrap_err();

    assert!(!matches!(refused, LoadError::Overdue { .. }), "{refused}");
    assert!(running.plugin.is_outdated() && running.plugin.version().is_some());
    assert!(!call.is_finished());
    call.abort();
}

/// A lookup of the API server's endpoints that never ends. A request waits two seconds for the lookup.
struct Hangs;

impl Directory for Hangs {
    fn places(&self) -> BoxFuture<'_, io::Result<Vec<SocketAddr>>> {
        Box::pin(pending())
    }
}

/// The grant ends after one second, while the host still checks the address of the request. By then the guest waits for the answer.
#[tokio::test]
async fn a_request_is_not_sent_once_its_grant_has_ended() {
    let server = Server::start().await;
    let authority = server.authority();
    let requests = json!({"requests": [{"authority": authority}]}).to_string();
    let hangs = HttpConfig { api_server: Some(Arc::new(Hangs)), ..HttpConfig::default() };
    let setup = Setup::new(&requests).http(&[&format!("http://{authority}/")]).http_config(hangs);
    let mut config = revoked(&setup.config, &requests);
    config.limits.deadline = Duration::from_secs(1);
    let running = setup.load("fetch").await;
    let call = running.spawn_add("web");
    let begun = Instant::now();
    while running.plugin.stats().http.in_flight == 0 {
        assert!(begun.elapsed() < PATIENCE, "{:?}", running.plugin.stats());
        tokio::task::yield_now().await;
    }

    let refused = running.plugin.configure(config).await.unwrap_err();
    let outcome = timeout(PATIENCE, call).await.unwrap().unwrap();

    assert!(matches!(refused, LoadError::Imports { .. }), "{refused}");
    assert!(matches!(&outcome, Outcome::Retry { failure, .. } if failure.kind == FailureKind::Deadline));
    assert_eq!(server.seen(), Vec::<String>::new());
    assert_eq!(running.plugin.stats().http.requests, [(HttpOutcome::Denied, 1)].into());
}
