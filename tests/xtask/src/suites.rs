//! The test suites.

use std::{
    process::{Child, Command},
    thread::available_parallelism,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    command::{Run, Step, cargo, for_each, target_dir},
    fuzz, guests, node, pictures,
    tool::{GO, Tool},
};

/// A test binary of `tests/` that needs more than Rust. Its tests are ignored unless this suite runs them, and fail if
/// a tool is missing.
struct Suite {
    test: &'static str,
    shows: &'static str,
    tools: &'static [Tool],
    /// Arguments of the test binary.
    arguments: &'static [&'static str],
    /// The Debian package with the tools, if the gate installs it.
    package: Option<&'static str>,
    /// True if the tests compile most of the time, so that one of them runs for each processor.
    compiles: bool,
    /// True if the tests measure, so that they run one at a time.
    measures: bool,
}

const NODE: Tool = Tool {
    program: "node",
    version: "--version",
    install: "install Node.js with npm from https://nodejs.org",
};
const NPM: Tool = Tool { program: "npm", ..NODE };
const PYTHON: Tool =
    Tool { program: "python3", version: "--version", install: "install Python 3.9 or newer with pip" };

const VALGRIND: Tool =
    Tool { program: "valgrind", version: "--version", install: "run `apt-get install valgrind`" };

const CHROMEDRIVER: Tool = Tool {
    program: "chromedriver",
    version: "--version",
    install: "run `apt-get install chromium-driver`, or install Chrome and its driver",
};

/// The two longest are first: they run beside each other.
const MORE_THAN_RUST: [Suite; 7] = [
    Suite {
        test: "cluster",
        shows: "against a real kube-apiserver, etcd and client-go, built from their Go modules",
        tools: &[GO],
        ..PLAIN
    },
    Suite {
        test: "languages",
        shows: "the JavaScript and Python examples, and a new project in each language",
        tools: &[NODE, NPM, PYTHON, GO],
        compiles: true,
        ..PLAIN
    },
    Suite { test: "kubectl", shows: "the embedded API server with the real kubectl", tools: &[GO], ..PLAIN },
    Suite {
        test: "registries",
        shows: "with real registries, built from their Go modules, and recorded signatures",
        tools: &[GO],
        arguments: &["--include-ignored", "--skip", "cosign_"],
        ..PLAIN
    },
    Suite {
        test: "deploy",
        shows: "the chart and the kustomize files with Helm, kubectl and a real kube-apiserver; rules and metrics with promtool",
        tools: &[GO],
        ..PLAIN
    },
    Suite {
        test: "e2e",
        shows: "traces with the OTLP receiver of the OpenTelemetry Collector, built from its Go module",
        tools: &[GO],
        arguments: &["--ignored", "the_real_collector"],
        ..PLAIN
    },
    Suite {
        test: "page",
        shows: "the page of the admin endpoint in Chromium",
        tools: &[CHROMEDRIVER],
        package: Some("chromium-driver"),
        measures: true,
        ..PLAIN
    },
];

/// Number of suites that run at the same time, unless they measure. Most of their tests wait for time to pass.
const SUITES_AT_ONCE: usize = 2;

/// Number of tests of one binary that run at the same time for each processor. Most tests wait for time to pass.
const TESTS_PER_PROCESSOR: usize = 3;

/// The variables with the seeds of random tests: the one of proptest, which other random tests read too, and the one of shuttle.
const SEEDS: [&str; 2] = ["PROPTEST_RNG_SEED", "SHUTTLE_RANDOM_SEED"];

/// The memory that each process of a test may write to: an attack that takes more fails its test instead of the machine.
const MEMORY: u64 = 8 << 30;

/// The fields that most suites have in common.
const PLAIN: Suite = Suite {
    test: "",
    shows: "",
    tools: &[],
    arguments: &["--include-ignored"],
    package: None,
    compiles: false,
    measures: false,
};

/// The suite with the real cosign. The build of cosign takes several minutes of CPU time, so the suite is no part of the gate.
const COSIGN: Suite = Suite {
    test: "registries",
    shows: "signatures by the real cosign in real registries, built from their Go modules",
    tools: &[GO],
    arguments: &["--ignored", "cosign_"],
    ..PLAIN
};

/// Runs the suites: those that need only Rust, with `--all` every suite but two, with `--node` the one on a real node, or with
/// `--cosign` the one with signatures.
///
/// # Errors
/// A suite fails, a picture of the README is out of date, or `CI` is set and a tool of a suite is missing. Without `CI` such a
/// suite is skipped, with a line on stdout.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let all = match arguments {
        [] => false,
        [flag] if flag == "--all" => true,
        [flag] if flag == "--node" => return node::run(),
        [flag] if flag == "--cosign" => return COSIGN.run(),
        _ => {
            let given = arguments.join(" ");
            return Err(format!("test takes `--all`, `--node`, `--cosign` or nothing, not `{given}`"));
        }
    };
    limit_memory()?;
    let programs = if all { Some(Programs::build()?) } else { None };
    guests::build_all()?;
    let mut tests = vec!["test", "--workspace", "--exclude", "informer-bench"];
    if all {
        // The last step runs them, with stricter limits.
        tests.extend(["--", "--skip", "hostile::"]);
    }
    pinned(tests_at_once(cargo(&tests), TESTS_PER_PROCESSOR)).run(&Step::new("run the tests"))?;
    pictures::run(&["--check".to_owned()])?;
    let Some(programs) = programs else { return Ok(()) };
    programs.wait();
    let (measuring, others): (Vec<Suite>, Vec<Suite>) =
        MORE_THAN_RUST.into_iter().partition(|suite| suite.measures);
    for_each(&others, SUITES_AT_ONCE, Suite::run)?;
    measuring.iter().try_for_each(Suite::run)?;
    fuzz::run_in_the_gate()?;
    count_instructions()?;
    time_hostile_plugins()
}

