//! Random changes and faults, which follow from a seed.

use std::time::Duration;

use fastrand::Rng;
use http::StatusCode;
use informer_tests::{
    gateway::{Fault, Passed},
    proxy::Mode,
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    fixture::{self, APPS, COPIED, RESTORED, SHOP, SOURCES, Source, TEAMS},
    stage::Stage,
};

/// How often faults begin and end.
const ROUNDS: usize = 5;

/// How long a request may take to meet a trap. Not each round has such a request.
const TRAP_WITHIN: Duration = Duration::from_secs(1);

/// A run on its stage.
pub(super) struct Script {
    pub(super) stage: Stage,
    rng: Rng,
    /// Grows with each change.
    number: usize,
    /// A state of the workload that another writer restores.
    remembered: Option<Value>,
    pub(super) kills: usize,
}

/// What fails during a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Regime {
    Calm,
    /// Some requests about single objects fail.
    Requests,
    /// All watches are cut, each time a change was made.
    Cuts,
    /// The API server is gone for a while.
    Outage,
    /// The watches are cut, and the API server has forgotten their version.
    Gone,
    /// Sources are deleted and created again at once, so that a reconciliation sees one without the other.
    Recreations,
}

/// How the host ends in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kill {
    Never,
    /// At some time after the changes.
    Anywhere,
    /// When it sends a write.
    AtWrite {
        handled: bool,
    },
}

// === impl Script ===

impl Script {
    pub(super) fn new(seed: u64, stage: Stage) -> Self {
        Self { stage, rng: Rng::with_seed(seed), number: 0, remembered: None, kills: 0 }
    }

    /// Makes all rounds. At the end nothing fails any more, and the host runs.
    pub(super) async fn run(&mut self) {
        for _ in 0..ROUNDS {
            self.round().await;
        }
        for number in 0..2 {
            let map = json!({"metadata": {"name": format!("short-{number}"), "annotations": {"janitor/ttl": "1s"}}});
            self.stage.cluster.create("configmaps", APPS, map).await;
        }
    }

    async fn round(&mut self) {
        let regimes = [
            Regime::Calm,
            Regime::Requests,
            Regime::Requests,
            Regime::Cuts,
            Regime::Outage,
            Regime::Gone,
            Regime::Recreations,
            Regime::Recreations,
        ];
        let regime = *self.rng.choice(&regimes).unwrap();
        let kill = match self.rng.u8(..8) {
            0 | 1 => Kill::AtWrite { handled: true },
            2 => Kill::AtWrite { handled: false },
            3 => Kill::Anywhere,
            _ => Kill::Never,
        };
        self.stage.gateway.fail(decide(self.rng.fork(), regime == Regime::Requests, kill));
        if regime == Regime::Outage {
            self.stage.proxy.set(Mode::Refuse).await.unwrap();
            self.stage.proxy.cut().await;
        }
        for _ in 0..self.rng.u8(2..8) {
            self.change(regime).await;
            if regime == Regime::Cuts {
                self.stage.proxy.cut().await;
            }
            self.moment(60).await;
        }
        if regime == Regime::Gone {
            self.stage.proxy.cut().await;
            self.stage.server.compact(self.stage.server.resource_version());
        }
        self.stage.proxy.set(Mode::Pass).await.unwrap();
        if kill != Kill::Never {
            self.kill(kill).await;
        }
        self.stage.gateway.heal();
        self.moment(300).await;
    }

    /// Ends the host, makes changes while it is down, and starts it again.
    async fn kill(&mut self, kill: Kill) {
        if kill == Kill::Anywhere || timeout(TRAP_WITHIN, self.stage.gateway.held()).await.is_err() {
            self.moment(250).await;
        }
        self.stage.kill().await;
        self.stage.gateway.release();
        self.stage.gateway.heal();
        self.kills += 1;
        for _ in 0..self.rng.u8(..5) {
            self.change(Regime::Calm).await;
        }
        self.stage.start().await;
    }

    /// Lets some time pass, so that changes meet the host in different states.
    async fn moment(&mut self, most_millis: u64) {
        sleep(Duration::from_millis(self.rng.u64(..=most_millis))).await;
    }

    async fn change(&mut self, regime: Regime) {
        self.number += 1;
        if regime == Regime::Recreations {
            return self.recreate_source(12).await;
        }
        match self.rng.u8(..24) {
            0..=8 => self.set_source().await,
            9 => self.recreate_source(150).await,
            10 => self.label_source().await,
            11 | 12 => self.other_writer().await,
            13 => self.restore().await,
            14..=16 => self.set_original().await,
            17 => self.switch_copies().await,
            18 => self.recreate_original().await,
            19 => self.relabel().await,
            20 => self.recreate_namespace().await,
            _ => self.disturb_copy().await,
        }
    }

    fn source(&mut self) -> Source {
        *self.rng.choice(&SOURCES).unwrap()
    }

    /// Often a value that the source had before. The sources of the restored workload never get one back: their markers come back
    /// with its template, and nothing says which was first while the host is down.
    fn value(&mut self, source: Source) -> String {
        let of_restored = ["map-1", "key-1"].contains(&source.1);
        if of_restored { format!("new-{}", self.number) } else { self.rng.u8(1..4).to_string() }
    }

    async fn set_source(&mut self) {
        let source = self.source();
        let value = self.value(source);
        self.stage.cluster.merge(source.0, APPS, source.1, fixture::value(source, &value)).await;
    }

