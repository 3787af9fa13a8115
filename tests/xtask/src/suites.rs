//! The test suites.

use crate::{
    command::{Step, cargo, is_ci, is_installed},
    guests,
};

/// A suite that needs more than Rust: a test binary of `tests/`, and the programs it needs.
struct Suite {
    test: &'static str,
    shows: &'static str,
    needs: &'static [&'static str],
}

const MORE_THAN_RUST: [Suite; 3] = [
    Suite {
        test: "cluster",
        shows: "a real kube-apiserver and etcd, built from their Go modules",
        needs: &["go"],
    },
    Suite { test: "kubectl", shows: "the real kubectl against the embedded API server", needs: &["go"] },
    Suite {
        test: "languages",
        shows: "the JavaScript and Python examples",
        needs: &["node", "npm", "python3"],
    },
];

/// `test [--all]`.
///
/// # Errors
/// A suite failed; or, under `CI=true`, a suite's toolchain is missing.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let all = match arguments {
        [] => false,
        [flag] if flag == "--all" => true,
        _ => return Err(format!("test takes `--all` or nothing, not `{}`", arguments.join(" "))),
    };
    if !all {
        guests::build_all()?;
        return cargo(&["test", "--workspace", "--exclude", "informer-bench"])
            .run(&Step::new("run the tests"));
    }
    for suite in &MORE_THAN_RUST {
        run_suite(suite)?;
    }
    Ok(())
}

fn run_suite(suite: &Suite) -> Result<(), String> {
    let missing: Vec<&str> = suite.needs.iter().copied().filter(|program| !is_installed(program)).collect();
    if missing.is_empty() {
        return cargo(&["test", "--package", "informer-tests", "--test", suite.test])
            .run(&Step::new(format!("test {}", suite.shows)));
    }
    let problem = format!("the suite `{}` ({}) needs {}", suite.test, suite.shows, missing.join(", "));
    if is_ci() {
        return Err(format!("{problem}; nothing may be skipped under CI"));
    }
    println!("==> SKIPPED: {problem}, which is not installed here");
    Ok(())
}
