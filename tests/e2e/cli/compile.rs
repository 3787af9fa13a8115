//! Components that are hard to compile: another process compiles them, within limits, and the host and its plugins do not notice.

use std::{fs, path::Path, time::Duration};

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{binary, host::PATIENCE};
use tempfile::TempDir;
use tokio::{
    process::Command,
    time::{Instant, sleep},
};

use super::binary::{Running, informer};

/// The memory of a compilation in these tests. A small component needs less than the half.
const MEMORY: &str = "192MiB";

/// More memory than the host of these tests takes without compiling, in kB. A bomb takes [`MEMORY`] and much more if it may.
const HOST_KB: u64 = 160 << 10;

/// A component in 600 KB whose compilation takes gigabytes: one function of blocks within blocks, each of which ends with 100 values.
pub(super) fn memory_bomb() -> Vec<u8> {
    const DEPTH: usize = 200_000;
    const RESULTS: u8 = 100;
    let count = usize::from(RESULTS);
    // No locals; the blocks, of the second type; the values; the ends; the values are dropped; the end of the function.
    let body = [
        vec![0],
        [0x02, 1].repeat(DEPTH),
        [0x41, 0].repeat(count),
        [0x0b].repeat(DEPTH),
        [0x1a].repeat(count),
        vec![0x0b],
    ]
    .concat();
    // Functions without parameters: one without results, and one with results of type i32.
    let types = [vec![2, 0x60, 0, 0, 0x60, 0, RESULTS], [0x7f].repeat(count)].concat();
    component(types, &body, 1)
}

/// A component in 200 KB whose compilation takes 200 s of processor time, but little memory: many functions of loops within loops.
/// Each local changes in each loop, so the work of the compiler grows with the product of both numbers.
pub(super) fn time_bomb() -> Vec<u8> {
    const FUNCTIONS: u8 = 120;
    const LOCALS: u8 = 120;
    // The locals, of type i32; the loops; each local is added to the next one; each loop may begin again; the ends.
    let body = [
        vec![1, LOCALS, 0x7f],
        [0x03, 0x40].repeat(LOCALS.into()),
        (0..LOCALS).flat_map(|at| [0x20, at, 0x20, (at + 1) % LOCALS, 0x6a, 0x21, at]).collect(),
        (0..LOCALS).flat_map(|at| [0x20, at, 0x0d, at]).collect(),
        [0x0b].repeat(usize::from(LOCALS) + 1),
    ]
    .concat();
    component(vec![1, 0x60, 0, 0], &body, FUNCTIONS)
}

/// A component of one module with these types, and this function this number of times, at most 127. It has the first type.
fn component(types: Vec<u8>, body: &[u8], functions: u8) -> Vec<u8> {
    let count = usize::from(functions);
    let declared = [vec![functions], [0].repeat(count)].concat();
    let code = [vec![functions], sized(body).repeat(count)].concat();
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    for (id, content) in [(1, types), (3, declared), (10, code)] {
        module.push(id);
        module.extend(sized(&content));
    }
    [b"\0asm\x0d\0\x01\0\x01".to_vec(), sized(&module)].concat()
}

