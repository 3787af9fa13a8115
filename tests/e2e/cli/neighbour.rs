//! A well-behaved plugin while its host is attacked: how long its events take, and the memory of the host.
//!
//! `host/runtime/tests/runtime/hostile` does the same with guests that run. Here the attack never calls a guest: components are hard
//! to compile or refused, strangers hold the endpoints, lists never end.
//!
//! A round creates the same number of objects without the attack and during it. Every object must arrive, whatever the machine does
//! besides. The 99th percentile, from the request that creates an object to the plugin's line about it, must be less than
//! [`MOST`] times the figure without the attack: lists share the thread of the informers with the events. It is judged only on a
//! quiet machine, in a separate step of `cargo xtask test --all`, and the lowest value of all rounds counts.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    gateway::{Fault, Gateway, Passed},
    host::PATIENCE,
};
use kube::Client;
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::oneshot,
    time::{Instant, sleep},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    binary::Running,
    compile::{memory_bomb, sized, status, time_bomb},
    debug_info, flood,
};
use crate::configmaps::ConfigMaps;

/// The variable that a quiet machine sets.
const QUIET: &str = "INFORMER_QUIET_MACHINE";

/// Objects of one measurement on a quiet machine, and on a busy one.
const EVENTS: usize = 100;
const FEW_EVENTS: usize = 10;

/// The most rounds.
const ROUNDS: usize = 6;

/// The pause between the end of an event and the next one.
const PAUSE: Duration = Duration::from_millis(10);

/// The most times by which the 99th percentile may grow.
const MOST: u32 = 3;

/// The most memory that the host takes in any attack, in kB.
const HOST_KB: u64 = 256 << 10;

/// The hostile plugins. Each subscribes to one of the resources whose lists never end.
const HOSTILE: [&str; 3] = ["bad-0", "bad-1", "bad-2"];

/// The resources whose lists never end. No client creates objects of them.
const ENDLESS: [&str; 3] = ["pods", "secrets", "services"];

/// The time between two versions of the hostile plugins.
const VERSION: Duration = Duration::from_millis(500);

/// Connections that strangers hold at the same time, and open in one step.
const HELD: usize = 400;
const STEP: usize = 20;

/// What happens beside the plugin.
#[derive(Clone)]
enum Attack {
    /// Ever-new versions of this component in each hostile plugin. The log has these words when one has done its worst.
    Components(Vec<u8>, &'static str),
    /// Connections to both endpoints, none of which finishes a request.
    Strangers,
    /// Lists that never end, of several resources.
    EndlessLists,
}

struct Neighbour {
    host: Running,
    admin: String,
    health: String,
    objects: ConfigMaps,
    created: usize,
    gateway: Gateway,
    directory: TempDir,
    _server: DevServer,
}

/// Installs a component as a file, at once.
fn install(directory: &Path, plugin: &str, component: &[u8]) {
    let (new, path) = (directory.join("new"), directory.join(plugin).with_extension("wasm"));
    fs::write(&new, component).unwrap();
    fs::rename(&new, path).unwrap();
}

/// The configuration, with the good plugin and the hostile ones, each in a file of its own.
fn configuration(server: &str) -> String {
    let mut text = format!(
        "[cluster]\nserver = \"{server}\"\nwatch-list = \"off\"\nlist-size = \"16MiB\"\n\
         [host]\nadmin = \"127.0.0.1:0\"\nhealth = \"127.0.0.1:0\"\nstate-dir = \"off\"\n\
         compile-memory = \"192MiB\"\ncompile-timeout = \"10s\"\n"
    );
    for resource in ENDLESS.into_iter().chain(["configmaps"]) {
        let _ = write!(text, "[[watch]]\ngvr = \"v1/{resource}\"\n");
    }
    for (name, resource) in HOSTILE.into_iter().zip(ENDLESS).chain([("good", "configmaps")]) {
        let _ = write!(
            text,
            "[[plugin]]\nname = \"{name}\"\nsource = \"{name}.wasm\"\n[[plugin.on]]\nwatch = \"v1/{resource}\"\n"
        );
    }
    text
}

fn is_endless(request: &Passed) -> bool {
    request.path.rsplit('/').next().is_some_and(|resource| ENDLESS.contains(&resource))
}

/// Lets all requests pass, and holds the watches that end when the attack of endless lists begins.
fn hold_watches(gateway: &Gateway) {
    gateway
        .fail(|request| (request.is_watch && is_endless(request)).then_some(Fault::Held { handled: false }));
}

// === impl Attack ===

impl Attack {
    /// The words in the log after which the attack has done its worst.
    fn words(&self) -> Option<&'static str> {
        match self {
            Self::Components(_, words) => Some(words),
            Self::Strangers => None,
            Self::EndlessLists => Some("list-too-large"),
        }
    }

    /// Attacks until it is dropped.
    async fn begin(&self, neighbour: &Neighbour) -> Option<AbortOnDropHandle<()>> {
        let running = match self {
            Self::Components(component, _) => {
                tokio::spawn(versions(neighbour.directory.path().to_owned(), component.clone()))
            }
            Self::Strangers => {
                let addresses = [neighbour.admin.clone(), neighbour.health.clone()];
                let (full, begun) = oneshot::channel();
                let flood = tokio::spawn(strangers(addresses, full));
                begun.await.unwrap();
                flood
            }
            Self::EndlessLists => {
                neighbour.gateway.fail(|request| {
                    let expired = Fault::Refused(http::StatusCode::GONE);
                    let fault = if request.is_watch { expired } else { Fault::Endless };
                    is_endless(request).then_some(fault)
                });
                neighbour.gateway.release();
                return None;
            }
        };
        Some(AbortOnDropHandle::new(running))
    }
}

