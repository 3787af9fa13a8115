//! Hostile plugins: what the host does with each, and that a neighbour hardly notices.
//!
//! In each attack 64 workers make the same calls at once, again and again, without the waits of `dispatch` between the attempts
//! at one event. `neighbour.rs` defines what "hardly notices" means, and `fairness.rs` shows that an unfair host fails the
//! test.
//!
//! | the plugin | fixture | test | the host |
//! |---|---|---|---|
//! | loops | `spin` | `an_infinite_loop_*` | gives it turns of a millisecond; ends the call at its deadline, or lets it wait for its share |
//! | recurses | `recurse` | `deep_recursion_*` | traps at the end of the stack |
//! | allocates | `hog` | `a_memory_bomb_*` | refuses and counts, and retires the instance |
//! | has more tables, globals, memories or instances than any toolchain makes | `memory.rs` | `memory::more_than_*` | refuses to load it, before it is compiled |
//! | takes memory of the host by tables, globals, segments, instances | `memory.rs` | `memory::the_memory_*`, `memory::an_instance_*` | charges it to the limit of the instance, before it is allocated |
//! | makes handles without end | `memory.rs`, `fetch` | `memory::handles_*`, `http::the_handles_*` | charges them; traps at the limit |
//! | takes all memory that its limits allow | `memory.rs` | `memory::a_plugin_at_the_ceiling_*` | refuses at the ceiling over all plugins, keeps a share for each |
//! | instantiates without end | `memory.rs` | `memory::an_instantiation_*` | ends it at the deadline |
//! | runs bulk operations | `memory.rs` | `memory::bulk_*` | gives it turns |
//! | panics | `trap` | `a_panic_*` | retires the instance; the event is retried, with the guest's words |
//! | uses stale tokens | `stale_token` | `tokens::tokens_of_an_earlier_call_*` | answers `stale-token` or `stale-page` |
//! | uses tokens and keys of another plugin | `impostor` | `tokens::tokens_that_another_plugin_holds_*` | answers `stale-token`, `stale-page` or an object of its own; uses its own queue |
//! | forges tokens | `vandal` | `forged_tokens_*` | answers `stale-token` |
//! | uses a WASI handle that it does not have | `vandal` | `tokens::a_handle_*` | traps |
//! | passes 1 GiB as an argument | `vandal` | `an_argument_of_a_gibibyte_*` | traps before anything is copied |
//! | requests 32 MiB of random bytes at once | `vandal` | `more_random_bytes_*` | traps before any is made |
//! | passes bytes that are not UTF-8 | `vandal` | `a_text_that_is_not_utf_8_*` | traps |
//! | floods the log in one call | `flood` | `a_flood_of_lines_*` | cuts at the limit of the call, counts, ends the call at its deadline |
//! | floods the log in many calls | `chatty` | `a_flood_of_lines_by_many_short_calls_*` | leaves out lines beyond the plugin's limit per second, counts |
//! | floods the host with calls | `flood` | `a_flood_of_calls_*` | ends the call at the limit of host calls |
//! | measures ever new series | `gauger` | `floods::ever_new_series_*` | refuses beyond the limit, counts |
//! | adds ten million keys | `enqueues` | `floods::ten_million_keys_*` | refuses beyond the capacity; ends the call at the limit of host calls |
//! | floods the key-values with writes | `keeper` | `floods::key_value_writes_*` | commits the writes of its budget; others wait or are refused |
//! | reads 256 fields of an object of a megabyte | `vandal` | `floods::many_pointers_*` | reads the text once per call; ends the call at its deadline |
//! | requests 256 digests of one value, or of values that contain one another | `hasher` | `floods::*digests_*` | hashes each value once per call; refuses more than a mebibyte and twice the object |
//! | triggers itself by writing its own object | `writer` | `floods::writing_over_*` | sends the requests of its budget; others are `limit-exceeded` |
//! | waits in the host | `slow` | `sleeping_in_the_host_*`, `deadlines.rs` for each function | ends the call at its deadline |
//! | reads without a grant | `reader` | `reading_without_a_grant_*`, `grants::*` | answers `not-granted` or masked values; does not read the cache |
//! | writes without a grant | `writer` | `grants::no_write_*` | answers `not-granted`; sends nothing |
//! | sends HTTP to the API server, to link-local addresses and to rebound names | `fetch` | `grants::no_request_*` | denies it before a connection is made |
//! | traps in `start` | `trap_start`, `moody` | `lifecycle::a_trap_in_start_*` | fails the load or the call; the version in service stays |
//! | traps in `stop` | `vandal` | `a_trap_in_stop_*` | ends the instance all the same |
//! | traps in `reconcile` | `reconciles` | `lifecycle::a_trap_in_reconcile_*` | retires the instance; the key is retried |
//! | reloads in a storm | `echo`, `trap_start` | `a_storm_of_reloads_*` | loads one version at a time; the last good one serves |

