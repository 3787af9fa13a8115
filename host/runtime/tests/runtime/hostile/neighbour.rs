//! A well-behaved plugin, and what it notices of one that misbehaves.
//!
//! A **round** is the same events twice: without the attack, and during it. Each is offered some time after the one before it was
//! done, so none waits for another. Guests have threads as in a host.
//!
//! **By count**, whatever the machine is busy with besides, on an engine with one turn, where whoever wants to run gets it from the
//! attack: the slices that the host gives to either while the neighbour has an event, or the time for which these run, whichever is less of
//! the attack's: many short slices make one turn, and where the clock of the turns is kept waiting, one slice is a long one. Fair is
//! one for one, and a few more while the event is on its way.
//!
//! **By time**, on an engine as in a host: the 99th percentile from the offer to the return of the handler is to be less than twice
//! what it is without the attack. Other tests and other programs change that figure more than any host does, so it is judged where
//! [`QUIET`] says that there are none: in a step of its own of `cargo xtask test --all`.
//!
//! Of each figure the lowest of the rounds so far counts, and the first round with which it holds is the last: what else the machine
//! does disturbs some rounds, and an unfair host all. `fairness.rs` shows that both tell an unfair host from a fair one.

use std::{
    future::Future,
    io::{self, Write},
    num::NonZeroUsize,
    sync::{Arc, LazyLock},
    thread,
    time::{Duration, Instant},
};

use informer_runtime::{Engine, EngineConfig, GuestThreads, Plugin};
use informer_types::{EventHandler, Outcome};
use tokio::{
    runtime::Handle,
    sync::{Mutex, MutexGuard},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::host::{PATIENCE, Setup, added, component_of, pod};

/// Where guests run in a host.
static THREADS: LazyLock<GuestThreads> = LazyLock::new(|| GuestThreads::start().unwrap());

/// One measurement at a time: the cases must not disturb one another.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Calls of the hostile plugin at a time: what a configuration may have at most is four times as many.
pub(super) const WORKERS: usize = 64;

/// So much the attack may have of the guests' threads for one of the neighbour's.
const FAIR: f64 = 4.0;

/// As [`is_quiet`] asks for.
pub(super) static ENGINE: LazyLock<Engine> = LazyLock::new(|| engine(turns(is_quiet())));

/// What is judged by time has as many as a host, and what is judged by count has one.
pub(super) fn turns(timed: bool) -> Option<NonZeroUsize> {
    (!timed).then_some(NonZeroUsize::MIN)
}

pub(super) fn engine(turns: Option<NonZeroUsize>) -> Engine {
    Engine::new(&EngineConfig { turns, ..EngineConfig::default() }).unwrap()
}

/// Of one measurement.
const EVENTS: usize = 100;

/// Where only the count is judged.
const FEW_EVENTS: usize = 20;

/// At most.
const ROUNDS: usize = 12;

/// Between an event that is done and the next one.
const PAUSE: Duration = Duration::from_millis(10);

/// Set by `cargo xtask test --all`, which runs this suite again when nothing else of it runs, with `--test-threads=1`.
const QUIET: &str = "INFORMER_QUIET_MACHINE";

pub(super) struct Neighbour {
    plugin: Arc<Plugin>,
    _alone: MutexGuard<'static, ()>,
}

/// One round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// The 99th percentile without the attack.
    alone: Duration,
    /// The 99th percentile during it.
    attacked: Duration,
    /// What the attack had of the guests' threads for one of the neighbour's.
    share: f64,
}

/// An attack that goes on.
struct Attack {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Neighbour {
    /// `works`, which needs about four turns for each event.
    pub(super) async fn start() -> Self {
        Self::start_on(&ENGINE).await
    }

    pub(super) async fn start_on(engine: &Engine) -> Self {
        let alone = ALONE.lock().await;
        let plugin = Setup::new("{}").engine(engine).idle().plugin;
        plugin.load(&component_of(engine, "works").await).await.unwrap();
        Self { plugin, _alone: alone }
    }

    /// Holds if it notices as little as the head of this file says. `attack` is one of [`WORKERS`] workers of the hostile plugin,
    /// and goes on until it is dropped.
    pub(super) async fn hardly_notices<A: Future<Output = ()> + Send + 'static>(
        &self,
        hostile: &Plugin,
        attack: impl Fn() -> A,
    ) {
        let timed = is_quiet();
        let events = if timed { EVENTS } else { FEW_EVENTS };
        if let Err(rounds) = self.judge(timed, events, hostile, attack).await {
            panic!("the neighbour noticed it: {rounds:#?}");
        }
    }

