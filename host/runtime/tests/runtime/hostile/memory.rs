//! Components that take memory of the host otherwise than by growing their linear memory, and what happens at the ceiling over
//! all plugins.
//!
//! Each attack is a component inside a fixture, instantiated with it. Tests that could take the memory of the machine run in a
//! process of their own, whose memory is limited: a regression fails there.

use std::{
    process::Command,
    sync::{Arc, LazyLock},
    time::Duration,
};

use informer_runtime::{Component, Engine, EngineConfig, InstancePolicy, Limits, LoadError};
use informer_types::{FailureKind, Outcome};
use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::select;
use wasmparser::{Parser, Payload};

use super::{
    hostile,
    neighbour::{ENGINE as ATTACKED, FEW_EVENTS, Neighbour, calls, engine, status, turns},
};
use crate::host::{ENGINE, Running, Setup};

/// Set in the process of a confined test.
const CONFINED: &str = "INFORMER_CONFINED";

/// Memory that a confined process may write to.
const MOST: u64 = 1 << 30;

/// The memory limit of the plugins that are attacked with.
const LIMIT: usize = 4 << 20;

/// Returns true in a process of its own with limited memory. Otherwise starts this process for the test of this name, and
/// returns false once the test has passed there.
fn confined(test: &str) -> bool {
    if std::env::var_os(CONFINED).is_some() {
        setrlimit(Resource::Data, Rlimit { current: Some(MOST), maximum: Some(MOST) }).unwrap();
        return true;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("hostile::memory::{test}"), "--nocapture"]).env(CONFINED, "1");
    let output = child.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
    false
}

/// A fixture with a component inside, which is instantiated with it.
async fn with(guest: &'static str, inside: &str) -> Vec<u8> {
    let path = tokio::task::spawn_blocking(move || informer_guests::guest(guest)).await.unwrap();
    let mut component = std::fs::read(path).unwrap();
    let (mut depth, mut components) = (0, 0);
    for payload in Parser::new(0).parse_all(&component) {
        match payload.unwrap() {
            Payload::ComponentSection { .. } if depth == 0 => (depth, components) = (1, components + 1),
            Payload::ComponentSection { .. } | Payload::ModuleSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            _ => {}
        }
    }
    let inside = wat::parse_str(inside).unwrap();
    section(&mut component, 4, &inside);
    // One instance, of this component, without arguments.
    section(&mut component, 5, &[&[1, 0], &leb128(components)[..], &[0]].concat());
    component
}

fn section(component: &mut Vec<u8>, id: u8, content: &[u8]) {
    component.push(id);
    component.extend(leb128(content.len()));
    component.extend(content);
}

fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        bytes.push(if number == 0 { low } else { low | 0x80 });
        if number == 0 {
            return bytes;
        }
    }
}

/// A component with one module, instantiated this many times.
fn times(count: usize, module: &str) -> String {
    format!("(component (core module $m {module}) {})", "(core instance (instantiate $m))".repeat(count))
}

/// A component whose module runs this code when it is instantiated. It may use the function, the table, the memory, the segment
/// and the local.
fn runs(code: &str) -> String {
    times(
        1,
        &format!(
            "(memory 1) (table $t 1 funcref) (func $f) (elem $e func $f $f $f $f)
             (func $run (local $n i32) {code}) (start $run)"
        ),
    )
}

/// The refusal of this component by a plugin with this setup.
async fn refusal(engine: &Engine, setup: Setup, component: Vec<u8>) -> LoadError {
    let running = setup.engine(engine).idle();
    match Component::from_bytes(engine, component).await {
        Ok(component) => running.plugin.load(&component).await.unwrap_err(),
        Err(error) => error,
    }
}

