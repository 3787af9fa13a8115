//! The tests that need only Rust, in the parts that the gate runs beside other tests. Tests that measure run alone, afterwards.

use std::thread::available_parallelism;

use crate::command::{Run, Step, cargo, root};

/// A test target in which some tests measure.
pub(crate) struct Target {
    test: &'static str,
    /// The text that marks the names of the tests that measure.
    measuring: &'static str,
    /// The attackers beside the measured plugin, for the title of the step.
    beside: &'static str,
}

/// The targets in which tests measure, the longest first. Each target has one step for the tests that measure, and another step for
/// its other tests. A further step runs all other targets, so each test is in one step.
pub(crate) const TARGETS: [Target; 2] = [
    Target { test: "e2e", measuring: "cli::neighbour::", beside: "attacks on its host" },
    Target { test: "runtime", measuring: "hostile::", beside: "hostile ones" },
];

/// Number of tests of one binary that run at the same time for each processor. Most tests wait for time to pass.
pub(crate) const TESTS_PER_PROCESSOR: usize = 3;

/// The variables with the seeds of random tests: the one of proptest, which other random tests read too, and the one of shuttle.
const SEEDS: [&str; 2] = ["PROPTEST_RNG_SEED", "SHUTTLE_RANDOM_SEED"];

/// The arguments of cargo for all tests that need only Rust.
const ALL: [&str; 4] = ["test", "--workspace", "--exclude", "informer-bench"];

/// Runs all tests. Those that measure judge no time.
///
/// # Errors
/// A test fails.
pub(crate) fn run_all() -> Result<(), String> {
    cargo_test(&[]).run(&Step::new("run the tests"))
}

/// Builds all tests, so that the other functions only run them.
///
/// # Errors
/// The build fails.
pub(crate) fn build() -> Result<(), String> {
    cargo_test(&["--no-run"]).run(&Step::new("build the tests"))
}

/// Runs the tests of all other targets than [`TARGETS`], beside other work.
///
/// # Errors
/// A test fails.
pub(crate) fn run_other_targets() -> Result<(), String> {
    let left_out = TARGETS.map(|target| target.test).join(",");
    // With this runner, rustdoc would run several tests of documentation in one process.
    cargo_test(&["--tests", "--config", &runner(&left_out)])
        .run_beside(&Step::new(format!("run the tests without {left_out}")))
}

/// Runs the examples in the documentation, beside other work.
///
/// # Errors
/// An example fails.
pub(crate) fn run_documentation() -> Result<(), String> {
    // `--doc` also runs examples of a crate that sets `doctest = false`. This crate has the sources, and so the examples, of another one.
    cargo_test(&["--doc", "--exclude", "informer-dispatch-interleavings"])
        .run_beside(&Step::new("run the examples in the documentation"))
}

/// The setting of cargo that leaves out the programs of some test targets.
fn runner(left_out: &str) -> String {
    let script = root().join("tests/xtask/without.sh");
    format!("target.'cfg(all())'.runner = [{:?}, {left_out:?}]", script.to_string_lossy())
}

/// cargo for the tests that the further arguments select.
fn cargo_test(these: &[&str]) -> Run {
    pinned(tests_at_once(cargo(&[ALL.as_slice(), these].concat()), TESTS_PER_PROCESSOR))
}

/// Sets the number of tests of one binary that run at the same time, unless the environment has one.
pub(crate) fn tests_at_once(tests: Run, for_each_processor: usize) -> Run {
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

// === impl Target ===

impl Target {
    /// Runs the tests that do not measure, beside other work.
    ///
    /// # Errors
    /// A test fails.
    pub(crate) fn run_beside(&self) -> Result<(), String> {
        let Self { test, measuring, .. } = *self;
        cargo_test(&["--test", test, "--", "--skip", measuring])
            .run_beside(&Step::new(format!("run the tests of {test}")))
    }

    /// Runs the tests that measure, one at a time, also with limits for the neighbour's 99th percentile. Nothing else may run,
    /// because other work on the machine changes this figure more than any host does.
    ///
    /// # Errors
    /// A test fails.
    pub(crate) fn measure(&self) -> Result<(), String> {
        let Self { test, measuring, beside } = *self;
        cargo(&[ALL.as_slice(), &["--test", test, measuring, "--", "--test-threads=1"]].concat())
            .env("INFORMER_QUIET_MACHINE", "1")
            .run(&Step::new(format!("measure a plugin beside {beside}")))
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;

    #[test]
    fn the_script_leaves_out_the_named_programs_and_runs_every_other_one() {
        let script = root().join("tests/xtask/without.sh").to_string_lossy().into_owned();
        let echo = ["/bin/echo", "two  words"];
        let output = |left_out: &str| Run::new(&script, &[&[left_out][..], &echo].concat()).output().unwrap();

        for left_out in ["echo", "e2e,echo", "echo,e2e"] {
            assert_eq!(output(left_out), "    echo runs in a step of its own\n", "{left_out}");
        }
        for left_out in ["", "e2e,runtime", "echoes,bin/echo"] {
            assert_eq!(output(left_out), "two  words\n", "{left_out}");
        }
    }

    /// `--test NAME` selects only test targets, but the script leaves out every program of that name.
    #[test]
    fn no_library_and_no_binary_has_the_name_of_a_target_that_is_left_out() {
        let workspace = include_str!("../../../Cargo.toml");
        let members = workspace.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
        let members = members.split('"').skip(1).step_by(2).collect::<Vec<_>>();
        assert!(members.len() > 20, "{members:?}");
        for member in members {
            let folder = root().join(member);
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            for Target { test, .. } in TARGETS {
                let sections = manifest.split("\n[");
                let mut named = sections.filter(|text| text.contains(&format!("\nname = \"{test}\"\n")));
                assert!(named.all(|section| section.starts_with("[test]]")), "{member} {test}");
                assert!(!folder.join(format!("src/bin/{test}.rs")).exists(), "{member} {test}");
            }
        }
    }

    /// If one of these modules were renamed, a step that measures would run no test.
    #[test]
    fn the_modules_that_measure_exist() {
        for (file, module) in [
            ("tests/e2e/cli.rs", "mod neighbour;"),
            ("host/runtime/tests/runtime/main.rs", "mod hostile;"),
            ("tests/page/main.rs", "mod scale;"),
        ] {
            let source = fs::read_to_string(root().join(file)).unwrap();
            assert!(source.contains(module), "{file} has no `{module}`");
        }
    }

    /// If a dependency had another feature in the tests, cargo would compile it twice, and all that depends on it.
    #[test]
    fn the_tests_add_no_feature_to_the_dependencies_of_the_programs() {
        let of = |edges: &str| -> BTreeSet<String> {
            let tree = ["tree", "--workspace", "--exclude", "informer-bench", "--prefix", "none"];
            let shown = ["--format", "{p} {f}", "--edges", edges];
            let tree = cargo(&[tree.as_slice(), &shown].concat()).output().unwrap();
            tree.lines().map(|line| line.trim_end_matches("(*)").trim_end().to_owned()).collect()
        };
        let package = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let (programs, mut tests) = (of("normal,build"), of("normal,build,dev"));
        let packages: BTreeSet<String> = programs.iter().map(|line| package(line)).collect();
        tests.retain(|line| packages.contains(&package(line)));

        let differ: Vec<_> = programs.symmetric_difference(&tests).collect();
        assert!(packages.len() > 100 && differ.is_empty(), "{differ:#?}");
    }
}