    /// Rounds until it is judged to be fair, by count or by time. An error: it never was, in these rounds.
    pub(super) async fn judge<A: Future<Output = ()> + Send + 'static>(
        &self,
        timed: bool,
        events: usize,
        hostile: &Plugin,
        attack: impl Fn() -> A,
    ) -> Result<(), Vec<Round>> {
        let mut rounds: Vec<Round> = Vec::new();
        while rounds.len() < ROUNDS {
            rounds.push(self.round(events, hostile, &attack).await);
            if timed && by_time(&rounds) {
                tell(&rounds);
                return Ok(());
            }
            if !timed && by_count(&rounds) {
                return Ok(());
            }
        }
        Err(rounds)
    }

    /// One round.
    async fn round<A: Future<Output = ()> + Send + 'static>(
        &self,
        events: usize,
        hostile: &Plugin,
        attack: impl Fn() -> A,
    ) -> Round {
        let (alone, _) = self.events(events, hostile).await;
        let attack = Attack::start((0..WORKERS).map(|_| attack()).collect(), THREADS.handle());
        let (attacked, share) = self.events(events, hostile).await;
        attack.end().await;
        Round { alone, attacked, share }
    }

    /// So many events: the 99th percentile of how long they took, and what the other plugin had for one of this one's.
    async fn events(&self, events: usize, hostile: &Plugin) -> (Duration, f64) {
        let ran = || {
            let [bad, good] = [hostile.stats(), self.plugin.stats()];
            [bad.slices as f64, good.slices as f64, bad.running.as_secs_f64(), good.running.as_secs_f64()]
        };
        let (mut took, mut had) = (Vec::new(), [0.0; 4]);
        for _ in 0..events {
            sleep(PAUSE).await;
            let (plugin, before, offered) = (Arc::clone(&self.plugin), ran(), Instant::now());
            let call = async move { (plugin.handle(added(pod("good", "1"))).await, offered.elapsed()) };
            let call = timeout(PATIENCE, THREADS.handle().spawn(call)).await;
            let (outcome, until_its_return) = call.expect("it is served").unwrap();
            assert_eq!(outcome, Outcome::Acknowledged);
            took.push(until_its_return);
            had.iter_mut().zip(before).zip(ran()).for_each(|((had, before), after)| *had += after - before);
        }
        took.sort_unstable();
        (took[(events * 99).div_ceil(100) - 1], (had[0] / had[1]).min(had[2] / had[3]))
    }
}

/// True where nothing else runs, so that time says something.
pub(super) fn is_quiet() -> bool {
    std::env::var_os(QUIET).is_some()
}

pub(super) fn by_count(rounds: &[Round]) -> bool {
    rounds.iter().any(|round| round.share <= FAIR)
}

pub(super) fn by_time(rounds: &[Round]) -> bool {
    let [alone, attacked] = lowest(rounds);
    attacked < 2 * alone
}

/// The figures of a case, for whoever reads the gate's log.
fn tell(rounds: &[Round]) {
    let ([alone, attacked], test) = (lowest(rounds), thread::current());
    let (test, rounds) = (test.name().unwrap_or_default(), rounds.len());
    // Nobody can be told that standard error is closed.
    let _ =
        writeln!(io::stderr(), "{test}: p99 {alone:.1?} alone, {attacked:.1?} attacked, in {rounds} rounds");
}

/// The 99th percentiles without the attack and during it.
fn lowest(rounds: &[Round]) -> [Duration; 2] {
    let lowest = |of: fn(&Round) -> Duration| rounds.iter().map(of).min().unwrap_or_default();
    [lowest(|round| round.alone), lowest(|round| round.attacked)]
}

impl Attack {
    fn start<A: Future<Output = ()> + Send + 'static>(workers: Vec<A>, threads: &Handle) -> Self {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        for worker in workers {
            let stop = stop.clone();
            tasks.spawn_on(async move { stop.run_until_cancelled_owned(worker).await }, threads);
        }
        Self { stop, tasks }
    }

    async fn end(self) {
        self.stop.cancel();
        self.tasks.close();
        timeout(PATIENCE, self.tasks.wait()).await.expect("an attack can be ended");
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