/// Limits the memory of this process and of each process that it starts. A lower limit stays.
fn limit_memory() -> Result<(), String> {
    let most = getrlimit(Resource::Data).maximum.map_or(MEMORY, |most| most.min(MEMORY));
    setrlimit(Resource::Data, Rlimit { current: Some(most), maximum: Some(most) })
        .map_err(|error| format!("the memory of the tests cannot be limited: {error}"))
}

/// The Go programs of the suites, which are built while the tests run. Most tests wait for time to pass, so the machine has
/// processor time to spare. A suite whose program is missing builds it, or fails with the reason.
struct Programs(Option<Child>);

/// Sets the number of tests of one binary that run at the same time, unless the environment has one.
fn tests_at_once(tests: Run, for_each_processor: usize) -> Run {
    const THREADS: &str = "RUST_TEST_THREADS";
    if std::env::var_os(THREADS).is_some() {
        return tests;
    }
    let threads = available_parallelism().map_or(1, usize::from) * for_each_processor;
    tests.env(THREADS, &threads.to_string())
}

/// Sets the seeds of random tests, unless the environment has them, so that each run of the gate makes the same tests.
fn pinned(mut tests: Run) -> Run {
    for variable in SEEDS {
        if std::env::var_os(variable).is_none() {
            tests = tests.env(variable, "1");
        }
    }
    tests
}

/// Counts the instructions of the hot paths with callgrind. These tests are in the crates that own the paths.
fn count_instructions() -> Result<(), String> {
    let tools = [VALGRIND];
    Tool::install_in_ci(&tools, "valgrind")?;
    if !Tool::all_run(&tools, "instructions")? {
        return Ok(());
    }
    let suite = ["test", "--workspace", "--exclude", "informer-bench", "--tests", "--"];
    cargo(&[suite.as_slice(), &["--ignored", "instructions"]].concat())
        .run(&Step::new("count the instructions of the hot paths"))
}

/// Runs the suite of hostile plugins, also with limits for the neighbour's 99th percentile. It runs alone, one
/// case at a time, because other work on the machine changes this figure more than any host does.
fn time_hostile_plugins() -> Result<(), String> {
    let [guests, host] = [("runtime", "hostile::"), ("e2e", "cli::neighbour::")];
    for ((suite, tests), what) in [(guests, "hostile ones"), (host, "attacks on its host")] {
        let suite = ["test", "--workspace", "--exclude", "informer-bench", "--test", suite, tests];
        cargo(&[suite.as_slice(), &["--", "--test-threads=1"]].concat())
            .env("INFORMER_QUIET_MACHINE", "1")
            .run(&Step::new(format!("measure a plugin beside {what}")))?;
    }
    Ok(())
}

// === impl Programs ===

impl Programs {
    /// Begins to build, behind everything else that wants a processor.
    fn build() -> Result<Self, String> {
        if !GO.runs() {
            return Ok(Self(None));
        }
        // All members: dependencies are then built once, with the features that the tests need.
        cargo(&["build", "--workspace", "--exclude", "informer-bench", "--bin", "informer-programs"])
            .run(&Step::new("build what builds the programs of the suites"))?;
        let builder = target_dir().join("debug/informer-programs");
        Ok(Self(Command::new("nice").args(["-n", "19"]).arg(builder).spawn().ok()))
    }

    /// Waits for the last program.
    fn wait(mut self) {
        if let Some(child) = &mut self.0 {
            // A suite that needs a missing program names the reason.
            child.wait().ok();
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // The program has ended, or the tests have failed.
            child.kill().ok();
        }
    }
}

// === impl Suite ===

impl Suite {
    fn run(&self) -> Result<(), String> {
        if let Some(package) = self.package {
            Tool::install_in_ci(self.tools, package)?;
        }
        if !Tool::all_run(self.tools, self.test)? {
            return Ok(());
        }
        // Test all members together: another set of members would compile dependencies again with other features.
        let suite = ["test", "--workspace", "--exclude", "informer-bench", "--test", self.test];
        let mut arguments = [suite.as_slice(), &["--"], self.arguments].concat();
        let step = Step::new(format!("test {}", self.shows));
        if self.measures {
            arguments.extend(["--test-threads=1", "--nocapture"]);
            return cargo(&arguments).env("INFORMER_QUIET_MACHINE", "1").run(&step);
        }
        let at_once = if self.compiles { 1 } else { TESTS_PER_PROCESSOR };
        tests_at_once(cargo(&arguments), at_once).run_beside(&step)
    }
}
