//! A wall clock that jumps while the binary runs: no wait depends on it.

mod host;
mod wall_clock;

use informer::{config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_tests::proxy::{FaultProxy, Mode};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{task::spawn_blocking, time::Instant};

use crate::configmaps::ConfigMaps;
use host::{BACKOFF, Host, PERIOD, plugin};
use wall_clock::{WallClock, YEAR};

async fn clock() -> WallClock {
    spawn_blocking(WallClock::new).await.unwrap()
}

async fn server() -> DevServer {
    DevServer::start(informer_devserver::Config::default()).await.unwrap()
}

/// The Events of the test: the count of each, and the time of its last occurrence.
async fn events(url: &str) -> Vec<(u32, String)> {
    let client = connect(&Access::Server(url.parse().unwrap())).await.unwrap().client;
    let events: Api<Event> = Api::namespaced(client, "default");
    let found = events.list(&ListParams::default()).await.unwrap().items;
    let recorded = found.into_iter().map(|event| match event.series {
        Some(series) => (series.count.unsigned_abs(), series.last_observed_time.0.to_string()),
        None => (1, event.event_time.unwrap().0.to_string()),
    });
    recorded.collect()
}

/// Makes one jump and checks what happens afterwards. Each kind of wait is in progress while the clock jumps.
async fn jump(round: u32, jump: impl Fn(), clock: &WallClock, stage: &mut Stage) {
    let Stage { objects, host, proxy, server } = stage;
    let begun = Instant::now();
    objects.create(&format!("slow-{round}")).await;
    objects.create(&format!("key-{round}")).await;
    let made = |status: &Value| plugin(status, "patient")["calls"]["made"].as_u64().unwrap();
    host.until("a first attempt", |status| made(status) > u64::from(2 * round)).await;
    proxy.set(Mode::Refuse).await.unwrap();
    proxy.cut().await;

    jump();

    host.until("the watch to fail", |status| {
        let degraded = status["degraded"].as_array().unwrap().iter();
        degraded.filter(|sentence| !sentence.as_str().unwrap().starts_with("plugin trapping: ")).count() > 0
    })
    .await;
    proxy.set(Mode::Pass).await.unwrap();
    host.logged(&format!("reconcile default/key-{round} "), 1).await;
    assert!(begun.elapsed() >= BACKOFF, "the key came after {:?}", begun.elapsed());
    let status = host.until("the second attempt", |status| {
        plugin(status, "patient")["calls"]["acknowledged"] == round + 1
    });
    assert_eq!(made(&status.await), u64::from(2 * (round + 1)), "two calls an object");
    assert!(begun.elapsed() >= BACKOFF, "the retry came after {:?}", begun.elapsed());

    // The watch is open again and delivers events.
    objects.create(&format!("count-{round}")).await;
    host.logged(&format!("default/count-{round}: 1 version seen"), 1).await;
    objects.update(&format!("count-{round}"), 2).await;
    let line = host.logged(&format!("default/count-{round}: 2 versions seen"), 1).await;
    clock.assert_shows(line.split_whitespace().next().unwrap());
    objects.create(&format!("bad-{round}")).await;
    clock.assert_shows(&host.given_up_at(&format!("bad-{round}")).await);
    objects.create(&format!("event-{round}")).await;
    host.logged("event ok", round as usize + 1).await;
    let recorded = events(&server.url()).await;
    assert_eq!(
        recorded.iter().map(|(count, _)| *count).collect::<Vec<_>>(),
        [round + 1],
        "one is counted up"
    );
    clock.assert_shows(&recorded[0].1);
    host.logged(" resync ", host.times_logged(" resync ") + 2).await;
    let probes = plugin(&host.until("a quarantine", |_| true).await, "trapping")["calls"]["made"].clone();
    host.until("another probe", |status| {
        plugin(status, "trapping")["calls"]["made"].as_u64() > probes.as_u64()
    })
    .await;
}

struct Stage {
    objects: ConfigMaps,
    host: Host,
    proxy: FaultProxy,
    server: DevServer,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_delays_nothing_hurries_nothing_and_loses_nothing() {
    let (clock, server, directory) = (clock().await, server().await, TempDir::new().unwrap());
    let proxy = FaultProxy::start(server.address()).unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    for name in ["count", "resync", "trap"] {
        objects.create(name).await;
    }
    let begun = Instant::now();
    let host = Host::start(&format!("http://{}", proxy.address()), directory.path(), &clock).await;
    let mut stage = Stage { objects, host, proxy, server };

    jump(0, || clock.set(YEAR), &clock, &mut stage).await;
    jump(1, || clock.set(-YEAR), &clock, &mut stage).await;
    jump(2, || clock.set_to_1970(), &clock, &mut stage).await;

    // No jump ended a period early.
    let mut host = stage.host;
    let status = host.until("the status", |_| true).await;
    let periods = begun.elapsed().as_secs() / PERIOD.as_secs() + 2;
    let made = |name: &str| plugin(&status, name)["calls"]["made"].as_u64().unwrap();
    // A relist after each cut may deliver it once more.
    assert!(made("resynced") <= periods + 4, "{} in {periods} periods", made("resynced"));
    // Each probe may come before the end of its period by at most the jitter.
    assert!(made("trapping") <= 2 * periods, "{} in {periods} periods", made("trapping"));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn state_written_with_a_future_time_survives_a_restart() {
    let (clock, server, directory) = (clock().await, server().await, TempDir::new().unwrap());
    let objects = ConfigMaps::at(&server.url()).await;
    clock.set(YEAR);
    let mut host = Host::start(&server.url(), directory.path(), &clock).await;
    objects.create("count").await;
    host.logged("default/count: 1 version seen", 1).await;
    objects.create("bad").await;
    let future = host.given_up_at("bad").await;
    clock.assert_shows(&future);
    host.stop().await;

    clock.set(0);
    let mut host = Host::start(&server.url(), directory.path(), &clock).await;
    assert_eq!(host.given_up_at("bad").await, future);
    objects.update("count", 2).await;
    host.logged("default/count: 2 versions seen", 1).await;
    let replayed = host.ask(&["dead-letters", "replay", "--all"]).await;
    assert_eq!(replayed.status, Some(0), "{}", replayed.stderr);
    let deadline = Instant::now() + informer_tests::host::PATIENCE;
    while host.given_up_at("bad").await == future {
        assert!(Instant::now() < deadline, "it was not given up again");
    }
    clock.assert_shows(&host.given_up_at("bad").await);
    host.stop().await;
}
