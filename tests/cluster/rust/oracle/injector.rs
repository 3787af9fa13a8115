//! Strikes both sides with the same faults at the same moments.

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
    /// How many changes there will be.
    pub(super) changes: usize,
    /// In front of each side.
    proxies: [FaultProxy; 2],
}

/// How often each kind of fault struck.
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

    /// Lets the writers work, strikes, and returns when nothing is wrong any more.
    pub(super) async fn strike_all(&self, schedule: Vec<(usize, Fault)>) -> Struck {
        let mut struck = Struck::new();
        for (at, fault) in schedule {
            // The writers go on while the fault lasts, but no further.
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

    /// Waits until both sides have a connection: a fault that meets nobody is none.
    async fn connected(&self) {
        let connected = async {
            while self.proxies.iter().any(|proxy| proxy.counts().open == 0) {
                // A connection in another process cannot wake us.
                sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(timeout(PATIENCE, connected).await.is_ok(), "a side does not come back");
    }
}