#[tokio::test]
async fn more_than_a_component_may_have_is_refused_before_it_is_compiled() {
    if !confined("more_than_a_component_may_have_is_refused_before_it_is_compiled") {
        return;
    }
    let nested = |level| {
        let instances = format!("(instance (instantiate $c{level}))").repeat(10);
        let inside = format!("(alias outer 1 $c{level} (component $c{level}))");
        format!("(component $c{} {inside} {instances})", level + 1)
    };
    let bomb: String = (0..20).map(nested).collect();
    let bomb = format!(
        "(component (component $c0 (core module $m) (core instance (instantiate $m))) {bomb} (instance (instantiate $c20)))"
    );
    let before = status("VmHWM");
    for (attack, expected) in [
        (times(1, &"(table 1000000 funcref)".repeat(90)), Some(("table elements", 90_000_000))),
        (times(1, &"(table 0 funcref)".repeat(90)), None),
        (times(200, &"(global i32 (i32.const 0))".repeat(9_000)), Some(("globals", 1_800_000))),
        (times(17, "(memory 1)"), Some(("memories", 17))),
        (times(300, ""), Some(("core instances", 300))),
        (bomb, Some(("component instances", u64::MAX))),
    ] {
        let attack = with("echo", &attack).await;
        let loaded = Component::from_bytes(&ENGINE, attack).await;

        let Some((expected, least)) = expected else {
            assert!(loaded.is_ok(), "{loaded:?}");
            continue;
        };
        let refused = loaded.unwrap_err();
        let text = refused.to_string();
        let LoadError::TooMany { what, found, limit } = refused else { panic!("{text}") };
        assert!(what == expected && found >= least, "{text}");
        let words = format!(
            "has {found} {what}, counted once for each instance, and this host allows at most {limit}"
        );
        assert!(text.contains(&words), "{text}");
    }
    let took = status("VmHWM") - before;
    assert!(took < 256, "{took} MiB, with the compilation of the harmless one");
}

#[tokio::test]
async fn the_memory_of_an_instance_is_charged_before_it_is_allocated() {
    if !confined("the_memory_of_an_instance_is_charged_before_it_is_allocated") {
        return;
    }
    let functions = "(func) ".repeat(2_000);
    let exports: String =
        (0..2_000).map(|function| format!(r#"(export "{function}" (func {function}))"#)).collect();
    let elements = "$f ".repeat(2_000);
    for (index, attack) in [
        // Memory for pages, and 40 GiB of address space.
        times(10, "(memory 14400)"),
        times(1, "(table 999000 funcref)"),
        times(100, "(table 9990 funcref)"),
        times(100, &format!("{functions} {exports}")),
        times(200, &format!("(func $f) (elem func {elements})")),
        runs("(loop (br_if 0 (i32.ne (table.grow $t (ref.null func) (i32.const 10000)) (i32.const -1)))) unreachable"),
        runs("(loop (br_if 0 (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) unreachable"),
    ]
    .into_iter()
    .enumerate()
    {
        let limit = |limits: &mut Limits| limits.memory_bytes = LIMIT;
        let attack = Component::from_bytes(&ENGINE, with("echo", &attack).await).await.unwrap();
        let (before, space) = (status("VmRSS"), status("VmSize"));
        let running = Setup::new("{}").limits(limit).idle();

        let refused = running.plugin.load(&attack).await.unwrap_err();

        let text = refused.to_string();
        assert!(matches!(refused, LoadError::Instantiate(_)), "{index}: {text}");
        assert!(text.contains("more memory than its limit of ") && text.contains("`memory` under"), "{index}: {text}");
        let (took, reserved) = (status("VmRSS").saturating_sub(before), status("VmSize").saturating_sub(space));
        assert!(took < 32 && reserved < 20 << 10, "{index}: {took} MiB, {reserved} MiB of address space");
        let stats = running.plugin.stats();
        assert_eq!((stats.memory_bytes, stats.instances.created), (0, 0), "{index}: all was given back");
        assert!(stats.memory_refusals > 0, "{index}");
    }
}

/// The reverse: what the host really takes is charged. Only what every instance takes is charged in part.
#[tokio::test]
async fn an_instance_takes_no_more_than_it_is_charged_for() {
    if !confined("an_instance_takes_no_more_than_it_is_charged_for") {
        return;
    }
    let fill = "(table.fill $t (i32.const 0) (ref.func $f) (i32.const 900000))
                (memory.fill (i32.const 0) (i32.const 1) (i32.const 33554432))";
    let functions = "$f ".repeat(10_000);
    let attack = format!(
        "(component
            (core module $m (memory 512) (table $t 900000 funcref) (func $f) (elem declare func $f)
                (func $run {fill}) (start $run))
            (core module $n (func $f) (elem func {functions}) {})
            (core instance (instantiate $m)) {})",
        "(global i64 (i64.const 0))".repeat(40),
        "(core instance (instantiate $n))".repeat(200)
    );
    let attack = Component::from_bytes(&ENGINE, with("echo", &attack).await).await.unwrap();
    let limit = |limits: &mut Limits| limits.memory_bytes = 256 << 20;
    let running = Setup::new("{}").limits(limit).idle();
    let before = status("VmRSS");

    running.plugin.load(&attack).await.unwrap();

    let (took, charged) = (status("VmRSS") - before, running.plugin.stats().memory_bytes >> 20);
    assert!(took > 64, "the attack fills what it has: {took} MiB");
    assert!(took <= charged + 8, "{took} MiB, of which {charged} are charged");
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
}

/// A resource of the guest's own is a handle that the host keeps.
#[tokio::test]
async fn handles_of_a_guests_own_resources_are_limited() {
    // Twice as many as the limit, and far fewer than the one of wasmtime itself.
    let attack = r#"(component
        (type $r (resource (rep i32)))
        (core func $new (canon resource.new $r))
        (core module $m
            (import "" "new" (func $new (param i32) (result i32)))
            (global $left (mut i32) (i32.const 20000))
            (func $run (loop
                (drop (call $new (i32.const 1)))
                (global.set $left (i32.sub (global.get $left) (i32.const 1)))
                (br_if 0 (global.get $left))))
            (start $run))
        (core instance (instantiate $m (with "" (instance (export "new" (func $new)))))))"#;

    let refused = refusal(&ENGINE, Setup::new("{}"), with("echo", attack).await).await.to_string();

    assert!(refused.contains("store handle limit exceeded"), "{refused}");
}

