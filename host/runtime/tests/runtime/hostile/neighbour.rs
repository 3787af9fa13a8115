//! A well-behaved plugin, and how much it notices of a hostile one.
//!
//! A **round** delivers the same events twice: without the attack and during it. Each event is offered some time after the one
//! before it was done, so no event waits for another. Guests have threads as in a host.
//!
//! **By count**: the engine has one turn. The test compares the slices that the attack and the neighbour get while the neighbour
//! has an event, or the time of these slices. The lower ratio counts: many short slices make one turn, and if the clock is
//! late, one slice is long. A fair host gives the attack about one slice for each slice of the neighbour, and a few more while
//! the event is on its way. This works on a busy machine.
//!
//! **By time**: the engine is as in a host. The 99th percentile from the offer to the return of the handler must be less than
//! twice the figure without the attack. Other programs change this figure more than any host does, so it is judged only if
//! [`QUIET`] is set: in a separate step of `cargo xtask test --all`.
//!
//! **Memory**: while the attack runs, guests are charged no more than the ceiling of the engine. Judged by time, the process also grows
//! by no more than what they are charged and [`BESIDE_GUESTS`].
//!
//! For each figure the lowest value of all rounds so far counts, and the test ends with the first round in which it holds: other
//! programs disturb some rounds, an unfair host disturbs all. `fairness.rs` shows that both figures detect an unfair host.

use std::{
    fs::read_to_string,
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

/// The threads of guests, as in a host.
static THREADS: LazyLock<GuestThreads> = LazyLock::new(|| GuestThreads::start().unwrap());

/// Allows one measurement at a time, so that the cases do not disturb each other.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Calls of the hostile plugin at a time. A configuration may have four times as many.
pub(super) const WORKERS: usize = 64;

/// The most slices, or as much time, that the attack may have for one of the neighbour.
const FAIR: f64 = 4.0;

/// The variable that [`is_quiet`] reads.
pub(super) static ENGINE: LazyLock<Engine> = LazyLock::new(|| engine(turns(is_quiet())));

/// The turns of the engine: as in a host to judge by time, one to judge by count.
pub(super) fn turns(timed: bool) -> Option<NonZeroUsize> {
    (!timed).then_some(NonZeroUsize::MIN)
}

pub(super) fn engine(turns: Option<NonZeroUsize>) -> Engine {
    Engine::new(&EngineConfig { turns, ..EngineConfig::default() }).unwrap()
}

/// Events of one measurement.
const EVENTS: usize = 100;

/// Events of one measurement that is judged by count only.
pub(super) const FEW_EVENTS: usize = 20;

/// The most rounds.
const ROUNDS: usize = 12;

/// The pause between the end of an event and the next one.
const PAUSE: Duration = Duration::from_millis(10);

/// The most MiB by which the process grows beside the memory that guests are charged for: calls in flight, log lines, stacks.
const BESIDE_GUESTS: u64 = 256;

/// `cargo xtask test --all` sets this variable and runs this suite alone, with `--test-threads=1`.
const QUIET: &str = "INFORMER_QUIET_MACHINE";

pub(super) struct Neighbour {
    plugin: Arc<Plugin>,
    engine: Engine,
    _alone: MutexGuard<'static, ()>,
}

/// The figures of one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// The 99th percentile without the attack.
    alone: Duration,
    /// The 99th percentile during the attack.
    attacked: Duration,
    /// Slices, or time, of the attack for one of the neighbour.
    share: f64,
    /// What guests are charged for during the attack, and the growth of the process, in MiB.
    charged: u64,
    grown: u64,
}

/// An attack in progress.
struct Attack {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Neighbour {
    /// Starts the fixture `works`, which needs four turns or more for each event.
    pub(super) async fn start() -> Self {
        Self::start_on(&ENGINE).await
    }

    pub(super) async fn start_on(engine: &Engine) -> Self {
        let alone = ALONE.lock().await;
        let plugin = Setup::new("{}").engine(engine).idle().plugin;
        plugin.load(&component_of(engine, "works").await).await.unwrap();
        Self { plugin, engine: engine.clone(), _alone: alone }
    }

    /// Passes if the neighbour notices as little as the module documentation requires. `attack` is one of [`WORKERS`] workers
    /// of the hostile plugin; it runs until it is dropped.
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

    /// Runs rounds until the host is judged to be fair, by count or by time. The error has the rounds of an unfair host.
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
                print(&rounds);
                return Ok(());
            }
            if !timed && by_count(&rounds) {
                return Ok(());
            }
        }
        Err(rounds)
    }

    /// The figures of one round.
    async fn round<A: Future<Output = ()> + Send + 'static>(
        &self,
        events: usize,
        hostile: &Plugin,
        attack: impl Fn() -> A,
    ) -> Round {
        let (alone, _) = self.events(events, hostile).await;
        let before = status("VmRSS");
        let attack = Attack::start((0..WORKERS).map(|_| attack()).collect(), THREADS.handle());
        let (attacked, share) = self.events(events, hostile).await;
        let (memory, grown) = (self.engine.guest_memory(), status("VmRSS").saturating_sub(before));
        attack.end().await;
        assert!(memory.ceiling_bytes.is_none_or(|most| memory.used_bytes <= most), "{memory:?}");
        let charged = memory.used_bytes >> 20;
        assert!(!is_quiet() || grown <= charged + BESIDE_GUESTS, "{grown} MiB, charged {charged} MiB");
        Round { alone, attacked, share, charged, grown }
    }

    /// Delivers events. Returns the 99th percentile of their durations, and the slices of the other plugin for one of this one.
    async fn events(&self, events: usize, hostile: &Plugin) -> (Duration, f64) {
        let ran = || {
            let [bad, good] = [hostile.stats(), self.plugin.stats()];
            [bad.slices as f64, good.slices as f64, bad.running.as_secs_f64(), good.running.as_secs_f64()]
        };
        let (mut took, mut had) = (Vec::new(), [0.0; 4]);
        for _ in 0..events {
            sleep(PAUSE).await;
            let (plugin, before, offered) = (Arc::clone(&self.plugin), ran(), Instant::now());
            let call =
                async move { (plugin.handle(added(pod("good", "1"))).await.unwrap(), offered.elapsed()) };
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

/// Returns true if no other program runs, so that times are meaningful.
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

/// Prints the figures of a case for the log of the gate.
fn print(rounds: &[Round]) {
    let ([alone, attacked], test) = (lowest(rounds), thread::current());
    let (test, count) = (test.name().unwrap_or_default(), rounds.len());
    let most = |of: fn(&Round) -> u64| rounds.iter().map(of).max().unwrap_or_default();
    let (charged, grown) = (most(|round| round.charged), most(|round| round.grown));
    // A closed standard error cannot be reported.
    let _ = writeln!(
        io::stderr(),
        "{test}: p99 {alone:.1?} alone, {attacked:.1?} attacked, in {count} rounds; {charged} MiB charged, {grown} MiB grown"
    );
}

/// A value in MiB of `/proc/self/status`: `VmHWM` is the most memory that this process had, `VmSize` its address space.
pub(super) fn status(key: &str) -> u64 {
    let status = read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() >> 10
}

/// The lowest 99th percentiles, without the attack and during it.
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

/// Calls the plugin for ever.
pub(super) async fn calls(plugin: Arc<Plugin>) {
    loop {
        plugin.handle(added(pod("bad", "1"))).await;
        // Yields, so that the task can end even if every call is ready at once.
        tokio::task::yield_now().await;
    }
}