mod deadlines;
mod fairness;
mod floods;
mod grants;
mod lifecycle;
mod memory;
mod neighbour;
mod tokens;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use informer_runtime::{Component, Limits};
use informer_types::{Cause, Change, EventHandler, FailureKind, Outcome};

use parking_lot::Mutex;

use crate::host::{Compiled, PATIENCE, Running, Setup, compiled, delivery, pod};
use neighbour::{ENGINE, Neighbour, WORKERS, calls};

/// The deadline during an attack whose calls would never end: many calls are to end by it.
const DEADLINE: Duration = Duration::from_millis(50);

/// The deadline after the attack, for calls that are to fail in one way only. On a busy machine a call may take longer than
/// [`DEADLINE`] to begin.
const LATER: Duration = Duration::from_secs(1);

/// A plugin with many workers.
fn hostile(config: &str) -> Setup {
    Setup::new(config).engine(&ENGINE).instances(WORKERS)
}

/// The component of a hostile plugin.
async fn component(guest: &'static str) -> Component {
    static COMPILED: Compiled = Mutex::new(BTreeMap::new());
    compiled(&COMPILED, &ENGINE, guest).await
}

/// Loads a plugin with this component.
async fn load(setup: Setup, guest: &'static str) -> Running {
    let (running, component) = (setup.idle(), component(guest).await);
    let begun = Instant::now();
    while let Err(error) = running.plugin.load(&component).await {
        // A busy machine may miss a short deadline.
        assert!(error.to_string().contains("its deadline of 50ms") && begun.elapsed() < PATIENCE, "{error}");
    }
    running
}

/// The attack: calls of `on-add`, each of which fails with this kind and these words.
async fn every_call_fails(running: &Running, kind: FailureKind, words: &str) {
    let neighbour = Neighbour::start().await;

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    fails(running, kind, words).await;
}

/// Like [`every_call_fails`], for a plugin whose calls last until [`DEADLINE`].
async fn every_call_ends_at_its_deadline(running: &Running) {
    let neighbour = Neighbour::start().await;

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    running.set_deadline(LATER).await;
    fails(
        running,
        FailureKind::Deadline,
        "longer than its deadline of 1s (`deadline` under [plugin.limits])",
    )
    .await;
}

async fn fails(running: &Running, kind: FailureKind, words: &str) {
    let failure = running.add_fails("bad").await;
    assert_eq!(failure.kind, kind, "{failure}");
    assert!(failure.message.contains(words), "{failure}");
    assert_eq!(running.plugin.stats().acknowledged, 0);
}