/// The engine of the tests of the ceiling.
static SMALL: LazyLock<Engine> = LazyLock::new(|| {
    Engine::new(&EngineConfig { guest_memory: Some(64 << 20), ..EngineConfig::default() }).unwrap()
});

#[tokio::test]
async fn a_plugin_at_the_ceiling_fails_its_calls_and_leaves_the_others_their_shares() {
    let neighbour = Setup::new("{}").engine(&SMALL).idle();
    neighbour.plugin.load(&crate::host::component_of(&SMALL, "works").await).await.unwrap();
    // Each instance takes 8 MiB and waits.
    let bytes = with("slow", &times(1, "(memory 128)")).await;
    let greedy = Setup::new(r#"{"millis": 60000}"#).instances(64).engine(&SMALL).idle();
    greedy.plugin.load(&Component::from_bytes(&SMALL, bytes).await.unwrap()).await.unwrap();

    let mut waiting = Vec::new();
    let failure = loop {
        let mut call = greedy.spawn_add("bad");
        select! {
            ended = &mut call => match ended.unwrap() {
                Outcome::Retry { failure, .. } => break failure,
                other => panic!("{other:?}"),
            },
            () = greedy.log.wait_for("begin default/bad", waiting.len() + 1) => waiting.push(call),
        }
    };

    assert_eq!(failure.kind, FailureKind::GuestMemory, "{failure}");
    assert!(failure.message.contains("67108864 bytes: raise `guest-memory` under [host]"), "{failure}");
    let memory = SMALL.guest_memory();
    assert!(memory.used_bytes <= 64 << 20 && memory.refusals > 0, "{memory:?}");
    assert!((4..8).contains(&waiting.len()), "a part is kept for the neighbour: {}", waiting.len());
    assert_eq!(greedy.plugin.stats().failures[&FailureKind::GuestMemory], 1);
    for _ in 0..3 {
        assert_eq!(neighbour.add("good").await, Outcome::Acknowledged);
    }

    // What is given back is free.
    let begun = waiting.len();
    for call in waiting {
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
    }
    let retried = greedy.spawn_add("bad");
    greedy.log.wait_for("begin default/bad", begun + 1).await;
    retried.abort();
}

/// Other plugins reached the ceiling, so no version is to blame.
#[tokio::test]
async fn the_ceiling_is_not_the_fault_of_a_version_on_trial() {
    let engine = Engine::new(&EngineConfig { guest_memory: Some(32 << 20), ..EngineConfig::default() });
    let engine = &engine.unwrap();
    let running = Setup::new("{}").engine(engine).policy(InstancePolicy::Fresh).idle();
    running.plugin.load(&crate::host::component_of(engine, "echo").await).await.unwrap();
    let large = |pages| async move {
        let component = with("echo", &times(1, &format!("(memory {pages})"))).await;
        Component::from_bytes(engine, component).await.unwrap()
    };
    let before = running.plugin.version().unwrap().digest;
    running.plugin.load(&large(320).await).await.unwrap();
    // The instance of the load serves the first call and ends.
    assert_eq!(running.add("first").await, Outcome::Acknowledged);
    let other = Setup::new("{}").engine(engine).idle();
    other.plugin.load(&large(192).await).await.unwrap();

    for _ in 0..10 {
        assert_eq!(running.add_fails("web").await.kind, FailureKind::GuestMemory);
    }

    let now = running.plugin.version().unwrap().digest;
    assert!(now != before && running.plugin.rejected().is_none(), "the new version stays");
    let refused = running.plugin.load(&large(321).await).await.unwrap_err().to_string();
    assert!(refused.contains("raise `guest-memory` under [host]"), "{refused}");
    other.plugin.unload().await;
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
}

/// A start function without an end, and segments of data for each of many instances.
#[tokio::test]
async fn an_instantiation_ends_at_its_deadline() {
    let data = "x".repeat(1 << 20);
    let segments = format!(
        r#"(component
            (core module $m (memory (export "m") 16)) (core instance $of (instantiate $m))
            (core module $n (import "" "m" (memory 16)) (data (i32.const 0) "{data}")) {})"#,
        r#"(core instance (instantiate $n (with "" (instance $of))))"#.repeat(250)
    );
    let looping = runs("(loop (br 0))");
    let filling = runs("(loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br 0))");
    for (attack, allowed) in [(looping, 50), (filling, 50), (segments, 1)] {
        let setup = Setup::new("{}").deadline(Duration::from_millis(allowed));

        let refused = refusal(&ENGINE, setup, with("echo", &attack).await).await.to_string();

        let words = format!("cannot be instantiated: the call took longer than its deadline of {allowed}ms");
        assert!(refused.contains(&words), "{refused}");
    }
}

