//! A well-behaved plugin, and how long its events take while another one misbehaves.

use std::{
    future::Future,
    sync::{Arc, LazyLock},
    thread::{available_parallelism, spawn},
    time::{Duration, Instant},
};

use informer_runtime::{GuestThreads, Plugin};
use informer_types::{EventHandler, Outcome};
use tokio::{
    sync::{Mutex, MutexGuard, mpsc},
    time::{interval, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::host::{PATIENCE, Running, Setup, added, pod};

/// Where guests run in a host.
static THREADS: LazyLock<GuestThreads> = LazyLock::new(|| GuestThreads::start().unwrap());

/// One measurement at a time: the cases must not disturb one another.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Calls of the hostile plugin at a time: what a configuration may have at most is four times as many.
pub(super) const WORKERS: usize = 64;

/// Events of a measurement: of so few the 99th percentile is the slowest.
const EVENTS: usize = 30;

/// Far enough apart that none waits for the one before it.
const PACE: Duration = Duration::from_millis(10);

/// Threads of something else that want as much of the processors as the attack: what is measured is the host's fairness, and not that
/// of the operating system.
struct Busy(CancellationToken);

impl Busy {
    fn start() -> Self {
        let stop = CancellationToken::new();
        for _ in 0..available_parallelism().unwrap().get() {
            let stop = stop.clone();
            spawn(move || {
                while !stop.is_cancelled() {
                    std::hint::spin_loop();
                }
            });
        }
        Self(stop)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A machine that builds other things disturbs some rounds; a host that is not fair disturbs all of them.
const ROUNDS: usize = 12;

/// Less than this is no difference: a slice of the hostile plugin has to pass first on each thread. One of its guest is a tick
/// of a millisecond, but one of the host on its behalf cannot be interrupted: copying the 16 MiB that a guest may hand over, or
/// taking down an instance, takes ten in an unoptimised build. An unfair host is told from that by its dozens of workers: a
/// turn for each of them, or a share of the processors waited for with the turn in hand, is a tenth of a second and more.
const FLOOR: Duration = Duration::from_millis(30);

pub(super) struct Neighbour {
    offers: mpsc::UnboundedSender<Instant>,
    took: mpsc::UnboundedReceiver<Duration>,
    _alone: MutexGuard<'static, ()>,
}

impl Neighbour {
    /// `echo`, with one worker on the guests' threads.
    pub(super) async fn start() -> Self {
        let alone = ALONE.lock().await;
        let Running { plugin, .. } = Setup::new("{}").load("echo").await;
        let (offers, mut offered) = mpsc::unbounded_channel::<Instant>();
        let (returned, took) = mpsc::unbounded_channel();
        THREADS.handle().spawn(async move {
            while let Some(at) = offered.recv().await {
                assert_eq!(plugin.handle(added(pod("good", "1"))).await, Outcome::Acknowledged);
                returned.send(at.elapsed()).unwrap();
            }
        });
        Self { offers, took, _alone: alone }
    }

    /// The 99th percentile from the offer of an event to the return of its handler, under a steady trickle.
    async fn p99(&mut self) -> Duration {
        let mut pace = interval(PACE);
        for _ in 0..EVENTS {
            pace.tick().await;
            self.offers.send(Instant::now()).unwrap();
        }
        let mut took = Vec::new();
        while took.len() < EVENTS {
            took.push(timeout(PATIENCE, self.took.recv()).await.expect("it is served").unwrap());
        }
        took.sort_unstable();
        took[EVENTS - 1]
    }

    /// Holds if the neighbour's 99th percentile stays below twice what it is while nothing but the processors is busy, in the
    /// best of some rounds, in each of which the two follow one another.
    ///
    /// `attack` is one of as many workers of the hostile plugin, and goes on until it is dropped.
    pub(super) async fn hardly_notices<A: Future<Output = ()> + Send + 'static>(
        &mut self,
        workers: usize,
        attack: impl Fn() -> A,
    ) {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let busy = Busy::start();
            let peace = self.p99().await;
            drop(busy);
            let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
            for _ in 0..workers {
                let (attack, stop) = (attack(), stop.clone());
                tasks.spawn_on(async move { stop.run_until_cancelled_owned(attack).await }, THREADS.handle());
            }
            let attacked = self.p99().await;
            stop.cancel();
            tasks.close();
            timeout(PATIENCE, tasks.wait()).await.expect("an attack can be ended");
            rounds.push((peace, attacked));
            if attacked < (2 * peace).max(FLOOR) {
                return;
            }
        }
        panic!("busy and under attack, the 99th percentile of each round: {rounds:?}");
    }
}

/// Calls the plugin without end.
pub(super) async fn calls(plugin: Arc<Plugin>) {
    loop {
        plugin.handle(added(pod("bad", "1"))).await;
        // One that is ready at once must be possible to end.
        tokio::task::yield_now().await;
    }
}
