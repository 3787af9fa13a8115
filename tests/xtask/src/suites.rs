//! The test suites.

use std::collections::BTreeSet;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    command::{Step, cargo, for_each},
    fuzz, guests, node, pictures,
    programs::Programs,
    rust_only::{self, TARGETS, TESTS_PER_PROCESSOR, Target, tests_at_once},
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
    /// True if the tests compute most of the time, so that one of them runs for each processor.
    computes: bool,
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

/// The text that marks the names of those tests of the page that measure.
const SCALE: &str = "scale::";

/// The two longest are first: they run beside each other. The first suite needs no Go program, because programs may still be missing.
const MORE_THAN_RUST: [Suite; 8] = [
    Suite {
        test: "languages",
        shows: "the JavaScript and Python examples, and a new project in each language",
        tools: &[NODE, NPM, PYTHON, GO],
        computes: true,
        ..PLAIN
    },
    Suite {
        test: "cluster",
        shows: "against a real kube-apiserver, etcd and client-go, built from their Go modules",
        tools: &[GO],
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
        arguments: &["--include-ignored", "--skip", SCALE, "--nocapture"],
        package: Some("chromium-driver"),
        computes: true,
        ..PLAIN
    },
    Suite {
        test: "page",
        shows: "the page with a thousand plugins and a hundred thousand objects",
        tools: &[CHROMEDRIVER],
        arguments: &["--include-ignored", SCALE],
        package: Some("chromium-driver"),
        measures: true,
        ..PLAIN
    },
];

/// Number of jobs that run at the same time. Most tests wait for time to pass, so one job leaves processor time for another.
const JOBS_AT_ONCE: usize = 2;

/// The memory that each process of a test may write to: an attack that takes more fails its test instead of the machine.
const MEMORY: u64 = 8 << 30;

/// The fields that most suites have in common.
const PLAIN: Suite = Suite {
    test: "",
    shows: "",
    tools: &[],
    arguments: &["--include-ignored"],
    package: None,
    computes: false,
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

/// Work of the gate that runs beside other work.
enum Job {
    /// The tests of a target that need only Rust and do not measure.
    Target(Target),
    /// The tests of all other targets that need only Rust.
    OtherTargets,
    /// The examples in the documentation.
    Documentation,
    /// A suite that does not measure.
    Suite(Suite),
    /// The counts of instructions: other work does not change them.
    Instructions,
    /// The build of the fuzz targets.
    FuzzTargets,
}

/// Runs the suites: those that need only Rust, with `--all` every suite but two, with `--node` the one on a real node, or with
/// `--cosign` the one with signatures.
///
/// # Errors
/// A suite fails, a picture of the README is out of date, or `CI` is set and a tool of a suite is missing. Without `CI` such a
/// suite is skipped, with a line on stdout.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => run_rust_only(),
        [flag] if flag == "--all" => run_all(Programs::begin()?),
        [flag] if flag == "--node" => node::run(),
        [flag] if flag == "--cosign" => COSIGN.run(),
        _ => {
            let given = arguments.join(" ");
            Err(format!("test takes `--all`, `--node`, `--cosign` or nothing, not `{given}`"))
        }
    }
}

fn run_rust_only() -> Result<(), String> {
    limit_memory()?;
    guests::build_all()?;
    rust_only::run_all()?;
    pictures::run(&["--check".to_owned()])
}

/// Builds every suite but two. Then runs the jobs that do not measure, two at a time, and at the end the tests that measure, alone.
///
/// # Errors
/// As for [`run`].
pub(crate) fn run_all(programs: Programs) -> Result<(), String> {
    limit_memory()?;
    guests::build_all()?;
    rust_only::build()?;
    build()?;
    pictures::run(&["--check".to_owned()])?;
    let (measuring, others): (Vec<Suite>, Vec<Suite>) =
        MORE_THAN_RUST.into_iter().partition(|suite| suite.measures);
    let mut jobs: Vec<Job> = TARGETS.into_iter().map(Job::Target).collect();
    jobs.extend([Job::OtherTargets, Job::Documentation]);
    jobs.extend(others.into_iter().map(Job::Suite));
    jobs.extend([Job::Instructions, Job::FuzzTargets]);
    for_each(&jobs, JOBS_AT_ONCE, Job::run)?;
    // The suites have built every program that was missing.
    drop(programs);
    measuring.iter().try_for_each(Suite::run)?;
    fuzz::run_in_the_gate()?;
    TARGETS.iter().try_for_each(Target::measure)
}

/// Builds the test binaries of the suites that need more than Rust, so that no job waits for the build of another job.
fn build() -> Result<(), String> {
    let names: BTreeSet<&str> = MORE_THAN_RUST.iter().map(|suite| suite.test).collect();
    let mut arguments = vec!["test", "--workspace", "--exclude", "informer-bench", "--no-run"];
    arguments.extend(names.iter().flat_map(|name| ["--test", *name]));
    cargo(&arguments).run(&Step::new("build the suites that need more than Rust"))
}

/// Limits the memory of this process and of each process that it starts. A lower limit stays.
fn limit_memory() -> Result<(), String> {
    let most = getrlimit(Resource::Data).maximum.map_or(MEMORY, |most| most.min(MEMORY));
    setrlimit(Resource::Data, Rlimit { current: Some(most), maximum: Some(most) })
        .map_err(|error| format!("the memory of the tests cannot be limited: {error}"))
}

/// Counts the instructions of the hot paths with callgrind, beside other work. These tests are in the crates that own the paths.
fn count_instructions() -> Result<(), String> {
    let tools = [VALGRIND];
    Tool::install_in_ci(&tools, "valgrind")?;
    if !Tool::all_run(&tools, "instructions")? {
        return Ok(());
    }
    let suite = ["test", "--workspace", "--exclude", "informer-bench", "--tests", "--"];
    cargo(&[suite.as_slice(), &["--ignored", "instructions"]].concat())
        .run_beside(&Step::new("count the instructions of the hot paths"))
}

// === impl Job ===

impl Job {
    fn run(&self) -> Result<(), String> {
        match self {
            Self::Target(target) => target.run_beside(),
            Self::OtherTargets => rust_only::run_other_targets(),
            Self::Documentation => rust_only::run_documentation(),
            Self::Suite(suite) => suite.run(),
            Self::Instructions => count_instructions(),
            Self::FuzzTargets => fuzz::build_beside(),
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
        let at_once = if self.computes { 1 } else { TESTS_PER_PROCESSOR };
        tests_at_once(cargo(&arguments), at_once).run_beside(&step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::NOT_IN_ALL_TARGETS;

    /// `cargo xtask test --node` runs the suite `node`.
    #[test]
    fn each_target_that_a_plain_test_run_leaves_out_is_a_suite() {
        for target in NOT_IN_ALL_TARGETS.iter().filter(|target| **target != "node") {
            assert!(MORE_THAN_RUST.iter().any(|suite| suite.test == *target), "no suite runs {target}");
        }
    }
}