/// wasmtime cannot interrupt a bulk operation, so such a guest holds a turn for some milliseconds with the default limits. This
/// is judged by count only: it gets no more turns than a fair share.
#[tokio::test]
async fn bulk_operations_at_each_instantiation_get_no_more_than_their_turns() {
    let code = "
        (memory.fill (i32.const 0) (i32.const 1) (i32.const 20971520))
        (memory.copy (i32.const 20971520) (i32.const 0) (i32.const 20971520))
        (table.fill $t (i32.const 0) (ref.func $f) (i32.const 999000))
        (table.copy $t $t (i32.const 499000) (i32.const 0) (i32.const 500000))";
    let attack = times(
        1,
        &format!(
            "(memory 640) (table $t 999000 funcref) (func $f) (elem declare func $f)
             (func $run {}) (start $run)",
            code.repeat(5)
        ),
    );
    let engine = engine(turns(false));
    let running = making(&engine, &attack).await;
    let neighbour = Neighbour::start_on(&engine).await;

    let attack = || calls(Arc::clone(&running.plugin));
    let judged = neighbour.judge(false, FEW_EVENTS, &running.plugin, attack).await;

    assert!(judged.is_ok(), "{judged:#?}");
    assert!(running.plugin.stats().failures.is_empty(), "{:?}", running.plugin.stats());
}

#[tokio::test]
async fn the_most_structures_at_each_instantiation_are_hardly_noticed() {
    let (globals, tables) = ("(global i64 (i64.const 0))".repeat(90), "(table 7000 funcref)");
    let functions = "$f ".repeat(1_000);
    let attack = times(100, &format!("(func $f) {globals} {tables} (elem func {functions})"));
    let running = making(&ATTACKED, &attack).await;
    let neighbour = Neighbour::start().await;

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    assert!(running.plugin.stats().failures.is_empty(), "{:?}", running.plugin.stats());
}

/// A plugin each of whose calls makes an instance with this component inside.
async fn making(engine: &Engine, inside: &str) -> Running {
    // Eight instances are enough to keep all turns busy, and do not take the memory of the machine.
    let running = hostile("{}").engine(engine).instances(8).policy(InstancePolicy::Fresh).idle();
    let attack = Component::from_bytes(engine, with("echo", inside).await).await.unwrap();
    running.plugin.load(&attack).await.unwrap();
    // The first call has the instance of the load.
    for _ in 0..2 {
        assert_eq!(running.add("first").await, Outcome::Acknowledged);
    }
    running
}