    async fn recreate_source(&mut self, most_millis: u64) {
        let source = self.source();
        let value = self.value(source);
        self.stage.cluster.delete(source.0, APPS, source.1).await;
        self.moment(most_millis).await;
        self.stage.cluster.create(source.0, APPS, fixture::source(source, &value, &json!({}))).await;
    }

    /// No reason to roll anything.
    async fn label_source(&mut self) {
        let (plural, name) = self.source();
        let patch = json!({"metadata": {"labels": {"number": self.number.to_string()}}});
        self.stage.cluster.merge(plural, APPS, name, patch).await;
    }

    /// An operator with two replicas, of which the wrong one may be the leader for a while. Both write whole objects.
    async fn other_writer(&mut self) {
        let plural = if self.rng.bool() { "deployments" } else { "statefulsets" };
        let name =
            if plural == "statefulsets" { "db" } else { ["web-0", RESTORED, "web-2"][self.rng.usize(..3)] };
        let Some(read) = self.stage.cluster.get(plural, APPS, name).await else { return };
        for leader in ["a", "b"] {
            let mut object = read.clone();
            object["metadata"]["annotations"]["operator/leader"] = leader.into();
            object["spec"]["replicas"] = self.rng.u8(1..5).into();
            if self.rng.u8(..4) == 0 {
                object["spec"]["template"]["metadata"]["annotations"]["operator/revision"] =
                    self.number.to_string().into();
            }
            self.stage.cluster.replace(plural, APPS, name, object).await;
        }
    }

    /// A replica that is no leader any more writes what it knew, whatever is there now.
    async fn restore(&mut self) {
        let now = self.stage.cluster.get("deployments", APPS, RESTORED).await;
        if let Some(mut older) = std::mem::replace(&mut self.remembered, now) {
            older["metadata"].as_object_mut().unwrap().remove("resourceVersion");
            older["spec"]["template"]["metadata"]["annotations"]["operator/revision"] =
                self.number.to_string().into();
            self.stage.cluster.replace("deployments", APPS, RESTORED, older).await;
        }
    }

    async fn set_original(&mut self) {
        let (source, _) = *self.rng.choice(&COPIED).unwrap();
        let value = self.rng.u8(1..4).to_string();
        self.stage.cluster.merge(source.0, SHOP, source.1, fixture::value(source, &value)).await;
    }

    async fn switch_copies(&mut self) {
        let (source, copies) = *self.rng.choice(&COPIED).unwrap();
        let annotations = self.rng.choice(&copies).unwrap().annotations();
        let patch = json!({"metadata": {"annotations": annotations}});
        self.stage.cluster.merge(source.0, SHOP, source.1, patch).await;
    }

    async fn recreate_original(&mut self) {
        let (source, copies) = *self.rng.choice(&COPIED).unwrap();
        self.stage.cluster.delete(source.0, SHOP, source.1).await;
        self.moment(150).await;
        if self.rng.u8(..4) > 0 {
            let value = self.rng.u8(1..4).to_string();
            let object = fixture::source(source, &value, &copies[0].annotations());
            self.stage.cluster.create(source.0, SHOP, object).await;
        }
    }

    async fn relabel(&mut self) {
        let tier = if self.rng.bool() { "web" } else { "db" };
        let patch = json!({"metadata": {"labels": {"tier": tier}}});
        self.stage.cluster.merge("namespaces", "", TEAMS[self.rng.usize(..3)], patch).await;
    }

    async fn recreate_namespace(&mut self) {
        let name = TEAMS[2];
        self.stage.cluster.delete("namespaces", "", name).await;
        while self.stage.cluster.get("namespaces", "", name).await.is_some() {
            sleep(Duration::from_millis(10)).await;
        }
        self.stage.cluster.create("namespaces", "", fixture::team(name, "web")).await;
        self.stage.cluster.create("configmaps", name, fixture::pulling()).await;
    }

    /// A person changes or deletes a copy.
    async fn disturb_copy(&mut self) {
        let ((plural, name), _) = COPIED[self.rng.usize(..3)];
        let namespace = TEAMS[self.rng.usize(..3)];
        if self.rng.bool() {
            return self.stage.cluster.delete(plural, namespace, name).await;
        }
        let patch = fixture::value((plural, name), "disturbed");
        self.stage.cluster.merge(plural, namespace, name, patch).await;
    }
}

/// Fails requests, and holds the first write of an object if the host is to end there.
fn decide(mut rng: Rng, fails: bool, kill: Kill) -> impl FnMut(&Passed) -> Option<Fault> + Send + 'static {
    let mut trap = match kill {
        Kill::AtWrite { handled } => Some(Fault::Held { handled }),
        Kill::Never | Kill::Anywhere => None,
    };
    move |passed| {
        let is_write = passed.is_write();
        if is_write && !passed.is_about_events() && trap.is_some() {
            return trap.take();
        }
        // Lists and watches are about all namespaces.
        let is_single = passed.path.contains("/namespaces/") && !passed.is_watch;
        if !fails || !is_single || rng.u8(..100) >= 35 {
            return None;
        }
        Some(match rng.u8(..if is_write { 5 } else { 3 }) {
            0 => Fault::Refused(StatusCode::INTERNAL_SERVER_ERROR),
            1 => Fault::Refused(StatusCode::SERVICE_UNAVAILABLE),
            2 => Fault::Lost,
            3 => Fault::Refused(StatusCode::CONFLICT),
            _ => Fault::Unanswered,
        })
    }
}