#[tokio::test]
async fn an_infinite_loop_ends_at_its_deadline() {
    let running = load(hostile(r#"{"only": "bad"}"#).deadline(DEADLINE), "spin").await;

    every_call_ends_at_its_deadline(&running).await;

    let stats = running.plugin.stats();
    assert!(stats.turns_waited > 0, "the loops took turns: {stats:?}");
    assert_eq!(running.add("good").await, Outcome::Acknowledged, "the next call has an instance of its own");
}

#[tokio::test]
async fn an_infinite_loop_with_a_processor_share_waits_for_its_share() {
    let share = |limits: &mut Limits| limits.cpu = Some(Duration::from_millis(50));
    let running = load(hostile("{}").deadline(DEADLINE).limits(share), "spin").await;
    let neighbour = Neighbour::start().await;

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    let stats = running.plugin.stats();
    assert!(stats.throttled > 0, "{stats:?}");
}

#[tokio::test]
async fn deep_recursion_is_a_trap() {
    let running = load(hostile(r#"{"only": "bad"}"#), "recurse").await;

    every_call_fails(&running, FailureKind::Trap, "call stack exhausted").await;

    assert_eq!(running.add("good").await, Outcome::Acknowledged);
}

#[tokio::test]
async fn a_memory_bomb_is_refused_at_its_limit() {
    let limit = |limits: &mut Limits| limits.memory_bytes = 8 << 20;
    let running = load(hostile("{}").limits(limit), "hog").await;

    every_call_fails(&running, FailureKind::Memory, "8388608 bytes").await;

    assert!(running.plugin.stats().memory_refusals > 0);
}

#[tokio::test]
async fn a_panic_in_each_call_costs_an_instance_each() {
    let running = load(hostile("{}"), "trap").await;

    every_call_fails(&running, FailureKind::Trap, "no way: default/bad").await;

    let stats = running.plugin.stats();
    assert!(stats.instances.retired >= stats.failures[&FailureKind::Trap], "{stats:?}");
    assert_eq!(stats.instances.idle, 0, "{stats:?}");
}

#[tokio::test]
async fn sleeping_in_the_host_ends_at_the_deadline_and_holds_no_turn() {
    let running = load(hostile(r#"{"millis": 60000}"#).deadline(DEADLINE), "slow").await;

    every_call_ends_at_its_deadline(&running).await;
}

#[tokio::test]
async fn a_flood_of_calls_to_the_host_ends_at_the_limit() {
    let limit = |limits: &mut Limits| limits.host_calls = 1_000.try_into().ok();
    let running = load(hostile("{}").limits(limit), "flood").await;

    every_call_fails(&running, FailureKind::HostCalls, "more than 1000 calls to the host").await;
}

#[tokio::test]
async fn a_flood_of_lines_is_cut_and_counted_and_ends_at_the_deadline() {
    let running = load(hostile("{}").deadline(DEADLINE), "flood").await;
    let neighbour = Neighbour::start().await;

    let flood = || {
        let plugin = Arc::clone(&running.plugin);
        async move {
            loop {
                let change = Change::Updated { old: pod("bad", "1"), new: pod("bad", "2") };
                plugin.handle(delivery(change, Cause::Live)).await;
            }
        }
    };
    neighbour.hardly_notices(&running.plugin, flood).await;

    // One more call that runs to its end: the calls of the attack were dropped.
    running.set_deadline(LATER).await;
    let change = Change::Updated { old: pod("bad", "1"), new: pod("bad", "2") };
    let Some(Outcome::Retry { failure, .. }) = running.plugin.handle(delivery(change, Cause::Live)).await
    else {
        panic!("it never returns by itself")
    };
    assert_eq!(failure.kind, FailureKind::Deadline, "{failure}");
    assert!(running.plugin.stats().log_bytes_dropped > 0);
}

#[tokio::test]
async fn a_flood_of_lines_by_many_short_calls_is_limited_per_second() {
    let most = |limits: &mut Limits| limits.log_lines = 10.try_into().ok();
    let running = load(hostile(r#"{"lines": 100, "bytes": 1}"#).limits(most), "chatty").await;
    let (neighbour, begun) = (Neighbour::start().await, Instant::now());

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    let stats = running.plugin.stats();
    assert!(stats.acknowledged > 0 && stats.log_lines_left_out > 0, "left-out lines fail no call: {stats:?}");
    let seconds = begun.elapsed().as_secs() as usize + 1;
    // Ten lines at once, ten each second, and one report of left-out lines each second.
    let lines = running.log.messages().len();
    assert!(lines <= 10 + 11 * seconds + 1, "{lines} lines in {seconds} s");
}

#[tokio::test]
async fn an_argument_of_a_gibibyte_is_refused_before_it_is_copied() {
    let running = load(hostile(r#"{"what": "giant"}"#), "vandal").await;

    every_call_fails(&running, FailureKind::Trap, "handed more than 4 MiB to the host at once").await;

    assert!(running.log.messages().iter().all(|line| line != "giant"), "no part of the argument was logged");
}

#[tokio::test]
async fn more_random_bytes_than_a_mebibyte_are_refused_before_they_are_made() {
    let running = load(hostile(r#"{"what": "random"}"#), "vandal").await;

    every_call_fails(&running, FailureKind::Trap, "exceeds limit").await;

    assert_eq!(running.plugin.stats().memory_refusals, 0, "the random bytes were never allocated");
}

#[tokio::test]
async fn a_text_that_is_not_utf_8_is_a_trap() {
    let path = tokio::task::spawn_blocking(|| informer_guests::guest("vandal")).await.unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    let text = b"@@@@ this is no text @@@@";
    let places: Vec<usize> =
        bytes.windows(text.len()).enumerate().filter(|(_, found)| found == text).map(|(at, _)| at).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + text.len()].fill(0xff);
    }
    let running = hostile(r#"{"what": "not-text"}"#).idle();
    running.plugin.load(&Component::from_bytes(&ENGINE, bytes).await.unwrap()).await.unwrap();

    every_call_fails(&running, FailureKind::Trap, "utf-8").await;
}

#[tokio::test]
async fn forged_tokens_give_access_to_no_object() {
    let running = load(hostile(r#"{"what": "forge"}"#), "vandal").await;
    let neighbour = Neighbour::start().await;

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    // A forged token may match the token of this call by chance, and no other.
    assert_eq!(running.add("bad").await, Outcome::Acknowledged);
    let lines = running.log.messages();
    assert!(!lines.is_empty() && lines.iter().all(|line| line == "read 0" || line == "read 1"), "{lines:?}");
}

#[tokio::test]
async fn reading_without_a_grant_is_refused() {
    let config = r#"{"gvr": "v1/secrets", "what": "list-json"}"#;
    let setup = hostile(config).read(&["v1/pods"]).cache("v1/secrets", vec![pod("secret", "1")]);

    let (running, said) = grants::said(setup, "reader").await;

    assert!(said.iter().all(|line| line.contains("reading v1/secrets is not granted")), "{:?}", said[0]);
    assert_eq!(running.cache.lists.load(std::sync::atomic::Ordering::Relaxed), 0, "the cache was not read");
}

#[tokio::test]
async fn a_trap_in_stop_ends_the_instance_all_the_same() {
    let setup = hostile(r#"{"what": "trap-stop"}"#).policy(informer_runtime::InstancePolicy::Fresh);
    let running = load(setup, "vandal").await;
    let neighbour = Neighbour::start().await;

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    let stats = running.plugin.stats();
    assert!(stats.acknowledged > 0, "the call itself had returned: {stats:?}");
    assert_eq!(stats.instances.idle, 0);
}

#[tokio::test]
async fn a_storm_of_reloads_loads_one_version_at_a_time() {
    let running = load(hostile("{}"), "echo").await;
    let (good, bad) = (component("echo").await, component("trap_start").await);
    let neighbour = Neighbour::start().await;

    let storm = || {
        let (plugin, good, bad) = (Arc::clone(&running.plugin), good.clone(), bad.clone());
        async move {
            loop {
                plugin.load(&good).await.unwrap();
                assert!(plugin.load(&bad).await.is_err());
            }
        }
    };
    neighbour.hardly_notices(&running.plugin, storm).await;

    assert_eq!(running.plugin.version().unwrap().digest, good.digest().into(), "the last good one serves");
    assert_eq!(running.add("after").await, Outcome::Acknowledged);
}
