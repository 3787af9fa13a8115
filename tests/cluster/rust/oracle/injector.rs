//! Injects the same faults on both sides at the same time.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use informer_tests::proxy::{FaultProxy, Mode};
use tokio::time::{sleep, timeout};

use super::{
    fault::{Fault, LASTS},
    journal::PATIENCE,
    pace::Pace,
    world::Round,
};

pub(super) struct Injector {
    pub(super) round: Arc<Round>,
    pub(super) pace: Arc<Pace>,
    /// The total number of changes.
    pub(super) changes: usize,
    /// The proxies of both sides.
    proxies: [FaultProxy; 2],
}

/// The number of faults of each kind.
pub(super) type Struck = BTreeMap<&'static str, usize>;

// === impl Injector ===

impl Injector {
    pub(super) fn new(round: Arc<Round>, pace: Arc<Pace>, changes: usize, server: SocketAddr) -> Self {
        let proxies = [(); 2].map(|()| FaultProxy::start(server).unwrap());
        Self { round, pace, changes, proxies }
    }

    pub(super) fn addresses(&self) -> [SocketAddr; 2] {
        self.proxies.each_ref().map(FaultProxy::address)
    }

    /// Lets the writers work, injects all faults, and returns when the last fault is over.
    pub(super) async fn strike_all(&self, schedule: Vec<(usize, Fault)>) -> Struck {
        let mut struck = Struck::new();
        for (at, fault) in schedule {
            // While the fault lasts, the writers make only this number of changes.
            self.pace.allow((at + LASTS).min(self.changes));
            self.connected().await;
            self.pace.reached(at).await;
            self.strike(at, fault).await;
            *struck.entry(fault.kind()).or_default() += 1;
        }
        self.pace.allow(self.changes);
        struck
    }

    async fn strike(&self, at: usize, fault: Fault) {
        match fault {
            Fault::Reset => self.cut().await,
            Fault::ResetAfter { bytes } => {
                self.set(Mode::CutAfter(bytes)).await;
                self.lasts(at).await;
            }
            Fault::Stall { reset } => {
                self.set(Mode::Stall).await;
                self.lasts(at).await;
                if reset {
                    self.cut().await;
                }
            }
            Fault::Refuse => {
                self.set(Mode::Refuse).await;
                self.cut().await;
                self.lasts(at).await;
            }
            Fault::Compact => {
                self.set(Mode::Stall).await;
                self.lasts(at).await;
                self.round.world.compact().await;
                self.cut().await;
            }
            Fault::Restart { refuse } => {
                if refuse {
                    self.set(Mode::Refuse).await;
                    self.cut().await;
                }
                self.lasts(at).await;
                self.round.restart().await;
            }
        }
        self.set(Mode::Pass).await;
    }

    async fn lasts(&self, at: usize) {
        self.pace.reached((at + LASTS).min(self.changes)).await;
    }

    async fn set(&self, mode: Mode) {
        let [theirs, ours] = &self.proxies;
        let (theirs, ours) = tokio::join!(theirs.set(mode), ours.set(mode));
        theirs.and(ours).unwrap();
    }

    async fn cut(&self) {
        let [theirs, ours] = &self.proxies;
        tokio::join!(theirs.cut(), ours.cut());
    }

    /// Waits until both sides have a connection, because a fault without a connection has no effect.
    async fn connected(&self) {
        let connected = async {
            while self.proxies.iter().any(|proxy| proxy.counts().open == 0) {
                // Poll, because a connection of another process cannot wake this task.
                sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(timeout(PATIENCE, connected).await.is_ok(), "a side does not reconnect");
    }
}