/// The length as LEB128, and the bytes.
pub(super) fn sized(bytes: &[u8]) -> Vec<u8> {
    let (mut rest, mut sized) = (bytes.len(), Vec::new());
    while rest > 0x7f {
        sized.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    sized.push(rest.to_le_bytes()[0]);
    sized.extend(bytes);
    sized
}

/// An API server, and the directory of a host with a configuration.
pub(super) struct Stage {
    server: DevServer,
    directory: TempDir,
}

impl Stage {
    pub(super) async fn new() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let stage = Self { server, directory: TempDir::new().unwrap() };
        fs::write(stage.path("memory.wasm"), memory_bomb()).unwrap();
        fs::write(stage.path("time.wasm"), time_bomb()).unwrap();
        stage
    }

    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a configuration with these lines under `[host]` and these plugins. Returns its path.
    fn configure(&self, host: &str, plugins: &[(&str, &Path)]) -> String {
        let plugin = |(name, source): &(&str, &Path)| {
            format!(
                "[[plugin]]\nname = \"{name}\"\nsource = {source:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n"
            )
        };
        let text = format!(
            "[cluster]\nserver = \"{}\"\n[host]\nadmin = \"off\"\nstate-dir = \"off\"\n{host}\n\
             [[watch]]\ngvr = \"v1/configmaps\"\n{}",
            self.server.url(),
            plugins.iter().map(plugin).collect::<String>(),
        );
        let path = self.path("informer.toml");
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(super) async fn run(&self, host: &str, plugins: &[(&str, &Path)]) -> Running {
        Running::start(&["run", "--config", &self.configure(host, plugins)]).await
    }
}

/// A number of `/proc/<process>/status`, in kB if it is memory.
pub(super) fn status(process: u32, field: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What the descriptors of a process lead to.
fn open_files(process: &str) -> Vec<String> {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let targets = descriptors.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    targets.map(|target| target.to_string_lossy().into_owned()).collect()
}

/// The processes that this host has started.
fn children(host: u32) -> Vec<u32> {
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    processes.filter(|process| status(*process, "PPid") == Some(host.into())).collect()
}

async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "never {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until the host compiles and the compiler has set its limits. Returns the compiler's process.
async fn compiler(host: &Running) -> u32 {
    let mut found = None;
    until("a process that compiles", || {
        found = children(host.id()).into_iter().find(|process| {
            fs::read_to_string(format!("/proc/{process}/limits")).is_ok_and(|limits| {
                // The last limit that it sets. The soft one alone is 0 on many machines.
                let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size"));
                core.is_some_and(|core| core.split_whitespace().take(2).eq(["0", "0"]))
            })
        });
        found.is_some()
    })
    .await;
    found.unwrap()
}

#[tokio::test]
async fn components_that_need_too_much_memory_are_refused_and_the_host_stays_small() {
    let stage = Stage::new().await;
    let (bomb, echo) = (stage.path("memory.wasm"), guest("echo"));
    let plugins = [("a", &*bomb), ("b", &bomb), ("c", &bomb), ("good", &echo)];
    let mut host = stage.run(&format!("compile-memory = \"{MEMORY}\""), &plugins).await;

    let mut refused = 0;
    let loaded = loop {
        let line = host.log_up_to("plugin").await.pop().unwrap();
        refused += usize::from(line.contains("the component needs more than 192 MiB of memory to compile"));
        if line.contains("plugin loaded") {
            break line;
        }
    };
    assert!(loaded.contains("plugin=\"good\""), "{loaded}");
    while refused < 3 {
        let line = host.logged("the component needs more than 192 MiB of memory to compile").await;
        assert!(line.contains("raise `compile-memory` under [host]"), "{line}");
        refused += 1;
    }

    let most = status(host.id(), "VmHWM").unwrap();
    assert!(most < HOST_KB, "the host had {most} kB");
    assert_eq!(children(host.id()), [0; 0], "no process is left");
    host.stop().await;
}

#[tokio::test]
async fn components_that_take_too_long_are_refused_in_turn_and_a_good_plugin_loads() {
    let stage = Stage::new().await;
    let (bomb, echo) = (stage.path("time.wasm"), guest("echo"));
    let plugins = [("a", &*bomb), ("b", &bomb), ("c", &bomb), ("good", &echo)];
    let mut host = stage.run("compile-timeout = \"10s\"", &plugins).await;

    let (mut refused, mut loaded) = (0, 0);
    while refused < 3 || loaded < 1 {
        let line = host.log_up_to("plugin").await.pop().unwrap();
        refused += usize::from(line.contains("the component takes longer than 10s to compile"));
        loaded += usize::from(line.contains("plugin loaded"));
    }

    let most = status(host.id(), "VmHWM").unwrap();
    assert!(most < HOST_KB, "the host had {most} kB");
    until("the end of every compilation", || children(host.id()).is_empty()).await;
    host.stop().await;
}

/// The machine may have been busy. The attempts are ten times the limit apart.
#[tokio::test]
async fn a_component_that_took_too_long_is_tried_again_without_a_change_of_its_file() {
    let stage = Stage::new().await;
    let mut host = stage.run("compile-timeout = \"1s\"", &[("slow", &stage.path("time.wasm"))]).await;
    let refusal = "the component takes longer than 1s to compile";

    let line = host.logged(refusal).await;
    assert!(line.contains("it is tried again later"), "{line}");
    let first = Instant::now();
    host.logged(refusal).await;

    assert!(first.elapsed() >= Duration::from_secs(10), "{:?}", first.elapsed());
    host.stop().await;
}

#[tokio::test]
async fn a_check_compiles_under_the_same_limits() {
    let stage = Stage::new().await;
    let path = stage.configure(
        &format!("compile-memory = \"{MEMORY}\""),
        &[("good", &guest("echo")), ("bad", &stage.path("memory.wasm"))],
    );

    let checked = informer(&["check", "--config", &path]).await;

    let problem = "plugin bad: the component needs more than 192 MiB of memory to compile: split its largest \
                   functions, or raise `compile-memory` under [host]\n";
    assert_eq!((checked.status, checked.stdout.as_str()), (Some(1), problem), "{}", checked.stderr);
}

#[tokio::test]
async fn the_compiler_gives_up_what_it_does_not_need() {
    let stage = Stage::new().await;
    let host = stage.run("compile-memory = \"1GiB\"", &[("bad", &stage.path("time.wasm"))]).await;

    let compiler = compiler(&host).await;

    let read = |name: &str| fs::read_to_string(format!("/proc/{compiler}/{name}")).unwrap();
    let limits = read("limits");
    for (name, most) in [
        ("Max data size", "1073741824"),
        ("Max open files", "16"),
        ("Max file size", "0"),
        ("Max core file size", "0"),
    ] {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        assert_eq!(line.split_whitespace().take(2).collect::<Vec<_>>(), [most, most], "{name}");
    }
    let processor = limits.lines().find_map(|line| line.strip_prefix("Max cpu time")).unwrap();
    assert!(!processor.contains("unlimited"), "{processor}");
    assert_eq!(read("oom_score_adj"), "1000\n");
    let variables = read("environ");
    assert!(
        variables.split('\0').all(|one| one.is_empty() || one.starts_with("RAYON_NUM_THREADS=")),
        "{variables}"
    );
    assert_eq!(fs::read_link(format!("/proc/{compiler}/cwd")).unwrap(), Path::new("/"));
    // What this test inherited itself, without the flag that closes it, everything that it starts inherits too.
    let (inherited, files) = (open_files("self"), open_files(&compiler.to_string()));
    let others = files.iter().filter(|file| !file.starts_with("pipe:") && !inherited.contains(file));
    assert_eq!(others.collect::<Vec<_>>(), [""; 0], "only pipes are open");
    host.stop().await;
}

#[tokio::test]
async fn a_compiler_that_is_killed_is_reported_and_the_next_component_is_compiled() {
    let stage = Stage::new().await;
    let source = stage.path("plugin.wasm");
    fs::write(&source, time_bomb()).unwrap();
    let mut host = stage.run("", &[("some", &source)]).await;

    let compiler = compiler(&host).await.to_string();
    let killed = Command::new("kill").args(["-KILL", &compiler]).status().await.unwrap();
    assert!(killed.success());

    host.logged(
        "the process that compiles components failed: it was killed; if the machine or the container",
    )
    .await;
    crate::reload::replace(&source, &fs::read(guest("echo")).unwrap());
    host.logged("plugin loaded").await;
    host.stop().await;
}

#[tokio::test]
async fn a_host_that_ends_leaves_no_compiler_behind() {
    for signal in ["TERM", "KILL"] {
        let stage = Stage::new().await;
        let host = stage.run("", &[("bad", &stage.path("time.wasm"))]).await;
        let compiler = compiler(&host).await;

        host.signal(signal).await;
        host.ended(PATIENCE).await;

        until("the end of the compiler", || status(compiler, "Threads").is_none()).await;
    }
}

/// A new version of the package replaces the program while the host runs.
#[tokio::test]
async fn components_are_compiled_although_the_program_was_replaced() {
    let stage = Stage::new().await;
    let program = stage.path("informer");
    // A program that writes the copy itself may start another one meanwhile, which holds the file open: it cannot be run then.
    let copied = Command::new("cp").arg(binary::informer().await).arg(&program).status().await.unwrap();
    assert!(copied.success());
    let source = stage.path("plugin.wasm");
    fs::write(&source, "not wasm").unwrap();
    let path = stage.configure("", &[("some", &source)]);
    let mut host = Running::start_program(&program, &["run", "--config", &path]).await;
    host.logged("the plugin cannot be loaded").await;

    fs::remove_file(&program).unwrap();
    fs::write(&program, "another version").unwrap();
    crate::reload::replace(&source, &fs::read(guest("echo")).unwrap());

    host.logged("plugin loaded").await;
    host.stop().await;
}

#[tokio::test]
async fn the_command_that_compiles_refuses_other_input() {
    let refused = informer(&["compile"]).await;

    assert_eq!((refused.status, refused.stdout.as_str()), (Some(1), ""));
}