/// Installs ever-new versions of a component for each hostile plugin.
async fn versions(directory: PathBuf, component: Vec<u8>) {
    for version in 0_u64.. {
        for plugin in HOSTILE {
            // A custom section with the name of one letter makes the version another component.
            let section = sized(&[&sized(b"v")[..], plugin.as_bytes(), &version.to_le_bytes()].concat());
            install(&directory, plugin, &[&component[..], &[0], &section].concat());
        }
        sleep(VERSION).await;
    }
}

/// Opens connections and sends a part of a request on each. Notifies once all places are taken.
async fn strangers(addresses: [String; 2], full: oneshot::Sender<()>) {
    let (mut held, mut full) = (VecDeque::new(), Some(full));
    loop {
        for (text, address) in flood::ATTACKS.iter().cycle().zip(addresses.iter().cycle()).take(STEP) {
            let Ok(mut stream) = TcpStream::connect(address).await else { continue };
            if stream.write_all(text.1.as_bytes()).await.is_ok() {
                held.push_back(stream);
            }
        }
        if let Some(full) = full.take_if(|_| held.len() >= HELD) {
            full.send(()).unwrap();
        }
        held.drain(..held.len().saturating_sub(HELD));
        sleep(PAUSE).await;
    }
}

// === impl Neighbour ===

impl Neighbour {
    async fn start() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let client = Client::try_from(kube::Config::new(server.url().parse().unwrap())).unwrap();
        let gateway = Gateway::start(client).await.unwrap();
        hold_watches(&gateway);
        let directory = tempfile::tempdir().unwrap();
        let echo = fs::read(guest("echo")).unwrap();
        for plugin in HOSTILE.into_iter().chain(["good"]) {
            install(directory.path(), plugin, &echo);
        }
        let path = directory.path().join("informer.toml");
        fs::write(&path, configuration(&gateway.url())).unwrap();
        let mut host = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
        let (admin, health) = (host.admin().await, host.health().await);
        for _ in 0..=HOSTILE.len() {
            host.logged("plugin loaded").await;
        }
        let objects = ConfigMaps::at(&server.url()).await;
        Self { host, admin, health, objects, created: 0, gateway, directory, _server: server }
    }

    /// Passes if every object arrives during the attack and the host stays small, and if the neighbour notices as little as the
    /// module documentation requires.
    async fn hardly_notices(mut self, name: &str, attack: Attack) {
        let quiet = std::env::var_os(QUIET).is_some();
        let (events, rounds) = if quiet { (EVENTS, ROUNDS) } else { (FEW_EVENTS, 1) };
        let [mut alone, mut attacked] = [Duration::MAX; 2];
        for _ in 0..rounds {
            alone = alone.min(self.percentile(events, None).await);
            let running = attack.begin(&self).await;
            attacked = attacked.min(self.percentile(events, attack.words()).await);
            drop(running);
            hold_watches(&self.gateway);
            if attacked < MOST * alone {
                break;
            }
        }
        let most = status(self.host.id(), "VmHWM").unwrap();
        // A closed standard error cannot be reported.
        let _ = writeln!(
            io::stderr(),
            "{name}: p99 {alone:.1?} alone, {attacked:.1?} attacked; the host had {} MiB",
            most >> 10
        );
        assert!(most < HOST_KB, "the host had {most} kB");
        assert!(!quiet || attacked < MOST * alone, "{alone:?} alone, {attacked:?} attacked");
    }

    /// Creates objects one after another, at least this number, and until these words are logged. Returns the 99th percentile of the
    /// time until the plugin has logged each.
    async fn percentile(&mut self, events: usize, words: Option<&str>) -> Duration {
        let (mut took, mut logged, begun) = (Vec::new(), words.is_none(), Instant::now());
        while took.len() < events || !logged {
            assert!(begun.elapsed() < PATIENCE, "nothing logged with {words:?}");
            sleep(PAUSE).await;
            self.created += 1;
            let (name, offered) = (format!("event-{}", self.created), Instant::now());
            self.objects.create(&name).await;
            let lines = self.host.log_up_to(&format!("add default/{name} ")).await;
            took.push(offered.elapsed());
            logged |= words.is_some_and(|words| lines.iter().any(|line| line.contains(words)));
        }
        took.sort_unstable();
        took[(took.len() * 99).div_ceil(100) - 1]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn components_that_need_memory_to_compile() {
    let attack = Attack::Components(memory_bomb(), "more than 192 MiB of memory to compile");
    Neighbour::start().await.hardly_notices("components that need memory to compile", attack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn components_that_need_time_to_compile() {
    let attack = Attack::Components(time_bomb(), "takes longer than 10s to compile");
    Neighbour::start().await.hardly_notices("components that need time to compile", attack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn components_that_are_refused_before_they_are_compiled() {
    let tables = "(table 1000000 funcref)".repeat(90);
    let component = format!("(component (core module $m {tables}) (core instance (instantiate $m)))");
    let attack = Attack::Components(wat::parse_str(component).unwrap(), "table elements");
    Neighbour::start().await.hardly_notices("components that are refused", attack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn components_that_trap_and_whose_debug_information_expands() {
    let attack =
        Attack::Components(debug_info::bomb(), "the debug information of a component cannot be used");
    Neighbour::start().await.hardly_notices("debug information that expands", attack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_that_flood_both_endpoints() {
    Neighbour::start().await.hardly_notices("strangers at the endpoints", Attack::Strangers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_never_end() {
    Neighbour::start().await.hardly_notices("lists that never end", Attack::EndlessLists).await;
}
